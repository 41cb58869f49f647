"""Questions of extensions as people meet them in Discord: who may answer, with what, and how they end."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connector import facts, notices, notices_dialogs
from connector.access import Rules
from connector.lane_events import ChildSays
from engine import events as told
from fakes.discord import FakeDiscord, Person
from fakes.discord_acts import Act
from fakes.house import House, house
from fakes.recorded_dialogs import recorded

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]
MANY = [f"choice {number}" for number in range(30)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as world:
        yield world
        assert world.unknown_routes == []
        assert [str(v) for v in world.violations] == []


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    """Ann and Bob have access, Olga is an operator; no cards. Opened twice, it is a restart."""
    people = frozenset(world.person(name).id for name in ("ann", "bob"))
    rules = Rules(users=people, operators=frozenset({world.person("olga").id}), respond="all")
    return partial(house, world, tmp_path, rules, cards=False)


class Scene:
    """Ann's line runs in general, and its child asks."""

    def __init__(self, home: House) -> None:
        self.home, self.world, self.general = home, home.world, home.world.channel("general")
        self.ann, self.bob, self.olga = (home.world.person(name) for name in ("ann", "bob", "olga"))
        self.round = ""

    async def runs(self) -> "Scene":
        self.round = str(await self.world.say(self.ann, self.general, "work"))
        await self.home.comes(self.round, "RUNNING")
        return self

    async def asks(self, kind: str, name: str = "d", **changes: Any) -> int:
        """The message under which the question's controls stand, once it is recorded."""
        turn = self.home.lanes.world.rounds[self.round].turn
        self.home.puppets.says(str(self.general.id), told.Asked(turn, recorded(kind, id=name, **changes)), busy=True)
        known = self.home.lanes.world.dialogs
        key = await self.home.until(lambda: next((key for key in known if key.endswith(f".{name}")), ""), "a question")
        return known[key][1]

    def answers(self) -> list[told.Input]:
        """What the child was given, prompts apart."""
        return [given for _, given in self.home.puppets.heard if not isinstance(given, told.Submit)]

    async def ends(self, post: int, line: str) -> None:
        """The question shows this as its last line, and no controls."""
        await self.home.until(lambda: self.world.post(post).content.rpartition("\n")[2] == line, f"{line!r} in {post}")
        assert self.home.buttons(post) == []
        await self.home.until(lambda: not self.home.lanes.world.dialogs, "its last record")

    async def press(self, who: Person, post: int, verb: str, *, name: str = "d") -> Act:
        return await self.world.click(who, post, f"dialog:{name}:{verb}")


async def scene(home: House) -> Scene:
    return await Scene(home).runs()


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


# -- how it ends ----------------------------------------------------------------------------------------------------


async def test_of_two_presses_one_wins_and_the_other_is_told(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        acts = [await here.press(who, post, verb) for who, verb in ((here.ann, "yes"), (here.olga, "no"))]
        await home.until(lambda: any(act.followups for act in acts), "the other one to be told")
        (given,) = here.answers()
        loser = next(act for act in acts if act.followups)
        assert await home.told(loser) == notices.outdated()
        assert isinstance(given, told.AnswerDialog)
        by, word = (here.ann.id, "yes") if given.confirmed else (here.olga.id, "no")
        await here.ends(post, notices_dialogs.answered(by, word))


async def test_what_the_child_no_longer_waits_for_is_over_before_that_is_told(open_house: Open) -> None:
    """Its timeout has passed in the engine; that it has is still on its way here."""
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        home.puppets.asked.clear()
        assert await home.told(await here.press(here.ann, post, "yes")) == notices.outdated()
        assert here.answers() == []


@pytest.mark.parametrize(
    ("word", "line"),
    [
        (told.Unasked("d", timed_out=True), notices_dialogs.timed_out()),
        (told.Unasked("d"), notices_dialogs.turn_over()),
        (told.Wedged("a test"), notices_dialogs.turn_over()),
    ],
)
async def test_a_question_that_is_over_says_how_and_takes_no_answer(
    open_house: Open, word: told.Effect, line: str
) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        home.puppets.says(str(here.general.id), word, busy=True)
        await here.ends(post, line)
        act = await here.world.click(here.ann, post, "dialog:d:yes", force=True)
        assert await home.told(act) == notices.outdated()
        assert here.answers() == []


async def test_a_form_that_comes_back_too_late_is_told_so(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("input")
        act = await here.press(here.ann, post, "open")
        await act.reply()
        home.puppets.says(str(here.general.id), told.Unasked("d", timed_out=True), busy=True)
        await here.ends(post, notices_dialogs.timed_out())
        filled = await here.world.submit_modal(here.ann, act, {"text": "late"})
        assert await home.told(filled) == notices.outdated()
        again = await here.world.click(here.ann, post, "dialog:d:open", force=True)
        assert await home.told(again) == notices.outdated()
        assert here.answers() == []


async def test_stop_ends_it_with_its_turn(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        await here.world.say(here.ann, here.general, "stop")
        await here.ends(post, notices_dialogs.stopped())
        assert [type(given) for given in here.answers()] == [told.Fail]
        act = await here.world.click(here.ann, post, "dialog:d:yes", force=True)
        assert await home.told(act) == notices.outdated()


async def test_a_child_that_is_gone_asks_no_more(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        home.puppets.retire(str(here.general.id), home.puppets.alive[str(here.general.id)])
        await here.ends(post, notices_dialogs.turn_over())


async def test_after_a_restart_it_says_that_it_is_over(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
    async with open_house() as home:
        again = Scene(home)
        await again.ends(post, notices_dialogs.restarted())
        act = await again.world.click(again.ann, post, "dialog:d:yes", force=True)
        assert await home.told(act) == notices.outdated()
        # The round is asked again, and its child gives its question the same name: the old message is not it.
        await home.comes(here.round, "RUNNING")
        again.round = here.round
        fresh = await again.asks("confirm")
        assert fresh != post
        act = await again.world.click(again.ann, post, "dialog:d:yes", force=True)
        assert await home.told(act) == notices.outdated()
        assert again.answers() == []
        await again.press(again.ann, fresh, "yes")
        await again.ends(fresh, notices_dialogs.answered(again.ann.id, "yes"))
        assert again.answers() == [told.AnswerDialog("d", confirmed=True)]


async def test_nobodys_question_is_cancelled_at_once_and_never_shown(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        lane = str(here.general.id)
        home.puppets.says(lane, told.Asked("errand-1", recorded("confirm", id="d")), busy=True)
        await home.until(here.answers)
        assert here.answers() == [told.AnswerDialog("d")]
        assert here.world.posts(here.general) == []


async def test_an_earlier_child_asks_nothing_and_ends_nothing(open_house: Open) -> None:
    """BEHAVIOUR §7.32."""
    async with open_house() as home:
        here = await scene(home)
        lane, turn = str(here.general.id), home.lanes.world.rounds[here.round].turn
        post = await here.asks("confirm")
        foreign = home.puppets.alive[lane] + 1
        for word in (told.Unasked("d"), told.Wedged("a test"), told.Asked(turn, recorded("confirm", id="e"))):
            home.dispatcher.put(ChildSays(lane, foreign, (word,), busy=True))
        await home.settle()
        assert home.dispatcher.asking.find("e", here.general.id, 0) is None
        await here.press(here.ann, post, "yes")
        await here.ends(post, notices_dialogs.answered(here.ann.id, "yes"))
        assert here.answers() == [told.AnswerDialog("d", confirmed=True)]
        assert [one.id for one in here.world.posts(here.general)] == [post]  # the other one would have come before


async def test_a_question_that_discord_refuses_is_cancelled_at_once(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        here.world.faults.refuse("POST", "/channels/{channel_id}/messages", 50013)
        turn = home.lanes.world.rounds[here.round].turn
        home.puppets.says(str(here.general.id), told.Asked(turn, recorded("confirm", id="d")), busy=True)
        await home.until(here.answers)
        assert here.answers() == [told.AnswerDialog("d")]
        assert home.of(facts.DialogShown) == []


async def test_a_question_whose_message_is_deleted_is_cancelled_at_once(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        await here.world.delete(post)
        await home.until(here.answers)
        assert here.answers() == [told.AnswerDialog("d")]
        await home.until(lambda: not home.lanes.world.dialogs, "its last record")


async def test_two_questions_stand_beside_each_other(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        first, second = await here.asks("confirm"), await here.asks("select", name="e")
        assert first != second
        await here.press(here.ann, second, "0", name="e")
        await home.until(here.answers)
        await here.press(here.ann, first, "yes")
        await here.ends(first, notices_dialogs.answered(here.ann.id, "yes"))
        assert here.answers() == [told.AnswerDialog("e", value="red"), told.AnswerDialog("d", confirmed=True)]


async def test_a_button_of_one_question_under_anothers_message_is_outdated(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        first, _ = await here.asks("confirm"), await here.asks("confirm", name="e")
        act = await here.world.click(here.ann, first, "dialog:e:yes", force=True)
        assert await home.told(act) == notices.outdated()
        assert here.answers() == []


async def test_a_question_in_a_thread_that_is_being_opened_waits_for_it(world: FakeDiscord, tmp_path: Path) -> None:
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    async with house(world, tmp_path, rules, cards=False, threads=True) as home:
        here = Scene(home)
        hang = world.faults.hang("POST", "/channels/{channel_id}/messages/{message_id}/threads")
        here.round = str(await world.say(here.ann, here.general, "work"))
        await home.comes(here.round, "RUNNING")
        turn = home.lanes.world.rounds[here.round].turn
        home.puppets.says(here.round, told.Asked(turn, recorded("confirm", id="d")), busy=True)
        await home.settle()
        assert home.lanes.world.dialogs == {}
        hang.release()
        known = home.lanes.world.dialogs
        await home.until(lambda: known, "the question")
        ((channel, post),) = known.values()
        assert channel == int(here.round)
        await here.press(here.ann, post, "yes")
        await here.ends(post, notices_dialogs.answered(here.ann.id, "yes"))
