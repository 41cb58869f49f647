"""Proves life and death of processes by a connection each of them holds; it ends none of them."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream

_VICTIM = Path(__file__).with_name("victim.py")


@dataclass(frozen=True, slots=True)
class Held:
    """One process that has said its name; `stream` ends when it dies, and says nothing before."""

    pid: int
    stream: SocketStream

    async def end(self) -> None:
        """Return when this process is dead."""
        try:
            while True:
                await self.stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


@dataclass(slots=True)
class Witness:
    """Waits for victims by name, in any order."""

    port: int
    _said: dict[str, Held] = field(default_factory=dict)
    _streams: list[SocketStream] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    def command(self, code: str) -> tuple[str, ...]:
        """The command line of a victim that runs this code (`fakes/victim.py`)."""
        return (sys.executable, "-I", "-S", str(_VICTIM), str(self.port), code)

    async def named(self, name: str) -> Held:
        """The process that says this name, as soon as it has."""
        while name not in self._said:
            await self._news.wait()
        return self._said.pop(name)

    async def take(self, stream: SocketStream) -> None:
        """Read one victim's name and keep its connection."""
        self._streams.append(stream)
        text = b""
        while not text.endswith(b"\n"):
            text += await stream.receive()
        name, pid = text.decode().split()
        self._said[name] = Held(int(pid), stream)
        self._news.set()
        self._news = anyio.Event()

    async def close(self) -> None:
        """Let go of everybody."""
        for stream in self._streams:
            await stream.aclose()


@asynccontextmanager
async def witness() -> AsyncIterator[Witness]:
    """A witness on a loopback port of its own; at the end all connections are closed."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        seen = Witness(listener.extra(SocketAttribute.local_port))  # noqa: S610 - anyio's, not Django's
        group.start_soon(listener.serve, seen.take)
        try:
            yield seen
        finally:
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await seen.close()
