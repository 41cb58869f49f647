"""The ledger's cost per message with 1,000 and with 1,000,000 past messages in it (flat within 1.2)."""

import asyncio
import itertools
import tempfile
from pathlib import Path

from connector import facts, ledger
from connector.ledger import Ledger
from tests.bench.pairs import Figure, compare

PAST = (1_000, 1_000_000)


def message(number: int) -> list[facts.AnyFact]:
    """What one answered message leaves in the ledger."""
    name = str(number)
    claim = facts.Claimed(name, "7", 7, number, number, 5, "ann", "[discord] #x\n\nhello", at=number)
    owed = facts.Owed(f"{name}/answer/1", name, 7, "answer", "echo: hello", number)
    return [
        claim,
        facts.Seen(7, number),
        facts.Written(name, 1),
        facts.Started(name),
        facts.Answered(name, 1, "echo: hello"),
        owed,
        facts.Posted(owed.key, 0, 1, number + 1),
        facts.Ended(name, "answered"),
    ]


def filled(folder: Path, count: int) -> Ledger:
    """A ledger with so many past messages."""
    folder.mkdir()
    db = ledger.connect(folder / ledger.FILE)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    for number in range(1, count + 1):
        for fact in message(number):
            ledger.write(db, fact, number)
    db.execute("UPDATE rounds SET open = 0")
    db.execute("COMMIT")
    db.close()
    return Ledger.open(folder)


def run() -> list[Figure]:
    """Per-message time: three commits as the connector makes them (claim and write, answer, posted)."""
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as name:
        few, many = (filled(Path(name) / str(count), count) for count in PAST)
        ids = itertools.count(2_000_000)

        async def relay(into: Ledger) -> None:
            number = next(ids)
            new = message(number)
            await into.commit(new[:3], at=number)
            await into.commit(new[3:6], at=number)
            await into.commit(new[6:], at=number, closed=[str(number)])

        figure = compare(
            f"ledger, per message: {PAST[1]:,} past messages by {PAST[0]:,}",
            lambda _: loop.run_until_complete(relay(many)),
            lambda _: loop.run_until_complete(relay(few)),
            bound=1.2,
        )
        for book in (few, many):
            loop.run_until_complete(book.close())
    loop.close()
    return [figure]
