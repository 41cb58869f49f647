"""Sums of what was spent, by day, lane, person and model, in the ledger's table `spent`; only SQL."""

import sqlite3

from msgspec import Struct

from connector import facts
from connector.spend import Amount


class Sum(Struct, frozen=True):
    """What one person's turns cost in one lane on one day (UTC, since 1970) with one model."""

    day: int
    lane: str
    person: int
    provider: str
    model: str
    amount: Amount


def add(db: sqlite3.Connection, fact: facts.Spent) -> None:
    """Add a fact to its sum; within the transaction that records it."""
    db.execute(
        "INSERT INTO spent (day, lane, person, provider, model, input, output, cache, cost)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET input = input + excluded.input,"
        " output = output + excluded.output, cache = cache + excluded.cache, cost = cost + excluded.cost",
        (
            *(fact.day, fact.lane, fact.person, fact.provider, fact.model),
            *(fact.input, fact.output, fact.cache, fact.cost),
        ),
    )


def newest(db: sqlite3.Connection) -> list[facts.Spent]:
    """The newest day that anything was spent on, one fact for each person in each lane: for a start."""
    rows = db.execute(
        "SELECT lane, person, day, sum(input), sum(output), sum(cache), sum(cost) FROM spent"
        " WHERE day = (SELECT max(day) FROM spent) GROUP BY lane, person"
    )
    return [facts.Spent("", lane, person, day, "", "", *amounts) for lane, person, day, *amounts in rows]


def sums(db: sqlite3.Connection, since: int, lane: str | None = None) -> list[Sum]:
    """Everything spent from this day on (in this lane)."""
    rows = db.execute(
        "SELECT day, lane, person, provider, model, input, output, cache, cost FROM spent"
        " WHERE day >= :since AND (:lane IS NULL OR lane = :lane)",
        {"since": since, "lane": lane},
    )
    return [
        Sum(day, lane, person, provider, model, Amount(*amounts))
        for day, lane, person, provider, model, *amounts in rows
    ]
