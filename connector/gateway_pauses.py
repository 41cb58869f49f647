"""How often the gateway may be tried: pauses between attempts, the budget of IDENTIFYs; it waits for nobody."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from msgspec import Struct

from engine.events import SECOND

_FIRST, _CAP = 0.5, 60.0
_STABLE = 30.0
_HOUR = 3_600 * SECOND
_SPACING = 5 * SECOND
_PER_HOUR = 40


class Clock(Struct, frozen=True):
    """Time and chance, for tests to play: nanoseconds (steady, and since the epoch), seconds to sleep, [0, 1)."""

    now_ns: Callable[[], int] = time.monotonic_ns
    wall_ns: Callable[[], int] = time.time_ns
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random


class Pauses:
    """A pause for every attempt after the first, also behind a close that may be resumed: discord.py takes none.

    It doubles up to a minute, and begins anew once a connection has lived half a minute. Jitter takes off up to half.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._up_ns: int | None = None

    def up(self) -> None:
        """READY or RESUMED was read."""
        self._up_ns = self._clock.now_ns()

    def after_failure(self, *, floor: float = 0.0) -> float:
        """Seconds to wait before the next attempt, at least `floor`."""
        if self._up_ns is not None and self._clock.now_ns() - self._up_ns >= _STABLE * SECOND:
            self._failures = 0
        self._up_ns = None
        full = min(_CAP, _FIRST * float(1 << min(self._failures, 16)))
        self._failures += 1
        return max(floor, full * (0.5 + self._clock.random() / 2))


class Budget:
    """The IDENTIFYs of the last hour, those of earlier processes included (`past`, nanoseconds since the epoch).

    Discord allows 1,000 a day and then takes the token away; 40 an hour stay below that whatever happens.
    """

    def __init__(self, clock: Clock, past: Iterable[int] = ()) -> None:
        self._clock = clock
        now = clock.wall_ns()
        # A clock that was set back would make old ones seem to come: they count as made just now.
        self._made = deque(sorted(min(at, now) for at in past))
        self._last_ns: int | None = None

    def wait(self) -> float:
        """Seconds until the next IDENTIFY may be sent."""
        now = self._clock.wall_ns()
        while self._made and self._made[0] <= now - _HOUR:
            self._made.popleft()
        waits = [0]
        if len(self._made) >= _PER_HOUR:
            waits.append(min(self._made[0], now) + _HOUR - now)
        if self._last_ns is not None:
            waits.append(self._last_ns + _SPACING - self._clock.now_ns())
        return max(waits) / SECOND

    def spent(self) -> int:
        """Note one IDENTIFY; its instant, to be remembered for the next process."""
        now = self._clock.wall_ns()
        self._made.append(now)
        self._last_ns = self._clock.now_ns()
        return now
