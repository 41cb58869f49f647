"""Texts leave the ledger (CONTRACT, Trust, `state.keep`): no copy of them stays, and everything else does."""

import asyncio
import io
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from connector import facts, ledger_texts
from connector.clock import Clock
from connector.inbox import Inbox, name_of
from connector.ledger import FILE, Ledger, LedgerBroken
from connector.ledger_texts import without_text
from connector.logs import Logs
from connector.outgoing import OUTBOX
from connector.pruning import DAY, Kept, prune_daily, prune_outboxes
from connector.settings import LogSettings

pytestmark = pytest.mark.anyio

SECRET = "the-cat-is-called-Mia"
"""Stands in every text below, so that a copy of any of them is found."""


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger.open(folder)
    try:
        yield ledger
    finally:
        await ledger.close()


def texts(number: int, round_: str = "") -> list[facts.AnyFact]:
    """What a message leaves that was edited, answered and stopped, and has a notice."""
    name = round_ or str(number)
    text, files = f"[discord] #x\n\n{SECRET}", (facts.File(5, f"{SECRET}.txt", 5, url=f"https://cdn/{SECRET}"),)
    return [
        facts.Claimed(name, "11", 11, number, number, 1, "ann", text, at=number, files=files),
        facts.Fetched(name, (f"file: {SECRET}.txt",), (f"{number}-1.{SECRET}",)),
        facts.Edited(name, f"[discord] #x\n\nno, {SECRET}"),
        facts.Written(name, 1),
        facts.Answered(name, 1, f"echo: {SECRET}"),
        facts.Owed(f"{name}/answer/1", name, 11, "answer", f"echo: {SECRET}", number),
        facts.StopMarked(name, 5, said=SECRET),
        facts.Posted(f"{name}/answer/1", 0, 1, number + 1),
        facts.Ended(name, "answered"),
    ]


def holding(ledger: Ledger) -> list[str]:
    """The files beside the ledger, itself included, that hold the secret."""
    folder = ledger.path.parent
    return sorted(file.name for file in folder.iterdir() if SECRET.encode() in file.read_bytes())


def bare(known: Sequence[facts.AnyFact]) -> list[facts.AnyFact]:
    return [without_text(fact) for fact in known]


# -- a message is deleted ------------------------------------------------------------------------------------------


async def test_a_deleted_message_leaves_no_text_in_any_file_and_everything_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(7), at=1, closed=["7"])
        await ledger.commit(texts(7, "7.1"), at=2, closed=["7.1"])
        assert holding(ledger) != []
        await ledger.commit([facts.Erased(7)], at=3)
        assert holding(ledger) == []
        assert await ledger.story("7") == [*bare(texts(7)), facts.Erased(7)]
        assert await ledger.story("7.1") == bare(texts(7, "7.1"))
        assert await ledger.known_messages([7]) == {7}


async def test_another_message_keeps_its_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(7), at=1, closed=["7"])
        await ledger.commit(texts(8), at=1, closed=["8"])
        await ledger.commit([facts.Erased(7)], at=3)
        assert await ledger.story("8") == texts(8)


async def test_a_round_that_is_not_over_keeps_its_text_until_it_is(tmp_path: Path) -> None:
    """A restart must find what it has to ask or to post."""
    async with opened(tmp_path) as ledger:
        await ledger.commit([*texts(7)[:-1], facts.Unsaid("7"), facts.Erased(7)], at=1)
        assert (await ledger.story("7"))[:8] == texts(7)[:-1]
        await ledger.commit([texts(7)[-1], facts.Erased(7)], at=2, closed=["7"])
        assert holding(ledger) == []


async def test_what_was_claimed_and_deleted_in_one_transaction_has_no_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit([texts(7)[0], facts.Ended("7", "deleted"), facts.Erased(7)], at=1, closed=["7"])
        assert (await ledger.story("7"))[0] == without_text(texts(7)[0])


async def test_it_stays_erased_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(7), at=1, closed=["7"])
        await ledger.commit([facts.Erased(7)], at=2)
    assert SECRET.encode() not in (tmp_path / FILE).read_bytes()
    async with opened(tmp_path) as ledger:
        assert await ledger.story("7") == [*bare(texts(7)), facts.Erased(7)]


# -- old texts -----------------------------------------------------------------------------------------------------


async def test_texts_of_rounds_that_ended_before_go_and_the_others_stay(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(1), at=10, closed=["1"])
        await ledger.commit(texts(2)[:-1], at=20)  # it is not over
        await ledger.commit(texts(3), at=30, closed=["3"])
        await ledger.commit(texts(2)[-1:], at=35, closed=["2"])
        await ledger.prune(30)
        assert await ledger.story("1") == bare(texts(1))
        assert await ledger.story("2") == texts(2)
        assert await ledger.story("3") == texts(3)
        await ledger.prune(36)
        assert await ledger.story("2") == bare(texts(2))
        assert await ledger.story("3") == bare(texts(3))
        assert holding(ledger) == []
        assert await ledger.known_messages([1, 2, 3]) == {1, 2, 3}


async def test_a_round_that_never_ended_keeps_its_text_however_old(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(1)[:1], at=10)
        await ledger.commit(texts(2), at=20, closed=["2"])
        await ledger.prune(1_000)
        assert await ledger.story("1") == texts(1)[:1]
        assert await ledger.story("2") == bare(texts(2))


async def test_a_text_of_no_round_goes_with_its_time(tmp_path: Path) -> None:
    """The answers of a `/command` stand beside its round."""
    owed = facts.Owed("9/answer/1", "", 11, "answer", SECRET, 0)
    async with opened(tmp_path) as ledger:
        await ledger.commit([owed, facts.Posted(owed.key, 0, 1, 70)], at=10)
        await ledger.prune(10)
        assert holding(ledger) != []
        await ledger.prune(11)
        assert holding(ledger) == []


async def test_more_than_one_transaction_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one that stays among them, which is found again the next time."""
    monkeypatch.setattr(ledger_texts, "CHUNK", 3)
    async with opened(tmp_path) as ledger:
        for number in range(1, 6):
            over = number != 2
            new = texts(number) if over else texts(number)[:-1]
            await ledger.commit(new, at=number, closed=[str(number)] if over else [])
        await ledger.prune(10)
        assert [await ledger.story(str(n)) == bare(texts(n)) for n in (1, 3, 4, 5)] == [True] * 4
        assert await ledger.story("2") == texts(2)[:-1]
        await ledger.commit(texts(2)[-1:], at=11, closed=["2"])
        await ledger.prune(12)
        assert await ledger.story("2") == bare(texts(2))


async def test_what_is_pruned_already_is_not_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(1), at=10, closed=["1"])
        await ledger.prune(20)
        rows = await ledger.look(lambda db: db.execute("SELECT max(seq) FROM facts").fetchone()[0])
        kept = (await ledger.load()).kept
        assert kept == {ledger_texts.PRUNED: str(rows)}


# -- once a day ----------------------------------------------------------------------------------------------------


class At(Clock):
    """A clock that stands."""

    def __init__(self, days: float) -> None:
        super().__init__()
        self.days = days

    def now(self) -> int:
        """Nanoseconds since the epoch."""
        return int(self.days * DAY * 1e9)


def inbox_of(ledger: Ledger) -> Inbox:
    return Inbox(ledger.path.parent, 1000)


def kept_of(ledger: Ledger) -> Kept:
    return Kept(ledger, inbox_of(ledger), ledger.path.parent / OUTBOX)


def saved(ledger: Ledger, *messages: int) -> None:
    """A file of each of these messages lies in a lane's inbox."""
    inbox = inbox_of(ledger)
    for message in messages:
        inbox.keep(inbox.part("11"), "11", name_of(message, 1, "txt"), beside=message)


async def days_of(ledger: Ledger, keep: float, *, until: float) -> list[float]:
    """Let so many days pass; the seconds that were slept."""
    clock, slept = At(100), list[float]()
    log = Logs(LogSettings(level="debug", format="json"), io.StringIO()).log

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.days += seconds / DAY
        if clock.days > until:
            raise asyncio.CancelledError

    task = asyncio.ensure_future(prune_daily(kept_of(ledger), keep, clock, log, sleep))
    await asyncio.wait({task})
    return slept


async def test_it_is_done_at_the_start_and_once_a_day(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(1), at=int(69 * DAY * 1e9), closed=["1"])
        await ledger.commit(texts(2), at=int(71.5 * DAY * 1e9), closed=["2"])
        await days_of(ledger, 30, until=100)
        assert await ledger.story("1") == bare(texts(1))
        assert await ledger.story("2") == texts(2)
        assert await days_of(ledger, 30, until=102) == [DAY] * 3
        assert await ledger.story("2") == bare(texts(2))


async def test_with_0_texts_are_kept_for_ever(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(1), at=1, closed=["1"])
        saved(ledger, 1)
        await days_of(ledger, 0, until=1000)
        assert await ledger.story("1") == texts(1)
        assert inbox_of(ledger).messages() == {1}


async def test_the_files_of_a_message_go_with_its_texts(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await ledger.commit(texts(1), at=int(69 * DAY * 1e9), closed=["1"])
        await ledger.commit(texts(3)[:4], at=int(69 * DAY * 1e9))  # waits since then
        await ledger.commit(texts(4), at=int(69 * DAY * 1e9), closed=["4"])
        await ledger.commit(texts(2), at=int(71.5 * DAY * 1e9), closed=["2"])
        await ledger.commit(texts(4, "4.1"), at=int(71.5 * DAY * 1e9), closed=["4.1"])  # was asked again
        saved(ledger, 1, 2, 3, 4)
        await days_of(ledger, 30, until=100)
        assert inbox_of(ledger).messages() == {2, 3, 4}
        await days_of(ledger, 30, until=102)
        assert inbox_of(ledger).messages() == {3}


async def test_files_that_an_end_of_the_program_left_of_a_deleted_message_go_at_the_start(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        for message in (1, 2):
            await ledger.commit(texts(message), at=int(99 * DAY * 1e9), closed=[str(message)])
        saved(ledger, 1, 2)
        await ledger.commit([facts.Erased(1)], at=int(99 * DAY * 1e9))
        await days_of(ledger, 0, until=100)
        assert inbox_of(ledger).messages() == {2}


async def test_a_disk_that_refuses_is_tried_again_the_next_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()
    async with opened(tmp_path) as ledger:

        async def broken(before: int) -> None:
            tried.append(before)
            raise LedgerBroken("full")

        monkeypatch.setattr(ledger, "prune", broken)
        await days_of(ledger, 30, until=101)
    assert tried == [int(days * DAY * 1e9) for days in (70, 71)]


def test_what_lies_untouched_in_an_outbox_goes_and_no_link_is_followed(tmp_path: Path) -> None:
    """A date that was copied with a file does not make it old."""
    box = tmp_path / OUTBOX / "11"
    (box / "deep").mkdir(parents=True)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (theirs := elsewhere / "a.txt").touch()
    names = [box / "a.txt", box / "deep" / "b.txt"]
    for path in names:
        path.touch()
        os.utime(path, ns=(0, 0))
    (box / "link").symlink_to(elsewhere)
    changed = min(path.lstat().st_ctime_ns for path in names)
    prune_outboxes(tmp_path / OUTBOX, changed)
    assert [path.exists() for path in names] == [True, True]
    prune_outboxes(tmp_path / OUTBOX, changed + 3600 * 10**9)
    assert [path.exists() for path in (*names, box, theirs)] == [False, False, True, True]
    prune_outboxes(tmp_path / "missing", changed)


def test_no_kind_of_fact_with_a_text_is_forgotten() -> None:
    """Fields that hold what people or the model wrote have these names (`connector.tracing`)."""
    kinds = [kind for kind in get_args(facts.AnyFact) if {"text", "said"} & set(kind.__struct_fields__)]
    kept = []
    for kind in kinds:
        blank = {field.name: field.name for field in msgspec.structs.fields(kind) if field.required}
        whole = kind(**{**blank, **{name: SECRET for name in ("text", "said") if name in kind.__struct_fields__}})
        if SECRET in str(without_text(whole)):
            kept.append(kind)
    assert kinds
    assert kept == []
