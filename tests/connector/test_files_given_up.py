"""A download that is given up while a thread still opens its file leaves no file open."""

import asyncio
import threading
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from connector.fetching import _Message

pytestmark = pytest.mark.anyio


async def test_a_file_that_is_opened_too_late_is_closed(tmp_path: Path) -> None:
    begun, go = asyncio.Event(), threading.Event()
    loop, made = asyncio.get_running_loop(), list[BinaryIO]()

    class Slow:
        def open(self, mode: str) -> BinaryIO:
            loop.call_soon_threadsafe(begun.set)
            assert go.wait(30)
            made.append(cast("BinaryIO", (tmp_path / "a.part").open(mode)))
            return made[0]

    nobody: Any = None
    message = _Message.__new__(_Message)
    work = asyncio.create_task(message._download(nobody, "https://cdn.discordapp.com/a", cast("Path", Slow())))
    await begun.wait()
    work.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert [file.closed for file in made] == [True]
