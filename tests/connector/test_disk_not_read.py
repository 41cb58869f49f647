"""A disk that cannot be read (BEHAVIOUR §7): what must be known is waited for, what is asked for is refused."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from connector import facts, ledger, notices, patience, recording
from connector.access import Rules
from connector.exits import ExitCode, Refusal
from connector.lane_events import Shutdown
from connector.ledger import Ledger, LedgerBroken
from connector.logs import Logs
from connector.settings import LogSettings
from fakes.discord import FakeDiscord
from fakes.house import House, house


class Shelf:
    """A disk that reads nothing while it is `shut`."""

    def __init__(self) -> None:
        self.shut = True

    def guard(self) -> None:
        if self.shut:
            raise LedgerBroken("disk I/O error")


def failing(read: Callable[[sqlite3.Connection], ledger.Known], code: int, times: int) -> Callable[..., ledger.Known]:
    left = [times]

    def attempt(db: sqlite3.Connection) -> ledger.Known:
        if left[0]:
            left[0] -= 1
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = code
            raise error
        return read(db)

    return attempt


# -- at the start --------------------------------------------------------------------------------------------------


def test_a_start_waits_for_a_disk_that_does_not_read_its_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told what is waited for; exit 3 would leave the connector down once the disk is well again."""
    monkeypatch.setattr(patience, "OPENING_PAUSE", 0.0)
    monkeypatch.setattr(ledger, "load", failing(ledger.load, sqlite3.SQLITE_IOERR, times=2))
    told: list[str] = []

    async def main() -> ledger.Known:
        import sys

        book = Ledger.open(tmp_path)
        try:
            return await patience.patiently(book.load, Logs(LogSettings(format="json"), sys.stderr).log, told.append)
        finally:
            await book.close()

    assert asyncio.run(main()) == ledger.Known((), (), {})
    assert told == [f"Starting: waiting for the disk: {tmp_path / ledger.FILE}: disk I/O error"] * 2
    assert capsys.readouterr().err.count("ledger.broken") == 2


def test_a_ledger_whose_tables_are_not_ours_is_still_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No disk mends that: the refusal says so."""
    monkeypatch.setattr(ledger, "load", failing(ledger.load, sqlite3.SQLITE_ERROR, times=1))

    async def main() -> None:
        book = Ledger.open(tmp_path)
        try:
            with pytest.raises(Refusal, match="cannot be used"):
                await book.load()
        finally:
            await book.close()

    asyncio.run(main())


# -- in mid-run ----------------------------------------------------------------------------------------------------


@pytest.fixture
async def home(world: FakeDiscord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    """Ann has access; no line needs a mention, and there are no cards."""
    monkeypatch.setattr(recording, "DISK_PAUSE", 0.01)
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    async with house(world, tmp_path, rules, cards=False) as home:
        await world.wait_for(lambda: world.commands)
        yield home


def shelved(home: House) -> Shelf:
    """Let no message be looked up."""
    shelf, known = Shelf(), home.ledger.known_messages

    async def look(messages: Sequence[int]) -> frozenset[int]:
        shelf.guard()
        return await known(messages)

    home.ledger.known_messages = look  # type: ignore[method-assign]  # the disk of this test
    return shelf


@pytest.mark.anyio
async def test_what_must_be_looked_up_waits_for_the_disk_and_nothing_ends(home: House) -> None:
    """A deletion asks whether a round exists; who writes meanwhile is told once, and served afterwards."""
    world, general, ann = home.world, home.world.channel("general"), home.world.person("ann")
    told: list[str] = []
    home.ledger.told = told.append
    gone = await world.say(ann, general, "one")
    await home.comes(gone, "RUNNING")
    shelf = shelved(home)
    await world.delete(gone)
    await home.living.logged("ledger.broken")
    later = await world.say(ann, general, "two")
    assert await home.post(general) == notices.disk_trouble()
    assert home.round(later) == ""
    assert set(told[told.index("disk I/O error") :]) == {"disk I/O error"}
    shelf.shut = False
    await home.living.logged("ledger.mended")
    await home.comes(later, "WAITING")
    assert told[-1] == ""
    assert [post.content for post in world.posts(general)] == [notices.disk_trouble()]


@pytest.mark.anyio
async def test_a_stop_does_not_wait_for_what_cannot_be_looked_up(home: House) -> None:
    world, general = home.world, home.world.channel("general")
    asked = await world.say(world.person("ann"), general, "one")
    await home.comes(asked, "RUNNING")
    shelved(home)
    await world.delete(asked)
    await home.living.logged("ledger.broken")
    home.dispatcher.put(Shutdown())
    quit_ = await home.dispatcher.ending()
    assert (quit_.code, quit_.reason) == (ExitCode.STOPPED, "asked to stop while the ledger could not be written")


@pytest.mark.anyio
async def test_a_stop_that_itself_cannot_be_recorded_is_one_all_the_same(home: House) -> None:
    """Its own facts are the first that the disk refuses: no second signal is needed."""
    world, general = home.world, home.world.channel("general")
    asked = await world.say(world.person("ann"), general, "one")
    await home.comes(asked, "RUNNING")

    async def refuse(_new: Sequence[facts.AnyFact], **_: object) -> None:
        raise LedgerBroken("disk full")

    home.ledger.commit = refuse  # type: ignore[method-assign, assignment]  # the disk of this test
    home.dispatcher.put(Shutdown())
    quit_ = await home.dispatcher.ending()
    assert (quit_.code, quit_.reason) == (ExitCode.STOPPED, "asked to stop while the ledger could not be written")


@pytest.mark.anyio
@pytest.mark.parametrize("command", ["status", "usage", "retry"])
async def test_who_asks_for_what_stands_on_the_disk_is_told_that_it_cannot_be_read(home: House, command: str) -> None:
    async def look(_: object) -> object:
        raise LedgerBroken("disk I/O error")

    home.ledger.look = look  # type: ignore[method-assign, assignment]  # the disk of this test
    world, general, ann = home.world, home.world.channel("general"), home.world.person("ann")
    assert await home.told(await world.slash(ann, general, command)) == notices.disk_unread()
    asked = await world.say(ann, general, "one")
    await home.comes(asked, "RUNNING")
