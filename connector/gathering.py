"""Streaming text on its way to the lanes, gathered for a moment: cards are edited seconds apart; it decides nothing.

Everything else an engine tells goes at once, with what was gathered in front of it, so that nothing is told out of
order, and a short answer comes to the lanes as one piece with its end.
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
        self._kept: list[Progress] = []
        self._busy = True
        self._timer: asyncio.TimerHandle | None = None

    def hear(self, told: tuple[Effect, ...], busy: bool) -> None:
        """What the engine told, and whether it is busy after it."""
        match told:
            case (Progress() as piece,) if busy is self._busy:
                if not self._goes_on(piece):
                    self.flush()
                self._kept.append(piece)
                self._timer = self._timer or asyncio.get_running_loop().call_later(PAUSE, self.flush)
            case _:
                self._busy = busy
                self._hand_on(told)

    def flush(self) -> None:
        """Tell what is kept back."""
        if self._kept:
            self._hand_on(())

    def _hand_on(self, told: tuple[Effect, ...]) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        kept, self._kept = self._kept, []
        text = "".join([piece.text for piece in kept])
        gathered = [Progress(piece.turn, text, piece.thinking) for piece in kept[:1]]
        self._tell((*gathered, *told), self._busy)

    def _goes_on(self, piece: Progress) -> bool:
        return all((first.turn, first.thinking) == (piece.turn, piece.thinking) for first in self._kept[:1])
