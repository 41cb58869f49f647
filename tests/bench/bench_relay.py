"""Processor time of relaying a run of 2 MB, by what the real pi uses to produce it (0.25); and the memory it
leaves, beside a bare client, and by what it was after the twelfth run.

pi asks the scripted provider, which streams 2 MB of answer, in pieces of a usual length and in large ones, or
lets it run a tool that prints as much. Discord and the provider are in the bench's own process: neither is counted.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
A_LIFE = 20
"""Pairs before the next pi: a session keeps all that was said in it, and all of it is sent with each message."""
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


@dataclass(slots=True)
class Relayed:
    """Seconds of processor time by kind of run.

    `resident`: bytes before the first run and after each, in the first life; `less`: those of the bare client then.
    """

    ours: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in RUNS})
    theirs: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in RUNS})
    resident: list[int] = field(default_factory=list)
    less: int = 0


async def relay(pi: RealPi, provider: Provider, count: int, found: Relayed) -> None:
    """One life, all runs in turn, `count` pairs of each kind; the first of each does not count."""
    launch = pi.launch(arguments=())
    environ = {name: value for name, value in launch.env.items() if name != "HOME"}
    async with living(pi.folder, launch.command, env=environ) as life, bare(life.world) as client:
        provider.push(Text("hello"))
        await life.ask()
        resident = [stand(life.program.pid).resident]
        children = psutil.Process(life.program.pid).children()
        child = next(one.pid for one in children if one.status() != psutil.STATUS_ZOMBIE)
        for number in range(-1, count):
            for name, behaviours in RUNS.items():
                provider.push(*behaviours())
                began = cpu_of(child)
                mine = await life.ask()
                resident.append(stand(life.program.pid).resident)
                if number >= 0:
                    found.ours[name].append(mine)
                    found.theirs[name].append(cpu_of(child) - began)
        if not found.resident:
            found.resident, found.less = resident, stand(client).resident


def told(found: Relayed) -> list[Figure | Surplus]:
    """A figure for each kind of run, and the memory."""
    title = f"processor time of relaying 2 MB, by pi {PINNED} producing it"
    rows: list[Figure | Surplus] = [
        figure(f"{title}: {name}", found.ours[name], found.theirs[name], bound=0.25) for name in RUNS
    ]
    resident = found.resident
    count = len(resident) - 1
    warm = min(WARM, count // 2 // len(RUNS) * len(RUNS))
    whole = f"resident memory after {count} runs of 2 MB"
    counterparts = (
        ("beside a bare client", found.less, None),
        ("by after a short one", resident[0], None),
        (f"by after run {warm}", resident[warm], 5),
    )
    for words, other, bound in counterparts:
        rows.append(Surplus(f"{whole}, {words}", "MB", bound, round(resident[-1] / MB, 1), round(other / MB, 1)))
    return rows


async def measure() -> Relayed:
    """Life after life of the installed pi, until there are as many pairs as asked for."""
    installation, found, wanted = pinned(), Relayed(), pairs()
    async with Provider() as provider:
        for first in range(0, wanted, A_LIFE):
            with tempfile.TemporaryDirectory() as scratch:
                pi = RealPi(installation, Path(scratch), provider.base_url)
                await relay(pi, provider, min(A_LIFE, wanted - first), found)
    return found


def run() -> list[Figure | Surplus]:
    """A figure for each kind of run, and the memory."""
    return told(asyncio.run(measure()))
