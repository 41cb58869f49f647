"""Threads and channels over the wire: archived, locked, deleted, closed to us; what was asked there has its end."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts, notices, notices_places
from connector.access import Rules
from fakes.discord import FakeDiscord, Place
from fakes.house import House, house

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]
CHANNEL = "/channels/{channel_id}"


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    """Ann has access, a mention opens a thread, turns get no card. Opened twice: a restart."""
    rules = Rules(users=frozenset({world.person("ann").id}))
    return partial(house, world, tmp_path, rules, threads=True, cards=False)


async def asked(home: House, text: str = "work") -> tuple[int, Place]:
    """A mention of Ann's in the channel, and its thread, once its turn runs."""
    world = home.world
    general = world.channel("general")
    message = await world.say(world.person("ann"), general, text, mention=True)
    await home.comes(message, "RUNNING")
    await home.until(lambda: facts.ThreadOpened(message, general.id) in home.kept, "its thread")
    return message, world.place(message)


async def line(home: House, thread: Place, text: str, phase: str) -> int:
    """A line of Ann's in the thread, without a mention."""
    message = await home.world.say(home.world.person("ann"), thread, text)
    await home.comes(message, phase)
    return message


def told(world: FakeDiscord, place: Place) -> list[tuple[str, int | None]]:
    """What stands in a place, and what it refers to."""
    return [(post.content, post.reference) for post in world.posts(place)]


async def over(home: House, *messages: int) -> list[str]:
    """How the rounds of these messages ended, once everything so far is on the disk."""
    await home.settle()
    ends = [fact for fact in home.kept if isinstance(fact, facts.Ended)]
    return [end.code for message in messages for end in ends if end.round == str(message)]


async def test_an_archived_thread_is_opened_by_a_line_in_it_and_answered_after_a_restart_too(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        await home.answers(first, "one")
        await home.comes(first, "")
        world.archive(thread)
    async with open_house() as home:
        second = await line(home, thread, "and now", "RUNNING")
        await home.answers(second, "two")
        await home.comes(second, "")
    assert told(world, thread) == [("one", None), ("two", second)]


async def test_an_answer_opens_a_thread_that_was_archived_meanwhile(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        world.archive(thread)
        await home.answers(first, "one")
        await home.comes(first, "")
    assert told(world, thread) == [("one", None)]


async def test_a_thread_locked_meanwhile_takes_no_answer_so_it_is_said_above(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        world.archive(thread, locked=True)
        world.faults.refuse("PATCH", CHANNEL, 50013, times=None)  # only who manages threads may open it
        await home.answers(first, "one")
        await home.comes(first, "")
    assert told(world, thread) == []
    assert told(world, world.channel("general")) == [(notices.answer_lost(), first)]


async def test_a_permission_lost_meanwhile_is_said_above(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        world.faults.refuse("POST", f"/channels/{thread.id}/messages", 50013, times=None)
        await home.answers(first, "one")
        await home.comes(first, "")
        second = await line(home, thread, "and now", "RUNNING")
        await home.fails(second)
        await home.comes(second, "")
        assert await over(home, first, second) == ["answered", "engine-timeout"]
    above = [(notices.answer_lost(), first), (notices_places.untold(), first)]
    assert told(world, world.channel("general")) == above


async def test_a_thread_deleted_while_it_works_ends_everything_in_it_with_one_notice_above(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        waits = [await line(home, thread, text, "WAITING") for text in ("two", "three")]
        world.delete_channel(thread)
        assert await home.post(world.channel("general")) == notices_places.thread_gone(1, 2)
        await home.until(lambda: home.puppets.alive == {}, "the end of its child")
        assert await over(home, first, *waits) == ["deleted"] * 3
        assert await home.living.logged("channel.gone")
        again = await world.say(world.person("ann"), world.channel("general"), "again", mention=True)
        await home.comes(again, "RUNNING")
    assert told(world, world.channel("general")) == [(notices_places.thread_gone(1, 2), first)]


async def test_a_deletion_that_was_not_heard_is_found_by_the_first_post(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        waits = await line(home, thread, "two", "WAITING")
        await world.wait_for(lambda: world.typings(thread), what="the typing line")
        world.faults.swallow(1, "THREAD_DELETE")
        world.delete_channel(thread)
        await home.answers(first, "one")
        await home.comes(first, "")
        await home.comes(waits, "")
        general = world.channel("general")
        await home.until(lambda: len(world.posts(general)) == 2, "both notices")
        assert await over(home, first, waits) == ["answered", "deleted"]
    wanted = {(notices.answer_lost(), first), (notices_places.thread_gone(1, 0), first)}
    assert set(told(world, world.channel("general"))) == wanted


async def test_a_deleted_channel_ends_what_was_asked_in_it_and_in_its_threads(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        first, thread = await asked(home)
        waits = await line(home, thread, "two", "WAITING")
        world.delete_channel(world.channel("general"))
        await home.comes(first, "")
        await home.until(lambda: home.puppets.alive == {}, "the end of its child")
        assert await over(home, first, waits) == ["deleted", "deleted"]
        other = world.channel("other")
        again = await world.say(world.person("ann"), other, "again", mention=True)
        await home.comes(again, "RUNNING")
    assert told(world, world.channel("other")) == []


async def test_where_no_thread_may_be_opened_the_answer_comes_in_the_channel_with_a_note(
    world: FakeDiscord, open_house: Open
) -> None:
    general = world.channel("general")
    world.forbid(general, "create_public_threads")
    async with open_house() as home:
        message = await world.say(world.person("ann"), general, "work", mention=True)
        await home.comes(message, "RUNNING")
        await home.until(lambda: home.of(facts.Redirected), "the refusal")
        await home.answers(message, "one")
        await home.comes(message, "")
    assert told(world, general) == [(notices.no_thread(), message), ("one", message)]
    assert world.threads(general) == []
