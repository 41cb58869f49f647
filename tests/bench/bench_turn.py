"""Processor time of the connector for a turn of 100,000 deltas, by a plain asyncio reader of the same bytes (0.5).

The child replays the turn. Ours is everything from the message to the answer in Discord and the turn's end in the log,
in the connector's process; the plain reader calls `readline` and `json.loads` and does nothing with what it has read.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from fakes.discord import FakeDiscord, Person, Place
from fakes.program import Home, Running, discord
from tests.bench.asked import pairs
from tests.bench.lives import cpu_of
from tests.bench.pairs import Figure, figure
from tests.bench.readers_how import command, reader
from tests.bench.stream import lay, turn

DELTAS = 100_000


@dataclass(frozen=True, slots=True)
class Life:
    """A connector that listens, its Discord, and who speaks to it."""

    world: FakeDiscord
    program: Running
    person: Person
    place: Place

    async def ask(self, text: str = "hello") -> float:
        """One message, up to the end of its turn: seconds of the connector's processor time."""
        before = cpu_of(self.program.pid)
        message = await self.world.say(self.person, self.place, text, mention=True)
        await self.program.ended(message)
        return cpu_of(self.program.pid) - before


@contextlib.asynccontextmanager
async def living(
    folder: Path, child: tuple[str, ...], *, module: tuple[str, ...] = ("connector",), **agent: object
) -> AsyncIterator[Life]:
    """A connector with this child; `module` is what runs it, `agent` more of that section."""
    async with discord(validate=False) as world:
        person = world.person("ann")
        sections = {"access": {"users": [person.id]}, "discord": {"reply_in": "channel"}, "log": {"level": "info"}}
        home = Home(folder, world, child=child, agent=agent, **sections)
        async with home.running(module=module) as program:
            await program.ready()
            yield Life(world, program, person, world.channel("general"))


async def measure() -> list[Figure]:
    """All pairs, taking turns at going first, after one that does not count."""
    ours, theirs = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = lay(Path(scratch) / "turn", turn(DELTAS))
        with reader("plain", folder) as plain:
            async with living(Path(scratch), command(str(folder))) as life:
                for number in range(-1, pairs()):
                    if number % 2:
                        mine, other = await life.ask(), (await asyncio.to_thread(plain.turn)).cpu
                    else:
                        other, mine = (await asyncio.to_thread(plain.turn)).cpu, await life.ask()
                    if number >= 0:
                        ours.append(mine)
                        theirs.append(other)
    return [figure("processor time of a turn of 100,000 deltas, by readline + json.loads", ours, theirs, bound=0.5)]


def run() -> list[Figure]:
    """The one figure."""
    return asyncio.run(measure())
