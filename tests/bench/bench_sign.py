"""From a message to the first sign of life that its author sees, by a bare discord.py handler with one durable insert.

The sign is a reaction or the typing line, whichever Discord is asked for first; the bare handler reacts.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from fakes.discord import FakeDiscord, Person, Place
from tests.bench.asked import pairs
from tests.bench.bench_people import QUIET, ours, theirs
from tests.bench.pairs import Figure, figure


async def sign(world: FakeDiscord, person: Person, place: Place, text: str) -> tuple[float, int]:
    """Say something: seconds until the first sign is asked for, and the message."""
    await asyncio.sleep(QUIET)
    known, seen = len(world.requests), list[int]()

    def look() -> None:
        if not seen and any("/reactions/" in r.path or r.path.endswith("/typing") for r in world.requests[known:]):
            seen.append(time.monotonic_ns())

    unlisten = world.changes.also(look)
    start = time.monotonic_ns()
    message = await world.say(person, place, text, mention=True)
    await world.wait_for(lambda: seen, 20)
    unlisten()
    return (seen[0] - start) / 1e9, message


async def measure() -> list[Figure]:
    """All pairs, interleaved."""
    times: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as name:
        async with ours(Path(name) / "ours") as (mine, _), theirs(Path(name) / "theirs") as other:
            for number in range(pairs()):
                for index, side in ((0, mine), (1, other)) if number % 2 else ((1, other), (0, mine)):
                    seconds, message = await sign(side.world, side.person, side.place, ("hello", "sign")[index])
                    times[index].append(seconds)
                    if side is mine:
                        await mine.answered(message)
    return [figure("message in to the first sign of life, by a bare bot", *times, bound=1.5)]


def run() -> list[Figure]:
    """The one figure."""
    return asyncio.run(measure())
