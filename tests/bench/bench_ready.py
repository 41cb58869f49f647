"""From start to READY as the service manager hears it, by a bare discord.py client plus one child's start (1.5).

discord.py's fixed wait for guilds is taken out of both; each start of ours is a first one, its ledger made anew.
"""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

from fakes.program import FAKE_PI, Home, discord
from tests.bench.lives import bare, connector
from tests.bench.pairs import PAIRS, Figure, figure


async def measure() -> list[Figure]:
    """Both starts, interleaved."""
    times: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as name:
        async with discord(validate=False) as world:
            home = Home(Path(name), world, access={"users": [world.person("ann").id]}, log={"level": "info"})
            for number in range(PAIRS):
                for index in (0, 1) if number % 2 else (1, 0):
                    shutil.rmtree(home.state, ignore_errors=True)
                    start = time.perf_counter()
                    async with bare(world, FAKE_PI) if index else connector(home):
                        times[index].append(time.perf_counter() - start)
    return [figure("start to READY, by a bare client plus one child's start", *times, bound=1.5)]


def run() -> list[Figure]:
    """The one figure."""
    return asyncio.run(measure())
