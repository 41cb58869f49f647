"""The demo's connector as a process: starts it, starts it again as systemd would, ends it; it reads no message."""

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from connector.exits import ExitCode

RESTART = 1.0
"""Seconds before it is started again; the unit waits longer (`RestartSec`), a person who looks on should not."""

TRIES = 3
"""Starts in a row that did not get as far as being ready."""

PATIENCE = 20.0
"""Seconds for an orderly stop."""

LONGEST_LINE = 1 << 24

_PR_SET_PDEATHSIG = 1
_OURS = ("PI_CONNECTOR_", "DISCORD_TOKEN", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY")
_QUIET = frozenset({"connector.finding", "connector.refused", "connector.stopped", "library.log"})

T = TypeVar("T")


class Over(Exception):  # noqa: N818 - a state of the process
    """The connector has ended, and starting it again would not help."""


class Keeper:
    """Keeps one connector running while its context lasts. `changed` is called for each line it logs, `heard` with
    each of these that is JSON. `notes` is what it said of the process last, `starts` how often it started one, and
    `begun` that one was ready once.

    Ended with its parent however that ends: the kernel sends it SIGTERM then (Linux).
    """

    def __init__(
        self,
        config: Path,
        token: str,
        changed: Callable[[], None],
        heard: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._command = [sys.executable, "-P", "-m", "connector", "run", "--config", str(config)]
        self._folder = config.parent
        self._token = token
        self._changed = changed
        self._process: Process | None = None
        self._last: deque[str] = deque(maxlen=5)
        self._why = ""
        self._heard_line = heard
        self._keeping: asyncio.Task[None]
        self.ready = asyncio.Event()
        self.begun = asyncio.Event()
        self.notes: deque[tuple[float, str]] = deque(maxlen=5)
        self.starts = 0

    async def __aenter__(self) -> Self:
        self._keeping = asyncio.create_task(self._keep(), name="keeper")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError, Over):
            await self._keeping

    async def until(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`; raises Over should the connector end for good before."""
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, self._keeping}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self._keeping.result()
            return await task
        finally:
            task.cancel()

    def hurry(self) -> None:
        """A second SIGTERM: it does not wait for what it still wanted to post."""
        self._send(signal.SIGTERM)

    async def _keep(self) -> None:
        tries = 0
        while True:
            self.ready.clear()
            code = await self._live()
            if code == ExitCode.STOPPED:
                raise self._over("the connector was stopped")
            if code in {ExitCode.USAGE, ExitCode.REFUSED}:
                raise self._over(f"the connector refuses to run: {self._why or self._words()}")
            tries = 0 if self.ready.is_set() else tries + 1
            if tries >= TRIES:
                raise self._over(f"the connector cannot be started: {self._words()}")
            why = f" ({self._why})" if self._why else ""
            self._note(f"the connector {_how(code)}{why}; starting it again, as systemd would")
            self.ready.clear()
            self._changed()
            await asyncio.sleep(RESTART)

    async def _live(self) -> int:
        """One process from start to end; its exit status. Cancelled, it ends the process first."""
        self._why = ""
        self.starts += 1
        self._process = process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=PIPE,
            cwd=self._folder,
            env={name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
            # A terminal's Ctrl-C is for the demo, which then ends this one in order.
            start_new_session=True,
            preexec_fn=_end_with(os.getpid()),
            limit=LONGEST_LINE,
        )
        try:
            assert process.stdin  # noqa: S101 - PIPE above
            assert process.stderr  # noqa: S101 - PIPE above
            process.stdin.write(f"{self._token}\n".encode())
            process.stdin.close()
            async for line in process.stderr:
                self._heard(line.decode(errors="replace").rstrip("\n"))
            return await process.wait()
        finally:
            await self._end(process)

    async def _end(self, process: Process) -> None:
        if process.returncode is not None:
            return
        self._send(signal.SIGTERM)
        drained = asyncio.create_task(self._drain(process))
        try:
            await asyncio.wait_for(asyncio.shield(drained), PATIENCE)
        except TimeoutError:
            self._send(signal.SIGKILL)
            await drained

    async def _drain(self, process: Process) -> None:
        assert process.stderr  # noqa: S101 - PIPE above
        await process.stderr.read()
        await process.wait()

    def _send(self, signum: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signum)

    def _heard(self, line: str) -> None:
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        if isinstance(told, dict):
            self._told(told)
        else:
            self._last.append(line)
            self._note(line)
        self._changed()

    def _told(self, told: dict[str, Any]) -> None:
        self._heard_line(told)
        event, reason = str(told.get("event")), str(told.get("reason", ""))
        if event == "connector.ready":
            self.ready.set()
            self.begun.set()
        elif event in {"connector.refused", "connector.stopped"}:
            self._why = reason
        elif event == "engine.wedged":
            self._note(f"{event}: {reason}")
        if told.get("level") in {"warning", "error", "critical"}:
            words = f"{event}: {reason or told.get('message') or ''}".rstrip(": ")
            if event == "engine.exit" and isinstance(code := told.get("code"), int):
                words = f"the agent {_how(code)}"
            self._last.append(words)
            if event not in _QUIET:
                self._note(words)

    def _over(self, text: str) -> Over:
        self.notes.append((time.time(), text))  # whoever gets Over says it on standard error
        return Over(text)

    def _note(self, text: str) -> None:
        self.notes.append((time.time(), text))
        note(text)

    def _words(self) -> str:
        return " | ".join(self._last) or "it says nothing"


def _how(code: int) -> str:
    """How a process ended, by its exit status as Python tells it."""
    return f"exited with {code}" if code >= 0 else f"died of signal {-code}"


def note(text: str) -> None:
    """What the demo itself says, on standard error."""
    sys.stderr.write(f"demo: {text}\n")
    sys.stderr.flush()


def _end_with(parent: int) -> Callable[[], None] | None:
    """What the new process does before it becomes the connector: it asks to be told when `parent` ends."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec as little as possible is done

    def arm() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(0)

    return arm
