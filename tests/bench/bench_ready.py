"""From start to READY as the service manager hears it, by a bare discord.py client plus one child's start (1.5).

discord.py's fixed wait for guilds is taken out of both; each start of ours is a first one, its ledger made anew. With
the scripted child, and with the real pi, which `make contract` installs.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from fakes.discord import FakeDiscord
from fakes.program import FAKE_PI, Home, discord
from fakes.real_pi import RealPi
from tests.bench.asked import pairs
from tests.bench.lives import bare, connector
from tests.bench.pairs import Figure, figure
from tests.bench.pinned import PINNED, pinned


async def starts(
    world: FakeDiscord, folder: Path, *, name: str, child: tuple[str, ...], environ: Mapping[str, str]
) -> Figure:
    """Both starts, interleaved."""
    times: tuple[list[float], list[float]] = [], []
    sections = {"access": {"users": [world.person("ann").id]}, "log": {"level": "info"}, "agent": {"env": environ}}
    home = Home(folder, world, child=child, **sections)
    for number in range(pairs()):
        for index in (0, 1) if number % 2 else (1, 0):
            shutil.rmtree(home.state, ignore_errors=True)
            start = time.perf_counter()
            async with bare(world, child, environ) if index else connector(home):
                times[index].append(time.perf_counter() - start)
    return figure(f"start to READY, by a bare client plus the start of {name}", *times, bound=1.5)


async def measure() -> list[Figure]:
    """One figure for each kind of child."""
    pi = pinned()
    with tempfile.TemporaryDirectory() as scratch:
        async with discord(validate=False) as world:
            folder = Path(scratch)
            real = RealPi(pi, folder, "http://127.0.0.1:9/v1").launch()  # nothing is asked of a model
            kinds: dict[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
                "the scripted child": (FAKE_PI, {}),
                f"pi {PINNED}": (real.command, real.env),
            }
            return [
                await starts(world, folder, name=name, child=child, environ=environ)
                for name, (child, environ) in kinds.items()
            ]


def run() -> list[Figure]:
    """All figures."""
    return asyncio.run(measure())
