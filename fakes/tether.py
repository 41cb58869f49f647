"""A loopback socket that a bash tool and its child hold: its end proves both dead, an echo one alive."""

import asyncio
from typing import Self

from fakes.waiting import BOUND


class Tether:
    """One tether; an async context manager. The tool runs until it is killed or `release` is called."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._ends: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Future()

    def command(self, *, own_session: bool = False) -> str:
        """Return the bash command that holds this tether; on request its child is in a session of its own."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        cat = "setsid cat" if own_session else "cat"
        return f"exec 9<>/dev/tcp/127.0.0.1/{port}; echo $$ >&9; {cat} <&9 >&9 & wait; echo released"

    async def attached(self) -> int:
        """Wait for the tool and return the process id of its bash."""
        return int(await self._line())

    async def echo(self, line: str) -> str:
        """Have the tool's child say the line back: who answers is alive. Raises EOFError when nobody does."""
        _, writer = await self._held()
        writer.write(line.encode() + b"\n")
        await writer.drain()
        return await self._line()

    async def release(self) -> None:
        """Let the tool end by itself, with `released` as its output."""
        _, writer = await self._held()
        writer.write_eof()

    async def gone(self) -> None:
        """Wait until no process holds the other end."""
        reader, _ = await self._held()
        async with asyncio.timeout(BOUND):
            try:
                await reader.read()
            except ConnectionResetError:  # killed with unread bytes: as dead as by an end of file
                return

    async def _line(self) -> str:
        reader, _ = await self._held()
        async with asyncio.timeout(BOUND):
            line = await reader.readline()
        if not line:
            raise EOFError("nobody holds the tether")
        return line.decode().rstrip("\n")

    async def _held(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(BOUND):
            return await asyncio.shield(self._ends)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        if self._ends.done():
            self._ends.result()[1].close()
        else:
            self._ends.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._ends.done():
            writer.close()
        else:
            self._ends.set_result((reader, writer))
