"""Questions of extensions as values: every kind by every `custom_id`, and how each looks."""

import msgspec
import pytest

from connector import dialog_texts, literals, notices_dialogs
from connector.cards import View
from connector.dialogs import Answer, Asker, Question, Turn, meaning
from connector.modals import Modal, TextField, payload
from connector.outbox_cards import control
from connector.ports import Button, Menu
from engine import pi
from engine.events import AnswerDialog
from fakes.recorded_dialogs import recorded

ASKER = Asker("7", 1, 7, 5)
MANY = [f"choice {number}" for number in range(30)]
LONG = ["x" * 90 + str(number) for number in range(7)]
WAITS = notices_dialogs.waits(5, 300)
VERBS = (
    *("yes", "no", "cancel", "open", "text", "menu", "page:1", "page:9", "page:", "page:x", "page:-1", "0", "1", "29"),
    *("30", "99999999", "", "yes:", "0:0", "text:", "\N{SUPERSCRIPT TWO}", "maybe"),
)


def question(dialog: pi.Dialog, page: int = 0) -> Question:
    return Question("d", "1", 2, ASKER, msgspec.structs.replace(dialog, id="d"), 300, page)


CANCEL = {"cancel": Answer(AnswerDialog("d"))}
TEXTS: dict[str, object] = {"text": Answer(AnswerDialog("d", value="a\nb"), "`a b`")}


@pytest.mark.parametrize(
    ("dialog", "means"),
    [
        (
            recorded("confirm"),
            {
                "yes": Answer(AnswerDialog("d", confirmed=True), "yes"),
                "no": Answer(AnswerDialog("d", confirmed=False), "no"),
            },
        ),
        (
            recorded("select"),
            {
                "0": Answer(AnswerDialog("d", value="red"), "`red`"),
                "1": Answer(AnswerDialog("d", value="green"), "`green`"),
                "page:1": Turn(0),
                "page:9": Turn(0),
            },
        ),
        (
            recorded("select", options=MANY),
            {
                "0": Answer(AnswerDialog("d", value="choice 0"), "`choice 0`"),
                "1": Answer(AnswerDialog("d", value="choice 1"), "`choice 1`"),
                "29": Answer(AnswerDialog("d", value="choice 29"), "`choice 29`"),
                "page:1": Turn(1),
                "page:9": Turn(1),
            },
        ),
        (
            recorded("input"),
            {"open": Modal("dialog:d:text", "Type", (TextField("Your answer", "", "placeholder", required=False),))}
            | TEXTS,
        ),
        (
            recorded("editor"),
            {"open": Modal("dialog:d:text", "Edit", (TextField("The text", "prefill", long=True, required=False),))}
            | TEXTS,
        ),
    ],
    ids=["confirm", "select", "select many", "input", "editor"],
)
def test_every_kind_by_every_custom_id(dialog: pi.Dialog, means: dict[str, object]) -> None:
    one = question(dialog)
    found = {verb: meaning(one, verb, ("a", "b")) for verb in VERBS}
    assert {verb: what for verb, what in found.items() if what is not None} == CANCEL | means


@pytest.mark.parametrize(
    ("values", "index"), [(("29",), 29), (("0",), 0), (("30",), None), (("x",), None), ((), None), (("1", "2"), None)]
)
def test_what_is_chosen_in_a_menu_is_an_index(values: tuple[str, ...], index: int | None) -> None:
    found = meaning(question(recorded("select", options=MANY)), "menu", values)
    value = None if index is None else MANY[index]
    assert found == (None if value is None else Answer(AnswerDialog("d", value=value), f"`{value}`"))


def test_a_form_that_comes_back_empty_is_an_answer_and_without_a_field_none() -> None:
    assert meaning(question(recorded("input")), "text", ("",)) == Answer(AnswerDialog("d", value=""), "(nothing)")
    assert meaning(question(recorded("input")), "text", ()) is None
    half = meaning(question(recorded("input")), "text", ("a\ud83d",))
    assert half == Answer(AnswerDialog("d", value="a\ufffd"), "`a\ufffd`")


# -- how they look -------------------------------------------------------------------------------------------------

NO = Button("dialog:d:cancel", "Cancel")


def shown(dialog: pi.Dialog, page: int = 0) -> View:
    (view,) = question(dialog, page).views()
    return view


@pytest.mark.parametrize("kind", ["confirm", "select", "input", "editor"])
def test_every_question_has_the_control_by_which_a_start_finds_it(kind: str) -> None:
    view = shown(recorded(kind))
    assert control(view.key) in [one.custom_id for one in view.buttons]


def test_a_confirm() -> None:
    content = f"❓ **Run bash?**\n> echo confirmed\n{WAITS}"
    buttons = (Button("dialog:d:yes", "Yes", "success"), Button("dialog:d:no", "No", "danger"), NO)
    assert shown(recorded("confirm")) == View("7", 1, content, buttons, 7, over=False, name="dialog/2.d")


def test_few_choices_are_buttons() -> None:
    buttons = (Button("dialog:d:0", "red", "primary"), Button("dialog:d:1", "green", "primary"), NO)
    content = f"❓ **Pick one**\n{WAITS}"
    assert shown(recorded("select")) == View("7", 1, content, buttons, 7, over=False, name="dialog/2.d")


def test_more_than_a_menu_takes_are_paged() -> None:
    dialog = recorded("select", options=MANY)
    first = tuple((f"choice {number}", str(number)) for number in range(25))
    rest = tuple((f"choice {number}", str(number)) for number in range(25, 30))
    later, earlier = Button("dialog:d:page:1", "Later ▶"), Button("dialog:d:page:0", "◀ Earlier")
    assert shown(dialog).buttons == (Menu("dialog:d:menu", first, "Choose one, page 1 of 2"), later, NO)
    assert shown(dialog, 1).buttons == (Menu("dialog:d:menu", rest, "Choose one, page 2 of 2"), earlier, NO)
    assert shown(recorded("select", options=MANY[:25])).buttons == (Menu("dialog:d:menu", first, "Choose one"), NO)


def test_choices_that_a_menu_would_cut_are_listed_in_full() -> None:
    options = [*LONG, "`@everyone` and " + "y" * 200]
    view = shown(recorded("select", options=options), 1)
    listed = [f"6. `{LONG[5]}`", f"7. `{LONG[6]}`", f"8. `ˋ@everyoneˋ and {'y' * 200}`"]
    assert view.content == "\n".join(["❓ **Pick one**", *listed, WAITS])
    menu = view.buttons[0]
    assert isinstance(menu, Menu)
    assert menu.choices[0] == (f"6. {LONG[5]}", "5")
    assert menu.choices[2][0].startswith("8. `@everyone` and yyy")
    assert len(menu.choices[2][0]) == 100


def test_an_empty_choice_can_be_chosen_and_none_can_be_cancelled() -> None:
    assert shown(recorded("select", options=["", " "])).buttons[:2] == (
        Button("dialog:d:0", "1. (empty)", "primary"),
        Button("dialog:d:1", "2. (empty)", "primary"),
    )
    assert shown(recorded("select", options=[])).buttons == (NO,)


@pytest.mark.parametrize(("kind", "word"), [("input", "Answer"), ("editor", "Edit")])
def test_what_is_written_opens_a_form(kind: str, word: str) -> None:
    assert shown(recorded(kind)).buttons == (Button("dialog:d:open", word, "primary"), NO)


def test_the_text_to_be_edited_is_shown() -> None:
    view = shown(recorded("editor", prefill="one\n```\n**two**"))
    assert view.content == f"❓ **Edit**\n```\none\nˋˋˋ\n**two**\n```\n{WAITS}"


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain words, 3 < 4", "plain words, 3 \\< 4"),
        ("**bold** `code` _x_ ~~y~~ ||z||", "\\*\\*bold\\*\\* \\`code\\` \\_x\\_ \\~\\~y\\~\\~ \\|\\|z\\|\\|"),
        ("<@123> <#4> @everyone @here", "\\<@123\\> \\<#4\\> @\u200beveryone @\u200bhere"),
        ("[a](https://x_y/z_)", "\\[a\\](https://x_y/z_)"),
        ("# one\n- two\n  1. three\n-# four\n#five", "\\# one\n\\- two\n  1\\. three\n\\-# four\n#five"),
        ("a\x00b\u202ec\r\nd", "a b c\nd"),
    ],
)
def test_somebodys_text_shows_as_it_is(text: str, literal: str) -> None:
    assert literals.literal(text) == literal


def test_a_title_is_one_line_that_fits() -> None:
    assert shown(recorded("confirm", title="a\nb ", message="")).content == f"❓ **a b**\n{WAITS}"
    assert shown(recorded("confirm", title="", message="")).content == f"❓ **The agent asks something**\n{WAITS}"
    long = shown(recorded("confirm", title="t" * 1000, message="")).content
    assert long == f"❓ **{'t' * 255}…**\n{WAITS}"


def test_a_long_question_comes_in_parts_and_the_last_one_has_the_controls() -> None:
    words = "\n".join(f"line {number} of what is to be run" for number in range(150))
    views = question(recorded("confirm", message=words)).views()
    names = [f"dialogtext/2.d.{number}" for number in range(1, len(views))]
    assert len(views) > 1
    assert [view.name for view in views] == [*names, "dialog/2.d"]
    assert [view.reply_to for view in views] == [7, *([0] * (len(views) - 1))]
    assert all(0 < len(view.content) <= 2000 for view in views)
    assert [bool(view.buttons) for view in views] == [*([False] * (len(views) - 1)), True]
    text = "\n".join(view.content for view in views)
    assert [line for line in text.split("\n") if line.startswith("> ")] == [f"> {line}" for line in words.split("\n")]
    over = question(recorded("confirm", message=words)).views(notices_dialogs.answered(5, "yes"))
    assert [view.over for view in over] == [True] * len(views)
    assert over[-1].content.endswith("✅ Answered by <@5>: yes")
    assert [view.content for view in over[:-1]] == [view.content for view in views[:-1]]


def test_of_a_question_without_end_the_beginning_is_shown() -> None:
    views = question(recorded("confirm", message="word " * 100_000)).views()
    assert [len(view.content) <= 2000 for view in views] == [True] * len(views)
    assert notices_dialogs.too_long(500_000) in views[-1].content


@pytest.mark.parametrize("length", [*range(1600, 2000, 13), 5000, 9990])
def test_no_question_of_any_length_is_over_discords_limit_at_its_end(length: int) -> None:
    dialog = recorded("select", message="m" * length, options=["o" * 400] * 30)
    most = notices_dialogs.answered(2**63, f"`{'o' * 119}…`")
    for page in range(6):
        assert all(0 < len(view.content) <= 2000 for view in question(dialog, page).views(most))


# -- forms ---------------------------------------------------------------------------------------------------------


def test_a_form_keeps_discords_limits() -> None:
    dialog = recorded("input", title="t" * 100, placeholder="p" * 200)
    modal = dialog_texts.form("d", dialog)
    assert modal is not None
    (row,) = payload(modal)["components"]
    assert (payload(modal)["title"], row["components"]) == (
        "t" * 44 + "…",
        [
            {
                "type": 4,
                "custom_id": "text",
                "style": 1,
                "label": "Your answer",
                "required": False,
                "max_length": 4000,
                "placeholder": "p" * 99 + "…",
            }
        ],
    )


@pytest.mark.parametrize("count", [1, 100, 3999, 4001, 9000, 17000])
def test_a_text_comes_back_from_its_fields_as_it_was(count: int) -> None:
    text = "".join("\n" if number % 50 == 49 else "abcdefghij"[number % 10] for number in range(count))
    modal = dialog_texts.form("d", recorded("editor", prefill=text))
    assert modal is not None
    assert 1 <= len(modal.fields) <= 5
    assert all(len(one.prefill) <= 4000 for one in modal.fields)
    back = meaning(question(recorded("editor", prefill=text)), "text", tuple(one.prefill for one in modal.fields))
    assert back == Answer(AnswerDialog("d", value=text), literals.code(text, notices_dialogs.ANSWER))


@pytest.mark.parametrize("text", ["x" * 4001, "\n".join(["y" * 3000] * 6)])
def test_a_text_that_no_form_holds_is_written_anew_and_that_is_said(text: str) -> None:
    dialog = recorded("editor", prefill=text)
    assert dialog_texts.form("d", dialog) == Modal(
        "dialog:d:text", "Edit", (TextField("The text", "", long=True, required=False),)
    )
    assert notices_dialogs.uneditable(len(text)) in question(dialog).views()[-1].content
