"""Random walks of the models in random worlds, spread over processes: what is found is a seed and how to replay it.

    python -m tests.soak.models KIND SEED       # one walk again, with its traceback

It judges nothing itself: each world of `tests.machine` audits every step.
"""

import concurrent.futures
import itertools
import multiprocessing
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from connector.spend import Caps
from engine.events import SECOND
from tests.machine.engine_machine import REAL
from tests.machine.honest_world import obey
from tests.machine.lanes_machine import Sim, rules
from tests.machine.lanes_walks import walk
from tests.machine.test_lanes_seams import SEAMS
from tests.machine.walks import lie

CHUNK = 10
"""Walks that a process makes before it tells."""

MOST = 10
"""Finds after which no further walk is begun."""


def random_lanes(seed: int, steps: int) -> None:
    """A walk of the lanes under rules of chance: bounds, waits, steering or queueing, files, caps."""
    dice = random.Random(f"rules {seed}")
    given: dict[str, Any] = {
        "busy": dice.choice(("steer", "queue", "auto")),
        "capacity": dice.choice((2, 4, 8)),
        "per_person": dice.choice((2, 5, 9)),
        "bot_turns": dice.choice((0, 2, 5)),
        "max_children": dice.choice((1, 2, 3)),
        "backoff": tuple(SECOND * dice.choice((1, 5, 15)) for _ in range(dice.randrange(3))),
        "max_attempts": dice.choice((1, 2, 3)),
        "drain": SECOND * dice.choice((0, 20, 120)),
        "spend": Caps(*(dice.choice((0.0, 0.0, 2.0, 5.0)) for _ in range(3))),
    }
    walk(
        seed, steps, Sim(rules(**given), cost=1.0, files=dice.random() < 0.5), more=SEAMS if dice.random() < 0.5 else ()
    )


KINDS: dict[str, tuple[int, int, Callable[[int, int], object]]] = {
    "lanes": (200, 10, walk),
    "random-lanes": (200, 14, random_lanes),
    "lying-child": (60, 60, lambda seed, steps: lie(REAL, seed, steps)),
    "honest-child": (120, 15, lambda seed, steps: obey(REAL, seed, steps)),
}
"""Each kind's steps in a walk, its walks in a round of all kinds (so that each has about its share), and the walk."""


@dataclass
class Walked:
    """What was walked, by kind, and what was found: kind, seed, the error's last line."""

    steps: Counter[str] = field(default_factory=Counter)
    finds: list[tuple[str, int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> Iterator[str]:
        """As it is printed."""
        told = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.steps.items()))
        rate = self.steps.total() / self.seconds if self.seconds else 0.0
        yield f"models: {self.steps.total():,} steps in {self.seconds:.0f} s ({rate:,.0f}/s): {told}"
        yield f"models: {len(self.finds)} finds"
        for kind, seed, error in self.finds:
            yield f"  FOUND {error}"
            yield f"    again: python -m tests.soak.models {kind} {seed}"


def once(kind: str, seed: int) -> str:
    """One walk: nothing, or what it found."""
    steps, _, go = KINDS[kind]
    try:
        go(seed, steps)
    except Exception as error:  # noqa: BLE001 - whatever breaks in a model world is a find
        return f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else traceback.format_exc(-1)}"
    return ""


def some(kind: str, first: int) -> tuple[str, int, list[tuple[str, int, str]]]:
    """A chunk of walks: kind, steps, finds."""
    found = [(kind, seed, error) for seed in range(first, first + CHUNK) if (error := once(kind, seed))]
    return kind, CHUNK * KINDS[kind][0], found


def chunks(seed: int) -> Iterator[tuple[str, int]]:
    """What to walk, for ever: kinds by their share, each walk with a seed of its own."""
    kinds = [kind for kind, (_, share, _) in KINDS.items() for _ in range(share)]
    random.Random(seed).shuffle(kinds)
    for number, kind in enumerate(itertools.cycle(kinds)):
        yield kind, seed * 1_000_000 + number * CHUNK


def run(seed: int, steps: int, seconds: float, jobs: int, tell: Callable[[str], None] = print) -> Walked:
    """Walk until so many steps or seconds are over, or too much is found."""
    walked, began = Walked(), time.monotonic()
    tell(f"models: seed {seed}, {jobs} processes, up to {steps:,} steps")
    told = began
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        todo, waiting, planned = chunks(seed), set[concurrent.futures.Future[Any]](), 0
        while True:
            over = time.monotonic() - began > seconds or len(walked.finds) >= MOST
            while not over and planned < steps and len(waiting) < 2 * jobs:
                kind, first = next(todo)
                waiting.add(pool.submit(some, kind, first))
                planned += CHUNK * KINDS[kind][0]
            if not waiting:
                break
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for kind, walks, found in (one.result() for one in done):
                walked.steps[kind] += walks
                walked.finds += found
            if time.monotonic() - told > 30:
                told = time.monotonic()
                tell(f"models: {walked.steps.total():,} steps, {len(walked.finds)} finds")
    walked.seconds = time.monotonic() - began
    return walked


def main(words: list[str]) -> None:
    """One walk again."""
    kind, seed = words
    steps, _, go = KINDS[kind]
    partial(go, int(seed), steps)()
    print(f"{kind} {seed}: {steps} steps, nothing found")


if __name__ == "__main__":
    main(sys.argv[1:])
