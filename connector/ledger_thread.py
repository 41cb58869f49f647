"""The one thread that touches the ledger's file: work in order, and how long the loop waits for it; it knows no SQL.

The loop stands still for a short piece of work, since that is over sooner than another round of the loop, and never
for longer than `PATIENCE`: a stalled disk delays no heartbeat and no Stop (DESIGN).
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE = 0.002
"""Seconds for which the loop waits for a commit where it stands."""


class _Job(Generic[T]):
    """A piece of work for the thread, and for the loop what came of it: `over` is let go with it."""

    __slots__ = ("_error", "_made", "_tell", "_work", "over")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._made: T
        self._error: Exception | None = None
        self._tell: Callable[[], None] | None = None
        self.over = threading.Lock()
        self.over.acquire()

    def run(self) -> None:
        """On the thread."""
        try:
            self._made = self._work()
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits, who must not do so for ever
            self._error = error
        self.over.release()
        if self._tell is not None:
            self._tell()

    async def later(self) -> None:
        """Wait for it while the loop goes on; `over` was not to be had."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits
                loop.call_soon_threadsafe(told.set)

        self._tell = tell
        # What is over by now may have been so before it knew whom to tell.
        if not self.over.acquire(blocking=False):
            await told.wait()

    def result(self) -> T:
        """What it made; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._made


class LedgerThread:
    """Runs what it is given, one after another, and `after` behind each, when whoever waited for it goes on already."""

    def __init__(self, after: Callable[[], None]) -> None:
        self._after = after
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._began: float | None = None
        self._quick = True
        self._thread = threading.Thread(target=self._serve, name="ledger", daemon=True)
        self._thread.start()

    @property
    def lives(self) -> bool:
        """Whether it takes work."""
        return self._thread.is_alive()

    def stalled(self) -> float:
        """Seconds for which it has been at the same piece of work."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def put(self, work: Callable[[], None]) -> None:
        """Work that nobody waits for; it must raise nothing."""
        self._work.put(work)

    async def do(self, work: Callable[[], T], *, at_once: bool = False) -> T:
        """What `work` makes or raises. `at_once`: the loop waits for it, within `PATIENCE`.

        It does so only while the thread is free and was quick the last time: beside a slow disk everything goes on.
        """
        job = _Job(work)
        waits = at_once and self._quick and self._began is None and self._work.empty()
        self._work.put(job.run)
        if not (waits and job.over.acquire(timeout=PATIENCE)):
            await job.later()
        return job.result()

    async def end(self) -> None:
        """Finish what was given; nothing is taken after it."""
        self._work.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            self._began = began = time.monotonic()
            work()
            self._quick = time.monotonic() - began < PATIENCE
            self._began = None
            self._after()
