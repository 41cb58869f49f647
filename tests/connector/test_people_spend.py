"""What people see of spending: the notice of a cap, an operator's button, and `/usage` (CONTRACT)."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts, notices, notices_spend
from connector.access import Rules
from connector.clock import Clock
from connector.lane_base import LaneRules
from connector.spend import DAY, Caps, day_end, day_of
from engine import events as told
from engine.events import SECOND
from engine.pi import Cost, Usage
from fakes.discord import FakeDiscord
from fakes.house import MODEL, House, house

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    """Ann and Bob have access, Cara is an operator; a conversation may cost 1 a day. Opened twice: a restart.

    It is noon, so that no test sees a day end.
    """
    ids = [world.person(name).id for name in ("ann", "bob", "cara")]
    rules = Rules(users=frozenset(ids[:2]), operators=frozenset(ids[2:]), respond="all")
    lanes = LaneRules(busy="queue", spend=Caps(lane=1.0))
    now = Clock().now()
    ahead = day_end(day_of(now)) + DAY // 2 - now
    return partial(house, world, tmp_path, rules, lane_rules=lanes, cards=False, ahead=ahead)


async def asks(home: House, who: str, cost: float, channel: str = "general") -> str:
    """Somebody's message and its answer, which costs so much."""
    place = home.world.channel(channel)
    name = str(await home.world.say(home.world.person(who), place, "work"))
    await home.comes(name, "RUNNING")
    usage = Usage(1000, 100, 1100, Cost(cost))
    home.puppets.says(str(place.id), told.Spent(f"{name}@1", *MODEL, usage), busy=True)
    await home.answers(name)
    await home.comes(name, "")
    return name


async def held(home: House, who: str = "ann") -> tuple[str, int]:
    """A message that the conversation's cap holds back, and the post that says so."""
    general = home.world.channel("general")
    name = str(await home.world.say(home.world.person(who), general, "more"))
    post = await home.until(
        lambda: next((p.id for p in home.world.posts(general) if f"spend:{name}" in home.buttons(p.id)), 0), "the cap"
    )
    return name, post


async def usage(home: House, who: str, channel: str = "general") -> list[str]:
    await home.world.wait_for(lambda: home.world.commands)
    act = await home.world.slash(home.world.person(who), home.world.channel(channel), "usage")
    return (await home.told(act)).splitlines()


async def press(home: House, who: str, post: int, name: str) -> str:
    return await home.told(await home.world.click(home.world.person(who), post, f"spend:{name}", force=True))


async def test_an_operator_extends_a_cap_by_one_click_and_nobody_else_does(open_house: Open) -> None:
    async with open_house() as home:
        await asks(home, "ann", 1.5)
        name, post = await held(home)
        until = day_end(day_of(home.clock.now())) // SECOND
        said = home.world.post(post)
        assert (said.content, said.reference) == (notices_spend.capped("lane", 1.0, until), int(name))
        assert [await press(home, who, post, name) for who in ("ann", "bob")] == [notices.refused()] * 2
        assert home.of(facts.Extended) == []
        assert await press(home, "cara", post, name) == notices_spend.extended(1.0)
        await home.comes(name, "RUNNING")
        lane, day, cara = home.lanes.world.rounds[name].lane, day_of(home.clock.now()), home.world.person("cara").id
        assert home.of(facts.Extended) == [facts.Extended(name, "lane", lane, day, cara, 1.5)]
        audit = next(line for line in home.living.lines() if "spend.extended" in line)
        assert f"by={cara}" in audit.replace('"', "")
        assert await press(home, "cara", post, name) == notices.outdated()


async def test_the_button_works_after_a_restart_and_belongs_to_its_channel(open_house: Open) -> None:
    async with open_house() as home:
        await asks(home, "ann", 1.5)
        name, post = await held(home)
        await asks(home, "ann", 0.25, "random")
        random = home.world.posts(home.world.channel("random"))[0].id
        assert await press(home, "cara", random, name) == notices.outdated()
    async with open_house() as home:
        assert home.round(name) == "WAITING"
        assert len(home.of(facts.Capped)) == 0
        assert await press(home, "cara", post, name) == notices_spend.extended(1.0)
        await home.comes(name, "RUNNING")


async def test_stop_ends_what_a_cap_holds_back(open_house: Open) -> None:
    async with open_house() as home:
        await asks(home, "ann", 1.5)
        name, post = await held(home)
        await home.world.slash(home.world.person("bob"), home.world.channel("general"), "stop")
        await home.comes(name, "")
        assert await press(home, "cara", post, name) == notices.outdated()


async def test_what_a_cap_holds_back_is_not_said_to_be_asked_again(open_house: Open) -> None:
    """ "Retry now" in a wait that the cap would lengthen: the truth, and an operator's button in the notice."""
    async with open_house() as home:
        ann, general = home.world.person("ann"), home.world.channel("general")
        name = str(await home.world.say(ann, general, "work"))
        await home.comes(name, "RUNNING")
        home.puppets.says(str(general.id), told.Spent(f"{name}@1", *MODEL, Usage(10, 1, 11, Cost(1.5))), busy=True)
        await home.limited(name)
        await home.world.wait_for(lambda: home.world.commands)
        until = day_end(day_of(home.clock.now())) // SECOND
        for _ in range(2):
            act = await home.world.slash(ann, general, "retry")
            assert await home.told(act) == notices_spend.capped("lane", 1.0, until)
        assert home.of(facts.Hurried) == []
        await home.later(3600)
        assert (home.round(name), len(home.of(facts.Capped))) == ("BACKOFF", 1)
        await home.later(86_400)
        await home.comes(name, "RUNNING")


async def test_status_says_what_a_cap_holds_back(open_house: Open) -> None:
    async with open_house() as home:
        await asks(home, "ann", 1.5)
        await held(home)
        until = day_end(day_of(home.clock.now())) // SECOND
        await home.world.wait_for(lambda: home.world.commands)
        act = await home.world.slash(home.world.person("ann"), home.world.channel("general"), "status")
        assert f", 1 held back by a spending cap until <t:{until}:R>; " in await home.told(act)


async def test_usage_shows_a_lane_and_to_operators_all_of_them(open_house: Open) -> None:
    """CONTRACT, "Who may do what": only the lane it is used in; operators see all, privately."""
    async with open_house() as home:
        assert await usage(home, "bob") == ["Nothing was spent here in the last 7 days.", *cap(0.0)]
        await asks(home, "ann", 0.25)
        await asks(home, "bob", 0.5)
        await asks(home, "bob", 2.0, "random")
    async with open_house() as home:
        ann, bob = (f"<@{home.world.person(name).id}>" for name in ("ann", "bob"))
        until = day_end(day_of(home.clock.now())) // SECOND
        here = [
            "0.7500 · 2,200 tokens",
            f"- {bob}: 0.5000 · 1,100 tokens",
            f"- {ann}: 0.2500 · 1,100 tokens",
            "- `fake/scripted`: 0.7500 · 2,200 tokens",
        ]
        mine = section(here, f"Today here (UTC, until <t:{until}:t>)") + section(here, "The last 7 days here")
        mine += cap(0.75)
        assert await usage(home, "ann") == mine
        general, random = (home.world.channel(name).id for name in ("general", "random"))
        everywhere = [
            "2.75 · 3,300 tokens",
            f"- <#{random}>: 2.00 · 1,100 tokens",
            f"- <#{general}>: 0.7500 · 2,200 tokens",
            f"- {bob}: 2.50 · 2,200 tokens",
            f"- {ann}: 0.2500 · 1,100 tokens",
            "- `fake/scripted`: 2.75 · 3,300 tokens",
        ]
        assert await usage(home, "cara") == [
            *mine,
            *section(everywhere, f"Today everywhere (UTC, until <t:{until}:t>)"),
            *section(everywhere, "The last 7 days everywhere"),
        ]


def section(lines: list[str], title: str) -> list[str]:
    return [f"**{title}**: {lines[0]}", *lines[1:]]


def cap(spent: float) -> list[str]:
    return [f"Cap of today for this conversation: {notices_spend.money(spent)} of 1.00 are spent."]
