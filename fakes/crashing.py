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
from collections import Counter
from collections.abc import Sequence
from typing import Any

from connector.cli import main as command_line
from connector.facts import AnyFact
from connector.gateway_calls import Calls
from connector.lane_effects import Effect, Tell
from connector.ledger import Ledger
from connector.performing import Performing
from connector.ports import Part

__all__ = ["main"]


class Points:
    """What has been passed in this life, and where it ends."""

    def __init__(self, points: Sequence[str]) -> None:
        self._points = {tuple(point.rsplit(":", 1)) for point in points}
        self._passed: Counter[str] = Counter()

    def passed(self, when: str, *names: str) -> None:
        """Count these names, and die if that was one too many."""
        for name in names:
            self._passed[f"{when}:{name}"] += 1
            number = str(self._passed[f"{when}:{name}"])
            if (f"{when}:{name}", number) in self._points:
                os.kill(os.getpid(), signal.SIGKILL)
            if when == "before" and (f"fault:{name}", number) in self._points:
                raise RuntimeError(f"the fault asked for at {name} {number}")


def _name(effect: Effect) -> str:
    return type(effect.given if isinstance(effect, Tell) else effect).__name__


def _wrap(points: Points) -> None:
    """Put the points around the one place of each kind of record and effect."""
    write, perform, post = Ledger._write, Performing.perform, Calls.post

    def _write(self: Ledger, new: Sequence[AnyFact], at: int, closed: tuple[str, ...]) -> None:
        names = [type(fact).__name__ for fact in new]
        points.passed("before", *names)
        write(self, new, at, closed)
        points.passed("after", *names)

    def _perform(self: Performing, effect: Effect) -> None:
        points.passed("before", _name(effect))
        perform(self, effect)
        points.passed("after", _name(effect))

    async def _post(self: Calls, part: Part) -> int:
        points.passed("before", "post")
        message = await post(self, part)
        points.passed("after", "post")
        return message

    Ledger._write = _write  # type: ignore[method-assign]  # that is what this program is for
    Performing.perform = _perform  # type: ignore[method-assign]  # as above
    Calls.post = _post  # type: ignore[method-assign]  # as above


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
    _wrap(Points([one for one in given if not one.startswith("clock:")]))
    command_line()


if __name__ == "__main__":
    main()
