"""Stop and Retry by button and by command: truthful answers, one new round a press, everything looked up."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts, notices
from connector.access import Rules
from connector.lane_base import LaneRules
from connector.lane_events import Hurry
from connector.lanes import Lanes
from connector.people_buttons import retried
from engine.events import SECOND
from fakes.discord import FakeDiscord, Place
from fakes.discord_acts import Act
from fakes.house import House, house

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Ann and Bob have access, Cara is an operator; turns get their card at once. Opened twice: a restart."""
    monkeypatch.setattr("connector.dispatch.CARD_DELAY", 0.0)
    ids = [world.person(name).id for name in ("ann", "bob", "cara")]
    rules = Rules(users=frozenset(ids[:2]), operators=frozenset(ids[2:]), respond="all")
    return partial(house, world, tmp_path, rules)


async def said(home: House, who: str, text: str, place: Place | None = None) -> str:
    world = home.world
    message = await world.say(world.person(who), place or world.channel("general"), text)
    await home.until(lambda: str(message) in home.lanes.world.rounds, "the message to be taken")
    return str(message)


async def runs(home: House, who: str, text: str) -> str:
    name = await said(home, who, text)
    await home.comes(name, "RUNNING")
    return name


async def press(home: House, who: str, message: int, name: str, *, force: bool = False) -> Act:
    return await home.world.click(home.world.person(who), message, name, force=force)


async def under(home: House, name: str) -> int:
    """The bot's post with this button, once it stands."""
    general = home.world.channel("general")
    return await home.until(
        lambda: next((p.id for p in home.world.posts(general) if name in home.buttons(p.id)), 0), f"the button {name}"
    )


# -- stop ----------------------------------------------------------------------------------------------------------


async def test_the_button_of_a_card_stops_its_round_for_whoever_may_write_there(open_house: Open) -> None:
    """CONTRACT: Stop of a turn, anyone with access, where he can write; the receipt names him."""
    async with open_house() as home:
        world, general = home.world, home.world.channel("general")
        name = await runs(home, "ann", "work")
        card = await under(home, f"stop:{name}")
        assert world.post(card).reference == int(name)
        world.forbid(general, "send_messages", person=world.person("bob"))
        act = await press(home, "bob", card, f"stop:{name}")
        assert await home.told(act) == notices.refused()
        assert home.of(facts.StopMarked) == []
        cara = world.person("cara")
        assert await home.told(await press(home, "cara", card, f"stop:{name}")) == notices.stopping(1)
        await home.until(lambda: len(world.posts(general)) == 2, "the receipt")
        assert world.posts(general)[1].content.startswith(f"Stopped by <@{cara.id}>: running turn")
        await home.until(lambda: world.post(card).content.startswith("-# stopped"), "the card to end")
        assert home.buttons(card) == []


async def test_a_card_from_before_a_restart_stops_its_round(open_house: Open) -> None:
    async with open_house() as home:
        name = await runs(home, "ann", "work")
        card = await under(home, f"stop:{name}")
        await home.until(lambda: len(home.of(facts.CardShown)) == 2, "the card to be recorded")
    async with open_house() as home:
        await home.comes(name, "RUNNING")
        assert await home.told(await press(home, "ann", card, f"stop:{name}", force=True)) == notices.stopping(1)
        await home.until(lambda: home.world.post(card).content.startswith("-# stopped"), "the card to end")
        assert [fact.by for fact in home.of(facts.StopMarked) if isinstance(fact, facts.StopMarked)] == [
            home.world.person("ann").id
        ]


async def test_stop_pressed_twice_stops_once_and_says_so(open_house: Open) -> None:
    async with open_house() as home:
        name = await runs(home, "ann", "work")
        card = await under(home, f"stop:{name}")
        acts = [await press(home, "ann", card, f"stop:{name}", force=True) for _ in range(2)]
        assert sorted([await home.told(act) for act in acts]) == sorted([notices.stopping(1), notices.outdated()])
        assert len(home.of(facts.StopMarked)) == 1


async def test_stop_by_command_tells_what_was_really_there(open_house: Open) -> None:
    """BEHAVIOUR §7.17: true iff something was there to stop; `lane` counts every message it ends."""
    async with open_house() as home:
        world, general, ann = home.world, home.world.channel("general"), home.world.person("ann")
        await world.wait_for(lambda: world.commands)
        assert await home.told(await world.slash(ann, general, "stop")) == notices.nothing_to_stop()
        assert await home.told(await world.slash(ann, general, "stop", {"scope": "lane"})) == notices.nothing_to_stop()
        await runs(home, "ann", "one")
        await said(home, "ann", "two")
        assert await home.told(await world.slash(ann, general, "stop", {"scope": "lane"})) == notices.stopping(2)
        assert await home.told(await world.slash(ann, general, "stop")) == notices.nothing_to_stop()


async def test_stop_of_a_lane_with_two_people_is_an_operators(open_house: Open) -> None:
    async with open_house() as home:
        world, general = home.world, home.world.channel("general")
        await world.wait_for(lambda: world.commands)
        await runs(home, "ann", "one")
        await said(home, "bob", "two")
        act = await world.slash(world.person("bob"), general, "stop", {"scope": "lane"})
        assert await home.told(act) == notices.refused()
        act = await world.slash(world.person("cara"), general, "stop", {"scope": "lane"})
        assert await home.told(act) == notices.stopping(2)


async def test_stop_waits_until_its_mark_is_on_the_disk(open_house: Open) -> None:
    """BEHAVIOUR §2: acknowledged at once, told only after the durable mark."""
    async with open_house() as home:
        name = await runs(home, "ann", "work")
        card = await under(home, f"stop:{name}")
        act = await press(home, "ann", card, f"stop:{name}")
        await act.reply()
        await home.told(act)
        assert home.of(facts.StopMarked) != []


# -- retry ---------------------------------------------------------------------------------------------------------


async def failed(home: House, who: str = "ann") -> tuple[str, int]:
    """A round that ended with a Retry button, and the post that has it."""
    name = await runs(home, who, "work")
    await home.fails(name)
    return name, await under(home, f"retry:{name}")


async def test_retry_is_a_fresh_round_whose_answer_refers_to_the_original_message(open_house: Open) -> None:
    """CONTRACT and BEHAVIOUR §0: the author or an operator; the old round stays terminal; a fresh bound."""
    async with open_house(lane_rules=LaneRules(busy="queue", max_attempts=1)) as home:
        name, notice = await failed(home)
        assert await home.told(await press(home, "bob", notice, f"retry:{name}")) == notices.refused()
        assert await home.told(await press(home, "cara", notice, f"retry:{name}")) == notices.retrying()
        await home.comes(f"{name}.1", "RUNNING")
        again = home.lanes.world.rounds[f"{name}.1"]
        ann = home.world.person("ann").id
        assert (again.author, again.attempts, again.message, again.origin) == (ann, 1, int(name), facts.Origin.RETRY)
        await home.answers(f"{name}.1", "at last")
        general = home.world.channel("general")
        await home.until(lambda: home.world.posts(general)[-1].content == "at last", "the answer")
        assert home.world.posts(general)[-1].reference == int(name)
        assert [text for _, text in home.puppets.prompts()] == [again.text, again.text]


async def test_retry_pressed_twice_makes_one_round_and_says_so(open_house: Open) -> None:
    async with open_house() as home:
        name, notice = await failed(home)
        acts = [await press(home, "ann", notice, f"retry:{name}") for _ in range(2)]
        assert sorted([await home.told(act) for act in acts]) == sorted([notices.retrying(), notices.outdated()])
        await home.comes(f"{name}.1", "RUNNING")
        await home.answers(f"{name}.1")
        await home.comes(f"{name}.1", "")
        # And once more when its round is long over.
        assert await home.told(await press(home, "ann", notice, f"retry:{name}")) == notices.outdated()
        assert len(home.of(facts.Claimed)) == 2


async def test_the_retry_of_a_retry_is_a_third_round(open_house: Open) -> None:
    async with open_house() as home:
        name, notice = await failed(home)
        await press(home, "ann", notice, f"retry:{name}")
        await home.comes(f"{name}.1", "RUNNING")
        await home.fails(f"{name}.1")
        second = await under(home, f"retry:{name}.1")
        assert await home.told(await press(home, "ann", notice, f"retry:{name}")) == notices.outdated()
        assert await home.told(await press(home, "ann", second, f"retry:{name}.1")) == notices.retrying()
        await home.comes(f"{name}.2", "RUNNING")


async def test_retry_works_after_a_restart(open_house: Open) -> None:
    async with open_house() as home:
        name, notice = await failed(home)
        await home.comes(name, "")
    async with open_house() as home:
        assert await home.told(await press(home, "ann", notice, f"retry:{name}")) == notices.retrying()
        await home.comes(f"{name}.1", "RUNNING")


async def test_retry_asks_the_text_as_it_was_edited(open_house: Open) -> None:
    async with open_house() as home:
        first = await runs(home, "ann", "first")
        name = await said(home, "ann", "teh text")
        await home.world.edit(int(name), "the text")
        await home.until(lambda: home.of(facts.Edited), "the edit")
        await home.answers(first)
        await home.comes(name, "RUNNING")
        await home.fails(name)
        notice = await under(home, f"retry:{name}")
        await press(home, "ann", notice, f"retry:{name}")
        await home.comes(f"{name}.1", "RUNNING")
        assert home.puppets.prompts()[-1][1].endswith("\n\nthe text")


async def test_what_ended_without_a_retry_button_is_not_asked_again(open_house: Open) -> None:
    """What a `custom_id` names must be of its kind: an answered round, or one that runs, has no Retry."""
    async with open_house() as home:
        name = await runs(home, "ann", "work")
        card = await under(home, f"stop:{name}")
        assert await home.told(await press(home, "ann", card, f"retry:{name}", force=True)) == notices.outdated()
        await home.answers(name)
        await home.comes(name, "")
        assert await home.told(await press(home, "ann", card, f"retry:{name}", force=True)) == notices.outdated()
        assert len(home.of(facts.Claimed)) == 1


async def test_a_retry_from_another_channel_is_none(open_house: Open) -> None:
    async with open_house() as home:
        name, _ = await failed(home)
        here = await runs_in(home, "random")
        act = await press(home, "ann", here, f"retry:{name}", force=True)
        assert await home.told(act) == notices.outdated()
        assert f"{name}.1" not in home.lanes.world.rounds


async def runs_in(home: House, channel: str) -> int:
    """The card of a turn that runs in another channel."""
    place = home.world.channel(channel)
    await said(home, "ann", "elsewhere", place)
    await home.until(lambda: home.world.posts(place), "its card")
    return home.world.posts(place)[0].id


async def test_a_full_lane_refuses_a_retry_and_the_button_stays_good(open_house: Open) -> None:
    async with open_house(lane_rules=LaneRules(busy="queue", capacity=1)) as home:
        name, notice = await failed(home)
        runs_now = await runs(home, "ann", "one")
        await said(home, "ann", "two")
        assert await home.told(await press(home, "ann", notice, f"retry:{name}")) == notices.lane_full(1)
        await home.answers(runs_now)
        assert await home.told(await press(home, "ann", notice, f"retry:{name}")) == notices.retrying()


# -- /retry --------------------------------------------------------------------------------------------------------


async def retry(home: House, who: str, channel: str = "general") -> str:
    """What somebody who uses `/retry` is told."""
    world = home.world
    await world.wait_for(lambda: world.commands)
    return await home.told(await world.slash(world.person(who), world.channel(channel), "retry"))


async def test_the_command_asks_the_newest_failed_round_again_for_its_author_or_an_operator(open_house: Open) -> None:
    """CONTRACT, "Who may do what": as the button; once, whichever of the two was used."""
    async with open_house() as home:
        assert await retry(home, "ann") == notices.nothing_to_retry()
        first, notice = await failed(home)
        second, _ = await failed(home)
        assert await retry(home, "bob") == notices.refused()
        assert await retry(home, "cara", "random") == notices.nothing_to_retry()
        assert await retry(home, "cara") == notices.retrying()
        await home.comes(f"{second}.1", "RUNNING")
        assert await retry(home, "ann") == notices.nothing_to_retry()
        assert await home.told(await press(home, "ann", notice, f"retry:{first}")) == notices.retrying()
        await home.answers(f"{second}.1")
        await home.comes(f"{first}.1", "RUNNING")


async def test_the_command_finds_what_failed_before_a_restart(open_house: Open) -> None:
    async with open_house() as home:
        name, _ = await failed(home)
        await home.comes(name, "")
    async with open_house() as home:
        assert home.lanes.world.owed == {}
        assert await retry(home, "ann") == notices.retrying()
        await home.comes(f"{name}.1", "RUNNING")
        await home.fails(f"{name}.1")
        await under(home, f"retry:{name}.1")
        assert await retry(home, "ann") == notices.retrying()
        await home.comes(f"{name}.2", "RUNNING")


async def test_the_command_ends_a_wait_before_it_repeats_anything(open_house: Open) -> None:
    async with open_house() as home:
        await failed(home)
        name = await runs(home, "ann", "again")
        await home.limited(name)
        assert await retry(home, "bob") == notices.refused()
        assert await retry(home, "ann") == notices.retrying()
        await home.comes(name, "RUNNING")
        assert len(home.of(facts.Claimed)) == 2


async def test_the_command_finds_what_failed_where_a_thread_could_not_be_opened(open_house: Open) -> None:
    """What belongs to such a thread is asked, and asked again, in the channel above it."""
    async with open_house(threads=True) as home:
        world, general = home.world, home.world.channel("general")
        world.forbid(general, "create_public_threads")
        name = await said(home, "ann", "work")
        await home.comes(name, "RUNNING")
        await home.until(lambda: home.of(facts.Redirected), "the thread to be refused")
        await home.fails(name)
        assert await retry(home, "ann") == notices.retrying()
        await home.comes(f"{name}.1", "RUNNING")


# -- retry now -----------------------------------------------------------------------------------------------------


async def test_a_backoff_is_shown_with_a_countdown_and_ended_by_retry_now(open_house: Open) -> None:
    """Issue 4: the lane shows a countdown that Discord itself keeps current, with Stop and Retry now."""
    async with open_house() as home:
        name = await runs(home, "ann", "work")
        await home.limited(name)
        until = home.lanes.world.rounds[name].until // SECOND
        card = await under(home, f"retry:{name}")
        assert home.world.post(card).content == f"⏳ {notices.asked_again(until)}"
        assert home.buttons(card) == [f"stop:{name}", f"retry:{name}"]
        assert await home.told(await press(home, "bob", card, f"retry:{name}")) == notices.refused()
        assert await home.told(await press(home, "ann", card, f"retry:{name}")) == notices.retrying()
        await home.comes(name, "RUNNING")
        assert home.lanes.world.rounds[name].steps == 1
        assert await home.told(await press(home, "ann", card, f"retry:{name}", force=True)) == notices.outdated()
        assert len(home.puppets.prompts()) == 2


async def test_stop_in_a_backoff_wins_over_its_timer(open_house: Open) -> None:
    async with open_house() as home:
        name = await runs(home, "ann", "work")
        await home.limited(name)
        card = await under(home, f"retry:{name}")
        assert await home.told(await press(home, "bob", card, f"stop:{name}")) == notices.stopping(1)
        await home.later(3600)
        assert await home.told(await press(home, "ann", card, f"retry:{name}", force=True)) == notices.outdated()
        assert len(home.puppets.prompts()) == 1


def test_a_wait_is_hurried_once() -> None:
    """Retry now pressed twice before the next try could begin: the second press is out of date."""
    lanes = Lanes(rules=LaneRules())
    for fact in (facts.Claimed("7", "1", 1, 7, 7, 5, "ann", "text", at=1), facts.Backoff("7", 90 * SECOND, "quota")):
        lanes.world.apply(fact)
    assert [lanes.step(Hurry("7"), SECOND).facts for _ in range(2)] == [(facts.Hurried("7"),), ()]


def test_a_retry_counts_on_from_the_round_it_repeats() -> None:
    claim = facts.Claimed("7", "1", 7, 7, 7, 5, "ann", "text", at=1, parent=1)
    first = retried(claim, 2)
    assert first == facts.Claimed("7.1", "1", 7, 7, 7, 5, "ann", "text", at=2, origin=facts.Origin.RETRY)
    assert retried(first, 3).round == "7.2"
