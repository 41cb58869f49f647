"""The only SQL: facts in one SQLite file with one owner thread, so that a stalled disk never delays the event loop.

WAL, STRICT tables, `BEGIN IMMEDIATE`; FULL where a record must precede its effect (CONTRACT; DESIGN). What the
`facts` table holds is the truth; the other tables find it again without reading all of it.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from connector import facts, ledger_spend
from connector.exits import Refusal
from connector.facts import AnyFact
from connector.ledger_file import UNREADABLE, damaged, passing, refuse_cut, unusable, wipe
from connector.ledger_latest import ELSEWHERE, LATEST, OFFERED
from connector.ledger_schema import MIGRATIONS, VERSION
from connector.ledger_texts import erase, prune
from connector.ledger_thread import LedgerThread

FILE = "ledger.sqlite"

T = TypeVar("T")

_decoder = msgspec.json.Decoder(AnyFact)
_encoder = msgspec.json.Encoder()

_CHAIN = (facts.Up, facts.Fell, facts.Good, facts.Down, facts.Forgiven)

_TABLES = frozenset({"facts", "rounds", "latest", "lanes", "speakers", "dead", "chain"})
"""Every version has these; a file without them is no ledger."""


class Known(Struct, frozen=True):
    """What a start needs: `world` in an order that may be folded, `chain` oldest first, `kept` as `keep` left it."""

    world: tuple[AnyFact, ...]
    chain: tuple[AnyFact, ...]
    kept: Mapping[str, str]


class LedgerBroken(Exception):  # noqa: N818 - a state of the disk, which may pass
    """The disk is full, read-only or gone: nothing was kept, or read. `passes`: it may say otherwise later."""

    def __init__(self, text: str, *, passes: bool = True) -> None:
        super().__init__(text)
        self.passes = passes


class Ledger:
    """One open ledger. `commit` and the reads may be awaited from the event loop; made by `open` only."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._full: bool | None = None
        self.told: Callable[[str], None] = lambda _broken: None
        """Hears of each transaction: why it did not happen, or nothing."""
        self.took: Callable[[float], None] = lambda _seconds: None
        """Hears of each transaction how many seconds it took."""
        self._thread = LedgerThread(self._rest)

    @classmethod
    def open(cls, folder: Path) -> "Ledger":
        """Open or make the ledger of a state folder; migrates after a copy.

        Raises Refusal naming file and mend, and LedgerBroken where only the disk is in the way.
        """
        path = folder / FILE
        return cls(path, connect(path))

    async def commit(self, new: Sequence[AnyFact], *, at: int, closed: Iterable[str] = ()) -> None:
        """One transaction for these facts; on the disk before it returns where one of them must be.

        `closed`: rounds a recovery need not look at any more. Raises LedgerBroken, having kept nothing, and Refusal
        for a file that is damaged.
        """
        done, began = tuple(closed), time.perf_counter()
        try:
            await self._do(lambda: self._write(new, at, done), at_once=True)
        except LedgerBroken as broken:
            self.told(str(broken))
            raise
        self.took(time.perf_counter() - began)
        self.told("")

    @property
    def lives(self) -> bool:
        """Whether the owner of the file is there."""
        return self._thread.lives

    def stalled(self) -> float:
        """Seconds for which the disk has not answered what it is at."""
        return self._thread.stalled()

    async def known_messages(self, messages: Sequence[int]) -> frozenset[int]:
        """Those of these message ids that a round exists of (BEHAVIOUR §7.25)."""

        def read() -> frozenset[int]:
            query = "SELECT message FROM rounds WHERE message IN (SELECT value FROM json_each(?))"
            rows = self._db.execute(query, (json.dumps(list(messages)),))
            return frozenset(row[0] for row in rows)

        return await self._do(read)

    async def dead(self) -> int:
        """How many dead letters there are."""
        return await self._do(lambda: int(self._db.execute("SELECT count(*) FROM dead").fetchone()[0]))

    async def story(self, round_: str) -> list[AnyFact]:
        """All facts of one round, oldest first."""
        return await self._do(lambda: [fact for _, fact in story(self._db, round_)])

    async def prune(self, before: int) -> None:
        """Take out the texts of rounds that were over before this instant (ns); commits may go between."""
        after = await self._do(lambda: self._in_one(lambda: prune(self._db, before, None)))
        while after is not None:
            reached = after
            after = await self._do(lambda: self._in_one(lambda: prune(self._db, before, reached)))  # noqa: B023 - awaited
        await self._do(lambda: wipe(self._db))

    async def look(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """What `read` finds, on the owner's connection."""
        return await self._do(lambda: read(self._db))

    def keep(self, name: str, value: str) -> None:
        """Remember one value of no fact's, beside; where the disk refuses, it is forgotten with the process."""

        def put() -> None:
            with contextlib.suppress(sqlite3.Error, ValueError):  # the latter of what is no Unicode
                self._db.execute("INSERT OR REPLACE INTO kept (name, value) VALUES (?, ?)", (name, value))

        self._thread.put(put)

    async def load(self) -> Known:
        """Everything a start needs. Raises Refusal for facts that this program cannot read, and LedgerBroken."""
        try:
            return await self._do(lambda: load(self._db))
        except LedgerBroken as error:
            if error.passes:
                raise
            raise unusable(self.path, error) from error

    async def close(self) -> None:
        """Finish what was given and close the file."""
        with contextlib.suppress(LedgerBroken):
            await self._do(self._db.close)
        await self._thread.end()

    def _write(self, new: Sequence[AnyFact], at: int, closed: tuple[str, ...]) -> None:
        self._synchronous(full=any(isinstance(fact, facts.FULL) for fact in new))
        erased = [fact.message for fact in new if isinstance(fact, facts.Erased)]

        def put() -> None:
            for fact in new:
                write(self._db, fact, at)
            if closed:
                self._db.executemany("UPDATE rounds SET open = 0 WHERE round = ?", [(name,) for name in closed])
            for message in erased:
                erase(self._db, message)

        self._in_one(put)
        if erased:
            wipe(self._db)

    def _synchronous(self, *, full: bool) -> None:
        if full is not self._full:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def _rest(self) -> None:
        """Between transactions all is as the next one needs it that somebody waits for."""
        if self._full is False:
            with contextlib.suppress(sqlite3.Error):  # closed, or a trouble that the next transaction will tell
                self._synchronous(full=True)

    def _in_one(self, work: Callable[[], T]) -> T:
        """One transaction, on the owner's thread."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            result = work()
            self._db.execute("COMMIT")
        except BaseException:  # whatever it is, nothing of it is kept
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        return result

    async def _do(self, work: Callable[[], T], *, at_once: bool = False) -> T:
        """What `work` makes on the owner's thread; the disk's troubles come as LedgerBroken, or as Refusal."""
        if not self.lives:
            raise LedgerBroken(f"{self.path}: closed")

        def run() -> T:
            try:
                return work()
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
                raise  # ours, not the disk's
            except sqlite3.Error as broken:
                error: Exception = LedgerBroken(f"{self.path}: {broken}", passes=passing(broken))
                error = unusable(self.path, broken) if damaged(broken) else error
            except UNREADABLE as strange:  # a row that no version of this program wrote
                error = unusable(self.path, strange)
            raise error  # not from there: what the failed statement has open would live as long as this does

        return await self._thread.do(run, at_once=at_once)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the owner: made, checked and migrated. Raises as `Ledger.open`; nothing is overwritten."""
    doubtful = refuse_cut(path)
    try:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    try:
        path.chmod(0o600)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        inspect(db, path, version, whole=doubtful)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA secure_delete = ON")  # what is erased stands nowhere in the file either
        migrate(db, path, version)
    except (sqlite3.Error, OSError) as error:
        db.close()
        if passing(error):
            raise LedgerBroken(f"{path}: {error}") from error
        raise unusable(path, error) from error
    except Refusal:
        db.close()
        raise
    return db


def inspect(db: sqlite3.Connection, path: Path, version: int, *, whole: bool) -> None:
    """Raise for a ledger of a later program, or one that is seen to be damaged; `whole` reads all of it."""
    if version > VERSION:
        raise Refusal(
            f"the ledger {path} is of version {version}, newer than this program ({VERSION})",
            "install the version that wrote it, or point state.dir at another folder",
        )
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= _TABLES if version else tables:
        raise sqlite3.DatabaseError("it is another program's database")
    check = db.execute("PRAGMA quick_check(1)").fetchone()[0] if whole else "ok"
    if check != "ok":
        raise sqlite3.DatabaseError(check)


def migrate(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Bring the ledger to this program's version, a copy of the old one beside it first."""
    if version == VERSION:
        return
    if version:
        beside = path.with_name(f"ledger.{version}.bak")
        with contextlib.closing(sqlite3.connect(beside)) as copy:
            beside.chmod(0o600)
            db.backup(copy)
    for number in range(version, VERSION):
        db.executescript(f"BEGIN IMMEDIATE; {MIGRATIONS[number][1]}; PRAGMA user_version = {number + 1}; COMMIT;")


def write(db: sqlite3.Connection, fact: AnyFact, at: int) -> None:
    """One fact and what finds it again; a claim that stands already stays as it is."""
    body = _encoder.encode(fact).decode()
    if isinstance(fact, facts.Claimed) and not claim(db, fact):
        return
    if isinstance(fact, _CHAIN):
        db.execute("INSERT INTO chain (body) VALUES (?)", (body,))
        return
    key = LATEST.get(type(fact))
    if key is not None:
        db.execute(
            "INSERT INTO latest (topic, key, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
            (type(fact).__name__, key(fact), body),
        )
    find_again(db, fact, body)
    if not isinstance(fact, facts.Seen):
        name = facts.round_of(fact) or None
        db.execute("INSERT INTO facts (at, round, body) VALUES (?, ?, ?)", (at, name, body))


def claim(db: sqlite3.Connection, fact: facts.Claimed) -> bool:
    """A claim's round, lane and speaker; whether it is new."""
    made = db.execute(
        "INSERT OR IGNORE INTO rounds (round, message, lane, open) VALUES (?, ?, ?, 1)",
        (fact.round, fact.message, fact.lane),
    )
    if not made.rowcount:
        return False
    speaks = fact.origin is not facts.Origin.RETRY
    db.execute(
        "INSERT INTO lanes (lane, channel, bots_in_row, thread_of) VALUES (?, ?, ?, ?) ON CONFLICT (lane) DO UPDATE"
        " SET channel = excluded.channel,"
        " bots_in_row = CASE WHEN ? THEN (lanes.bots_in_row + 1) * ? ELSE lanes.bots_in_row END,"
        " thread_of = CASE WHEN excluded.thread_of THEN excluded.thread_of ELSE lanes.thread_of END"
        " WHERE lanes.channel <> excluded.channel OR excluded.thread_of OR ? AND (lanes.bots_in_row OR ?)",
        (fact.lane, fact.channel, int(speaks and fact.bot), fact.parent, speaks, fact.bot, speaks, fact.bot),
    )
    if speaks and not fact.bot:
        db.execute("INSERT OR IGNORE INTO speakers (lane, author) VALUES (?, ?)", (fact.lane, fact.author))
    return True


def find_again(db: sqlite3.Connection, fact: AnyFact, body: str) -> None:
    """What a start must find without reading every fact: lanes, dead letters, posts that belong to no round."""
    match fact:
        case facts.ChildEnded(child):
            db.execute("DELETE FROM latest WHERE topic = 'ChildStarted' AND key = ?", (str(child),))
        case facts.CardOver(name):
            db.execute("DELETE FROM latest WHERE topic = 'CardShown' AND key = ?", (name,))
        case facts.DialogOver(key):
            db.execute("DELETE FROM latest WHERE topic = 'DialogShown' AND key = ?", (key,))
        case facts.Ended(name, "dead"):
            db.execute("INSERT OR IGNORE INTO dead (round) VALUES (?)", (name,))
        case facts.Owed(key, ""):
            db.execute("INSERT OR IGNORE INTO latest (topic, key, body) VALUES ('Owed', ?, ?)", (key, body))
        case facts.Owed(retry=True, channel=channel):
            offer = (OFFERED, str(channel), body)
            db.execute("INSERT OR REPLACE INTO latest (topic, key, body) VALUES (?, ?, ?)", offer)
        case facts.Spent():
            ledger_spend.add(db, fact)
        case facts.Dropped(key):
            db.execute("DELETE FROM latest WHERE topic = 'Owed' AND key = ?", (key,))
        case facts.Posted(key, part, parts) if part + 1 >= parts:
            db.execute("DELETE FROM latest WHERE topic = 'Owed' AND key = ?", (key,))
        case facts.ThreadOpened(channel, parent):
            lane = (channel, parent, str(channel))
            db.execute("UPDATE lanes SET channel = ?, thread_of = ? WHERE lane = ?", lane)
        case facts.Redirected(channel, parent):
            db.execute("UPDATE lanes SET channel = ?, thread_of = 0 WHERE lane = ?", (parent, str(channel)))
            moved = (str(parent), OFFERED, str(channel))
            db.execute("UPDATE OR REPLACE latest SET key = ? WHERE topic = ? AND key = ?", moved)
        case _:
            pass


def load(db: sqlite3.Connection) -> Known:
    """The latest of each topic, every fact of every open round in order, then lanes as a whole.

    These come last: a claim of an open round may be older than what has been said in its lane since.
    """
    latest = db.execute("SELECT body FROM latest WHERE topic <> ?", (OFFERED,))
    world: list[AnyFact] = [_decoder.decode(row[0]) for row in latest]
    world += ledger_spend.newest(db)
    people: dict[str, list[int]] = {}
    for lane, author in db.execute("SELECT lane, author FROM speakers"):
        people.setdefault(lane, []).append(author)
    rows = db.execute(  # CROSS JOIN: SQLite else reads all facts, for they are in order
        "SELECT facts.body FROM rounds CROSS JOIN facts ON facts.round = rounds.round"
        " WHERE rounds.open = 1 ORDER BY facts.seq"
    )
    open_rounds = [_decoder.decode(row[0]) for row in rows]
    world += [fact for fact in open_rounds if type(fact) not in ELSEWHERE]
    for lane, channel, in_row, thread_of in db.execute("SELECT lane, channel, bots_in_row, thread_of FROM lanes"):
        world.append(facts.LaneKnown(lane, channel, tuple(people.get(lane, ())), in_row, thread_of))
    chain = [_decoder.decode(row[0]) for row in db.execute("SELECT body FROM chain ORDER BY seq DESC LIMIT 1000")]
    kept = dict(db.execute("SELECT name, value FROM kept"))
    return Known(tuple(world), tuple(reversed(chain)), kept)


def story(db: sqlite3.Connection, round_: str) -> list[tuple[int, AnyFact]]:
    """Instant (ns) and fact of everything recorded of one round, oldest first."""
    rows = db.execute("SELECT at, body FROM facts WHERE round = ? ORDER BY seq", (round_,))
    return [(at, _decoder.decode(body)) for at, body in rows]
