"""How a question of an extension ends in Discord: answered once, timed out, stopped, unseen, gone with its child."""

from pathlib import Path

import pytest

from connector import facts, notices, notices_dialogs
from connector.access import Rules
from connector.lane_events import ChildSays, Shutdown
from engine import events as told
from fakes.discord import FakeDiscord
from fakes.house import house
from fakes.recorded_dialogs import recorded
from tests.connector.dialogs_setting import Open, Scene, opening, scene

pytestmark = pytest.mark.anyio


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    return opening(world, tmp_path)


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


async def test_when_the_connector_goes_down_it_says_so(open_house: Open) -> None:
    async with open_house() as home:
        here = await scene(home)
        post = await here.asks("confirm")
        home.dispatcher.put(Shutdown())
        await here.ends(post, notices_dialogs.restarting())


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
        assert [fact.message for fact in home.of(facts.DialogShown) if isinstance(fact, facts.DialogShown)] == [0]
        await home.until(lambda: not home.lanes.world.dialogs, "its last record")


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
        await home.until(lambda: any(post for _, post in known.values()), "the question")
        ((channel, post),) = known.values()
        assert channel == int(here.round)
        await here.press(here.ann, post, "yes")
        await here.ends(post, notices_dialogs.answered(here.ann.id, "yes"))
