"""Opening a ledger: what it is like when made, what is refused and stays as it is, every step from an older version."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connector import facts, ledger
from connector.exits import Refusal
from connector.ledger import FILE, Known, Ledger
from connector.ledger_schema import MIGRATIONS, VERSION

CLAIM = facts.Claimed("1", "700", 700, 1, 1, 5, "you", "[discord]\n\nhello", at=1)

STEPS = {
    "facts-rounds-lanes": """
        CREATE TABLE facts (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, round TEXT, body TEXT NOT NULL) STRICT;
        CREATE INDEX facts_by_round ON facts (round) WHERE round IS NOT NULL;
        CREATE TABLE rounds (
            round TEXT PRIMARY KEY, message INTEGER NOT NULL, lane TEXT NOT NULL, open INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX rounds_by_message ON rounds (message);
        CREATE INDEX rounds_open ON rounds (round) WHERE open = 1;
        CREATE TABLE latest (
            topic TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (topic, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE lanes (
            lane TEXT PRIMARY KEY, channel INTEGER NOT NULL, bots_in_row INTEGER NOT NULL, thread_of INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE speakers (
            lane TEXT NOT NULL, author INTEGER NOT NULL, PRIMARY KEY (lane, author)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE dead (round TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE chain (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
    """,
    "kept": """
        CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    """,
    "spent": """
        CREATE TABLE spent (
            day INTEGER NOT NULL, lane TEXT NOT NULL, person INTEGER NOT NULL, provider TEXT NOT NULL,
            model TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache INTEGER NOT NULL,
            cost REAL NOT NULL, PRIMARY KEY ( day, lane, person, provider, model )
        ) STRICT, WITHOUT ROWID;
    """,
}
"""Every step as it was released: what stands on a disk was made by it, so that it is never changed, nor its name."""

OLD = tuple(range(1, VERSION))

FILLED = """
    INSERT INTO facts (at, round, body) VALUES (1, '1', '{"fact":"claimed","round":"1","lane":"700","channel":700,'
        || '"message":1,"reply_to":1,"author":5,"author_name":"you","text":"[discord]\\n\\nhello","at":1}');
    INSERT INTO rounds VALUES ('1', 1, '700', 1);
    INSERT INTO latest VALUES ('Seen', '700', '{"fact":"seen","channel":700,"message":1}');
    INSERT INTO lanes VALUES ('700', 700, 0, 0);
    INSERT INTO speakers VALUES ('700', 5);
    INSERT INTO chain (body) VALUES ('{"fact":"up","at":1}');
"""
"""A claim and what a start finds it again by, as the first version wrote them."""

HELD = Known(
    (facts.Seen(700, 1), CLAIM, facts.LaneKnown("700", 700, (5,), 0, 0)),
    (facts.Up(1),),
    {},
)


def make(path: Path, version: int, filled: str = FILLED) -> None:
    """A ledger as the program of that version left it, closed well."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript("".join(list(STEPS.values())[:version]) + filled + f"PRAGMA user_version = {version};")


def loaded(folder: Path) -> Known:
    async def main() -> Known:
        book = Ledger.open(folder)
        try:
            return await book.load()
        finally:
            await book.close()

    return asyncio.run(main())


def shape(path: Path) -> list[tuple[str, str, str]]:
    """What kinds of tables and indexes there are, and how they were made, layout apart."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return [(kind, name, plain(sql)) for kind, name, sql in found]


def plain(sql: str) -> str:
    return " ".join(sql.replace("(", " ( ").replace(")", " ) ").split())


def one(path: Path, query: str) -> Any:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchone()[0]


# -- what is made --------------------------------------------------------------------------------------------------


def test_a_new_ledger(tmp_path: Path) -> None:
    """DESIGN: WAL, STRICT tables; CONTRACT `state.dir`: files 0600."""
    path = tmp_path / FILE
    with closing(ledger.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        tables = db.execute("PRAGMA table_list").fetchall()
    strict = {name: bool(is_strict) for _, name, kind, _, _, is_strict in tables if not name.startswith("sqlite_")}
    assert strict == dict.fromkeys(
        ["facts", "rounds", "latest", "lanes", "speakers", "dead", "chain", "kept", "spent"], True
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in tmp_path.iterdir()] == [FILE]  # nothing was migrated, so nothing was copied


def test_one_that_was_open_to_others_is_tightened(tmp_path: Path) -> None:
    path = tmp_path / FILE
    make(path, VERSION)
    path.chmod(0o644)
    ledger.connect(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


# -- what is refused -----------------------------------------------------------------------------------------------


def later(path: Path) -> None:
    make(path, VERSION)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")


def garbage(path: Path) -> None:
    path.write_bytes(b"[discord]\nno database at all\n" * 500)


def short_garbage(path: Path) -> None:
    path.write_bytes(b"xy")  # SQLite takes one byte for none


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE photos (name); INSERT INTO photos VALUES ('holiday');")


def foreign_with_a_version(path: Path) -> None:
    foreign(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION}")


def foreign_of_an_old_version(path: Path) -> None:
    foreign(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")


def truncated(path: Path) -> None:
    make(path, VERSION)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_in_its_header(path: Path) -> None:
    make(path, VERSION)
    path.write_bytes(path.read_bytes()[:60])


def emptied(path: Path) -> None:
    """The file has lost its content; the log beside it, which a killed process left, has not."""
    whole = path.with_name("whole")
    make(whole, VERSION, "")
    with closing(sqlite3.connect(whole)) as db:
        db.executescript(FILLED)
        path.with_name(f"{FILE}-wal").write_bytes(whole.with_name("whole-wal").read_bytes())
    whole.unlink()
    path.write_bytes(b"")


def undecodable(table: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        make(path, VERSION)
        with closing(sqlite3.connect(path)) as db:
            db.executescript(f"""UPDATE {table} SET body = '{{"fact":"of the future"}}';""")

    damage.__name__ = f"undecodable_{table}"
    return damage


def no_text(path: Path) -> None:
    make(path, VERSION)
    with closing(sqlite3.connect(path)) as db:
        db.executescript("UPDATE facts SET body = CAST(x'7bff7d' AS TEXT);")


WRONG = [
    later,
    garbage,
    short_garbage,
    foreign,
    foreign_with_a_version,
    foreign_of_an_old_version,
    truncated,
    cut_in_its_header,
    emptied,
    undecodable("facts"),
    undecodable("latest"),
    undecodable("chain"),
    no_text,
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_what_cannot_be_used_is_refused_with_file_and_mend_and_nothing_is_overwritten(
    tmp_path: Path, wrong: Callable[[Path], None]
) -> None:
    """CONTRACT, exit code 3: what only a person can mend."""
    path = tmp_path / FILE
    wrong(path)
    before = {item.name: item.read_bytes() for item in tmp_path.iterdir()}
    with pytest.raises(Refusal) as refused:
        loaded(tmp_path)
    assert str(path) in refused.value.reason
    mend = "install the version that wrote it" if wrong is later else "restore it from a copy (pi-connector backup)"
    assert mend in refused.value.mend
    assert {item.name: item.read_bytes() for item in tmp_path.iterdir()} == before


# -- older versions ------------------------------------------------------------------------------------------------


def test_no_released_step_was_changed_and_no_name_is_used_again() -> None:
    names = [name for name, _ in MIGRATIONS]
    assert len(set(names)) == len(names) == VERSION
    assert {name: plain(text) for name, text in MIGRATIONS} == {name: plain(text) for name, text in STEPS.items()}


@pytest.fixture(params=OLD)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int]:
    make(tmp_path / FILE, request.param)
    return tmp_path / FILE, request.param


def test_every_older_version_is_brought_up_and_loses_nothing(old: tuple[Path, int], tmp_path: Path) -> None:
    path, _ = old
    assert loaded(tmp_path) == HELD
    assert one(path, "PRAGMA user_version") == VERSION
    (tmp_path / "new").mkdir()
    ledger.connect(tmp_path / "new" / FILE).close()
    assert shape(path) == shape(tmp_path / "new" / FILE)


def test_its_copy_stands_beside_it_as_it_was(old: tuple[Path, int], tmp_path: Path) -> None:
    path, version = old
    before = shape(path)
    loaded(tmp_path)
    copy = tmp_path / f"ledger.{version}.bak"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert shape(copy) == before
    assert one(copy, "PRAGMA user_version") == version
    assert one(copy, "SELECT count(*) FROM facts") == 1
    assert sorted(item.name for item in tmp_path.iterdir()) == [copy.name, FILE]
    kept = copy.read_bytes()
    assert loaded(tmp_path) == HELD  # of this version now: nothing is copied again
    assert copy.read_bytes() == kept


def test_a_copy_that_cannot_be_made_stops_the_migration(old: tuple[Path, int], tmp_path: Path) -> None:
    path, version = old
    (tmp_path / f"ledger.{version}.bak").mkdir()
    before = path.read_bytes()
    with pytest.raises(Refusal, match=FILE):
        loaded(tmp_path)
    assert path.read_bytes() == before


# -- how surely ----------------------------------------------------------------------------------------------------

SURE: list[facts.AnyFact] = [
    CLAIM,
    facts.Seen(700, 2),
    facts.Written("1", 1),
    facts.StopMarked("1", 5),
    facts.Answered("1", 1, "hi"),
    facts.Owed("1/answer/1", "1", 700, "answer", "hi", 1),
    facts.Ended("1", "answered"),
    facts.Requeued("1", "engine-exit"),
    facts.Backoff("1", 9, "status 429"),
    facts.Cut("1"),
    facts.Edited("1", "hello"),
    facts.ChildStarted(1, "700", 7, "then"),
    facts.Fell(1, "wedge"),
]
"""An effect follows each of these, or a start decides by it: after a power cut it must be there."""

ENOUGH: list[facts.AnyFact] = [
    facts.Started("1"),
    facts.ToolOpened("1", "call", "bash"),
    facts.Posted("1/answer/1", 0, 1, 5),
    facts.SessionSet("700", "/s"),
    facts.ChildEnded(1, 0, expected=True),
    facts.Up(1),
    facts.Good(1),
    facts.Down(1, 0, "asked to stop"),
]


def synchronous(folder: Path, *commits: list[facts.AnyFact]) -> list[int]:
    """What each commit told SQLite to be sure of: 1 NORMAL, 2 FULL, which is also what stands at rest."""

    async def main() -> list[int]:
        book = Ledger.open(folder)
        said: list[str] = []
        found = []
        await book.look(lambda db: db.set_trace_callback(said.append))
        for new in commits:
            said.clear()
            await book.commit(new, at=1)
            found.append(1 if "PRAGMA synchronous = NORMAL" in said[: said.index("COMMIT")] else 2)
            rest = await book.look(lambda db: db.execute("PRAGMA synchronous").fetchone())
            assert rest == (2,)
        await book.close()
        return found

    return asyncio.run(main())


def test_a_record_that_must_precede_its_effect_is_on_the_disk_and_the_others_cost_no_wait(tmp_path: Path) -> None:
    alone = synchronous(tmp_path, *[[fact] for fact in [*SURE, *ENOUGH]])
    assert alone == [2] * len(SURE) + [1] * len(ENOUGH)


def test_one_such_record_is_enough_for_all_of_its_commit(tmp_path: Path) -> None:
    assert synchronous(tmp_path, [*ENOUGH, SURE[0], *ENOUGH], [], ENOUGH) == [2, 1, 1]
