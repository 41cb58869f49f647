"""An edit that first mentions the bot is a new message, once: over later edits, ends and restarts of the connector."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts
from connector.access import Rules
from fakes.discord import FakeDiscord
from fakes.house import House, house

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    """Ann has access, a mention opens a thread, turns get no card. Opened twice: a restart."""
    rules = Rules(users=frozenset({world.person("ann").id}))
    return partial(house, world, tmp_path, rules, threads=True, cards=False)


async def overlooked(home: House, name: str, text: str) -> int:
    """A line that is not for the bot, and has been seen."""
    general = home.world.channel("general")
    message = await home.world.say(home.world.person(name), general, text)
    await home.until(lambda: facts.Seen(general.id, message) in home.kept, "that it was seen")
    return message


def claims(home: House) -> list[int]:
    """The messages that were claimed in this life."""
    return [fact.message for fact in home.of(facts.Claimed)]  # type: ignore[union-attr]


async def test_it_is_asked_in_its_thread_and_no_later_edit_asks_it_again(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        asked = await overlooked(home, "ann", "what is this")
        await overlooked(home, "ann", "something newer")
        await world.edit(asked, f"{world.bot.mention} what is this")
        await home.comes(asked, "RUNNING")
        await home.until(lambda: facts.ThreadOpened(asked, world.channel("general").id) in home.kept, "its thread")
        assert home.puppets.prompts()[0][1].endswith("\n\nwhat is this")
        await world.edit(asked, f"{world.bot.mention} what is that")
        await home.until(lambda: home.of(facts.Late), "the sign of the second edit")
        await home.answers(asked)
        await home.comes(asked, "")
        await world.edit(asked, f"{world.bot.mention} and what is that")
        await overlooked(home, "ann", "behind the last edit")
        assert claims(home) == [asked]
    async with open_house() as home:
        await world.edit(asked, f"{world.bot.mention} and once more")
        await overlooked(home, "ann", "behind the edit after the restart")
        assert claims(home) == []


async def test_what_was_said_in_an_earlier_life_is_taken_too(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        asked = await overlooked(home, "ann", "what is this")
    async with open_house() as home:
        await world.edit(asked, f"{world.bot.mention} what is this")
        await home.comes(asked, "RUNNING")
        assert claims(home) == [asked]


async def test_an_edit_by_who_has_no_access_is_nothing(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        asked = await overlooked(home, "eve", "what is this")
        await world.edit(asked, f"{world.bot.mention} what is this")
        await overlooked(home, "ann", "behind the edit")
        assert claims(home) == []
        assert world.posts(world.channel("general")) == []
