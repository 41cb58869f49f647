"""Questions of extensions as people meet them in Discord: every kind, who may answer, and with what."""

from pathlib import Path
from typing import Any

import pytest

from connector import notices, notices_dialogs
from engine import events as told
from fakes.discord import FakeDiscord
from tests.connector.dialogs_setting import MANY, Open, opening, scene

pytestmark = pytest.mark.anyio


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    return opening(world, tmp_path)


# -- every kind, by whoever asked ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "verb", "given", "line"),
    [
        ("confirm", "yes", {"confirmed": True}, "yes"),
        ("confirm", "no", {"confirmed": False}, "no"),
        ("confirm", "cancel", {}, ""),
        ("select", "1", {"value": "green"}, "`green`"),
        ("select", "cancel", {}, ""),
        ("input", "cancel", {}, ""),
        ("editor", "cancel", {}, ""),
    ],
)
async def test_a_button_answers(open_house: Open, kind: str, verb: str, given: dict[str, Any], line: str) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks(kind)
        assert here.world.post(post).reference == int(here.round)
        act = await here.press(here.ann, post, verb)
        by = here.ann.id
        await here.ends(post, notices_dialogs.answered(by, line) if line else notices_dialogs.cancelled(by))
        assert here.answers() == [told.AnswerDialog("d", **given)]
        assert ((await act.reply()).kind, act.followups) == ("deferred_update", [])


async def test_a_menu_of_many_is_turned_and_chosen_from(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("select", options=MANY)
        assert home.buttons(post) == ["dialog:d:menu", "dialog:d:page:1", "dialog:d:cancel"]
        await here.press(here.ann, post, "page:1")
        turned = ["dialog:d:menu", "dialog:d:page:0", "dialog:d:cancel"]
        await home.until(lambda: home.buttons(post) == turned, "the second page")
        assert here.answers() == []
        await here.world.select(here.ann, post, "dialog:d:menu", ["27"])
        await here.ends(post, notices_dialogs.answered(here.ann.id, "`choice 27`"))
        assert here.answers() == [told.AnswerDialog("d", value="choice 27")]


@pytest.mark.parametrize(
    ("kind", "title", "field"),
    [
        (
            "input",
            "Type",
            {"style": 1, "label": "Your answer", "required": False, "placeholder": "placeholder"},
        ),
        ("editor", "Edit", {"style": 2, "label": "The text", "required": False, "value": "prefill"}),
    ],
)
async def test_a_form_opens_at_once_and_what_was_written_answers(
    open_house: Open, kind: str, title: str, field: dict[str, Any]
) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks(kind)
        act = await here.press(here.ann, post, "open")
        assert (await act.reply()).kind == "modal"
        modal = act.record.modal
        assert modal is not None
        assert (modal["custom_id"], modal["title"]) == ("dialog:d:text", title)
        (shown,) = modal["components"][0]["components"]
        assert {key: shown[key] for key in field} == field
        filled = await here.world.submit_modal(here.ann, act, {"text": "one\ntwo `three`"})
        await here.ends(post, notices_dialogs.answered(here.ann.id, "`one two ˋthreeˋ`"))
        assert here.answers() == [told.AnswerDialog("d", value="one\ntwo `three`")]
        assert ((await filled.reply()).kind, filled.followups) == ("deferred_update", [])


async def test_a_long_text_is_edited_in_several_fields(open_house: Open) -> None:
    text = "\n".join(f"line {number} of the text" for number in range(400))
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("editor", prefill=text)
        act = await here.press(here.ann, post, "open")
        await act.reply()
        await here.world.submit_modal(here.ann, act, {"text": "changed"})
        await home.until(here.answers)
        (given,) = here.answers()
        assert isinstance(given, told.AnswerDialog)
        assert given.value is not None
        head, _, rest = given.value.partition("\n")
        assert head == "changed"
        assert text.endswith(rest)
        assert len(rest) > 4000


# -- who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "verb"), [("confirm", "yes"), ("select", "0"), ("input", "open"), ("editor", "open")])
async def test_somebody_elses_question_is_not_his(open_house: Open, kind: str, verb: str) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks(kind)
        before = here.world.post(post).content
        assert await home.told(await here.press(here.bob, post, verb)) == notices.refused()
        assert (here.answers(), here.world.post(post).content) == ([], before)


async def test_a_form_that_somebody_else_sends_changes_nothing(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        await here.asks("input")
        forged = await here.world.forge_modal(here.bob, here.general, "dialog:d:text", {"text": "mine"})
        assert await home.told(forged) == notices.refused()
        assert here.answers() == []


async def test_an_operator_may_answer_and_is_named(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        await here.press(here.olga, post, "no")
        await here.ends(post, notices_dialogs.answered(here.olga.id, "no"))
        second = await here.asks("input", name="e")
        act = await here.press(here.olga, second, "open", name="e")
        assert (await act.reply()).kind == "modal"


async def test_in_another_channel_it_cannot_be_answered(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        await here.asks("confirm")
        other = here.world.channel("other")
        line = await here.world.say(here.ann, other, "elsewhere")
        await home.comes(line, "RUNNING")
        await home.answers(line)
        await home.post(other)
        act = await here.world.click(here.ann, here.world.posts(other)[0].id, "dialog:d:yes", force=True)
        assert await home.told(act) == notices.outdated()
        assert here.answers() == []
