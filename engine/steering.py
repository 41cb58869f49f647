"""What was steered and what became of it (BEHAVIOUR §4); pure bookkeeping, it writes nothing itself.

A steer is open from its write to its echo, its refusal or its return. ``clear_queue`` proves only what had been
answered before it was written, so a steer whose own answer comes later is cleared once more.
"""

from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from engine.events import Code
from engine.marks import mark_of


class Steer(Struct, frozen=True):
    """One open steer; ``code`` is set where it was given up meanwhile and may not come back as a prompt."""

    turn: str
    mark: str | None
    text: str
    request: str
    answered: bool = False
    code: Code | None = None


@dataclass(frozen=True, slots=True)
class Clear:
    """One unanswered ``clear_queue`` and the steers it can prove something of."""

    request: str
    covers: frozenset[str]


class Steering(Struct, frozen=True):
    """All open steers in the order written, and the unanswered ``clear_queue``s.

    ``over``: when the run they were steered into ended (or failed), None while it goes on. ``tried``: a ``clear_queue``
    was written since. ``head``: the turn whose run that was.
    """

    open: tuple[Steer, ...] = ()
    clears: tuple[Clear, ...] = ()
    over: int | None = None
    tried: bool = False
    head: str | None = None

    @property
    def busy(self) -> bool:
        """Whether a prompt may not be written yet because of it."""
        return bool(self.open or self.clears)

    @property
    def wants_clear(self) -> bool:
        """Whether ``clear_queue`` is to be written (again): the run is over, or an answered steer was stopped in it."""
        if not self.open or self.clears:
            return False
        if self.over is None:
            return any(steer.answered and steer.code is not None for steer in self.open)
        return not self.tried or any(steer.answered for steer in self.open)

    def of(self, *, turn: str | None = None, mark: str | None = None, request: str | None = None) -> Steer | None:
        """The open steer with this name, mark or request."""
        return next(
            (
                steer
                for steer in self.open
                if (turn is not None and steer.turn == turn)
                or (mark is not None and steer.mark == mark)
                or (request is not None and steer.request == request)
            ),
            None,
        )

    def without(self, turn: str) -> "Steering":
        """The same without this steer."""
        return replace(self, open=tuple(steer for steer in self.open if steer.turn != turn))

    def with_(self, steer: Steer) -> "Steering":
        """The same with this steer in its new state."""
        return replace(self, open=tuple(steer if old.turn == steer.turn else old for old in self.open))


NOTHING_STEERED = Steering()


@dataclass(frozen=True, slots=True)
class Cleared:
    """What one answer to ``clear_queue`` proves: what came back, and what pi must have consumed without its mark."""

    steering: Steering
    returned: tuple[Steer, ...]
    consumed: tuple[Steer, ...]


def clear_written(steering: Steering, request: str) -> Steering:
    """After a ``clear_queue`` was written: it covers the steers answered by now."""
    covers = frozenset(steer.turn for steer in steering.open if steer.answered)
    return replace(steering, clears=(*steering.clears, Clear(request, covers)), tried=True)


def clear_answered(steering: Steering, request: str, texts: list[str], *, good: bool) -> Cleared | None:
    """After its answer (None: not ours). A text it names is given back; a covered steer it does not name is consumed.

    A named text that is nobody's (an extension rewrote it) is the oldest covered steer's. A refusal (``good`` false)
    proves nothing and leaves the question open, so that the grace ends it.
    """
    clear = next((clear for clear in steering.clears if clear.request == request), None)
    if clear is None:
        return None
    if not good:
        return Cleared(steering, (), ())
    steering = replace(steering, clears=tuple(c for c in steering.clears if c is not clear))
    left, returned, strange = list(steering.open), [], 0
    for text in texts:
        mark = mark_of(text)
        found = next((s for s in left if s.text == text or (mark is not None and s.mark == mark)), None)
        if found is None:
            strange += 1
        else:
            left.remove(found)
            returned.append(found)
    covered = [steer for steer in left if steer.turn in clear.covers]
    returned += covered[:strange]
    consumed = covered[strange:]
    gone = {steer.turn for steer in (*returned, *consumed)}
    open_ = tuple(steer for steer in steering.open if steer.turn not in gone)
    return Cleared(replace(steering, open=open_), tuple(returned), tuple(consumed))
