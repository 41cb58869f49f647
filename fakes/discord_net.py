"""The loopback port of the fake Discord: up, down, up again on the same number, and connections that are reset."""

from __future__ import annotations

import contextlib
import socket
import struct

from aiohttp import web
from aiohttp.typedefs import Handler


def reset(request: web.Request) -> None:
    """End a request's connection with RST, as a crashed or refusing server does."""
    if request.transport is not None:
        reset_transport(request.transport)


def reset_transport(transport: object) -> None:
    """The same for a transport of asyncio."""
    get_extra_info = getattr(transport, "get_extra_info", lambda _name: None)
    sock = get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # already closed: then there is nothing left to reset
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    abort = getattr(transport, "abort", None)
    if abort is not None:
        abort()


class Port:
    """One port of 127.0.0.1 (0: any free one), held for as long as the fake lives, listening only while it is up."""

    def __init__(self, number: int = 0) -> None:
        self._guard = self._bound(number)
        self.number: int = self._guard.getsockname()[1]
        self._listening: socket.socket | None = None

    @staticmethod
    def _bound(port: int) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # The guard keeps the number while nothing listens; both sockets say that they share it.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(("127.0.0.1", port))
        return sock

    def listen(self) -> socket.socket:
        """A socket that listens on the port; connections are refused before and after."""
        self._listening = self._bound(self.number)
        self._listening.listen(128)
        self._listening.setblocking(False)
        return self._listening

    def close(self) -> None:
        """Give the port back."""
        self._guard.close()


@web.middleware
async def to_nobody(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Who went away in the midst of a request is told nothing, and that is no error of the server's."""
    try:
        return await handler(request)
    except ConnectionError:
        if request.transport is not None and not request.transport.is_closing():
            raise
        return web.Response(status=499)  # which nobody reads


class Server:
    """An aiohttp application on a `Port`, which can go down and come back while the process lives."""

    def __init__(self, app: web.Application, port: Port) -> None:
        app.middlewares.append(to_nobody)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0, handle_signals=False)
        self._port = port
        self._site: web.SockSite | None = None

    async def start(self) -> None:
        """Set up and listen."""
        await self._runner.setup()
        await self.up()

    async def up(self) -> None:
        """Listen (again)."""
        if self._site is None:
            self._site = web.SockSite(self._runner, self._port.listen())
            await self._site.start()

    async def down(self) -> None:
        """Refuse new connections and reset the open ones."""
        if self._site is not None:
            site, self._site = self._site, None
            await site.stop()
        self.reset_all()

    def reset_all(self) -> None:
        """Reset every open connection."""
        server = self._runner.server
        if server is not None:
            for connection in server.connections:
                if connection.transport is not None:
                    reset_transport(connection.transport)

    async def stop(self) -> None:
        """Down for good; the port is given back."""
        await self.down()
        await self._runner.cleanup()
        self._port.close()
