"""A restart to READY with 10,000 pending rows in the ledger, by a start with none (at most 1.5)."""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

from connector import facts, ledger
from fakes.program import Home, discord
from tests.bench.asked import pairs
from tests.bench.lives import connector
from tests.bench.pairs import Figure, figure

PENDING = 10_000
LANES = 40


def pending(folder: Path, count: int) -> None:
    """A ledger with so many messages that wait, as a stop leaves it."""
    folder.mkdir(parents=True, mode=0o700)
    db = ledger.connect(folder / ledger.FILE)
    db.execute("BEGIN")
    for number in range(1, count + 1):
        lane = number % LANES + 1
        claim = facts.Claimed(
            str(number), str(lane), lane, number, number, 5, "ann", "[discord] #x\n\nhello", at=number
        )
        for fact in (claim, facts.Seen(lane, number)):
            ledger.write(db, fact, number)
    ledger.write(db, facts.Up(1), 1)
    ledger.write(db, facts.Down(2, 0, "asked to stop"), 2)
    db.execute("COMMIT")
    db.close()


async def measure() -> list[Figure]:
    """Both starts, interleaved, each from a fresh copy of its ledger."""
    times: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as name:
        full, empty = Path(name) / "full", Path(name) / "empty"
        pending(full, PENDING)
        pending(empty, 0)
        async with discord(validate=False) as world:
            person = world.person("ann")
            for number in range(pairs()):
                for index, origin in ((0, full), (1, empty)) if number % 2 else ((1, empty), (0, full)):
                    home = Home(Path(name), world, access={"users": [person.id]}, log={"level": "info"})
                    shutil.rmtree(home.state, ignore_errors=True)
                    shutil.copytree(origin, home.state)
                    start = time.perf_counter()
                    async with connector(home):
                        times[index].append(time.perf_counter() - start)
    return [figure(f"start to ready: {PENDING:,} pending messages by none", *times, bound=1.5)]


def run() -> list[Figure]:
    """The one figure."""
    return asyncio.run(measure())
