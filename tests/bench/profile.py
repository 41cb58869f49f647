"""What is left: the functions that take most of their own time. `python -m tests.bench.profile NAME` (`make profile`).

`deltas`: 100,000 of them through the engine, over a child's pipe. `messages`: BENCH_MESSAGES of them (2,000) through
the connector, each answered by the scripted child. `relay`: ten runs of 2 MB of the real pi through the connector.
Processor time of the loop's thread: SQLite works in another, and is no function of ours.
"""

import asyncio
import collections
import cProfile
import os
import pstats
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fakes.program import FAKE_PI
from fakes.provider import Provider
from fakes.real_pi import RealPi
from tests.bench.asked import RefusedError
from tests.bench.bench_relay import answer
from tests.bench.bench_turn import DELTAS, Life, living
from tests.bench.pinned import pinned
from tests.bench.readers import engine
from tests.bench.stream import lay, turn

MESSAGES = int(os.environ.get("BENCH_MESSAGES", "2000"))
RUNS = 10
SHOWN = 25
ROOMS = ("connector", "engine", "discord", "aiohttp", "asyncio", "anyio", "structlog", "logging")


async def deltas(scratch: Path) -> pstats.Stats:
    """The engine alone, warm."""
    one = await engine(str(lay(scratch, turn(DELTAS))))
    await one(1)
    profiler = cProfile.Profile(time.thread_time)
    profiler.enable()
    await one(2)
    profiler.disable()
    return pstats.Stats(profiler)


async def messages(scratch: Path) -> pstats.Stats:
    """The connector with the scripted child."""
    async with living(scratch, FAKE_PI, module=("tests.bench.profiled", str(scratch / "stats"))) as life:
        await life.ask()
        await _profiled(life)
        for _ in range(MESSAGES):
            await life.ask()
        await life.program.stop()
    return pstats.Stats(str(scratch / "stats"))


async def relay(scratch: Path) -> pstats.Stats:
    """The connector with the real pi."""
    try:
        pi = pinned()
    except RefusedError as refused:
        raise SystemExit(str(refused)) from None
    async with Provider() as provider:
        launch = RealPi(pi, scratch, provider.base_url).launch(arguments=())
        environ = {name: value for name, value in launch.env.items() if name != "HOME"}
        module = ("tests.bench.profiled", str(scratch / "stats"))
        async with living(scratch, launch.command, module=module, env=environ) as life:
            await life.ask()
            await _profiled(life)
            for _ in range(RUNS):
                provider.push(*answer(int(os.environ.get("BENCH_PIECE", "40")))())
                await life.ask()
            await life.program.stop()
    return pstats.Stats(str(scratch / "stats"))


def rooms(stats: pstats.Stats) -> dict[str, float]:
    """Shares of the own time by whose code it is; what is written in C counts for whoever called it."""
    sums: collections.defaultdict[str, float] = collections.defaultdict(float)
    functions: dict[tuple[str, int, str], tuple[int, int, float, float, Any]] = stats.stats  # type: ignore[attr-defined]  # the table that is printed
    for (file, _, _), (_, _, own, _, callers) in functions.items():
        if file != "~":
            sums[_room(file)] += own
        else:
            for (caller, _, _), (_, _, part, _) in callers.items():
                sums[_room(caller)] += part
    whole = sum(sums.values())
    return {name: share / whole for name, share in sorted(sums.items(), key=lambda one: -one[1])}


def _room(file: str) -> str:
    return next((name for name in ROOMS if f"/{name}/" in file), "others")


async def _profiled(life: Life) -> None:
    os.kill(life.program.pid, signal.SIGUSR1)
    await life.ask()  # by then it has taken the signal


NAMES = {"deltas": deltas, "messages": messages, "relay": relay}


def main(names: list[str]) -> None:
    """Print the top of each named profile, all by default."""
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as scratch:
            stats = asyncio.run(NAMES[name](Path(scratch)))
        shares = (f"{room} {share:.0%}" for room, share in rooms(stats).items())
        print(f"{name}: {', '.join(shares)}")
        stats.strip_dirs().sort_stats("tottime").print_stats(SHOWN)


if __name__ == "__main__":
    main(sys.argv[1:])
