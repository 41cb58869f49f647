"""One child generation: start, raw bytes in and out, stop ladder, sweep; it knows nothing of what the bytes say."""

import asyncio
import contextlib
import errno
import fcntl
import io
import os
import re
import secrets
import shutil
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, Self

import anyio
import anyio.lowlevel
from anyio.abc import Process
from msgspec import Struct

from engine import processes
from engine.processes import Identity
from engine.sweep import HOUSEHOLD, Lineage, Patience, ladder

CHUNK = 1 << 18
"""Bytes asked for in one read, and the size of the stdout pipe where the system grants it."""

TAIL_LINES = 20
TAIL_BYTES = 1 << 14
TAIL_LINE = 400
"""What is kept of stderr: the last lines, out of the last bytes, each cut to that many characters."""

_PIPE_MOST = 1 << 20  # no pipe of an ordinary user holds more
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")

Deliver = Callable[[bytes], Awaitable[None] | None]


class ChildSpec(Struct, frozen=True):
    """How to start a child. `kill_after` in seconds; `env` is the whole environment, but for the mark added."""

    command: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    kill_after: float
    remote: bool = False


class Exit(Struct, frozen=True):
    """How a generation ended: reported once, whoever asks.

    `code` is the exit status, or minus the signal. `expected`: a stop had begun. `swept`: descendants ended
    after it; None where that is not verifiable here (`agent.remote`). `left`: pids the system did not let us
    end, the child's own among them if even SIGKILL did not end it (`code` is then -9).
    """

    code: int
    expected: bool
    swept: int | None
    left: tuple[int, ...] = ()


class ChildUnusable(Exception):  # noqa: N818 - a state of the set-up, named as the exit code is
    """The command cannot be started as configured; `reason` says what is so, `mend` what to do."""

    def __init__(self, reason: str, mend: str) -> None:
        super().__init__(f"{reason}: {mend}")
        self.reason = reason
        self.mend = mend


class Child:
    """One running child. All methods belong to one event loop; made by `spawn` only."""

    def __init__(
        self,
        spec: ChildSpec,
        generation: int,
        *,
        process: Process,
        pipes: tuple[io.FileIO, io.FileIO, io.FileIO],
        line: Lineage,
        patience: Patience,
    ) -> None:
        self.generation = generation
        self._spec = spec
        self._line = line
        self._patience = patience
        self._stdin, self._stdout, self._stderr = pipes
        self._queue: deque[memoryview] = deque()
        self._more = anyio.Event()
        self._tail = b""
        self._cut = False
        self._gone = False
        self._pumped = False
        self._expected = False
        self._ladder: asyncio.Task[None] | None = None
        self._exited = asyncio.create_task(process.wait())
        self._writing = asyncio.create_task(self._write_all())
        self._erring = asyncio.create_task(self._read(self._stderr, self._keep))
        self._ending = asyncio.create_task(self._end())

    @property
    def identity(self) -> Identity:
        """Pid and start time: what the ledger records, and what `end_tree` takes at a later start."""
        return self._line.root

    @property
    def pid(self) -> int:
        """The process id."""
        return self._line.root.pid

    @property
    def remote(self) -> bool:
        """Whether its processes are out of reach here (`agent.remote`)."""
        return self._spec.remote

    @classmethod
    async def spawn(cls, spec: ChildSpec, generation: int, *, patience: Patience = anyio.sleep) -> Self:
        """Start it in a session of its own, so that no terminal's Ctrl-C reaches it (PROTOCOL §10).

        Raises ChildUnusable for what the set-up must mend (no such command, not executable, no such folder,
        nothing a system can run); any other OSError (no memory, no more processes) as it is.
        """
        mark = secrets.token_hex(8)
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:

            def pipe(mode: Literal["rb", "wb"]) -> tuple[int, io.FileIO]:
                reader, writer = os.pipe()
                mine, other = (reader, writer) if mode == "rb" else (writer, reader)
                theirs.callback(os.close, other)
                os.set_blocking(mine, False)
                return other, ours.enter_context(io.FileIO(mine, mode))

            (stdin, to_child), (stdout, from_child), (stderr, errors) = pipe("wb"), pipe("rb"), pipe("rb")
            with contextlib.suppress(OSError, AttributeError):  # a limit of the user's, or not Linux: a wish only
                fcntl.fcntl(from_child, fcntl.F_SETPIPE_SZ, CHUNK)
            try:
                with HOUSEHOLD.starting():
                    process = await anyio.open_process(
                        spec.command,
                        stdin=stdin,
                        stdout=stdout,
                        stderr=stderr,
                        cwd=spec.cwd,
                        env={**spec.env, processes.MARK: mark},
                        start_new_session=True,
                    )
                    line = HOUSEHOLD.register(process.pid, mark)
            except OSError as error:
                unusable = _unusable(spec, error)
                if unusable is None:
                    raise
                raise unusable from error
            ours.pop_all()
        if not spec.remote:
            _offer_for_memory(line.root, 0.001, 0.01, 0.1)
        pipes = (to_child, from_child, errors)
        return cls(spec, generation, process=process, pipes=pipes, line=line, patience=patience)

    async def pump(self, deliver: Deliver) -> None:
        """Hand up stdout as it comes, in chunks cut anywhere; call it once. No chunk is kept here.

        Returns at end of file, or, once the process is gone, when all it had written is delivered: somebody
        else may hold the pipe for ever. Whoever wants the last words before the exit awaits this and `wait()`.
        An awaitable that `deliver` returns is awaited: the child then waits, as its pipe is full. Cancelling
        this closes the pipe.
        """
        self._pumped = True
        await self._read(self._stdout, deliver)

    def write(self, data: bytes) -> Literal["queued", "closed"]:
        """Give bytes to the child, in order, without ever waiting; "closed" once it or we closed its input.

        The queue has no bound of its own: what is written is one prompt and a few commands at a time, by
        BEHAVIOUR §1.1, and a child that reads none of it is ended by the bounds there. `unwritten` tells.
        """
        if self._stdin.closed:
            return "closed"
        if data:
            self._queue.append(memoryview(data))
            if len(self._queue) == 1:
                self._write_now()
            self._more.set()
        return "queued"

    def hold(self) -> None:
        """From now on nothing is set free: we end what runs, so what it leaves is ours to end (BEHAVIOUR §7.14)."""
        HOUSEHOLD.close(self._line)

    def _write_now(self) -> bool:
        """Write what the pipe takes at once, so that no command waits for its turn of the loop; False if it is full."""
        block = self._queue[0]
        try:
            taken = self._stdin.write(block[:CHUNK])
        except BrokenPipeError:
            self._close_stdin()
            return True
        if taken is None:
            return False
        self._queue.popleft()
        if taken < len(block):
            self._queue.appendleft(block[taken:])
        return True

    @property
    def unwritten(self) -> int:
        """Bytes given to `write` that the child has not taken yet."""
        return sum(len(block) for block in self._queue)

    def note_free(self) -> None:
        """A tool has closed or a run has settled: what of it still runs on its own was set free, if anything.

        Cheap, and without effect once a stop has begun or the child has gone.
        """
        HOUSEHOLD.note_free()

    def left_since(self, began: float) -> tuple[str, ...]:
        """Names and pids of what this child started at or after `began` (`processes.instant`) and still runs."""
        return tuple(processes.name_of(who.pid) for who in HOUSEHOLD.since(self._line, began))

    def cpu(self) -> dict[Identity, float]:
        """CPU seconds so far of each process below this child, what has exited below it included."""
        below = HOUSEHOLD.since(self._line, float("-inf"))
        return {who: seconds for who in below if (seconds := processes.cpu_of(who.pid)) is not None}

    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines of stderr, for the log: bounded, printable, whatever the child wrote."""
        lines = self._tail.decode("utf-8", "replace").split("\n")
        if self._cut and any(lines[1:]):
            del lines[0]  # its beginning is lost
        clean = (_printable(line)[:TAIL_LINE] for line in lines)
        return tuple(line for line in clean if line)[-TAIL_LINES:]

    async def stop(self) -> Exit:
        """The stop ladder of BEHAVIOUR §1.17, the same for a stop and a wedge; callers share one run.

        From the call on nothing is written. A caller that is cancelled leaves the ladder running.
        """
        if self._ladder is None and not self._exited.done():
            self._expected = True
            HOUSEHOLD.close(self._line)
            self._close_stdin()
            self._ladder = asyncio.create_task(self._descend())
        if self._ladder is not None:
            await asyncio.shield(self._ladder)
        ended = await self.wait()
        if not self._pumped:
            self._stdout.close()
        return ended

    async def wait(self) -> Exit:
        """The end of the process, and of what it left; not the end of stdout, which a descendant may hold."""
        return await asyncio.shield(self._ending)

    async def _descend(self) -> None:
        ended = await ladder(
            self.identity,
            lambda: asyncio.wait({self._exited}),
            lambda: HOUSEHOLD.close(self._line),
            kill_after=self._spec.kill_after,
            patience=self._patience,
        )
        if not ended:
            self._exited.cancel()

    async def _end(self) -> Exit:
        await asyncio.wait({self._exited})
        self._gone = True
        self._close_stdin()
        for stream in (self._stdout, self._stderr):
            if not stream.closed:
                anyio.notify_closing(stream)  # wakes the reader, who takes what is left and goes
        swept = await HOUSEHOLD.sweep(self._line)
        HOUSEHOLD.forget(self._line)
        await asyncio.wait({self._writing, self._erring})
        code, left = -signal.SIGKILL, swept.left
        if self._exited.cancelled():
            HOUSEHOLD.own(self.pid)  # asyncio still waits for its status
            left = (self.pid, *left)
        else:
            code = self._exited.result()
        return Exit(int(code), self._expected, None if self._spec.remote else swept.ended, left)

    def _close_stdin(self) -> None:
        if not self._stdin.closed:
            self._queue.clear()
            anyio.notify_closing(self._stdin)
            self._stdin.close()
            self._more.set()

    async def _write_all(self) -> None:
        while not self._stdin.closed:
            if not self._queue:
                await self._more.wait()
                self._more = anyio.Event()
            elif self._write_now():
                await anyio.lowlevel.checkpoint()
            else:
                with contextlib.suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._stdin)

    async def _read(self, stream: io.FileIO, take: Deliver) -> None:
        left_behind = 0
        try:
            while not stream.closed and left_behind < _PIPE_MOST:
                chunk = stream.read(CHUNK)
                if chunk is None:
                    if self._gone:
                        return
                    with contextlib.suppress(anyio.ClosedResourceError):
                        await anyio.wait_readable(stream)
                    continue
                if not chunk:
                    return
                if self._gone:
                    left_behind += len(chunk)
                taken = take(chunk)
                if taken is not None:
                    await taken
                await anyio.lowlevel.checkpoint()  # a flood must not keep the loop
        finally:
            stream.close()

    def _keep(self, chunk: bytes) -> None:
        tail = self._tail + chunk[-TAIL_BYTES:]
        self._cut = len(self._tail) + len(chunk) > TAIL_BYTES
        self._tail = tail[-TAIL_BYTES:]


def _offer_for_memory(who: Identity, *pauses: float) -> None:
    """A wish. We hear of an exec a moment before it is over, and only then may the process be looked into."""
    if not processes.offer_for_memory(who.pid) and pauses and processes.alive(who):
        asyncio.get_running_loop().call_later(pauses[0], _offer_for_memory, who, *pauses[1:])


def _printable(line: str) -> str:
    text = _ESCAPES.sub("", line)
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _unusable(spec: ChildSpec, error: OSError) -> ChildUnusable | None:
    """What the set-up must mend, or None if this error is the machine's."""
    command = spec.command[0]
    if not Path(spec.cwd).is_dir():
        return ChildUnusable(f"the folder {spec.cwd} does not exist", "create it, or name another")
    if not os.access(spec.cwd, os.X_OK):
        return ChildUnusable(f"the folder {spec.cwd} may not be entered", "change its permissions or its owner")
    found = shutil.which(command, os.F_OK, spec.env.get("PATH", os.defpath)) or (
        command if (Path(spec.cwd) / command).is_file() and "/" in command else None
    )
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if found:
            return ChildUnusable(
                f"{found} cannot be started, the interpreter in its first line is missing",
                "install that, or correct the line",
            )
        case errno.ENOENT | errno.ENOTDIR | errno.ENAMETOOLONG | errno.ELOOP:
            return ChildUnusable(f"there is no command {command}", "install it, or give its full path")
        case errno.EACCES | errno.EPERM:
            return ChildUnusable(f"{found or command} may not be executed", "chmod +x it, or name another command")
        case errno.ENOEXEC:
            return ChildUnusable(f"{found or command} is no program", "give it a first line like #!/bin/sh")
        case errno.E2BIG:
            return ChildUnusable("arguments and environment are too long", "shorten the command or its variables")
        case _:
            return None
