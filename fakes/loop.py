"""A tiny cooperative scheduler with simulated time, the fake child's event loop; it may not look at a clock.

pi is a JavaScript program: handlers run concurrently, each in small steps, first come first served. That order is
what makes its wire surprising (PROTOCOL §13), so the fake has the same kind of machine: a *flow* is a generator that
yields the gate it waits for; `HOP` is a gate that is always open and costs one round of the ready queue.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

__all__ = ["HOP", "Flow", "Gate", "Loop"]


class Gate:
    """Something a flow can wait for: closed, then open once and for ever, with a value."""

    __slots__ = ("_watchers", "is_open", "value")

    def __init__(self) -> None:
        self.is_open = False
        self.value: Any = None
        self._watchers: list[Callable[[Gate], None]] = []

    def open(self, value: Any = None) -> None:
        """Opens it; a second time changes nothing."""
        if self.is_open:
            return
        self.is_open, self.value = True, value
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher(self)

    def watch(self, watcher: Callable[[Gate], None]) -> None:
        """Calls `watcher(self)` when it opens, at once if it is open."""
        if self.is_open:
            watcher(self)
        else:
            self._watchers.append(watcher)


Flow = Generator[Gate, Any, Any]

HOP = Gate()
HOP.open()


class Loop:
    """Runs flows. All times are integer nanoseconds of whatever clock the caller keeps."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        # flows are held here and named by number elsewhere: a gate that held its flow would make nested generators
        # close each other when the whole is garbage
        self._flows: dict[int, tuple[Flow, Gate]] = {}
        self._ready: deque[tuple[int, Any]] = deque()
        self._timers: list[tuple[int, int, Gate]] = []
        self._serial = 0

    def spawn(self, flow: Flow) -> Gate:
        """Starts a flow behind everything that is ready; the gate opens with its return value."""
        done = Gate()
        self._serial += 1
        self._flows[self._serial] = (flow, done)
        self._ready.append((self._serial, None))
        return done

    def after(self, delay: int) -> Gate:
        """A gate that opens `delay` ns from now."""
        gate = Gate()
        self._serial += 1
        heapq.heappush(self._timers, (self.now + max(0, delay), self._serial, gate))
        return gate

    def first(self, *gates: Gate) -> Gate:
        """A gate that opens with the first of these."""
        either = Gate()
        for gate in gates:
            gate.watch(either.open)
        return either

    def deadline(self) -> int | None:
        """When `advance` has something to do next."""
        if self._ready:
            return self.now
        while self._timers and self._timers[0][2].is_open:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, now: int) -> None:
        """Runs everything that is due at `now`; time never goes back."""
        self.now = max(self.now, now)
        self._drain()
        while self._timers and self._timers[0][0] <= self.now:
            heapq.heappop(self._timers)[2].open()
            self._drain()

    def _drain(self) -> None:
        while self._ready:
            number, value = self._ready.popleft()
            flow, done = self._flows[number]
            try:
                gate = flow.send(value)
            except StopIteration as end:
                del self._flows[number]
                done.open(end.value)
                continue
            gate.watch(partial(self._resume, number))

    def _resume(self, number: int, opened: Gate) -> None:
        self._ready.append((number, opened.value))
