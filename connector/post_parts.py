"""A post as Discord messages: its text in parts, its files on them, or what is left where Discord takes none; pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from connector import facts, notices_outgoing
from connector.attach_lines import shown_name
from connector.outbox import nonce
from connector.ports import Attached, Button, Controls, Part
from connector.render import LIMIT, AsFile, render

FILE_NAME = "answer.md"
MOST_FILES = 10
"""Files in one message that Discord takes."""
MOST_BYTES = 25_000_000 - 65_536
"""Bytes of files in one request that Discord takes, with room for what else is in it."""

_FILE_LIMIT = 10_000_000
_CUT = "\n\n[cut here: the rest is longer than Discord takes]\n"


@dataclass(frozen=True, slots=True)
class Packed:
    """What an answer carries: the text without the lines that name files, the files, and a line for each not sent."""

    text: str
    files: tuple[Attached, ...] = ()
    refused: tuple[str, ...] = ()


def made(owed: facts.Owed, packed: Packed | None = None) -> tuple[Part, ...]:
    """A post as Discord messages: the first refers to the message it answers, the last has its buttons.

    Files go with the text's last message, and in further ones where Discord takes no more in one.
    """
    packed = packed or Packed(owed.text)
    shown = render(packed.text)
    files = packed.files
    if isinstance(shown, AsFile):
        contents = [shown.beginning]
        files = (Attached(FILE_NAME, _bounded(shown.file_text)), *files)
    else:
        contents = list(shown.parts)
    groups = _groups(files)
    if groups and not contents:
        contents = [""]
    carried: list[tuple[Attached, ...]] = [() for _ in contents]
    if groups:
        carried[-1], *further = groups
    else:
        further = []
    contents = _with_lines(contents, packed.refused)
    carried += [()] * (len(contents) - len(carried)) + further
    contents += [""] * len(further)
    return _numbered(
        owed.key,
        [
            Part(owed.channel, content, "", reply_to=0 if number else owed.reply_to, files=files)
            for number, (content, files) in enumerate(zip(contents, carried, strict=True))
        ],
        buttons=_offers(owed),
    )


def _offers(owed: facts.Owed) -> Controls:
    retry = (Button(f"retry:{owed.round}", "Retry", "primary"),) if owed.retry else ()
    extend = (Button(f"spend:{owed.round}", "Extend for today"),) if owed.extend else ()
    return (*retry, *extend)


def without_files(key: str, parts: tuple[Part, ...], number: int) -> tuple[Part, ...]:
    """The parts of the post `key` after Discord has refused the `number`-th with its files: what it says stays.

    Nothing behind that part may have been sent yet.
    """
    refused = parts[number]
    lines = [notices_outgoing.not_attached(shown_name(one.name), notices_outgoing.REFUSED) for one in refused.files]
    contents = _with_lines([refused.content] if refused.content else [], lines)
    first = replace(refused, content=contents[0], files=(), buttons=())
    more = [Part(refused.channel, content, "") for content in contents[1:]]
    buttons = parts[-1].buttons
    behind = [replace(part, buttons=()) for part in parts[number + 1 :]]
    return _numbered(key, [*parts[:number], first, *more, *behind], buttons=buttons)


def _numbered(key: str, parts: list[Part], *, buttons: Controls) -> tuple[Part, ...]:
    last = len(parts) - 1
    return tuple(
        replace(part, nonce=nonce(key, number), buttons=buttons if number == last else ())
        for number, part in enumerate(parts)
    )


def _groups(files: Iterable[Attached]) -> list[tuple[Attached, ...]]:
    """Files in order, as many together as Discord takes in one message; one that is too large alone goes alone."""
    groups: list[tuple[Attached, ...]] = []
    for file in files:
        last = groups[-1] if groups else ()
        if last and len(last) < MOST_FILES and sum(one.length for one in last) + file.length <= MOST_BYTES:
            groups[-1] = (*last, file)
        else:
            groups.append((file,))
    return groups


def _with_lines(contents: list[str], lines: Iterable[str]) -> list[str]:
    """The messages with these lines at their end: in the last one where there is room, else in one of their own."""
    contents = list(contents)
    break_ = "\n\n"
    for line in lines:
        if contents and len(contents[-1]) + len(break_) + len(line) <= LIMIT:
            contents[-1] = f"{contents[-1]}{break_}{line}" if contents[-1] else line
        else:
            contents.append(line)
        break_ = "\n"
    return contents


def _bounded(text: str) -> bytes:
    """A text as a file that Discord takes: what is beyond its limit is cut off, and says so."""
    data = text.encode("utf-8", errors="replace")
    if len(data) <= _FILE_LIMIT:
        return data
    return data[: _FILE_LIMIT - len(_CUT)].decode("utf-8", errors="ignore").encode() + _CUT.encode()
