"""Processor time of relaying a run of 2 MB, by what the real pi uses to produce it (0.25); and the memory it leaves.

pi 1.6.0 asks the scripted provider, which streams 2 MB of answer, in pieces of a usual length and in large ones, or
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
from fakes.real_pi import RealPi, installed
from fakes.script import plan
from tests.bench.bench_turn import living
from tests.bench.lives import cpu_of, stand
from tests.bench.pairs import PAIRS, Figure, Surplus, figure

SIZE, MB = 2_000_000, 1_000_000
REAL = "1.6.0"
RELAY_PAIRS = min(PAIRS, 20)
"""A run takes some seconds."""


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
    async with living(pi.folder, launch.command, env=environ) as life:
        provider.push(Text("hello"))
        await life.ask()
        before = stand(life.program.pid)
        children = psutil.Process(life.program.pid).children()
        child = next(one.pid for one in children if one.status() != psutil.STATUS_ZOMBIE)
        for number in range(-1, RELAY_PAIRS):
            for name, behaviours in RUNS.items():
                provider.push(*behaviours())
                began = cpu_of(child)
                mine = await life.ask()
                if number >= 0:
                    ours[name].append(mine)
                    theirs[name].append(cpu_of(child) - began)
        after = stand(life.program.pid)
    title = f"processor time of relaying 2 MB, by pi {REAL} producing it"
    found: list[Figure | Surplus] = [figure(f"{title}: {name}", ours[name], theirs[name], bound=0.25) for name in RUNS]
    count = len(RUNS) * (RELAY_PAIRS + 1)
    grown, least = (round(one.resident / MB, 1) for one in (after, before))
    found.append(Surplus(f"resident memory after {count} runs of 2 MB, by after a short one", "MB", None, grown, least))
    return found


async def life() -> list[Figure | Surplus]:
    """With the installed pi; nothing where there is none."""
    installation = installed(Path(__file__).parents[2], REAL)
    if installation is None:
        return []
    with tempfile.TemporaryDirectory() as scratch:
        async with Provider() as provider:
            return await measure(RealPi(installation, Path(scratch), provider.base_url), provider)


def run() -> list[Figure | Surplus]:
    """A figure for each kind of run, and the memory."""
    return asyncio.run(life())
