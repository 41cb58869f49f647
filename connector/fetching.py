"""Brings the files of messages: what lies in the inbox already is not fetched again; it decides nothing for a lane.

Nothing here blocks the loop: files are read and written in threads, pictures are redrawn in a process of their own.
Whatever happens to a file, an answer comes, so that its lane goes on.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import aiohttp

from connector.download import Doors, NotFetched, download, opened
from connector.facts_files import File
from connector.fates import Fate, Lost, Saved, Shown, brought
from connector.inbox import PICTURES, Inbox, extension_of, name_of
from connector.lane_effects import Fetch
from connector.lane_events import Brought
from connector.logs import Log
from connector.notices_files import Why
from connector.pictures import MIME, Worker, is_picture
from connector.ports import Discord, PostLater, PostNever
from engine.commands import Image

AT_ONCE = 4
"""Files that are brought at the same time."""
BOUND = 60.0
"""Seconds that one file may take once it is its turn, waits between tries included: its lane waits for it."""
ASK_AGAIN = 2.0
"""Seconds until Discord is asked again where a file is now, while it cannot be reached."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """`[files]`, and what the agent can be given: `remote` is `agent.remote`; `seconds` for each file."""

    max_bytes: int
    max_message: int
    remote: bool
    doors: Doors
    seconds: float = BOUND


@dataclass(frozen=True, slots=True)
class Tools:
    """What files are brought with."""

    bounds: Bounds
    inbox: Inbox
    worker: Worker
    discord: Discord
    log: Log
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))


class Fetching:
    """What is on its way, by round."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._under_way: dict[str, asyncio.Task[Brought]] = {}

    @property
    def inbox(self) -> Inbox:
        """Where what was brought is kept."""
        return self._tools.inbox

    async def fetch(self, wanted: Fetch, put: Callable[[Brought], None]) -> None:
        """Bring a round's files, and say so; nothing is said of a round that was given up meanwhile."""
        task = self._under_way[wanted.round] = asyncio.ensure_future(_Message(self._tools, wanted).bring())
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            if self._under_way.get(wanted.round) is task:
                del self._under_way[wanted.round]
        if not task.cancelled():
            put(task.result())

    def forget(self, rounds: Iterable[str]) -> None:
        """Rounds that are over need no files any more."""
        for name in rounds:
            if (task := self._under_way.get(name)) is not None:
                task.cancel()

    async def close(self) -> None:
        """Give all of it up, and wait until nothing of it is left."""
        under_way = set(self._under_way.values())
        self.forget(list(self._under_way))
        if under_way:
            await asyncio.wait(under_way)

    async def deleted(self, messages: Iterable[int]) -> None:
        """Messages were deleted and no turn needs them, so what was saved of them goes too (CONTRACT, Trust)."""
        for message in messages:
            await asyncio.to_thread(self._tools.inbox.forget, message)


class _Message:
    """The files of one message; their newer addresses are asked for once, however many have expired."""

    def __init__(self, tools: Tools, wanted: Fetch) -> None:
        self._tools, self._wanted = tools, wanted
        self._bounds, self._inbox = tools.bounds, tools.inbox
        self._asking = asyncio.Lock()
        self._addresses: dict[int, str] | None = None

    async def bring(self) -> Brought:
        """What became of all of them, in their order."""
        wanted, most = self._wanted, self._bounds.max_message
        async with opened() as session:
            numbered = enumerate(wanted.files[:most], 1)
            fates = await asyncio.gather(*(self._fate(session, number, file) for number, file in numbered))
        too_many = [Lost(file, Why.TOO_MANY, most) for file in wanted.files[most:]]
        return brought(wanted.round, wanted.lane, [*fates, *too_many])

    async def _fate(self, session: aiohttp.ClientSession, number: int, file: File) -> Fate:
        """One file, within its bound: from the inbox, refused by Discord's own word on it, or downloaded."""
        found = await asyncio.to_thread(self._kept, number, file)
        if found is not None:
            return found
        if self._bounds.remote and not is_picture(file):
            return Lost(file, Why.REMOTE)
        if file.size > self._bounds.max_bytes:
            return Lost(file, Why.TOO_LARGE, self._bounds.max_bytes)
        try:
            async with self._tools.room, asyncio.timeout(self._bounds.seconds):
                return await self._fetched(session, number, file)
        except NotFetched as error:
            return self._lost(file, error.why, str(error))
        except TimeoutError:
            return self._lost(file, Why.FAILED, "it took too long")
        except OSError as error:
            return self._lost(file, Why.DISK, str(error))

    def _lost(self, file: File, why: Why, detail: str) -> Lost:
        where = {"lane": self._wanted.lane, "message_id": self._wanted.message}
        self._tools.log.info("files.lost", **where, file=file.id, reason=why.name.lower(), detail=detail)
        return Lost(file, why, self._bounds.max_bytes)

    # -- from Discord ----------------------------------------------------------------------------------------------

    async def _fetched(self, session: aiohttp.ClientSession, number: int, file: File) -> Fate:
        part = await asyncio.to_thread(self._inbox.part, self._wanted.lane)
        try:
            try:
                await self._download(session, file.url, part)
            except NotFetched as error:
                newer = await self._newer(file) if error.why is Why.GONE else ""
                if not newer:
                    raise
                await self._download(session, newer, part)
            if is_picture(file) and (drawn := await self._drawn(number, file, part)) is not None:
                return drawn
            return await asyncio.to_thread(self._keep_raw, number, file, part)
        finally:
            await asyncio.to_thread(self._inbox.discard, part)

    async def _download(self, session: aiohttp.ClientSession, address: str, part: Path) -> None:
        opening = asyncio.ensure_future(asyncio.to_thread(part.open, "wb"))
        try:
            file = cast("BinaryIO", await asyncio.shield(opening))
        except asyncio.CancelledError:
            (await opening).close()  # a thread does not hear of it, and leaves an open file
            raise
        try:
            await download(
                session,
                address,
                file,
                most=self._bounds.max_bytes,
                doors=self._bounds.doors,
                pause=self._tools.pause,
            )
        finally:
            await asyncio.to_thread(file.close)

    async def _newer(self, file: File) -> str:
        """The address as Discord signs it now, which holds for about a day; "" where there is no such file any more."""
        async with self._asking:
            while self._addresses is None:
                try:
                    found = await self._tools.discord.files(self._wanted.channel, self._wanted.message)
                    self._addresses = {one.id: one.url for one in found}
                except PostNever as error:
                    self._tools.log.info("files.gone", message_id=self._wanted.message, reason=error.reason)
                    self._addresses = {}
                except PostLater as error:
                    await self._tools.pause(max(error.after, ASK_AGAIN))
        return self._addresses.get(file.id, "")

    async def _drawn(self, number: int, file: File, part: Path) -> Fate | None:
        """The picture that a download is, None where it is none that can be read."""
        target = await asyncio.to_thread(self._inbox.part, self._wanted.lane)
        try:
            form = await self._tools.worker.redraw(part, target)
            if form is None:
                return None
            return await asyncio.to_thread(self._keep_drawn, file, target, name_of(self._wanted.message, number, form))
        finally:
            await asyncio.to_thread(self._inbox.discard, target)

    # -- in the inbox; these block, so they run in threads -----------------------------------------------------------

    def _kept(self, number: int, file: File) -> Fate | None:
        """What an earlier try or an earlier life has left."""
        if is_picture(file):
            for form in PICTURES:
                if (shown := self._shown(file, name_of(self._wanted.message, number, form))) is not None:
                    return shown
        name = self._raw_name(number, file)
        size = self._inbox.size(self._wanted.lane, name)
        return None if size is None or self._bounds.remote else self._saved(file, name, size)

    def _keep_drawn(self, file: File, part: Path, name: str) -> Fate:
        kept = self._inbox.keep(part, self._wanted.lane, name, beside=self._wanted.message)
        shown = self._shown(file, name) if kept else None
        return shown or Lost(file, Why.NO_ROOM)

    def _keep_raw(self, number: int, file: File, part: Path) -> Fate:
        if self._bounds.remote:
            return Lost(file, Why.UNREADABLE)
        size, name = part.stat().st_size, self._raw_name(number, file)
        if not self._inbox.keep(part, self._wanted.lane, name, beside=self._wanted.message):
            return Lost(file, Why.NO_ROOM)
        return self._saved(file, name, size)

    def _shown(self, file: File, name: str) -> Shown | None:
        data = self._inbox.read(self._wanted.lane, name)
        if data is None:
            return None
        image = Image(base64.b64encode(data).decode(), MIME[name.rpartition(".")[2]])
        path = "" if self._bounds.remote else str(self._inbox.path(self._wanted.lane, name))
        return Shown(file, name, image, path)

    def _saved(self, file: File, name: str, size: int) -> Saved:
        return Saved(file, str(self._inbox.path(self._wanted.lane, name)), size, unreadable=is_picture(file))

    def _raw_name(self, number: int, file: File) -> str:
        """The name of a file that is kept as it came; never that of a picture of ours."""
        extension = extension_of(file.name)
        if is_picture(file) and extension in PICTURES:
            extension = "bin"
        return name_of(self._wanted.message, number, extension)
