"""When to let streaming text gather in the pipe before it is read again; it decides by what was read, and sleeps not.

A model that streams quickly would else wake us for every few words. What is no streaming text is never kept waiting,
and neither is a stream that is slow, short, or comes in large pieces already.
"""

from engine.events import SECOND
from engine.pi import MessageUpdate
from engine.wire import Line

NEAR = 5_000_000
"""Nanoseconds between two reads of a quick stream, at most."""

MANY = 8
"""So many reads in a row make a stream."""

ENOUGH = 1 << 17
"""Bytes of one read that need no gathering."""

REST = 0.02
"""Seconds for which it gathers."""


class Pace:
    """One child's stream."""

    def __init__(self) -> None:
        self._last = 0
        self._row = 0

    def rest(self, lines: tuple[Line, ...], size: int, now: int) -> float:
        """Seconds until the next read, after one of `size` bytes at `now` (ns) whose records are `lines`."""
        near = now - self._last <= NEAR
        streams = bool(lines) and isinstance(lines[-1], MessageUpdate)
        self._row = self._row + 1 if near and streams and size < ENOUGH else 0
        rest = REST if self._row >= MANY else 0.0
        self._last = now + int(rest * SECOND)
        return rest
