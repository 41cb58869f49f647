"""`make soak`: random walks of the models, then people, faults and kills around real processes; counts, and six zeros.

    python -m tests.soak.run [--seed N] [--messages N] [--lanes N] [--steps N] [--minutes M] [--jobs N]

With `--minutes` it takes about that long, whatever it comes to by then; without, it goes on until all messages are
said. Exit 1 where something was found, with the seed and the evidence; the folder of that run is then kept.
"""

import argparse
import asyncio
import contextlib
import math
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fakes.program import discord
from tests.soak import counts as told
from tests.soak import evidence, kinds, models
from tests.soak.book import Book
from tests.soak.judge import Judge, Verdict
from tests.soak.lives import Lives, home
from tests.soak.people import People, lanes
from tests.soak.trouble import Trouble

SETTLE = 240.0
"""Seconds in which everything that was asked must come to its end once nothing goes wrong any more."""

MORE = 240.0
"""Seconds that a run goes on, on a slow machine, until everything took place that must (`kinds.LEAST`)."""

ENDED = "soak: ended early, nothing is judged"

KEPT = 5
"""Messages whose evidence is shown."""


def wanted(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--lanes", type=int, default=50)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=0.0, help="about so long in all; 0: as long as it takes")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the models")
    parser.add_argument("--life", type=float, default=20.0, help="mean seconds of one life of the connector")
    parser.add_argument("--calm", type=float, default=1.5, help="mean seconds between two faults")
    parser.add_argument("--keep", action="store_true", help="keep the folder of the run whatever is found")
    given = parser.parse_args(words)
    for name in ("messages", "lanes", "steps", "jobs", "life", "calm"):
        if not 0 < getattr(given, name) < math.inf:  # no number at all is refused so too
            parser.error(f"--{name} must be more than 0")
    if not 0 <= given.minutes < math.inf:
        parser.error("--minutes must not be less than 0")
    return given


async def soak(given: argparse.Namespace, folder: Path, seconds: float) -> tuple[Counter[str], Verdict, list[str]]:
    """The part with real processes: its counts, the judgement, and what else must not be."""
    dice = [random.Random(f"{given.seed} {part}") for part in ("people", "trouble", "lives")]
    counts: Counter[str] = Counter()
    me = asyncio.current_task()
    assert me is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)  # so that nothing of ours is left
    async with discord(validate=given.minutes > 0, heartbeat=5.0) as world:
        where = lanes(world, given.lanes)
        ids = sorted({person.id for lane in where for person in lane.people})
        book = Book(world, home(folder, world, ids))
        people = People(book, where, dice[0], counts, most=4 * given.lanes)
        lives = Lives(folder, world, ids, dice=dice[2], counts=counts, mean=given.life)
        lives.trouble = Trouble(world, people, folder / "state", dice[1], counts, zombies=not given.minutes)
        living, sweeping = asyncio.create_task(lives.go()), asyncio.create_task(book.sweep())
        found: list[str] = []
        try:
            await _unless(living, _play(given, book, people, lives, seconds))
        except AssertionError as stuck:
            found.append(str(stuck))
        for event in (lives.warm, lives.calm, lives.done):
            event.set()
        try:
            async with asyncio.timeout(SETTLE):
                await living
        except TimeoutError:
            found.append("the connector did not stop")
        finally:
            for task in (living, sweeping):
                task.cancel()
            await asyncio.gather(living, sweeping, return_exceptions=True)
        recorded = await asyncio.to_thread(book.ledger, list(book.said))
        judge = Judge(list(book.said.values()), book.stands(), recorded, book.pressed(), lives.left)
        counts += book.stopped()
        return counts, judge.verdict, found + lives.found + kinds.missing(counts, given.messages)


async def _play(given: argparse.Namespace, book: Book, people: People, lives: Lives, seconds: float) -> None:
    """From the first line in each lane to the last end."""
    await lives.first.wait()
    for lane in people.lanes:
        await people.say(lane, "echo")
    await book.changes.until(lambda: not book.open, SETTLE, "a first answer in every lane")
    lives.warm.set()
    trouble = asyncio.create_task(lives.trouble.go(given.calm))
    telling = asyncio.create_task(_tell(book, people, lives))
    try:
        with contextlib.suppress(TimeoutError):  # so long, and no longer
            async with asyncio.timeout(seconds):
                await _unless(trouble, people.talk(lambda: lives.counts["messages"] >= given.messages))
        with contextlib.suppress(TimeoutError):  # it is told what is missing then
            async with asyncio.timeout(MORE):
                await _unless(trouble, people.talk(lambda: not kinds.missing(lives.counts, given.messages)))
    finally:
        for task in (trouble, telling):
            task.cancel()
        await asyncio.gather(trouble, telling, return_exceptions=True)
    lives.calm.set()
    await people.quiet()
    await book.changes.until(lambda: not book.open, SETTLE, "an end of every message")
    await people.firmly()
    await book.changes.until(lambda: not book.open, SETTLE, "an end of what was stopped")


async def _tell(book: Book, people: People, lives: Lives) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(30)
        passed = time.monotonic() - began
        line = f"{passed:.0f} s: {len(book.said):,} said, {len(book.open)} open, {lives.counts['lives']} lives"
        to_come = [kind for kind in kinds.LEAST if not kinds.happened(kind, lives.counts)]
        print(line + (f", still to come: {', '.join(to_come)}" if to_come else ""), flush=True)


async def _unless(task: "asyncio.Task[None]", other: object) -> None:
    """Wait for this, and for the end of a task that must not end: its error is ours."""
    awaited = asyncio.ensure_future(other)  # type: ignore[call-overload]  # a coroutine
    try:
        await asyncio.wait({task, awaited}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        await awaited
    finally:
        awaited.cancel()
        await asyncio.gather(awaited, return_exceptions=True)


def main(words: list[str]) -> int:
    """Both parts; 1 where anything was found."""
    given, began = wanted(words), time.monotonic()
    print(f"soak: --seed {given.seed}", flush=True)
    whole = given.minutes * 60
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an end in order, which leaves nobody behind
    try:
        walked = models.run(given.seed, given.steps, whole / 4 if whole else 7200.0, given.jobs)
    except KeyboardInterrupt:
        print(ENDED)
        return 1
    print("\n".join(walked.lines()), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="pi-connector-soak-"))
    seconds = max(10.0, whole - (time.monotonic() - began) - 25.0) if whole else 4 * 3600.0
    started = time.monotonic()
    try:
        counts, verdict, found = asyncio.run(soak(given, folder, seconds))
    except (asyncio.CancelledError, KeyboardInterrupt):
        shutil.rmtree(folder)
        print(ENDED)
        return 1
    print("\n".join(told.table(counts, verdict, time.monotonic() - started)), flush=True)
    for what in found[:10]:
        print(f"  FOUND {what}")
    if given.keep:
        print(f"soak: everything of this run: {folder}")
    if verdict.clean and not found and not walked.finds:
        if not given.keep:
            shutil.rmtree(folder)
        return 0
    print(f"soak: FAILED, again: python -m tests.soak.run --seed {given.seed}; everything of this run: {folder}")
    worst = dict.fromkeys(message for one in verdict.sums.values() for message, _ in one if message)
    for message in list(worst)[:KEPT]:
        print("\n".join(evidence.of(message, folder / "connector.toml", folder / "connector.log")))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
