"""Idling beside a bare discord.py client: resident memory (at most 35 MB more), and how often the process wakes.

Both idle for the same `BENCH_IDLE` seconds (240), each under a service manager with the unit's watchdog.
"""

import asyncio
import tempfile
from pathlib import Path

from fakes.program import Home, discord
from tests.bench.asked import IDLE
from tests.bench.lives import bare, connector, stand
from tests.bench.pairs import Surplus

MB = 1_000_000
SETTLED = 5.0
"""Seconds after READY until idling begins: the first pruning, the commands' registration."""

WHY = "a feeding of the watchdog every 20 s, a look at what REST knows every 120 s (some five); both: heartbeats"


async def measure() -> list[Surplus]:
    """Both at the same time."""
    seconds = IDLE.read()
    with tempfile.TemporaryDirectory() as name:
        async with discord(validate=False) as world:
            home = Home(Path(name), world, access={"users": [world.person("ann").id]}, log={"level": "info"})
            async with connector(home) as ours, bare(world) as theirs:
                await asyncio.sleep(SETTLED)
                before = stand(ours), stand(theirs)
                await asyncio.sleep(seconds)
                mine, other = stand(ours), stand(theirs)
    minutes = seconds / 60
    woke, wakes = ((now.wakes - then.wakes) / minutes for now, then in zip((mine, other), before, strict=True))
    memory, less = (one.resident / MB for one in (mine, other))
    return [
        Surplus("idle: resident memory, beside a bare client", "MB", 35, round(memory, 1), round(less, 1)),
        Surplus("idle: wake-ups, beside a bare client", "a minute", None, round(woke, 1), round(wakes, 1), WHY),
    ]


def run() -> list[Surplus]:
    """Both figures."""
    return asyncio.run(measure())
