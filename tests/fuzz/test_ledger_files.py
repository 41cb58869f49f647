"""Ledgers that were cut, bent or written by a stranger: all of it is read, or it is refused in a clear sentence."""

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from connector import admin, chain, facts
from connector.exits import ExitCode, Refusal
from connector.gateway_memory import remembered
from connector.lane_base import LaneRules
from connector.lane_events import Recover, Tick
from connector.lanes import Lanes, restored
from connector.ledger import FILE, Known, Ledger, LedgerBroken, connect, write
from connector.ledger_schema import VERSION
from connector.settings import Settings, StateSettings
from tests.fuzz.hostile import NUMBERS, TEXTS, mutated, tried

DAY = 86_400_000_000_000


def claim(number: int, **more: Any) -> facts.Claimed:
    return facts.Claimed(
        str(number),
        "700",
        700,
        number,
        number,
        5,
        "ann",
        f"[discord] #x · ann (5) · {number}\n\nask",
        at=number,
        **more,
    )


WRITTEN: tuple[facts.AnyFact, ...] = (
    facts.Seen(700, 1),
    claim(1),
    facts.Written("1", 3, "prompt"),
    facts.Started("1"),
    facts.ToolOpened("1", "call", "bash"),
    facts.Answered("1", 1, "an answer"),
    facts.Owed("1/answer/1", "1", 700, "answer", "an answer", 1, lane="700"),
    facts.Ended("1", "answered"),
    facts.Posted("1/answer/1", 0, 1, 900),
    claim(2, files=(facts.File(8, "a.txt", 3, "text/plain", "http://x/a"),)),
    claim(3),
    facts.Written("3", 3, "prompt"),
    facts.Started("3"),
    claim(4),
    facts.Written("4", 3, "prompt"),
    facts.Backoff("4", 5 * DAY, "429"),
    claim(5),
    facts.StopMarked("5", 5, "ann"),
    facts.Ended("5", "dead"),
    facts.Owed("5/notice/1", "5", 700, "notice", "it was given up", 5, retry=True),
    claim(6),
    facts.Answered("6", 1, "text"),
    facts.Owed("6/answer/1", "6", 700, "answer", "text", 6),
    facts.Up(1),
    facts.Fell(2, "wedge"),
    facts.Down(3, 1, "wedge"),
    facts.Gated("p", "m", 5 * DAY),
    facts.SessionSet("700", "/nowhere/s.jsonl"),
    facts.SessionKnown("700", "/nowhere/s.jsonl", 5, "a name"),
    facts.ModelSet("700", "p", "m"),
    facts.ThreadOpened(701, 700),
    facts.CardShown("3", 700, 901),
    facts.DialogShown("3/dialog/1", 700, 902),
    facts.Spent("1", "700", 5, 1, "p", "m", 10, 20, 30, 0.5),
    facts.Extended("3", "total", "", 1, 5, 2.0),
)


@cache
def whole(*, torn: bool) -> dict[str, bytes]:
    """The files of a ledger that was closed well, or (`torn`) whose owner was killed: its log stands beside it."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / FILE
        with closing(connect(path)) as db:
            if torn:
                db.execute("PRAGMA wal_autocheckpoint = 0")
            for at, fact in enumerate(WRITTEN, 1):
                db.execute("BEGIN IMMEDIATE")
                write(db, fact, at)
                db.execute("COMMIT")
            db.execute("INSERT INTO kept VALUES ('identifies', '[1, 2]'), ('pruned', '0')")
            db.execute("UPDATE rounds SET open = 0 WHERE round = '1'")
            if torn:
                return {one.name: one.read_bytes() for one in path.parent.iterdir() if not one.name.endswith("-shm")}
        return {FILE: path.read_bytes()}


@contextmanager
def folder(files: dict[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        for file, content in files.items():
            (Path(name) / file).write_bytes(content)
        yield Path(name)


async def start(where: Path) -> Known:
    """What a start does with a ledger, and a day of use."""
    ledger = Ledger.open(where)
    try:
        known = await ledger.load()
        lanes = restored(Lanes(rules=LaneRules(), in_row=chain.in_a_row(known.chain, DAY)), known.world)
        chain.last_exit(known.chain)
        remembered(known.kept, lambda _name, _value: None)
        for given in (Recover(frozenset(), frozenset()), Tick()):
            stepped = lanes.step(given, 2 * DAY)
            await ledger.commit(stepped.facts, at=2 * DAY, closed=stepped.closed)
        await ledger.known_messages([1, 2])
        await ledger.prune(DAY)
        return known
    finally:
        await ledger.close()


def looked_at(where: Path) -> None:
    """What `status` and `trace` show."""
    settings = Settings(state=StateSettings(dir=str(where)))
    for look in (
        lambda: "".join(admin.overview(settings, {}).lines()),
        lambda: admin.trace(settings, {}, 1),
    ):
        try:
            look()
        except Refusal as refusal:
            assert_clear(refusal, where)


def assert_clear(refusal: Refusal, where: Path) -> None:
    """A refusal says which file, what of it, and what to do, in one line."""
    assert refusal.code is ExitCode.REFUSED
    assert str(where) in refusal.reason
    assert refusal.mend
    (line,) = refusal.lines()
    assert "\n" not in line


def outcome(where: Path) -> Known | None:
    """What a start finds; None where it refuses, or waits for a disk that may say otherwise later."""
    looked_at(where)
    try:
        return asyncio.run(start(where))
    except Refusal as refusal:
        assert_clear(refusal, where)
        return None
    except LedgerBroken as broken:
        assert broken.passes  # noqa: PT017 - it is one of three good ends
        return None


def claimed(known: Known) -> list[str]:
    return [fact.round for fact in known.world if isinstance(fact, facts.Claimed)]


ALL = claimed(Known(WRITTEN, (), {}))[1:]


def test_the_whole_ledger_is_read() -> None:
    for torn in (False, True):
        with folder(whole(torn=torn)) as where:
            known = outcome(where)
            assert known is not None
            assert claimed(known) == ALL


@given(st.booleans(), st.integers(0, 1 << 20))
@tried(20)
def test_a_file_that_was_cut_is_refused_or_whole(torn: bool, at: int) -> None:
    files = dict(whole(torn=torn))
    files[FILE] = files[FILE][: at % (len(files[FILE]) + 1)]
    with folder(files) as where:
        known = outcome(where)
        if known is not None and files[FILE]:
            assert claimed(known) == ALL


@given(st.integers(0, 1 << 20))
@tried(15)
def test_a_log_that_was_cut_gives_all_that_was_kept_before_the_cut(at: int) -> None:
    """As after a power cut: whole transactions, the oldest first, without a gap."""
    files = dict(whole(torn=True))
    log = f"{FILE}-wal"
    files[log] = files[log][: at % (len(files[log]) + 1)]
    with folder(files) as where:
        known = outcome(where)
        if known is not None:
            found = [one for one in claimed(known) if one != "1"]
            assert found == ALL[: len(found)]


@given(st.booleans(), st.sampled_from([FILE, f"{FILE}-wal"]), st.lists(st.integers(0, 1 << 23), min_size=1, max_size=4))
@tried(25)
def test_flipped_bits_are_refused_or_read_and_never_a_crash(torn: bool, name: str, bits: list[int]) -> None:
    files = dict(whole(torn=torn))
    if name in files:
        content = bytearray(files[name])
        for bit in bits:
            content[bit // 8 % len(content)] ^= 1 << bit % 8
        files[name] = bytes(content)
    with folder(files) as where:
        outcome(where)


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=80).map(lambda rest: b"SQLite format 3\0" + rest)))
@tried(15)
def test_what_is_no_ledger_is_refused(content: bytes) -> None:
    with folder({FILE: content}) as where:
        assert outcome(where) is None or not content


TABLES = ("facts", "rounds", "latest", "lanes", "speakers", "dead", "chain", "kept", "spent")


@given(st.integers(-3, VERSION + 3), st.lists(st.sampled_from(TABLES), max_size=2), st.booleans())
@tried(15)
def test_another_version_or_a_missing_table_is_refused(version: int, dropped: list[str], stranger: bool) -> None:
    with folder(whole(torn=False)) as where:
        with closing(sqlite3.connect(where / FILE, isolation_level=None)) as db:
            for table in set(dropped):
                db.execute(f"DROP TABLE {table}")
            if stranger:
                db.execute("CREATE TABLE somebody (x)")
            db.execute(f"PRAGMA user_version = {version}")
        known = outcome(where)
        if version == VERSION and not dropped:
            assert known is not None


CELLS = {
    "facts": ("at", "round", "body"),
    "rounds": ("round", "message", "lane", "open"),
    "latest": ("topic", "key", "body"),
    "lanes": ("lane", "channel", "bots_in_row", "thread_of"),
    "speakers": ("lane", "author"),
    "dead": ("round",),
    "chain": ("body",),
    "kept": ("name", "value"),
    "spent": ("day", "lane", "person", "input", "cost"),
}
ODD_VALUES = st.one_of(TEXTS, NUMBERS, st.binary(max_size=8), st.sampled_from([None, "1", "700", "3", 1, 700, 5]))


@contextmanager
def bent(change: Callable[[sqlite3.Connection], None]) -> Iterator[Path]:
    """A ledger of which somebody changed the content; what SQLite does not take stays as it was."""
    refused = suppress(sqlite3.Error, OverflowError, UnicodeEncodeError)
    with folder(whole(torn=False)) as where:
        with closing(sqlite3.connect(where / FILE, isolation_level=None)) as db, refused:
            change(db)
        yield where


@given(st.sampled_from(sorted(CELLS)).flatmap(lambda t: st.tuples(st.just(t), st.sampled_from(CELLS[t]))), ODD_VALUES)
@tried(40)
def test_any_value_in_any_cell_is_read_or_refused(cell: tuple[str, str], value: Any) -> None:
    table, column = cell

    def change(db: sqlite3.Connection) -> None:
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))

    with bent(change) as where:
        outcome(where)


@given(st.sampled_from(["facts", "latest", "chain"]), st.integers(0, 40), st.data())
@tried(30)
def test_a_fact_with_any_fields_is_read_or_refused(table: str, number: int, data: Any) -> None:
    def change(db: sqlite3.Connection) -> None:
        rows = db.execute(f"SELECT body FROM {table}").fetchall()
        body = rows[number % len(rows)][0]
        new = json.dumps(data.draw(mutated(json.loads(body), 2)))
        db.execute(f"UPDATE {table} SET body = ? WHERE body = ?", (new, body))

    with bent(change) as where:
        outcome(where)


@given(st.lists(st.tuples(st.integers(0, len(WRITTEN) - 1), st.sampled_from(["lost", "twice", "last"])), max_size=4))
@tried(30)
def test_facts_that_are_missing_doubled_or_late_are_a_legal_state(changes: list[tuple[int, str]]) -> None:
    """Rows that a stranger removed or moved: BEHAVIOUR §7.30 says it of prefixes, a start must live with any."""

    def change(db: sqlite3.Connection) -> None:
        for number, what in changes:
            seq = number + 1
            if what != "lost":
                db.execute(
                    "INSERT INTO facts (at, round, body) SELECT at, round, body FROM facts WHERE seq = ?", (seq,)
                )
            if what != "twice":
                db.execute("DELETE FROM facts WHERE seq = ?", (seq,))

    with bent(change) as where:
        outcome(where)
