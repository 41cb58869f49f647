"""Takes texts out of a ledger: those of deleted messages, and those that are old (CONTRACT, `state.keep`); only SQL.

Ids, outcomes and times stay: what has been seen is known again, and `trace` tells what became of it.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable

import msgspec

from connector import facts
from connector.facts import AnyFact

CHUNK = 500
"""Rows that are looked at in one transaction."""

PRUNED = "pruned"
"""The name in `kept` of the newest row up to which every text is gone."""

_DIGITS = 19
"""Of a number that SQLite may not hold any more."""

_decoder = msgspec.json.Decoder(AnyFact)
_encoder = msgspec.json.Encoder()


def without_text(fact: AnyFact) -> AnyFact:
    """The fact without what people or the model wrote, and without the names of files."""
    match fact:
        case facts.Claimed():
            return msgspec.structs.replace(fact, text="", files=())
        case facts.Fetched():
            return msgspec.structs.replace(fact, lines=(), pictures=())
        case facts.Edited() | facts.Answered() | facts.Owed():
            return msgspec.structs.replace(fact, text="")
        case facts.StopMarked():
            return msgspec.structs.replace(fact, said="")
        case _:
            return fact


def erase(db: sqlite3.Connection, message: int) -> None:
    """Every text of every round of this message that is over; inside the caller's transaction.

    Answers go too: they may quote what was asked.
    """
    rows = db.execute(
        "SELECT facts.seq, facts.body FROM rounds JOIN facts ON facts.round = rounds.round"
        " WHERE rounds.message = ? AND rounds.open = 0",
        (message,),
    )
    _scrub(db, rows.fetchall())


def with_text(db: sqlite3.Connection, messages: Collection[int]) -> frozenset[int]:
    """Those of these messages whose text stands in the ledger: what came with them is kept as long."""
    rows = db.execute(
        "SELECT DISTINCT rounds.message FROM rounds JOIN facts ON facts.round = rounds.round"
        " WHERE rounds.message IN (SELECT value FROM json_each(?))"
        " AND json_extract(facts.body, '$.fact') = 'claimed' AND json_extract(facts.body, '$.text') <> ''",
        (json.dumps(sorted(messages)),),
    )
    return frozenset(row[0] for row in rows)


def prune(db: sqlite3.Connection, before: int, after: int | None) -> int | None:
    """One transaction's worth of texts of rounds that were over before this instant (ns), behind row `after`.

    `after` is None at first, then what came back; None comes back when all is done. A round that is not over, or has
    been for a shorter time, is looked at again the next time.
    """
    done = _pruned(db)
    start = done if after is None else after
    rows = db.execute(
        "SELECT facts.seq, facts.body, coalesce(rounds.open, 0)"
        "  OR coalesce((SELECT max(later.seq) FROM facts AS later WHERE later.round = facts.round) > :last, 0)"
        " FROM facts LEFT JOIN rounds ON rounds.round = facts.round"
        " WHERE facts.seq > :start AND facts.seq <= :last"
        '  AND (facts.body LIKE \'%"text":"_%\' OR facts.body LIKE \'%"said":"_%\''
        '  OR facts.body LIKE \'{"fact":"fetched"%\')'
        " ORDER BY facts.seq LIMIT :chunk",
        {"start": start, "last": (last := _last_before(db, before)), "chunk": CHUNK},
    ).fetchall()
    whole = len(rows) < CHUNK
    _scrub(db, [(seq, body) for seq, body, kept in rows if not kept])
    reached = last if whole else rows[-1][0]
    first_kept = next((seq for seq, _, kept in rows if kept), reached + 1)
    if start == done and first_kept - 1 > done:
        db.execute("INSERT OR REPLACE INTO kept (name, value) VALUES (?, ?)", (PRUNED, str(first_kept - 1)))
    return None if whole else reached


def _scrub(db: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    for seq, body in rows:
        bare = _encoder.encode(without_text(_decoder.decode(body))).decode()
        if bare != body:
            db.execute("UPDATE facts SET body = ? WHERE seq = ?", (bare, seq))


def _pruned(db: sqlite3.Connection) -> int:
    row = db.execute("SELECT value FROM kept WHERE name = ?", (PRUNED,)).fetchone()
    told = row[0] if row is not None else ""
    # What is no row's number counts as none: everything is looked at once more.
    return int(told) if told.isascii() and told.isdigit() and len(told) < _DIGITS else 0


def _last_before(db: sqlite3.Connection, before: int) -> int:
    """The newest row that was written before this instant: rows stand in the order of their times."""
    low, high = 0, db.execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()[0]
    while low < high:
        middle = (low + high + 1) // 2
        at = db.execute("SELECT at FROM facts WHERE seq <= ? ORDER BY seq DESC LIMIT 1", (middle,)).fetchone()
        if at is None or at[0] < before:
            low = middle
        else:
            high = middle - 1
    return int(low)
