"""The one timer: put off by signs of life without being set anew, and still in time (BEHAVIOUR §7.27)."""

import asyncio
import os
import sys
from pathlib import Path

from engine import pi
from engine.alarm import Alarm
from engine.child import ChildSpec
from engine.events import SECOND, Effect, Limits, Wedged
from engine.runner import Engine

SILENT = "import sys; sys.stdin.read()"


async def lived(folder: Path) -> tuple[list[float], list[str]]:
    """Seconds for which the timer was set, and why the child was given up, with a sign of life after 5 s of 10."""
    now, told = [0], list[Effect]()
    loop = asyncio.get_running_loop()
    call_later, set_for = loop.call_later, list[float]()

    def calling(delay: float, callback: object, *rest: object) -> asyncio.TimerHandle:
        if getattr(callback, "__func__", None) is Alarm._rings:
            set_for.append(delay)
        return call_later(delay, callback, *rest)  # type: ignore[arg-type]  # handed on as it came

    loop.call_later = calling  # type: ignore[method-assign,assignment]  # to see what is set
    engine = await Engine.start(
        ChildSpec((sys.executable, "-c", SILENT), str(folder), dict(os.environ), kill_after=0.1),
        Limits(turn_timeout=10 * SECOND),
        generation=1,
        max_line=1 << 20,
        tell=lambda effects, _busy: told.extend(effects),
        clock=lambda: now[0],
    )
    try:
        for at in (4, 5):
            now[0] = at * SECOND
            engine._read((pi.MessageUpdate(),))
        for at in (10, 15):
            now[0] = at * SECOND
            engine._alarm._rings()
    finally:
        await engine.stop()
    return set_for, [effect.reason for effect in told if isinstance(effect, Wedged)]


def test_a_sign_of_life_sets_no_timer_and_the_bound_holds_from_it_on(tmp_path: Path) -> None:
    assert asyncio.run(lived(tmp_path)) == ([10.0, 5.0], ["no first answer"])
