"""The alarm: put off it sets no timer, drawn nearer it sets another one, and without a deadline it does not ring."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from engine.alarm import Alarm
from engine.events import SECOND


class Timers:
    """A loop's timers that a test rings itself: for how many seconds each was set, and which still stand."""

    def __init__(self) -> None:
        self.now = 0
        self.set_for: list[float] = []
        self.stand: list[_Timer] = []

    def call_later(self, delay: float, callback: object) -> asyncio.TimerHandle:
        self.set_for.append(delay)
        timer = _Timer(self, callback)
        self.stand.append(timer)
        return cast("asyncio.TimerHandle", timer)

    def ring(self) -> None:
        """The one timer that stands."""
        (timer,) = self.stand
        timer.cancel()
        timer.callback()  # type: ignore[operator]  # as it was given


class _Timer:
    def __init__(self, timers: Timers, callback: object) -> None:
        self.timers, self.callback = timers, callback

    def cancel(self) -> None:
        self.timers.stand.remove(self)


Make = Callable[[], tuple[Alarm, Timers, list[int]]]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    """An alarm, its timers, and the instants in seconds at which it rang."""

    def made() -> tuple[Alarm, Timers, list[int]]:
        timers, rung = Timers(), list[int]()
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: timers)
        return Alarm(lambda: timers.now, lambda: rung.append(timers.now // SECOND)), timers, rung

    return made


def test_a_deadline_that_is_put_off_sets_no_timer_and_is_rung_for_again_where_that_was_too_early(
    make: Make,
) -> None:
    made, timers, rung = make()
    for due in (10, 12, 15):
        made.follow(due * SECOND)
    timers.now = 10 * SECOND
    timers.ring()
    made.follow(15 * SECOND)
    timers.now = 15 * SECOND
    timers.ring()
    made.follow(None)
    assert (timers.set_for, rung, timers.stand) == ([10.0, 5.0], [10, 15], [])


def test_a_deadline_that_draws_nearer_is_not_missed_and_one_that_is_past_is_rung_for_at_once(make: Make) -> None:
    made, timers, _ = make()
    made.follow(10 * SECOND)
    made.follow(4 * SECOND)
    timers.now = 5 * SECOND
    made.follow(3 * SECOND)
    assert (timers.set_for, len(timers.stand)) == ([10.0, 4.0, 0.0], 1)


def test_without_a_deadline_nothing_rings(make: Make) -> None:
    made, timers, rung = make()
    made.follow(None)
    made.follow(10 * SECOND)
    made.follow(None)
    assert (timers.set_for, timers.stand, rung) == ([10.0], [], [])
