"""One file from Discord's CDN into an open file: only from where it may come, and never more than allowed.

No token goes with it, no redirect is followed, and the bytes are bounded while they come, whatever was promised.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import BinaryIO

import aiohttp
from msgspec import Struct
from yarl import URL

from connector.notices_files import Why
from connector.settings_values import is_loopback

CDN = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
CHUNK = 1 << 18
PAUSES = (0.5, 2.0)
"""Seconds before each further try of what may pass."""

_GONE = frozenset({403, 404, 410})
_SILENCE = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=20)


class NotFetched(Exception):  # noqa: N818 - a state of the world, not a fault
    """It is not there. `why`: GONE may have a newer address, FAILED was tried as often as is sensible."""

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(f"{why}: {detail}")
        self.why = why


class _Later(Exception):  # noqa: N818 - a state of the world, not a fault
    """It may come the next time."""


class Doors(Struct, frozen=True):
    """Where files may come from: Discord's CDN by https; with an `api_base` of its own also that host, or loopback."""

    api_base: str | None = None

    def open_for(self, address: str) -> bool:
        """Whether a file may be asked for at this address."""
        try:
            url = URL(address)
        except ValueError:
            return False
        host = url.host or ""
        if url.user is not None or url.password is not None:
            return False
        if url.scheme == "https" and host in CDN and url.explicit_port in {None, 443}:
            return True
        if self.api_base is None:
            return False
        near = is_loopback(host)
        return (url.scheme == "https" or (url.scheme == "http" and near)) and (near or host == URL(self.api_base).host)


async def download(
    session: aiohttp.ClientSession,
    address: str,
    file: BinaryIO,
    *,
    most: int,
    doors: Doors,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> int:
    """Write the file at `address` to `file` and return its size in bytes, at most `most`; else raise NotFetched."""
    if not doors.open_for(address):
        raise NotFetched(Why.FAILED, "not an address of Discord")
    for wait in (*PAUSES, None):
        try:
            return await _once(session, address, file, most)
        except (_Later, aiohttp.ClientError, TimeoutError) as error:
            if wait is None:
                raise NotFetched(Why.FAILED, str(error)) from error
            await pause(wait)
    raise AssertionError("the last try returns or raises")


async def _once(session: aiohttp.ClientSession, address: str, file: BinaryIO, most: int) -> int:
    await _on_disk(_emptied, file)
    size = 0
    async with session.get(URL(address, encoded=True), allow_redirects=False, timeout=_SILENCE) as reply:
        if reply.status in _GONE:
            raise NotFetched(Why.GONE, str(reply.status))
        if reply.status != 200:
            raise _Later(f"status {reply.status}")
        async for chunk in reply.content.iter_chunked(CHUNK):
            size += len(chunk)
            if size > most:
                raise NotFetched(Why.TOO_LARGE)
            await _on_disk(file.write, chunk)
    await _on_disk(file.flush)
    return size


async def _on_disk(act: Callable[..., object], *given: object) -> None:
    try:
        await asyncio.to_thread(act, *given)
    except OSError as error:
        raise NotFetched(Why.DISK, str(error)) from error


def _emptied(file: BinaryIO) -> None:
    file.seek(0)
    file.truncate()


def opened() -> aiohttp.ClientSession:
    """A session for files: nothing is decoded on the way, nothing is remembered between two of them."""
    return aiohttp.ClientSession(
        auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(), headers={"Accept-Encoding": "identity"}
    )
