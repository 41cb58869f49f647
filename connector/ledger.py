"""The only SQL: facts in one SQLite file with one owner thread, so that a stalled disk never delays the event loop.

WAL, STRICT tables, `BEGIN IMMEDIATE`; FULL where a record must precede its effect (CONTRACT; DESIGN). What the
`facts` table holds is the truth; the other tables find it again without reading all of it.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from connector import facts
from connector.exits import Refusal
from connector.facts import AnyFact
from connector.ledger_schema import MIGRATIONS, VERSION

FILE = "ledger.sqlite"

T = TypeVar("T")

_decoder = msgspec.json.Decoder(AnyFact)
_encoder = msgspec.json.Encoder()

_CHAIN = (facts.Up, facts.Fell, facts.Good, facts.Down, facts.Forgiven)
_LATEST: dict[type, Callable[[AnyFact], str]] = {
    facts.Seen: lambda fact: str(fact.channel),  # type: ignore[union-attr]  # keyed by its own type
    facts.Gated: lambda fact: f"{fact.provider} {fact.model}",  # type: ignore[union-attr]
    facts.SessionSet: lambda fact: fact.lane,  # type: ignore[union-attr]
    facts.ModelSet: lambda fact: fact.lane,  # type: ignore[union-attr]
    facts.ThinkingSet: lambda fact: fact.lane,  # type: ignore[union-attr]
    facts.ThreadOpened: lambda fact: str(fact.channel),  # type: ignore[union-attr]
    facts.ChildStarted: lambda fact: str(fact.child),  # type: ignore[union-attr]
}


@dataclass(frozen=True, slots=True)
class Known:
    """What a start needs: `world` in an order that may be folded, `chain` oldest first."""

    world: tuple[AnyFact, ...]
    chain: tuple[AnyFact, ...]


class LedgerBroken(Exception):  # noqa: N818 - a state of the disk, which may pass
    """A transaction did not happen: the disk is full, read-only or gone. Nothing of it was kept."""


class Ledger:
    """One open ledger. `commit` and the reads may be awaited from the event loop; made by `open` only."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="ledger", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, folder: Path) -> "Ledger":
        """Open or make the ledger of a state folder; migrates after a copy. Raises Refusal naming file and mend."""
        path = folder / FILE
        return cls(path, connect(path))

    async def commit(self, new: Sequence[AnyFact], *, at: int, closed: Iterable[str] = ()) -> None:
        """One transaction for these facts; on the disk before it returns where one of them must be.

        `closed`: rounds a recovery need not look at any more. Raises LedgerBroken, having kept nothing.
        """
        done = tuple(closed)
        await self._do(lambda: self._write(new, at, done))

    async def known_messages(self, messages: Sequence[int]) -> frozenset[int]:
        """Those of these message ids that a round exists of (BEHAVIOUR §7.25)."""

        def read() -> frozenset[int]:
            marks = ",".join("?" * len(messages))
            rows = self._db.execute(f"SELECT message FROM rounds WHERE message IN ({marks})", tuple(messages))  # noqa: S608 - only question marks are put in
            return frozenset(row[0] for row in rows)

        return await self._do(read)

    async def rounds_of(self, message: int) -> int:
        """How many rounds this message has caused."""
        return await self._do(
            lambda: int(self._db.execute("SELECT count(*) FROM rounds WHERE message = ?", (message,)).fetchone()[0])
        )

    async def dead(self) -> int:
        """How many dead letters there are."""
        marks = '%"fact":"ended"%"code":"dead"%'
        query = "SELECT count(*) FROM facts WHERE round IS NOT NULL AND body LIKE ?"
        return await self._do(lambda: int(self._db.execute(query, (marks,)).fetchone()[0]))

    async def story(self, round_: str) -> list[AnyFact]:
        """All facts of one round, oldest first."""
        return await self._do(lambda: [fact for _, fact in story(self._db, round_)])

    async def load(self) -> Known:
        """Everything a start needs."""
        return await self._do(lambda: load(self._db))

    async def close(self) -> None:
        """Finish what was given and close the file."""
        with contextlib.suppress(LedgerBroken):
            await self._do(self._db.close)
        self._work.put(None)
        await asyncio.to_thread(self._thread.join)

    def _write(self, new: Sequence[AnyFact], at: int, closed: tuple[str, ...]) -> None:
        full = any(isinstance(fact, facts.FULL) for fact in new)
        self._db.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            for fact in new:
                write(self._db, fact, at)
            self._db.executemany("UPDATE rounds SET open = 0 WHERE round = ?", [(name,) for name in closed])
            self._db.execute("COMMIT")
        except sqlite3.Error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    async def _do(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)  # type: ignore[arg-type]  # work() returned it
            else:
                future.set_exception(error)

        def run() -> None:
            result: T | None = None
            error: Exception | None = None
            try:
                result = work()
            except sqlite3.Error as broken:
                error = LedgerBroken(f"{self.path}: {broken}")
            except Exception as fault:  # noqa: BLE001 - handed on to whoever awaits, who must not wait for ever
                error = fault
            with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
                loop.call_soon_threadsafe(settle, result, error)

        self._work.put(run)
        return await future

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the owner: made, checked and migrated. Raises Refusal; nothing is overwritten."""
    fresh = not path.exists()
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
        path.chmod(0o600)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        inspect(db, path, version, fresh=fresh)
        db.execute("PRAGMA journal_mode = WAL")
        migrate(db, path, version)
    except sqlite3.DatabaseError as error:
        raise Refusal(
            f"the ledger {path} cannot be used: {error}",
            "restore it from a copy (pi-connector backup), or move it away to start with an empty one",
        ) from error
    return db


def inspect(db: sqlite3.Connection, path: Path, version: int, *, fresh: bool) -> None:
    """Raise for a ledger of a later program or one that is damaged."""
    if version > VERSION:
        raise Refusal(
            f"the ledger {path} is of version {version}, newer than this program ({VERSION})",
            "install the version that wrote it, or point state.dir at another folder",
        )
    check = "ok" if fresh else db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if check != "ok":
        raise sqlite3.DatabaseError(check)


def migrate(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Bring the ledger to this program's version, a copy of the old one beside it first."""
    if version == VERSION:
        return
    if version:
        with contextlib.closing(sqlite3.connect(path.with_name(f"ledger.{version}.bak"))) as copy:
            db.backup(copy)
    for number in range(version, VERSION):
        db.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[number][1]}; PRAGMA user_version = {number + 1}; COMMIT;")


def write(db: sqlite3.Connection, fact: AnyFact, at: int) -> None:
    """One fact and what finds it again; a claim that stands already stays as it is."""
    body = _encoder.encode(fact).decode()
    name = getattr(fact, "round", None) or None
    if isinstance(fact, facts.Claimed):
        db.execute(
            "INSERT INTO rounds (round, message, lane, open) VALUES (?, ?, ?, 1)",
            (fact.round, fact.message, fact.lane),
        )
        in_row = "lanes.bots_in_row + 1" if fact.bot else "0"
        db.execute(
            "INSERT INTO lanes (lane, channel, bots_in_row) VALUES (?, ?, ?) ON CONFLICT (lane) DO UPDATE"  # noqa: S608 - two constants
            f" SET channel = excluded.channel, bots_in_row = {in_row}",
            (fact.lane, fact.channel, 1 if fact.bot else 0),
        )
        if not fact.bot:
            db.execute("INSERT OR IGNORE INTO speakers (lane, author) VALUES (?, ?)", (fact.lane, fact.author))
    if isinstance(fact, _CHAIN):
        db.execute("INSERT INTO chain (body) VALUES (?)", (body,))
        return
    key = _LATEST.get(type(fact))
    if key is not None:
        db.execute(
            "INSERT INTO latest (topic, key, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
            (type(fact).__name__, key(fact), body),
        )
    elif isinstance(fact, facts.ChildEnded):
        db.execute("DELETE FROM latest WHERE topic = 'ChildStarted' AND key = ?", (str(fact.child),))
    if not isinstance(fact, facts.Seen):
        if isinstance(fact, facts.Posted | facts.Dropped):
            name = fact.key.rsplit("/", 2)[0]
        db.execute("INSERT INTO facts (at, round, body) VALUES (?, ?, ?)", (at, name, body))


def load(db: sqlite3.Connection) -> Known:
    """Lanes as a whole, the latest of each topic, then every fact of every open round, in order."""
    world: list[AnyFact] = []
    people: dict[str, list[int]] = {}
    for lane, author in db.execute("SELECT lane, author FROM speakers"):
        people.setdefault(lane, []).append(author)
    for lane, channel, in_row in db.execute("SELECT lane, channel, bots_in_row FROM lanes"):
        world.append(facts.LaneKnown(lane, channel, tuple(people.get(lane, ())), in_row))
    world += [_decoder.decode(row[0]) for row in db.execute("SELECT body FROM latest")]
    rows = db.execute(
        "SELECT facts.body FROM rounds JOIN facts ON facts.round = rounds.round"
        " WHERE rounds.open = 1 ORDER BY facts.seq"
    )
    open_rounds = [_decoder.decode(row[0]) for row in rows]
    world += [fact for fact in open_rounds if type(fact) not in _LATEST]
    chain = [_decoder.decode(row[0]) for row in db.execute("SELECT body FROM chain ORDER BY seq DESC LIMIT 1000")]
    return Known(tuple(world), tuple(reversed(chain)))


def story(db: sqlite3.Connection, round_: str) -> list[tuple[int, AnyFact]]:
    """Instant (ns) and fact of everything recorded of one round, oldest first."""
    rows = db.execute("SELECT at, body FROM facts WHERE round = ? ORDER BY seq", (round_,))
    return [(at, _decoder.decode(body)) for at, body in rows]
