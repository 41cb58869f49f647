"""What a start asks of the ledger: named migrations, no cost that grows with the past, damage refused when touched."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from connector import facts, ledger, ledger_file, ledger_read
from connector.exits import Refusal
from connector.gateway import Memory
from connector.gateway_memory import HOUR, remembered
from connector.ledger import FILE, Known, Ledger
from connector.ledger_schema import MIGRATIONS, VERSION
from tests.bench.past import filled as long_past


def claim(number: int, lane: str = "700") -> facts.Claimed:
    return facts.Claimed(str(number), lane, int(lane), number, number, 5, "you", "[discord]\n\nhello", at=number)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Ledger]:
    book = Ledger.open(folder)
    try:
        yield book
    finally:
        await book.close()


def filled(folder: Path, *new: facts.AnyFact) -> Path:
    """A ledger with these facts, closed well."""

    async def main() -> None:
        async with opened(folder) as book:
            await book.commit(new, at=1)

    asyncio.run(main())
    return folder / FILE


def loaded(folder: Path) -> Known:
    async def main() -> Known:
        async with opened(folder) as book:
            return await book.load()

    return asyncio.run(main())


# -- migrations ----------------------------------------------------------------------------------------------------


def test_every_migration_has_a_name_of_its_own() -> None:
    names = [name for name, _ in MIGRATIONS]
    assert names == ["facts-rounds-lanes", "kept", "spent"]
    assert len(names) == VERSION


def test_a_ledger_of_the_first_version_is_brought_up_with_a_copy_beside_it(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(f"BEGIN; {MIGRATIONS[0][1]}; PRAGMA user_version = 1; COMMIT;")
        ledger.write(db, claim(1), 1)
        ledger.write(db, facts.SessionSet("700", "/s"), 2)
    known = loaded(tmp_path)
    assert known.kept == {}
    assert [fact for fact in known.world if isinstance(fact, facts.Claimed)] == [claim(1)]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    beside = tmp_path / "ledger.1.bak"
    assert beside.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(beside)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM facts").fetchone() == (2,)


# -- what is found without reading everything ----------------------------------------------------------------------


def test_a_card_that_stands_is_found_again_until_it_is_over(tmp_path: Path) -> None:
    """It may outlive its round: no open round has to be read for it."""
    shown, other = facts.CardShown("1", 700, 70), facts.CardShown("2", 700, 71)
    filled(tmp_path, claim(1), claim(2), shown, other, facts.Ended("1", "answered"), facts.CardOver("2"))
    known = loaded(tmp_path).world
    assert [fact for fact in known if isinstance(fact, facts.CardShown | facts.CardOver)] == [shown]


def test_a_card_that_was_about_to_be_posted_is_found_again_until_it_stands(tmp_path: Path) -> None:
    soon, too, stands = facts.CardShown("1", 700, 0), facts.CardShown("2", 700, 0), facts.CardShown("2", 700, 71)
    filled(tmp_path, claim(1), claim(2), soon, too, stands)
    known = loaded(tmp_path).world
    assert [fact for fact in known if isinstance(fact, facts.CardShown)] == [soon, stands]


def test_a_question_that_stands_is_found_again_until_it_is_over(tmp_path: Path) -> None:
    shown, other = facts.DialogShown("1/dialog/2.d", 700, 70), facts.DialogShown("1/dialog/2.e", 700, 71)
    over = facts.DialogOver("1/dialog/2.e")
    path = filled(tmp_path, claim(1), shown, other, facts.Ended("1", "answered"), over)
    known = loaded(tmp_path).world
    assert [fact for fact in known if isinstance(fact, facts.DialogShown | facts.DialogOver)] == [shown]
    with closing(sqlite3.connect(path)) as db:
        assert [fact for _, fact in ledger.story(db, "1")][1:3] == [shown, other]


def plan(db: sqlite3.Connection, query: str) -> str:
    return " ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))


def test_dead_letters_are_found_without_a_scan_of_the_facts(tmp_path: Path) -> None:
    """They are counted at every start and listed by `status`; the past may be a million messages."""
    dead = [facts.Ended("1", "dead"), facts.Ended("3", "dead")]
    path = filled(tmp_path, claim(1), claim(2, "701"), claim(3, "701"), facts.Ended("2", "answered"), *dead)
    asked: list[str] = []
    with closing(sqlite3.connect(path)) as db:
        db.set_trace_callback(asked.append)
        assert [letter.message for letter in ledger_read.dead_letters(db)] == [1, 3]
        assert [letter.message for letter in ledger_read.dead_letters(db, "701")] == [3]
        db.set_trace_callback(None)
        assert not [steps for steps in (plan(db, query) for query in asked) if "SCAN facts" in steps]

    async def count() -> int:
        async with opened(tmp_path) as book:
            return await book.dead()

    assert asyncio.run(count()) == 2


def test_a_number_that_no_message_has_is_unknown(tmp_path: Path) -> None:
    path = filled(tmp_path, claim(1))
    with closing(sqlite3.connect(path)) as db:
        assert ledger_read.steps_of(db, 10**20) == []


# -- damage --------------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A ledger of which a page in the middle is overwritten; its beginning is whole."""
    path = filled(tmp_path, *(claim(number) for number in range(1, 400)))
    data = bytearray(path.read_bytes())
    half = len(data) // 2 // 4096 * 4096
    data[half : len(data)] = b"\xa5" * (len(data) - half)
    path.write_bytes(data)
    return path


def unclean(path: Path) -> None:
    """Leave it as a process that was killed does: with a log that nobody took back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    path.with_name(f"{path.name}-wal").write_bytes(b"\0" * 32)


@pytest.fixture
def inspected(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each `inspect` was asked to read all of the file."""
    asked: list[bool] = []
    inspect = ledger.inspect

    def watched(db: sqlite3.Connection, path: Path, version: int, *, whole: bool) -> None:
        asked.append(whole)
        inspect(db, path, version, whole=whole)

    monkeypatch.setattr(ledger, "inspect", watched)
    return asked


def test_a_file_is_read_through_only_after_an_unclean_end_and_when_it_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inspected: list[bool]
) -> None:
    """A start must not cost the size of the past ("restart to ready")."""
    path = tmp_path / FILE
    ledger.connect(path).close()
    ledger.connect(path).close()
    unclean(path)
    ledger.connect(path).close()
    ledger.connect(path).close()
    unclean(path)
    monkeypatch.setattr(ledger_file, "CHECKED", 100)
    ledger.connect(path).close()
    assert inspected == [False, False, True, False, False]


def test_damage_is_refused_at_once_after_an_unclean_end(damaged: Path) -> None:
    unclean(damaged)
    with pytest.raises(Refusal) as refused:
        ledger.connect(damaged)
    assert str(damaged) in refused.value.reason
    assert "pi-connector backup" in refused.value.mend


async def touch_by_start(book: Ledger) -> None:
    await book.load()


async def touch_by_story(book: Ledger) -> None:
    for number in range(1, 400):
        await book.story(str(number))


async def touch_by_commit(book: Ledger) -> None:
    for number in range(400, 500):
        await book.commit([claim(number)], at=number)


@pytest.mark.parametrize("touch", [touch_by_start, touch_by_story, touch_by_commit])
def test_damage_that_is_touched_later_is_refused_with_the_file_and_the_mend(
    damaged: Path, touch: Callable[[Ledger], Awaitable[None]]
) -> None:
    """Not a full disk, which may pass: no retry mends it, so it is exit 3 (CONTRACT)."""

    async def main() -> None:
        async with opened(damaged.parent) as book:
            await touch(book)

    with pytest.raises(Refusal) as refused:
        asyncio.run(main())
    assert str(damaged) in refused.value.reason
    assert "pi-connector backup" in refused.value.mend


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_ledger_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / FILE
    path.write_bytes(content)
    with pytest.raises(Refusal):
        ledger.connect(path)
    assert path.read_bytes() == content


# -- what the gateway keeps ----------------------------------------------------------------------------------------


def test_what_is_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as book:
            book.keep("commands", "old")
            book.keep("commands", "new")
            book.keep("other", "1")

    asyncio.run(main())
    assert loaded(tmp_path).kept == {"commands": "new", "other": "1"}


def test_the_gateways_memory_survives_a_restart() -> None:
    """CONTRACT: IDENTIFYs are counted over restarts, commands are registered only when they changed."""
    kept: dict[str, str] = {}

    def again() -> Memory:
        return remembered(kept, kept.__setitem__)

    memory = again()
    assert (memory.identifies, memory.registered()) == ((), "")
    memory.identified(10)
    memory.identified(20)
    memory.register("abc")
    assert memory.registered() == "abc"
    memory = again()
    assert (memory.identifies, memory.registered()) == ((10, 20), "abc")
    memory.identified(10 + HOUR)
    assert again().identifies == (20, 10 + HOUR)


@pytest.mark.parametrize("text", ["", "no json", '{"a": 1}', '["1"]'])
def test_a_memory_that_cannot_be_read_counts_as_none(text: str) -> None:
    assert remembered({"identifies": text}, lambda _name, _value: None).identifies == ()


def steps_of_a_start(folder: Path, past: int) -> int:
    """Thousands of SQLite's steps that the reading of a start takes, forty messages waiting behind such a past."""
    asyncio.run(long_past(folder, past, 40).close())
    with closing(ledger.connect(folder / FILE)) as db:
        taken = [0]

        def step() -> int:
            taken[0] += 1
            return 0

        db.set_progress_handler(step, 1000)
        assert len(ledger.load(db).world) > 40
        return taken[0]


def test_what_is_over_costs_a_start_nothing(tmp_path: Path) -> None:
    """Two thousand messages of the past, and four: a scan of them would be tens of thousands of steps."""
    assert steps_of_a_start(tmp_path / "much", 2_000) == steps_of_a_start(tmp_path / "little", 4)
