"""A steady wall clock: nanoseconds since the epoch that never step, whatever the system's clock does meanwhile."""

import time


class Clock:
    """Reads the wall once, then counts with the monotonic clock: instants stay comparable within one run."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now(self) -> int:
        """Nanoseconds since the epoch."""
        return time.monotonic_ns() + self._offset
