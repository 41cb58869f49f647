"""Looks into a ledger from outside, also while `run` is up, and the two things an operator may do to it; only SQL."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from connector import facts
from connector.exits import Refusal
from connector.facts import AnyFact
from connector.ledger import write
from connector.ledger_file import UNREADABLE
from connector.ledger_latest import OFFERED
from connector.ledger_schema import VERSION

PATIENCE = 5.0
"""Seconds to wait for the owner's transaction to end."""

_LARGEST = (1 << 63) - 1

_decoder = msgspec.json.Decoder(AnyFact)


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded fact of a round of `lane`; `at` in nanoseconds since the epoch."""

    at: int
    round: str
    lane: str
    fact: AnyFact


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was given up (CONTRACT, code `dead`); `at` in nanoseconds since the epoch."""

    at: int
    message: int
    lane: str
    round: str


@contextlib.contextmanager
def opened(path: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection of one's own, read-only unless `write`; nothing is made or migrated.

    Raises Refusal naming the path where there is no ledger, none that can be read, or one of another version.
    """
    _refuse_missing(path)
    mode = "rw" if write else "ro"
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=PATIENCE)
        ) as db:
            _refuse_version(path, db.execute("PRAGMA user_version").fetchone()[0])
            yield db
    except (sqlite3.DatabaseError, *UNREADABLE) as error:
        raise Refusal(
            f"the ledger {path} cannot be used: {error}",
            "run this as the connector's user; if it is damaged, restore it from a copy (pi-connector backup)",
        ) from error


def _refuse_missing(path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        raise Refusal(
            f"there is no ledger {path}", "name the settings of a connector that has run (--config or --instance)"
        ) from None
    except OSError as error:
        raise Refusal(
            f"the ledger {path} cannot be read: {error.strerror or error}", "run this as the connector's user"
        ) from None


def _refuse_version(path: Path, version: int) -> None:
    if version > VERSION:
        raise Refusal(
            f"the ledger {path} is of version {version}, newer than this program ({VERSION})",
            "use the program that wrote it",
        )
    if version < VERSION:
        raise Refusal(
            f"the ledger {path} is of version {version}, older than this program ({VERSION})",
            "start pi-connector run once, which brings it up to date",
        )


def last_steps(db: sqlite3.Connection, count: int) -> list[tuple[int, int, Step]]:
    """The newest `count` facts of all, oldest first: sequence number, message (0: of none) and step."""
    rows = db.execute(
        "SELECT facts.seq, facts.at, facts.round, rounds.lane, rounds.message, facts.body"
        " FROM facts LEFT JOIN rounds ON rounds.round = facts.round ORDER BY facts.seq DESC LIMIT ?",
        (count,),
    ).fetchall()
    return [
        (seq, message or 0, Step(at, round_ or "", lane or "", _decoder.decode(body)))
        for seq, at, round_, lane, message, body in reversed(rows)
    ]


def steps_of(db: sqlite3.Connection, message: int) -> list[Step]:
    """Everything recorded of one message, over all its rounds, oldest first."""
    if message > _LARGEST:
        return []  # SQLite has no such number, and no message of Discord does
    rows = db.execute(
        "SELECT facts.at, rounds.round, rounds.lane, facts.body FROM rounds JOIN facts ON facts.round = rounds.round"
        " WHERE rounds.message = ? ORDER BY facts.seq",
        (message,),
    )
    return [Step(at, round_, lane, _decoder.decode(body)) for at, round_, lane, body in rows]


def dead_letters(db: sqlite3.Connection, lane: str | None = None) -> list[DeadLetter]:
    """Every dead letter there is (of this lane), oldest first; the cost is theirs, not that of all facts."""
    rows = db.execute(  # CROSS JOIN: SQLite then reads them in this order
        "SELECT facts.at, rounds.message, rounds.lane, rounds.round"
        " FROM dead CROSS JOIN rounds ON rounds.round = dead.round CROSS JOIN facts ON facts.round = dead.round"
        ' WHERE facts.body LIKE \'{"fact":"ended"%\' AND (:lane IS NULL OR rounds.lane = :lane) ORDER BY facts.seq',
        {"lane": lane},
    )
    return [DeadLetter(at, message, lane, round_) for at, message, lane, round_ in rows]


def newest_offer(db: sqlite3.Connection, channel: int) -> str:
    """The round whose end was the last one to offer a Retry in this channel, "" where none did."""
    row = db.execute("SELECT body FROM latest WHERE topic = ? AND key = ?", (OFFERED, str(channel))).fetchone()
    return "" if row is None else facts.round_of(_decoder.decode(row[0]))


def forgive(path: Path, at: int) -> None:
    """Record that an operator forgot the row of failed starts; `at` in nanoseconds. Raises as `opened` does."""
    with opened(path, write=True) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        write(db, facts.Forgiven(at), at)
        db.execute("COMMIT")


def copy(path: Path, to: Path) -> None:
    """Write one consistent copy as a file of its own, mode 0600; what is there already is never overwritten.

    Raises Refusal as `opened` does, and where `to` exists or cannot be written.
    """
    with opened(path) as db:
        try:
            os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise Refusal(f"{to} exists already", "name a new file") from None
        except OSError as error:
            raise Refusal(f"{to} cannot be written: {error.strerror or error}", "name another file") from None
        try:
            with contextlib.closing(sqlite3.connect(to, isolation_level=None)) as target:
                db.backup(target)
                # Without this a copy would need companions beside it to be read.
                target.execute("PRAGMA journal_mode = DELETE")
        except BaseException:
            to.unlink(missing_ok=True)
            raise
