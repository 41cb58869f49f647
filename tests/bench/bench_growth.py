"""What memory the connector has more of after `BENCH_TURNS` turns (10,000) than after the first tenth: at most 5 MB.

Turns go round several lanes, one open message a lane, each answered by the scripted child.
"""

import asyncio
import itertools
import tempfile
from pathlib import Path
from typing import Any

from fakes.discord import FakeDiscord, Person, Place
from fakes.program import Home, discord
from tests.bench.asked import TURNS
from tests.bench.lives import connector, stand
from tests.bench.pairs import Surplus

LANES = 4
MB = 1_000_000
TURN_BOUND = 60.0


class Talk:
    """People who say the next thing as soon as they were answered."""

    def __init__(self, world: FakeDiscord, person: Person, places: list[Place]) -> None:
        self._world, self._person, self._places = world, person, places
        self._answers: dict[str, asyncio.Event] = {}
        world.watch(self._heard)

    def _heard(self, event: str, payload: dict[str, Any]) -> None:
        to = (payload.get("message_reference") or {}).get("message_id")
        if event == "MESSAGE_CREATE" and to is not None:
            self._answer(to).set()

    def _answer(self, message: str) -> asyncio.Event:
        return self._answers.setdefault(message, asyncio.Event())

    async def turns(self, count: int) -> None:
        """So many more turns, over all lanes."""
        left = itertools.repeat(None, count)
        await asyncio.gather(*(self._talk(place, left) for place in self._places))

    async def _talk(self, place: Place, left: "itertools.repeat[None]") -> None:
        for _ in left:
            message = str(await self._world.say(self._person, place, "hello", mention=True))
            async with asyncio.timeout(TURN_BOUND):
                await self._answer(message).wait()
            del self._answers[message]


async def measure() -> list[Surplus]:
    """One life."""
    turns = TURNS.read()
    warm = turns // 10
    with tempfile.TemporaryDirectory() as name:
        async with discord(validate=False) as world:
            person = world.person("ann")
            home = Home(
                Path(name),
                world,
                access={"users": [person.id]},
                discord={"reply_in": "channel"},
                log={"level": "warning"},
                agent={"env": {"FAKE_PI_LOG": ""}},
            )
            talk = Talk(world, person, [world.channel(f"lane-{number}") for number in range(LANES)])
            async with connector(home) as pid:
                await talk.turns(warm)
                before = stand(pid)
                await talk.turns(turns - warm)
                after = stand(pid)
    grown, warmed = (round(one.resident / MB, 1) for one in (after, before))
    return [Surplus(f"resident memory after {turns:,} turns, by after {warm:,}", "MB", 5, grown, warmed)]


def run() -> list[Surplus]:
    """The one figure."""
    return asyncio.run(measure())
