"""Every end of a turn, silent or failed, ends its card and the typing line: neither is ever left behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from connector import facts
from connector.access import Rules
from connector.lane_base import LaneRules
from connector.lane_events import ChildDown
from engine import events as told
from engine.events import Code, Outcome
from fakes.discord import FakeDiscord
from fakes.house import House, house

pytestmark = pytest.mark.anyio


@pytest.fixture
async def home(world: FakeDiscord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    """Turns get their card at once, and nothing is asked again."""
    monkeypatch.setattr("connector.dispatch.CARD_DELAY", 0.0)
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    async with house(world, tmp_path, rules, lane_rules=LaneRules(busy="queue", backoff=(), max_attempts=1)) as home:
        yield home


async def at_work(home: House) -> tuple[str, int]:
    """A round whose card stands and whose typing line is shown."""
    general = home.world.channel("general")
    name = str(await home.world.say(home.world.person("ann"), general, "work"))
    await home.comes(name, "RUNNING")
    card = await home.until(lambda: home.lanes.world.cards.get(name, (0, 0))[1], "the card")
    await home.until(lambda: home.world.typings(general), "the typing line")
    return name, card


async def all_over(home: House, name: str, card: int, code: str) -> None:
    await home.until(lambda: home.world.post(card).content.startswith(f"-# {code}"), f"the card to say {code}")
    await home.until(lambda: name not in home.lanes.world.cards, "its last record")
    assert home.buttons(card) == []
    await home.settle()
    assert home.posting._typing == {}


ENDS = {
    Code.ANSWERED: "answered",
    Code.EMPTY: "empty",
    Code.HANDLED: "handled",
    Code.TIMEOUT: "engine-timeout",
    Code.INTERRUPTED: "interrupted",
    Code.PROVIDER: "provider-error",
    Code.RATE_LIMITED: "rate-limited",
    Code.REFUSED: "engine-refused",
    Code.STOPPED: "stopped",
}


@pytest.mark.parametrize("code", ENDS)
async def test_an_end_that_the_engine_tells(home: House, code: Code) -> None:
    name, card = await at_work(home)
    detail = {Code.RATE_LIMITED: "429 too many requests", Code.PROVIDER: "400 bad request"}.get(code, "")
    await home.ends(name, Outcome(code, text="hi" if code is Code.ANSWERED else "", detail=detail))
    await all_over(home, name, card, ENDS[code])


async def test_stop(home: House) -> None:
    name, card = await at_work(home)
    await home.world.click(home.world.person("ann"), card, f"stop:{name}")
    await all_over(home, name, card, "stopped")


@pytest.mark.parametrize("tool", [True, False])
async def test_a_child_that_is_gone(home: House, tool: bool) -> None:
    name, card = await at_work(home)
    lane = home.lanes.world.rounds[name].lane
    if tool:
        turn = home.lanes.world.rounds[name].turn
        home.puppets.says(lane, told.ToolOpened(turn, "c", "bash"), busy=True)
    home.dispatcher.put(ChildDown(lane, home.puppets.alive.pop(lane), 1, expected=False))
    await all_over(home, name, card, "engine-exit" if tool else "dead")
    assert [fact.code for fact in home.of(facts.Ended) if isinstance(fact, facts.Ended)] == [
        "engine-exit" if tool else "dead"
    ]


async def test_a_wedge(home: House) -> None:
    name, card = await at_work(home)
    lane = home.lanes.world.rounds[name].lane
    home.puppets.says(lane, told.Wedged("a test"), busy=True)
    await home.ends(name, Outcome(Code.WEDGED))
    await all_over(home, name, card, "dead")
