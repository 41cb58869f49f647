"""The ledger's promises (BEHAVIOUR §6, §7.30; DESIGN): all of a transaction or nothing, kept or said to be broken."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from connector import facts, ledger
from connector.exits import Refusal
from connector.ledger import FILE, Ledger, LedgerBroken
from connector.ledger_schema import MIGRATIONS, VERSION
from connector.world import World

Work = Callable[[Ledger], Coroutine[Any, Any, None]]


def claim(number: int, **changes: Any) -> facts.Claimed:
    made = facts.Claimed(str(number), "11", 11, number, number, 1, "person", f"[discord] x · p (1) · {number}", number)
    return msgspec.structs.replace(made, **changes)


def with_ledger(folder: Path, work: Work) -> None:
    """Open, work, close."""

    async def main() -> None:
        opened = Ledger.open(folder)
        try:
            await work(opened)
        finally:
            await opened.close()

    asyncio.run(main())


def folded(known: tuple[facts.AnyFact, ...]) -> World:
    world = World()
    for fact in known:
        world.apply(fact)
    return world


def rows(folder: Path, table: str) -> int:
    with sqlite3.connect(folder / FILE) as db:
        count = int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    db.close()
    return count


# -- transactions --------------------------------------------------------------------------------------------------


def test_what_is_recorded_makes_the_same_world_again(tmp_path: Path) -> None:
    new: list[facts.AnyFact] = [
        claim(1),
        facts.Seen(11, 1),
        claim(2, bot=True),
        facts.Moved("2"),
        facts.Written("2", 1),
        facts.ChildStarted(1, "11", 7, "then"),
        facts.Started("2"),
        facts.Backoff("2", 99, "status 429"),
        facts.Gated("acme", "large", 99),
        facts.Owed("11/session/5", "", 11, "notice", "A new session.", 0),
        facts.SessionSet("11", "/a/session"),
        facts.ModelSet("11", "acme", "large"),
        facts.ThinkingSet("11", "high"),
        facts.ThreadOpened(55, 11),
        claim(66, lane="66", channel=66, parent=11),
        facts.Redirected(66, 11),
    ]

    async def work(opened: Ledger) -> None:
        await opened.commit(new, at=1)

    async def look(opened: Ledger) -> None:
        assert folded((await opened.load()).world) == folded(tuple(new))

    with_ledger(tmp_path, work)
    with_ledger(tmp_path, look)


def test_rounds_that_are_closed_are_not_read_and_their_lane_is_known(tmp_path: Path) -> None:
    async def work(opened: Ledger) -> None:
        await opened.commit([claim(1), facts.Ended("1", "answered")], at=1, closed=["1"])
        known = (await opened.load()).world
        assert known == (facts.LaneKnown("11", 11, (1,), 0, 0),)
        assert await opened.known_messages([1, 2]) == {1}
        assert await opened.story("1") == [claim(1), facts.Ended("1", "answered")]

    with_ledger(tmp_path, work)


def test_a_claim_that_stands_already_stays_as_it_is(tmp_path: Path) -> None:
    """§7.25: the second one is no fact at all, so no fold finds a new round in it."""

    async def work(opened: Ledger) -> None:
        await opened.commit([claim(1), facts.Ended("1", "answered")], at=1, closed=["1"])
        await opened.commit([claim(1, bot=True)], at=2)
        assert await opened.story("1") == [claim(1), facts.Ended("1", "answered")]
        assert folded((await opened.load()).world).rounds == {}

    with_ledger(tmp_path, work)


def test_many_ids_at_once(tmp_path: Path) -> None:
    """A backfill asks for more than SQLite takes as variables."""

    async def work(opened: Ledger) -> None:
        await opened.commit([claim(7)], at=1)
        assert await opened.known_messages(range(100_000)) == {7}

    with_ledger(tmp_path, work)


@pytest.mark.parametrize("bad", [claim(2**70), claim(3, message="no number")])
def test_a_transaction_that_fails_leaves_nothing_and_the_next_one_works(tmp_path: Path, bad: facts.Claimed) -> None:
    """A fault of ours is no trouble of the disk: it is raised as it is, and nothing of its transaction is kept."""

    async def work(opened: Ledger) -> None:
        with pytest.raises((OverflowError, sqlite3.IntegrityError)):
            await opened.commit([claim(1), bad], at=1)
        assert (await opened.load()).world == ()
        await opened.commit([claim(1)], at=1)
        assert await opened.known_messages([1]) == {1}

    with_ledger(tmp_path, work)


@pytest.mark.parametrize(
    ("fact", "full"),
    [
        (claim(1), True),
        (facts.Written("1", 1), True),
        (facts.StopMarked("1", 2), True),
        (facts.Answered("1", 1, "hi"), True),
        (facts.Fell(1, "wedge"), True),
        (facts.Seen(11, 1), True),
        (facts.Started("1"), False),
        (facts.Posted("1/answer/1", 0, 1, 5), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_on_the_disk_where_a_record_must_precede_its_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: facts.AnyFact, *, full: bool
) -> None:
    said: list[str] = []
    plain = ledger.connect

    def traced(path: Path) -> sqlite3.Connection:
        db = plain(path)
        db.set_trace_callback(said.append)
        return db

    monkeypatch.setattr(ledger, "connect", traced)

    async def work(opened: Ledger) -> None:
        await opened.commit([facts.Started("0"), fact], at=1)

    with_ledger(tmp_path, work)
    synchronous = [line for line in said if "synchronous" in line]
    # Between transactions it is as what must be on the disk needs it.
    assert synchronous == [f"PRAGMA synchronous = {level}" for level in (["FULL"] if full else ["NORMAL", "FULL"])]
    assert said.index(synchronous[0]) < said.index("BEGIN IMMEDIATE")


def test_posts_of_no_round_are_found_until_they_are_made_or_dropped(tmp_path: Path) -> None:
    posts = [facts.Owed(f"11/session/{number}", "", 11, "notice", "x", 0) for number in range(3)]

    async def work(opened: Ledger) -> None:
        await opened.commit(posts, at=1)
        await opened.commit([facts.Posted(posts[0].key, 0, 1, 5), facts.Dropped(posts[1].key, "gone")], at=2)
        assert list(folded((await opened.load()).world).owed) == [posts[2].key]

    with_ledger(tmp_path, work)


def test_the_row_of_exits_is_oldest_first(tmp_path: Path) -> None:
    chain = (facts.Up(1), facts.Fell(2, "wedge"), facts.Down(3, 1, "wedge"))

    async def work(opened: Ledger) -> None:
        for fact in chain:
            await opened.commit([fact], at=1)
        assert (await opened.load()).chain == chain

    with_ledger(tmp_path, work)


# -- the disk ------------------------------------------------------------------------------------------------------


def test_a_disk_that_becomes_read_only_keeps_nothing_and_recovers(tmp_path: Path) -> None:
    async def work(opened: Ledger) -> None:
        await opened.commit([claim(1)], at=1)
        await opened.look(lambda db: db.execute("PRAGMA query_only = ON"))
        with pytest.raises(LedgerBroken, match=FILE):
            await opened.commit([claim(2), facts.Seen(11, 2)], at=2)
        assert await opened.known_messages([1, 2]) == {1}
        await opened.look(lambda db: db.execute("PRAGMA query_only = OFF"))
        await opened.commit([claim(2)], at=3)
        assert await opened.known_messages([1, 2]) == {1, 2}

    with_ledger(tmp_path, work)


def test_a_value_that_is_no_unicode_is_forgotten_and_the_thread_goes_on(tmp_path: Path) -> None:
    async def work(opened: Ledger) -> None:
        opened.keep("session", "a\ud800b")
        await opened.commit([claim(1)], at=1)
        assert await opened.known_messages([1]) == {1}

    with_ledger(tmp_path, work)


FULL_DISK = """
import asyncio, resource, signal, sys
from pathlib import Path
from connector.ledger import Ledger, LedgerBroken
from tests.connector.test_ledger_commits import claim

async def main():
    opened = Ledger.open(Path(sys.argv[1]))
    await opened.commit([claim(1)], at=1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        await opened.commit([claim(number, text="x" * 10_000) for number in range(2, 60)], at=2)
    except LedgerBroken as broken:
        print("broken:", broken)
    print(sorted(await opened.known_messages(range(100))))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await opened.commit([claim(2)], at=3)
    print(sorted(await opened.known_messages(range(100))))
    await opened.close()

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
asyncio.run(main())
"""


def test_a_full_disk_keeps_nothing_of_the_transaction_and_recovers(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    broken, after, mended = done.stdout.splitlines()
    assert broken.startswith(f"broken: {tmp_path / FILE}: ")
    assert (after, mended) == ("[1]", "[1, 2]")


def test_a_stalled_disk_does_not_hold_the_loop(tmp_path: Path) -> None:
    """DESIGN: the ledger's owner is a thread, so that a heartbeat is never late."""
    free = threading.Event()

    async def work(opened: Ledger) -> None:
        stalled = asyncio.Event()
        loop = asyncio.get_running_loop()

        def stall(_: sqlite3.Connection) -> None:
            loop.call_soon_threadsafe(stalled.set)
            assert free.wait(5)

        looking = asyncio.create_task(opened.look(stall))
        commit = asyncio.create_task(opened.commit([claim(1)], at=1))
        await stalled.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        assert not commit.done()
        free.set()
        await asyncio.gather(looking, commit)

    with_ledger(tmp_path, work)


def test_after_the_end_nobody_waits_for_ever(tmp_path: Path) -> None:
    async def main() -> None:
        opened = Ledger.open(tmp_path)
        await opened.close()
        with pytest.raises(LedgerBroken, match="closed"):
            await opened.commit([claim(1)], at=1)

    asyncio.run(main())


# -- versions ------------------------------------------------------------------------------------------------------


def test_a_later_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / FILE
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE of_the_future (x)")
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(Refusal) as refused:
        Ledger.open(tmp_path)
    assert refused.value.reason == f"the ledger {path} is of version {VERSION + 1}, newer than this program ({VERSION})"
    assert "install the version that wrote it" in refused.value.mend
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == [FILE]


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(Refusal, match=FILE):
        Ledger.open(tmp_path)


def test_a_migration_copies_first_and_happens_wholly_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(opened: Ledger) -> None:
        await opened.commit([claim(1)], at=1)

    with_ledger(tmp_path, work)
    broken = (*MIGRATIONS, ("half", "CREATE TABLE half (x); CREATE TABLE facts (x);"))
    monkeypatch.setattr(ledger, "MIGRATIONS", broken)
    monkeypatch.setattr(ledger, "VERSION", VERSION + 1)
    with pytest.raises(Refusal):
        Ledger.open(tmp_path)
    copy = tmp_path / f"ledger.{VERSION}.bak"
    assert copy.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(copy) as db:
        assert db.execute("SELECT message FROM rounds").fetchall() == [(1,)]
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()
    with sqlite3.connect(tmp_path / FILE) as db:
        assert db.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()
    monkeypatch.setattr(ledger, "MIGRATIONS", (*MIGRATIONS, ("whole", "CREATE TABLE whole (x);")))
    with_ledger(tmp_path, work)
    assert rows(tmp_path, "whole") == 0
    assert rows(tmp_path, "rounds") == 1


def test_its_files_are_private(tmp_path: Path) -> None:
    """CONTRACT `state.dir`: 0600, whatever the umask."""

    def modes() -> set[int]:
        return {item.stat().st_mode & 0o777 for item in tmp_path.iterdir()}

    async def work(opened: Ledger) -> None:
        await opened.commit([claim(1)], at=1)
        assert modes() == {0o600}

    with_ledger(tmp_path, work)
