"""A client that drives one child by raw JSON lines: it spawns, writes and reads, and judges nothing."""

import asyncio
import contextlib
import json
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

from fakes.real_pi import Launch
from fakes.records import Record, outline
from fakes.waiting import BOUND

START_BOUND = 30.0
"""Seconds until the first response: a first start after an installation reads much from a cold disk."""


class RawChild:
    """One child process; an async context manager that leaves no process behind.

    `records` holds every JSON object it wrote, `lines` the same as bytes without the line feed. A cursor moves
    with each wait, so that the next looks only at what came after it.
    """

    def __init__(self, process: Process) -> None:
        self.records: list[Record] = []
        self.lines: list[bytes] = []
        self.stderr = bytearray()
        self.cursor = 0
        self._process = process
        self._news = asyncio.Event()
        self._serial = 0
        self._readers = asyncio.gather(self._read_stdout(), self._read_stderr())

    @classmethod
    async def spawn(cls, launch: Launch) -> Self:
        """Start the child in a session of its own."""
        process = await asyncio.create_subprocess_exec(
            *launch.command,
            cwd=launch.cwd,
            env=dict(launch.env),
            start_new_session=True,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        return cls(process)

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, launch: Launch) -> AsyncIterator[Self]:
        """Start the child, wait until it is up, and end it when the context is left."""
        async with await cls.spawn(launch) as child:
            await child.ready()
            yield child

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def ready(self) -> Record:
        """Wait for the answer to a first `get_state`, pi's only sign that it is up, and return it."""
        return await self.ask({"type": "get_state"}, bound=START_BOUND)

    async def send(self, *commands: Record) -> None:
        """Write the commands in one write, back to back."""
        await self.write(b"".join(json.dumps(command).encode() + b"\n" for command in commands))

    async def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def ask(self, command: Record, *, bound: float = BOUND) -> Record:
        """Send one command under an id of its own and return its response; the cursor moves past it."""
        self._serial += 1
        mine = f"ask-{self._serial}"
        await self.send({"id": mine, **command})
        return await self.until("response", id=mine, bound=bound)

    async def run(self, prompt: Record) -> list[Record]:
        """Send a prompt and return all records from there to its `agent_settled`."""
        start = len(self.records)
        await self.send(prompt)
        await self.until("agent_settled")
        return self.records[start : self.cursor]

    async def until(self, kind: str, *, bound: float = BOUND, **fields: Any) -> Record:
        """Return the next record of this type with these top-level fields, and move the cursor past it.

        Raises EOFError when the child's output ends first, TimeoutError after `bound` seconds.
        """

        def wanted(record: Record) -> bool:
            return record.get("type") == kind and all(record.get(name) == v for name, v in fields.items())

        return await self.until_that(wanted, bound=bound)

    async def until_that(self, wanted: Callable[[Record], bool], *, bound: float = BOUND) -> Record:
        """As `until`, for any predicate over a record."""
        try:
            async with asyncio.timeout(bound):
                return await self._next(wanted)
        except TimeoutError:
            raise TimeoutError(f"not seen; since the cursor: {outline(self.records[self.cursor :])}") from None

    async def _next(self, wanted: Callable[[Record], bool]) -> Record:
        position = self.cursor
        while True:
            self._news.clear()
            for record in self.records[position:]:
                position += 1
                if wanted(record):
                    self.cursor = position
                    return record
            if self._readers.done():
                raise EOFError(f"output ended; {outline(self.records[self.cursor :])}; {self.stderr[-2000:]!r}")
            await self._news.wait()

    def close_input(self) -> None:
        """Close the child's standard input."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child alone."""
        self._process.send_signal(number)

    async def exited(self) -> int:
        """Wait for the exit; returns the status, or minus the signal's number."""
        async with asyncio.timeout(BOUND):
            code = await self._process.wait()
            await self._readers
        return code

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close_input()
        try:
            await self.exited()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _read_stdout(self) -> None:
        assert self._process.stdout is not None
        rest = bytearray()
        while data := await self._process.stdout.read(1 << 18):
            head, newline, tail = data.rpartition(b"\n")
            if newline:
                for line in bytes(rest + head).split(b"\n"):
                    self.lines.append(line)
                    self.records.append(json.loads(line))
                rest = bytearray(tail)
                self._news.set()
            else:
                rest += data
        self._news.set()

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(1 << 16):
            self.stderr += data
        self._news.set()
