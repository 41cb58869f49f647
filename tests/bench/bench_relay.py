"""Processor time of relaying a run of 2 MB, by what the real pi uses to produce it (0.25); and the memory it
leaves, beside a bare client, and by what it was after the twelfth run.

pi asks the scripted provider, which streams 2 MB of answer, in pieces of a usual length and in large ones, or
lets it run a tool that prints as much. Discord and the provider are in the bench's own process: neither is counted.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil

from fakes.behaviour import Call, Text
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.real_pi import RealPi
from fakes.script import plan
from tests.bench.asked import pairs
from tests.bench.bench_turn import living
from tests.bench.lives import bare, cpu_of, stand
from tests.bench.pairs import Figure, Surplus, figure
from tests.bench.pinned import PINNED, pinned

SIZE, MB = 2_000_000, 1_000_000
RELAY_PAIRS = 20
"""At most: a run takes some seconds."""
WARM = 12
"""Runs after which memory is to stay where it is, to 5 MB: four of each kind, so that like is compared with like."""


def answer(piece: int) -> Callable[[], list[Call]]:
    """2 MB of text in pieces of so many characters."""
    (text,) = plan(f"long {SIZE}").calls
    assert isinstance(text, Text)
    return lambda: [replace(text, chunks=SIZE // piece)]


def tool() -> list[Call]:
    """A tool that prints 2 MB in lines, and a word on it."""
    return [bash(f"yes 'A line of a log, as tools print them.' | head -c {SIZE}"), Text("done")]


RUNS: dict[str, Callable[[], list[Call]]] = {
    "answer in pieces of 40 characters": answer(40),
    "answer in pieces of 1,000": answer(1_000),
    "output of a tool": tool,
}


async def measure(pi: RealPi, provider: Provider) -> list[Figure | Surplus]:
    """One life, all runs in turn; the first of each does not count."""
    ours: dict[str, list[float]] = {name: [] for name in RUNS}
    theirs: dict[str, list[float]] = {name: [] for name in RUNS}
    launch = pi.launch(arguments=())
    environ = {name: value for name, value in launch.env.items() if name != "HOME"}
    async with living(pi.folder, launch.command, env=environ) as life, bare(life.world) as client:
        provider.push(Text("hello"))
        await life.ask()
        resident = [stand(life.program.pid).resident]
        children = psutil.Process(life.program.pid).children()
        child = next(one.pid for one in children if one.status() != psutil.STATUS_ZOMBIE)
        for number in range(-1, pairs(RELAY_PAIRS)):
            for name, behaviours in RUNS.items():
                provider.push(*behaviours())
                began = cpu_of(child)
                mine = await life.ask()
                resident.append(stand(life.program.pid).resident)
                if number >= 0:
                    ours[name].append(mine)
                    theirs[name].append(cpu_of(child) - began)
        less = stand(client).resident
    title = f"processor time of relaying 2 MB, by pi {PINNED} producing it"
    found: list[Figure | Surplus] = [figure(f"{title}: {name}", ours[name], theirs[name], bound=0.25) for name in RUNS]
    count = len(resident) - 1
    warm = min(WARM, count // 2 // len(RUNS) * len(RUNS))
    whole = f"resident memory after {count} runs of 2 MB"
    counterparts = (
        ("beside a bare client", less, None),
        ("by after a short one", resident[0], None),
        (f"by after run {warm}", resident[warm], 5),
    )
    for words, other, bound in counterparts:
        found.append(Surplus(f"{whole}, {words}", "MB", bound, round(resident[-1] / MB, 1), round(other / MB, 1)))
    return found


async def life() -> list[Figure | Surplus]:
    """With the installed pi."""
    installation = pinned()
    with tempfile.TemporaryDirectory() as scratch:
        async with Provider() as provider:
            return await measure(RealPi(installation, Path(scratch), provider.base_url), provider)


def run() -> list[Figure | Surplus]:
    """A figure for each kind of run, and the memory."""
    return asyncio.run(life())
