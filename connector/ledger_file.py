"""What the ledger's file and its disk say: damage, troubles that may pass, the refusal; it writes no fact."""

import contextlib
import errno
import sqlite3
from pathlib import Path

import msgspec

from connector.exits import Refusal

CHECKED = 32 << 20
"""Bytes; a larger ledger is not read through at a start: damage shows when it is touched."""

SMALLEST = 512
"""Bytes; SQLite has no smaller page, and takes a smaller file for a new one."""

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError)
"""What reading a fact raises that this program cannot read."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PASSING = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
_PASSING_OF_SYSTEM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


def damaged(error: Exception) -> bool:
    """Whether it is the file itself that is broken: no further try mends that."""
    return _code(error) in _DAMAGED


def passing(error: Exception) -> bool:
    """Whether it is the disk that refuses, full or failing: it may say otherwise later."""
    return _code(error) in _PASSING or getattr(error, "errno", None) in _PASSING_OF_SYSTEM


def _code(error: Exception) -> int:
    """SQLite's primary code; 0 for what is none of its errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def unusable(path: Path, error: Exception) -> Refusal:
    """The refusal of a ledger that cannot be read or written."""
    return Refusal(
        f"the ledger {path} cannot be used: {error}",
        "restore it from a copy (pi-connector backup), or move it away to start with an empty one",
    )


def refuse_cut(path: Path) -> bool:
    """Raise Refusal for what SQLite would take for a new file, and write over; whether to read the file through.

    That is done where whoever had it did not close it, and where it costs no noticeable time.
    """
    log = path.with_name(f"{path.name}-wal")
    unclosed = log.exists() and log.stat().st_size > 0
    size = path.stat().st_size if path.exists() else None
    if unclosed and size == 0:
        raise unusable(path, sqlite3.DatabaseError("it is empty, but its log is not"))
    if size is not None and 0 < size < SMALLEST:
        raise unusable(path, sqlite3.DatabaseError("it was cut off"))
    return unclosed and size is not None and size <= CHECKED


def wipe(db: sqlite3.Connection) -> None:
    """Empty the log, in which what was erased still stands; while somebody reads it, that waits for the next time."""
    with contextlib.suppress(sqlite3.Error):  # what was committed is not undone by a log that stays
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
