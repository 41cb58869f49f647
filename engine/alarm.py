"""One timer that follows a deadline which is put off again and again; it knows nothing of what is due."""

import asyncio
from collections.abc import Callable

from engine.events import SECOND


class Alarm:
    """Calls `ring` at the deadline it was told last, or before it: who is rung too early looks again, and tells anew.

    So a deadline that is only put off, as by every sign of life, costs no timer. `clock` and deadlines: nanoseconds.
    All of it belongs to one event loop.
    """

    def __init__(self, clock: Callable[[], int], ring: Callable[[], None]) -> None:
        self._clock, self._ring = clock, ring
        self._timer: asyncio.TimerHandle | None = None
        self._at = 0

    def follow(self, due: int | None) -> None:
        """The deadline is this now; None: there is none."""
        if self._timer is not None and (due is None or self._at > due):
            self._timer.cancel()
            self._timer = None
        if self._timer is None and due is not None:
            self._at = due
            wait = max(0, due - self._clock()) / SECOND
            self._timer = asyncio.get_running_loop().call_later(wait, self._rings)

    def _rings(self) -> None:
        self._timer = None
        self._ring()
