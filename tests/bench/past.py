"""Ledgers with a long past: rows as `ledger.write` leaves them for one answered message, so many times over."""

import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from connector import facts, ledger
from connector.ledger import Ledger
from connector.ledger_texts import PRUNED

FIRST = 1_000_000_000_000_000_000
"""The first message's id: as Discord's are, all of one length and rising."""

_CHUNK = 10_000


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
        facts.Posted(owed.key, 0, 1, number),
        facts.Ended(name, "answered"),
    ]


def pending(number: int) -> list[facts.AnyFact]:
    """What one that waits leaves there."""
    return message(number)[:2]


def filled(folder: Path, count: int, waiting: int = 0) -> Ledger:
    """A ledger with so many past messages, their texts beyond `state.keep`, and so many behind them that wait."""
    folder.mkdir()
    db = ledger.connect(folder / ledger.FILE)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -400000"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("BEGIN")
    for fact in message(FIRST):
        ledger.write(db, fact, FIRST)
    facts_rows = db.execute("SELECT at, round, body FROM facts ORDER BY seq").fetchall()
    rounds_rows = db.execute("SELECT round, message, lane, 0 FROM rounds").fetchall()
    for start in range(1, count - 1, _CHUNK):
        numbers = range(start, min(count - 1, start + _CHUNK))
        db.executemany("INSERT INTO facts (at, round, body) VALUES (?, ?, ?)", _again(facts_rows, numbers))
        db.executemany("INSERT INTO rounds VALUES (?, ?, ?, ?)", _again(rounds_rows, numbers))
    for fact in message(FIRST + count - 1):
        ledger.write(db, fact, FIRST + count - 1)
    db.execute("UPDATE rounds SET open = 0 WHERE open = 1")
    db.execute("INSERT INTO kept (name, value) SELECT ?, max(seq) FROM facts", (PRUNED,))
    for number in range(waiting):
        for fact in pending(FIRST + count + number):
            ledger.write(db, fact, FIRST + count + number)
    db.execute("COMMIT")
    db.close()
    return Ledger.open(folder)


def _again(rows: list[sqlite3.Row], numbers: range) -> Iterator[tuple[object, ...]]:
    """The rows of message FIRST as later messages would have left them."""
    first = str(FIRST)
    for number, row in itertools.product(numbers, rows):
        now = FIRST + number
        yield tuple(
            now if value == FIRST else value.replace(first, str(now)) if isinstance(value, str) else value
            for value in row
        )
