"""The task that posts, and the files of answers: the same bytes at every try; no text goes down with a file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from connector import facts
from connector.outbox import nonce
from connector.outgoing import Bounds, Outgoing
from connector.ports import Attached, Part, PostLater, PostNever
from fakes.waiting import Changes
from tests.connector.posting_setting import Setting, owed

pytestmark = pytest.mark.anyio

KEY = "r1:answer:0"
NAMING = "Here.\n\nattach: a.txt\nattach: b.txt\nattach: c.txt"
SAID = "Here.\n\ncould not attach c.txt: there is no such file"
BOTH = (Attached("a.txt", b"this is a.txt"), Attached("b.txt", b"this is b.txt"))
WHOLE = Part(1, SAID, nonce(KEY, 0), reply_to=77, files=BOTH)


class Watched(Outgoing):
    """Tells when it has forgotten something."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "state", folder / "work", Bounds(100, 10), remote=False)
        self.forgotten: list[str] = []
        self.changes = Changes()
        self.loop = asyncio.get_running_loop()

    def forget(self, key: str) -> None:
        super().forget(key)
        self.forgotten.append(key)
        self.loop.call_soon_threadsafe(self.changes.tell)


class Files(Setting):
    """The setting, with a working folder that has two files."""

    def __init__(self, folder: Path) -> None:
        self.work, self.copies = folder / "work", folder / "state" / "outgoing"
        for made in (self.work, folder / "state"):
            made.mkdir()
        for name in ("a.txt", "b.txt"):
            (self.work / name).write_text(f"this is {name}")
        self.outgoing = Watched(folder)
        super().__init__(self.outgoing)

    async def forgotten(self) -> None:
        """The copies stand until what became of the post is recorded; then they go."""
        assert list(self.copies.glob("*/list.json"))
        self.posting.forget(KEY)
        await self.outgoing.changes.until(lambda: self.outgoing.forgotten)
        assert list(self.copies.iterdir()) == []


@pytest.fixture
async def at_work(tmp_path: Path) -> AsyncIterator[Files]:
    setting = Files(tmp_path)
    task = asyncio.create_task(setting.posting.run())
    yield setting
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_every_try_sends_the_files_as_they_were_at_the_first(at_work: Files) -> None:
    at_work.discord.fates = [PostLater("reset")]
    at_work.pacing.go.clear()
    at_work.posting.owe(owed(text=NAMING))
    await at_work.until(lambda: at_work.discord.calls)
    (at_work.work / "a.txt").unlink()
    (at_work.work / "b.txt").write_text("changed")
    at_work.pacing.go.set()
    await at_work.until(lambda: at_work.told)
    assert at_work.discord.calls == [("post", WHOLE)] * 2
    assert at_work.told == [facts.Posted(KEY, 0, 1, 1002)]
    await at_work.forgotten()


async def test_after_a_restart_the_files_are_those_of_the_first_try(at_work: Files, tmp_path: Path) -> None:
    earlier = Outgoing(tmp_path / "state", at_work.work, Bounds(100, 10), remote=False)
    earlier.pack(owed(text=NAMING))
    (at_work.work / "a.txt").unlink()
    at_work.posting.owe(owed(text=NAMING), fresh=False)
    await at_work.until(lambda: at_work.told)
    assert at_work.discord.calls == [("look", 1, nonce(KEY, 0), 77), ("post", WHOLE)]
    await at_work.forgotten()


@pytest.mark.parametrize("kind", ["notice", "receipt"])
async def test_only_answers_carry_files(at_work: Files, kind: str) -> None:
    at_work.posting.owe(owed(text="attach: a.txt", kind=kind))
    await at_work.until(lambda: at_work.told)
    assert at_work.discord.calls == [("post", Part(1, "attach: a.txt", nonce(KEY, 0), reply_to=77))]


async def test_a_file_that_discord_does_not_take_leaves_its_text_standing(at_work: Files) -> None:
    """FIELD: a file too large that takes its text down with it."""
    at_work.discord.fates = [PostNever("413 Request entity too large", 40005)]
    at_work.posting.owe(owed(text="Here.\nattach: a.txt"))
    await at_work.until(lambda: at_work.told)
    said = "Here.\n\ncould not attach a.txt: Discord did not take it"
    assert [call[1] for call in at_work.discord.calls] == [
        Part(1, "Here.", nonce(KEY, 0), reply_to=77, files=BOTH[:1]),
        Part(1, said, nonce(KEY, 0), reply_to=77),
    ]
    assert at_work.told == [facts.Posted(KEY, 0, 1, 1002)]


async def test_a_channel_that_takes_nothing_is_tried_without_the_files_once(at_work: Files) -> None:
    at_work.discord.fates = [PostNever("404 Unknown Channel", 10003), PostNever("404 Unknown Channel", 10003)]
    at_work.posting.owe(owed(text=NAMING))
    await at_work.until(lambda: at_work.told)
    assert at_work.told == [facts.Dropped(KEY, "404 Unknown Channel")]
    assert [len(call[1].files) for call in at_work.discord.calls] == [2, 0]


async def test_a_lost_copy_is_made_again(at_work: Files) -> None:
    at_work.discord.fates = [PostLater("reset")]
    at_work.pacing.go.clear()
    at_work.posting.owe(owed(text=NAMING))
    await at_work.until(lambda: at_work.discord.calls)
    for copy in at_work.copies.glob("*/0"):
        copy.unlink()
    at_work.pacing.go.set()
    await at_work.until(lambda: at_work.told)
    assert at_work.discord.calls == [("post", WHOLE)] * 2


async def test_a_dropped_answer_leaves_no_copies(at_work: Files) -> None:
    release = asyncio.Event()
    at_work.discord.fates = [release]
    at_work.posting.owe(owed(text=NAMING))
    await at_work.until(lambda: at_work.discord.calls)
    at_work.posting.drop("r1")
    at_work.discord.fates = []
    release.set()
    await at_work.until(lambda: at_work.told)
    await at_work.forgotten()
