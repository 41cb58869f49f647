"""Streaming text on its way to the lanes, gathered for a moment: cards are edited seconds apart; it decides nothing.

Everything else an engine tells goes at once, with what was gathered in front of it, so that nothing is told out of
order; so does the first piece of each kind.
"""

import asyncio
from collections.abc import Callable

from engine.events import Effect, Progress

PAUSE = 0.25
"""Seconds for which a piece may be kept back."""


class Gathering:
    """One engine's words; `tell` hears them as `Engine` would tell them. It belongs to one event loop."""

    def __init__(self, tell: Callable[[tuple[Effect, ...], bool], None]) -> None:
        self._tell = tell
        self._texts: list[str] = []
        self._last: Progress | None = None
        self._busy = True
        self._timer: asyncio.TimerHandle | None = None

    def hear(self, told: tuple[Effect, ...], busy: bool) -> None:
        """What the engine told, and whether it is busy after it."""
        match told:
            case (Progress(text=text) as piece,) if busy is self._busy and self._goes_on(piece):
                self._texts.append(text)
                self._timer = self._timer or asyncio.get_running_loop().call_later(PAUSE, self.flush)
            case _:
                self._busy = busy
                self._hand_on(told)
                self._last = told[-1] if told and isinstance(told[-1], Progress) else None

    def flush(self) -> None:
        """Tell what is kept back."""
        if self._texts:
            self._hand_on(())

    def _hand_on(self, told: tuple[Effect, ...]) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        texts, self._texts = self._texts, []
        gathered = (Progress(self._last.turn, "".join(texts), self._last.thinking),) if texts and self._last else ()
        self._tell((*gathered, *told), self._busy)

    def _goes_on(self, piece: Progress) -> bool:
        last = self._last
        return last is not None and (last.turn, last.thinking) == (piece.turn, piece.thinking)
