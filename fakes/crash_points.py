"""Where `fakes.crashing` ends a life of the connector: around each record, each effect and each post."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence

from connector.cli import main as command_line
from connector.facts import AnyFact
from connector.gateway_calls import Calls
from connector.lane_effects import Effect, Tell
from connector.ledger import Ledger
from connector.performing import Performing
from connector.ports import Part


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


def run(points: Sequence[str]) -> None:
    """The connector's command line among these points."""
    _wrap(Points(points))
    command_line()
