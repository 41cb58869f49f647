"""The connector with a kill -9 or a fault at a named point, or a wall clock that steps.

    python -P -m fakes.crashing [WHEN:NAME:N]... [clock:SECONDS] run --config F

The process kills itself at the N-th NAME of this life, `before` or `after` it (WHEN), or an error is raised instead of
it (`fault`). NAME is a fact of
`connector.facts` (the transaction that holds it: before it is begun, or after its commit and before anybody knows), an
effect of `connector.lane_effects` (a `Tell` goes by what is told: `Submit`, `SteerIn`, `Fail`), or `post` (the call to
Discord: before the request, or after its reply was read). `clock:SECONDS` sets the wall clock off from the start on;
with `clock:SECONDS:later` SIGUSR1 does so, once, which is told as the log line `clock.stepped`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

__all__ = ["main"]


def _step(seconds: float, *, later: bool) -> None:
    """Set the wall clock off; the monotonic one goes on as ever."""
    real = time.time_ns
    off = 0 if later else int(seconds * 1e9)

    def stepped(*_: Any) -> None:
        nonlocal off
        off = int(seconds * 1e9)
        # Straight to the file: the signal may come in the middle of a log line's own write.
        os.write(2, json.dumps({"event": "clock.stepped", "seconds": seconds}).encode() + b"\n")

    time.time_ns = lambda: real() + off
    time.time = lambda: time.time_ns() / 1e9
    if later:
        signal.signal(signal.SIGUSR1, stepped)


def main() -> None:
    """Run the connector's command line with the points that stand before it."""
    at = sys.argv.index("run")
    given, sys.argv[1:] = sys.argv[1:at], sys.argv[at:]
    for clock in (one.split(":") for one in given if one.startswith("clock:")):
        _step(float(clock[1]), later=len(clock) > 2)
    from fakes.crash_points import run  # noqa: PLC0415 - the connector's modules are to meet no other clock

    run([one for one in given if not one.startswith("clock:")])


if __name__ == "__main__":
    main()
