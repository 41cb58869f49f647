"""Pictures of strangers become small ones of ours in a process of its own, with bounds; this one never decodes any."""

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from connector.facts_files import File
from connector.inbox import PICTURES, extension_of
from connector.logs import Log

WORKER = (sys.executable, "-P", "-m", "connector.picture_worker")
PATIENCE = 30.0
"""Seconds of the wall clock that one picture may take."""
AT_ONCE = 2
MIME = {"png": "image/png", "jpg": "image/jpeg"}

_SEEN_BY_NAME = frozenset({"png", "jpg", "jpeg", "gif", "webp", "bmp", "avif"})
_LONGEST = 500


def is_picture(file: File) -> bool:
    """Whether a file says of itself that it is a picture; drawings in text (SVG) are files."""
    if file.type:
        return file.type.startswith("image/") and not file.type.startswith("image/svg")
    return extension_of(file.name) in _SEEN_BY_NAME


class Worker(Struct, frozen=True):
    """How pictures are redrawn: `env` is all that the process gets, `patience` in seconds."""

    env: Mapping[str, str]
    log: Log
    room: asyncio.Semaphore
    command: tuple[str, ...] = WORKER
    patience: float = PATIENCE

    async def redraw(self, source: Path, target: Path) -> str | None:
        """Write the picture in `source` to `target` as it is shown to the agent; its extension, None for no picture.

        Raises OSError where the disk refuses.
        """
        async with self.room:
            code, said = await self._run(source, target)
        if code == 0 and said in PICTURES:
            return said
        self.log.info("picture.unreadable", code=code, reason=said)
        return None

    async def _run(self, source: Path, target: Path) -> tuple[int | None, str]:
        given, made = await asyncio.to_thread(_opened, source, target)
        with given, made:
            try:
                # In our own session: what is swept after children is never of that (engine.sweep).
                process = await asyncio.create_subprocess_exec(
                    *self.command,
                    stdin=given,
                    stdout=made,
                    stderr=asyncio.subprocess.PIPE,
                    env=dict(self.env),
                    cwd="/",
                )
            except OSError as error:
                return None, str(error)
        said = b""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.patience):
                    _, said = await process.communicate()
        finally:
            late = process.returncode is None
            if late:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        reason = "it took too long" if late else said.decode(errors="replace")[-_LONGEST:]
        return process.returncode, reason


def _opened(source: Path, target: Path) -> tuple[BinaryIO, BinaryIO]:
    return source.open("rb"), target.open("wb")
