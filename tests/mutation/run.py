"""`make mutants`: so many mutants of the decisions, drawn by a printed seed; which tests killed them, and which none.

A survivor is printed with its lines and with its reason out of survivors.toml. Exit 1 where more than 5 % survive,
with a reason or without, and where one has no reason. `PYTHONHASHSEED=0`, as make sets it, makes two runs of one seed
the same run. What a draw over all files found is kept in figures.json, and README's table is made of that.
"""

import argparse
import importlib
import itertools
import json
import math
import random
import re
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.mutation.figures import BOUND, FIGURES, passes, placed
from tests.mutation.mutants import ROOT, Mutable, Mutant
from tests.mutation.trial import Trial, Verdict, next_of

ENGINE = ("engine/turns.py", "engine/waits.py", "engine/steering.py")
LANES = (
    "connector/lanes.py", "connector/lane_base.py", "connector/lane_files.py", "connector/lane_places.py",
    "connector/lane_service.py", "connector/lane_session.py", "connector/lane_spend.py", "connector/lane_stop.py",
    "connector/lane_texts.py", "connector/lane_told.py",
)  # fmt: skip
"""What `lanes` is made of; lane_events.py and lane_effects.py decide nothing."""

FAIR = 60
"""So many of each engine file, all of one that has fewer: at random hardly one would be of `waits`."""

ENGINE_TESTS = (
    "tests/engine/test_steers_and_waits.py", "tests/engine/test_engine_waits.py",
    "tests/engine/test_engine_steering.py", "tests/engine/test_head_table.py",
    "tests/engine/test_engine_bounds.py", "tests/engine/test_engine_cases.py", "tests/engine/test_engine_answers.py",
    "tests/engine/test_engine_wedges.py", "tests/engine/test_engine_position.py",
    "tests/machine/test_engine_machine.py::test_the_walks_reach_every_kind_of_end",
)  # fmt: skip
LANES_TESTS = (
    "tests/connector/test_lanes_beginnings.py", "tests/connector/test_lanes_told.py",
    "tests/connector/test_lanes_pool.py", "tests/connector/test_lanes_stop.py",
    "tests/connector/test_lanes_evidence.py", "tests/connector/test_lanes_bounds.py",
    "tests/connector/test_lanes_places.py", "tests/connector/test_lanes_files.py",
    "tests/connector/test_lanes_texts.py", "tests/connector/test_lanes_spend.py",
    "tests/connector/test_lanes_stop_lasts.py", "tests/connector/test_lanes_steering.py",
    "tests/connector/test_lanes_down.py", "tests/connector/test_lanes_threads.py",
    "tests/machine/test_outbox_stories.py", "tests/machine/test_command_stories.py",
    "tests/machine/test_session_stories.py", "tests/connector/test_lanes_limits.py",
    "tests/machine/test_lanes_seams.py", "tests/machine/test_storms.py",
    "tests/machine/test_lanes_machine.py::test_recovery_may_be_cut_anywhere_and_is_the_same",
    "tests/machine/test_lanes_mutants.py::test_the_unmutated_control_passes[0-True]",
    "tests/machine/test_lanes_spend.py::test_the_unmutated_control_passes_and_comes_to_every_cap",
    "tests/machine/test_steering_stories.py",
)  # fmt: skip
"""Their own tests: what kills most in the least time first. None of them draws anything of its own."""

LIVE = frozenset({"survived", "no tests"})
LAST = ROOT / "mutants" / "last.json"


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why mutants may survive: single ones by their key, and whole families by what their diff is `like`."""

    single: dict[str, str]
    families: tuple[tuple[re.Pattern[str], str], ...]

    @classmethod
    def read(cls) -> "Reasons":
        """survivors.toml, whose head says what stands in it."""
        told = tomllib.loads((Path(__file__).parent / "survivors.toml").read_text("utf-8"))
        ones = told.get("survivor", [])
        single = {Mutant(one["file"], one["where"], one["diff"].strip(), "").key: one["why"] for one in ones}
        families = tuple((re.compile(one["like"], re.DOTALL), one["why"]) for one in told.get("family", []))
        return cls(single, families)

    def of(self, mutant: Mutant) -> str:
        """The reason, "" where there is none."""
        like = (why for pattern, why in self.families if pattern.search(mutant.diff))
        return self.single.get(mutant.key) or next(like, "")


def drawn(count: int, seed: int, only: Sequence[str], fair: int = FAIR) -> tuple[list[Mutant], dict[str, int]]:
    """The draw, in the order of the trials, and how many mutants each file has.

    Without repetition: `fair` of each engine file first, the rest of `count` out of the lanes' as if they were one
    file; all for 0.
    """
    files = [Mutable(file) for file in (*ENGINE, *LANES) if not only or file in only]
    strata = [[file] for file in files if file.file in ENGINE] + [[file for file in files if file.file in LANES]]
    dice = random.Random(seed)
    found = list[Mutant]()
    for stratum in strata:
        every = [(file, number) for file in stratum for number in range(len(file))]
        dice.shuffle(every)
        mutants = (mutant for file, number in every if (mutant := file.mutant(number)) is not None)
        rest = max(0, count - len(found))
        share = min(fair, rest) if stratum is not strata[-1] and not only else rest
        found.extend(itertools.islice(mutants, share if count else None))
    sizes, of_file = {file.file: len(file) for file in files}, Counter(mutant.file for mutant in found)
    print(f"{sum(sizes.values())} mutants in {len(files)} files; {len(found)} drawn by seed {seed}")
    print("\n".join(f"  {file}: {of_file[file]} of {size}" for file, size in sizes.items()), flush=True)
    return found, sizes


def survivors() -> list[Mutant]:
    """Those of the last run, as far as they still exist."""
    last = [one for one in json.loads(LAST.read_text("utf-8")) if one["end"] in LIVE]
    places, keys = {(one["file"], one["where"]) for one in last}, {one["key"] for one in last}
    files = [Mutable(file) for file in sorted({file for file, _ in places})]
    every = ((file, number) for file in files for number in range(len(file)))
    found = (file.mutant(number) for file, number in every if (file.file, file.where(number)) in places)
    return [mutant for mutant in found if mutant is not None and mutant.key in keys]


def tests_of(mutant: Mutant) -> tuple[str, ...]:
    return ENGINE_TESTS if mutant.file in ENGINE else LANES_TESTS


def controls(groups: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    """The seconds of CPU that a mutant may take: thrice what the tests take of the original, which must pass them.

    All that is not our own is loaded here, so that no mutant has to.
    """
    bounds: dict[tuple[str, ...], float] = {}
    for tests in groups:
        trial = Trial.begin(None, tests, 600)
        verdict, foreign = next_of([trial]).end()
        if verdict.end != "survived":
            raise SystemExit(f"the original does not pass: {verdict.by or verdict.end}")
        for name in foreign:
            try:
                importlib.import_module(name)
            except ImportError:  # a part of a package that is only there while that is loaded
                continue
        bounds[tests] = 10 + 3 * verdict.cpu
        print(f"the original passes {len(tests)} groups of tests in {verdict.cpu:.1f} s of CPU")
    return bounds


def tried(mutants: Sequence[Mutant], jobs: int, until: float = math.inf) -> Iterator[tuple[Mutant, Verdict]]:
    """Each with its verdict, as they end; those left at `until`, of the monotonic clock, are not begun."""
    bounds = controls(dict.fromkeys(map(tests_of, mutants)))
    waiting, running = list(reversed(mutants)), list[Trial]()
    while waiting or running:
        if time.monotonic() >= until:
            waiting.clear()
        while waiting and len(running) < jobs:
            tests = tests_of(waiting[-1])
            running.append(Trial.begin(waiting.pop(), tests, bounds[tests]))
        trial = next_of(running)
        running.remove(trial)
        assert trial.mutant is not None
        yield trial.mutant, trial.end()[0]


def shown(mutant: Mutant, why: str) -> str:
    lines = "\n".join(f"    {line}" for line in mutant.diff.splitlines())
    return f"{mutant.file}  {mutant.where or 'module'}  {mutant.key}\n{lines}\n    = {why or 'NO REASON YET'}"


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--count", type=int, default=500, help="0 for all of them")
    parser.add_argument("--fair", type=int, default=FAIR, help="of these, how many of each file of the engine")
    parser.add_argument("--minutes", type=float, default=0, help="begin no further one after so long; 0: try all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--file", action="append", default=[], choices=[*ENGINE, *LANES], help="mutants of this file only"
    )
    parser.add_argument("--again", action="store_true", help="what survived the last run")
    given = parser.parse_args(arguments)
    if given.count < 0 or given.fair < 0 or given.jobs < 1 or not given.minutes >= 0:
        parser.error("--count, --fair and --minutes take 0 or more, --jobs 1 or more")
    reasons, begun = Reasons.read(), time.monotonic()
    mutants, sizes = (survivors(), {}) if given.again else drawn(given.count, given.seed, given.file, given.fair)
    if not mutants:
        parser.error("there is nothing to try: nothing survived the last run, or nothing was drawn")
    until = begun + 60 * given.minutes if given.minutes else math.inf
    ends, told, cpu, left = Counter[str](), [], 0.0, []
    files = {file: {"mutants": size, "tried": 0, "survived": 0} for file, size in sizes.items()}
    for number, (mutant, verdict) in enumerate(tried(mutants, given.jobs, until), 1):
        ends[verdict.end] += 1
        if sizes:
            files[mutant.file]["tried"] += 1
            files[mutant.file]["survived"] += verdict.end in LIVE
        cpu += verdict.cpu
        told.append(
            {"key": mutant.key, "file": mutant.file, "where": mutant.where, "diff": mutant.diff} | asdict(verdict)
        )
        if verdict.end in LIVE:
            left.append(mutant)
            print(f"[{number}/{len(mutants)}] {shown(mutant, reasons.of(mutant))}", flush=True)
    LAST.parent.mkdir(exist_ok=True)
    LAST.write_text(json.dumps(told, indent=1), "utf-8")
    left.sort(key=lambda mutant: (mutant.file, mutant.where, mutant.diff))
    explained = sum(bool(reasons.of(mutant)) for mutant in left)
    print(f"{len(told)} of {len(mutants)} tried in {time.monotonic() - begun:.0f} s ({cpu:.0f} s of CPU): {dict(ends)}")
    share = f"{len(left) / max(1, len(told)):.1%}, at most {BOUND:.0%}"
    print(f"survived: {len(left)} ({share}), {explained} of them with a reason; seed {given.seed}")
    if sizes and not given.file:
        figures = {
            "day": datetime.now(UTC).date().isoformat(),
            "seed": given.seed,
            "count": given.count,
            "fair": given.fair,
            "drawn": len(mutants),
            "files": files,
            "survivors": [
                {"file": one.file, "where": one.where, "diff": one.diff, "why": reasons.of(one)} for one in left
            ],
        }
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
        readme = ROOT / "README.md"
        readme.write_text(placed(readme.read_text("utf-8"), figures), "utf-8")
    return 0 if passes(len(told), len(left), explained) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
