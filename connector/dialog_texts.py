"""What a question of an extension looks like in Discord: its text in parts, its controls, its form; pure.

All of it is somebody's text: shown as it is, it makes no Markdown, no mention and no line of ours.
"""

from msgspec import Struct

from connector import clusters, notices_dialogs
from connector.literals import code, literal, plain
from connector.modals import FIELDS, LABEL, PLACEHOLDER, TITLE, VALUE, Modal, TextField
from connector.ports import Button, Control, Controls, Menu
from connector.render import LIMIT, MAX_PARTS, AsFile, render
from engine.pi import Dialog

FEW = 4
"""So many choices are buttons: with Cancel, one row."""

PAGE = 25
"""Choices of a menu."""

LONG_PAGE = 5
"""Choices of a page that also lists them, since a menu would cut them."""

HEADING = 256
_BUTTON_LABEL, _MENU_LABEL, _LISTED = 80, 100, 300
_LINES = 150
"""Characters that one line of ours has at most."""

_LOOKED = 4 * LIMIT * MAX_PARTS
"""Characters of a question that are looked at: of so long a one only the beginning is shown."""

_ROOM = VALUE - 500
"""Characters of a text that stand in one field at first, so that something can be added."""


class Page(Struct, frozen=True):
    """The choices of one page as (index, text), of `pages`; `listed`: also in the text, since they are long."""

    number: int
    pages: int
    choices: tuple[tuple[int, str], ...]
    listed: bool


def parts(dialog: Dialog) -> tuple[str, ...]:
    """The question itself as messages, at most six, none empty."""
    title = clusters.excerpt(" ".join(dialog.title.split()), HEADING)
    body = [f"❓ **{literal(title)}**" if title else f"❓ **{notices_dialogs.asks()}**"]
    if dialog.message.strip():
        body.append("\n".join(f"> {line}" for line in literal(dialog.message[:_LOOKED]).strip().split("\n")))
    if dialog.method == "editor" and dialog.prefill.strip():
        fenced = dialog.prefill.replace("```", "ˋˋˋ")
        body.append(f"```\n{fenced}\n```")
    shown = render("\n".join(body))
    if isinstance(shown, AsFile):
        whole = len(dialog.message) + len(dialog.prefill)
        return shown.beginning, notices_dialogs.too_long(whole)
    return shown.parts


def content(last: str, dialog: Dialog, page: int, line: str) -> str:
    """The message that has the controls: the question's last part (or nothing), what is listed, and our own line."""
    return "\n".join(text for text in (last, listing(dialog, page), line) if text)


def fits(last: str, dialog: Dialog) -> bool:
    """Whether the question's last part has room for everything that may have to stand below it."""
    below = LONG_PAGE * (_LISTED + 12) if dialog.method == "select" and page_of(dialog, 0).listed else _LINES
    return len(last) + below + _LINES + notices_dialogs.ANSWER <= LIMIT


def listing(dialog: Dialog, number: int) -> str:
    """What stands between question and line: long choices in full, or that a text is too long for a form."""
    match dialog.method:
        case "select" if (page := page_of(dialog, number)).listed:
            return "\n".join(f"{index + 1}. {code(text, _LISTED)}" for index, text in page.choices)
        case "editor" if pieces(dialog.prefill) is None:
            return notices_dialogs.uneditable(len(dialog.prefill))
        case _:
            return ""


def page_of(dialog: Dialog, number: int) -> Page:
    """The choices of a page (from 0; the last one where there are fewer)."""
    numbered = list(enumerate(dialog.options))
    limit = _BUTTON_LABEL if len(numbered) <= FEW else _MENU_LABEL
    listed = any(len(text) > limit for text in dialog.options)
    size = LONG_PAGE if listed else PAGE
    pages = max(1, -(-len(numbered) // size))
    number = min(max(0, number), pages - 1)
    return Page(number, pages, tuple(numbered[number * size : (number + 1) * size]), listed)


def controls(name: str, dialog: Dialog, number: int) -> Controls:
    """Buttons and menus of an open question; `name` is its own in `custom_id`s (CONTRACT)."""
    cancel = Button(f"dialog:{name}:cancel", "Cancel")
    match dialog.method:
        case "confirm":
            return Button(f"dialog:{name}:yes", "Yes", "success"), Button(f"dialog:{name}:no", "No", "danger"), cancel
        case "select":
            return *_choosing(name, dialog, page_of(dialog, number)), cancel
        case _:
            return Button(f"dialog:{name}:open", "Edit" if dialog.method == "editor" else "Answer", "primary"), cancel


def _choosing(name: str, dialog: Dialog, page: Page) -> list[Control]:
    if len(dialog.options) <= FEW:
        return [
            Button(f"dialog:{name}:{index}", _label(index, text, _BUTTON_LABEL, page), "primary")
            for index, text in page.choices
        ]
    choices = tuple((_label(index, text, _MENU_LABEL, page), str(index)) for index, text in page.choices)
    hint = f"Choose one, page {page.number + 1} of {page.pages}" if page.pages > 1 else "Choose one"
    found: list[Control] = [Menu(f"dialog:{name}:menu", choices, hint)]
    if page.number > 0:
        found.append(Button(f"dialog:{name}:page:{page.number - 1}", "◀ Earlier"))
    if page.number < page.pages - 1:
        found.append(Button(f"dialog:{name}:page:{page.number + 1}", "Later ▶"))
    return found


def _label(index: int, text: str, limit: int, page: Page) -> str:
    flat = plain(text)
    numbered = f"{index + 1}. {flat}" if page.listed else flat
    return clusters.excerpt(numbered, limit) if flat else f"{index + 1}. (empty)"


def form(name: str, dialog: Dialog) -> Modal | None:
    """The form of an input or an editor; None for a question that has none."""
    title = clusters.excerpt(plain(dialog.title) or notices_dialogs.asks(), TITLE)
    custom_id = f"dialog:{name}:text"
    match dialog.method:
        case "input":
            hint = clusters.excerpt(plain(dialog.placeholder), PLACEHOLDER)
            return Modal(custom_id, title, (TextField("Your answer", "", hint, required=False),))
        case "editor":
            found = pieces(dialog.prefill) or ("",)
            labels = (
                ["The text"] if len(found) == 1 else [f"Part {n} of {len(found)}" for n in range(1, len(found) + 1)]
            )
            fields = (
                TextField(label[:LABEL], piece, long=True, required=False)
                for label, piece in zip(labels, found, strict=True)
            )
            return Modal(custom_id, title, tuple(fields))
        case _:
            return None


def pieces(text: str) -> tuple[str, ...] | None:
    """A text as the fields of one form, which a line break joins again; None where no form can hold it."""
    if len(text) <= VALUE:
        return (text,)
    found: list[str] = []
    for line in text.split("\n"):
        if len(line) > VALUE:
            return None
        if found and len(found[-1]) + 1 + len(line) <= _ROOM:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return tuple(found) if len(found) <= FIELDS else None
