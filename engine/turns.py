"""The head of the queue: what has happened to it, and the table that moves it (BEHAVIOUR §1); pure data.

Laws of the table:
* the head leaves only on REFUSED, HANDLED, SETTLED (and with the child's exit, which no row can prevent);
* GRACE never frees the head: it wedges the child or changes nothing;
* FAIL never frees the head: it writes an abort and the head stays to catch its late events;
* a dead stage never gives out an answer.
"""

from dataclasses import dataclass
from enum import Enum, auto

from msgspec import Struct

from engine.events import Outcome, Request, Work


class Stage(Enum):
    """What has happened to a turn so far; the DEAD ones have failed and wait for pi to let go of them."""

    HELD = auto()
    WRITTEN = auto()
    ANSWERED = auto()
    RUNNING = auto()
    SETTLING = auto()
    DEAD = auto()
    DEAD_ANSWERED = auto()
    DEAD_RUNNING = auto()


class Event(Enum):
    """What can happen to the head."""

    REFUSED = auto()
    HANDLED = auto()
    STARTED = auto()
    AGENT_START = auto()
    AGENT_END = auto()
    SETTLED = auto()
    FAIL = auto()
    GRACE = auto()


class Act(Enum):
    """What is done when a row applies, besides the move itself."""

    REFUSE = auto()
    """End it as refused (or, where pi is busy, as to be asked again)."""
    EMPTY = auto()
    """End it as handled."""
    GIVE = auto()
    """Give out what the run owes, where it is final."""
    SETTLE = auto()
    """Give out all that the run owes: nothing more can come."""
    NO_RUN = auto()
    """End it as a provider error: it settled with nothing to show."""
    ABORT = auto()
    """Write an abort and arm the grace."""
    DISOWN = auto()
    """What runs is not this turn's: an orphan run."""
    WEDGE = auto()
    """Give the child up."""


@dataclass(frozen=True, slots=True)
class Row:
    """``to``: the next stage, None where the turn leaves the queue."""

    to: Stage | None
    acts: tuple[Act, ...] = ()


_S, _E, _A = Stage, Event, Act

TABLE: dict[tuple[Stage, Event], Row] = {
    (_S.WRITTEN, _E.REFUSED): Row(None, (_A.REFUSE,)),
    (_S.WRITTEN, _E.HANDLED): Row(None, (_A.EMPTY,)),
    (_S.WRITTEN, _E.STARTED): Row(_S.ANSWERED),
    (_S.WRITTEN, _E.FAIL): Row(_S.DEAD, (_A.ABORT,)),
    (_S.ANSWERED, _E.AGENT_START): Row(_S.RUNNING),
    (_S.ANSWERED, _E.SETTLED): Row(None, (_A.NO_RUN,)),
    (_S.ANSWERED, _E.FAIL): Row(_S.DEAD_ANSWERED, (_A.ABORT,)),
    (_S.RUNNING, _E.REFUSED): Row(None, (_A.REFUSE, _A.DISOWN)),
    (_S.RUNNING, _E.HANDLED): Row(None, (_A.EMPTY, _A.DISOWN)),
    (_S.RUNNING, _E.AGENT_START): Row(_S.RUNNING),
    (_S.RUNNING, _E.AGENT_END): Row(_S.SETTLING, (_A.GIVE,)),
    (_S.RUNNING, _E.SETTLED): Row(None, (_A.NO_RUN,)),
    (_S.RUNNING, _E.FAIL): Row(_S.DEAD_RUNNING, (_A.ABORT,)),
    (_S.SETTLING, _E.AGENT_START): Row(_S.RUNNING),
    (_S.SETTLING, _E.SETTLED): Row(None, (_A.SETTLE,)),
    (_S.SETTLING, _E.FAIL): Row(_S.DEAD_RUNNING, (_A.ABORT,)),
    (_S.DEAD, _E.REFUSED): Row(None),
    (_S.DEAD, _E.HANDLED): Row(None),
    (_S.DEAD, _E.STARTED): Row(_S.DEAD_ANSWERED, (_A.ABORT,)),
    (_S.DEAD, _E.GRACE): Row(_S.DEAD, (_A.WEDGE,)),
    (_S.DEAD_ANSWERED, _E.AGENT_START): Row(_S.DEAD_RUNNING),
    (_S.DEAD_ANSWERED, _E.SETTLED): Row(None),
    (_S.DEAD_ANSWERED, _E.GRACE): Row(_S.DEAD_ANSWERED, (_A.WEDGE,)),
    (_S.DEAD_RUNNING, _E.REFUSED): Row(None, (_A.DISOWN,)),
    (_S.DEAD_RUNNING, _E.HANDLED): Row(None, (_A.DISOWN,)),
    (_S.DEAD_RUNNING, _E.SETTLED): Row(None),
    (_S.DEAD_RUNNING, _E.GRACE): Row(_S.DEAD_RUNNING, (_A.WEDGE,)),
}
"""BEHAVIOUR §1's table; a pair that is missing changes nothing and is logged."""

ADOPTED = {
    Stage.WRITTEN: Stage.RUNNING,
    Stage.ANSWERED: Stage.RUNNING,
    Stage.DEAD: Stage.DEAD_RUNNING,
    Stage.DEAD_ANSWERED: Stage.DEAD_RUNNING,
}
"""Where the echo of the head's own mark proves a run that looked like an orphan to be the head's (BEHAVIOUR §1.13)."""

FAILED = frozenset({Stage.DEAD, Stage.DEAD_ANSWERED, Stage.DEAD_RUNNING})
BEGUN = frozenset({Stage.RUNNING, Stage.SETTLING, Stage.DEAD_RUNNING})

ABORTS = 2
"""At most this many aborts are written for one turn (BEHAVIOUR §1.4)."""


class Turn(Struct, frozen=True):
    """One entry of the queue.

    ``since``: when it was given, then when it was written. ``read``: its response was read. ``settled``: pi settled
    before that response, so that the response releases it. ``outcome``: how it ended, None while it has not.
    ``failed_at``, ``aborted``: when it failed at the head, and its last abort.
    """

    name: str
    work: Work
    since: int
    stage: Stage = Stage.HELD
    request: str | None = None
    read: bool = False
    settled: bool = False
    outcome: Outcome | None = None
    aborts: int = 0
    failed_at: int = 0
    aborted: int = 0

    @property
    def written(self) -> bool:
        """Whether the child has it."""
        return self.stage is not Stage.HELD

    @property
    def failed(self) -> bool:
        """Whether it failed at the head and waits for pi to let go of it."""
        return self.stage in FAILED

    @property
    def asks(self) -> bool:
        """Whether its response alone releases it (a session command or query)."""
        return isinstance(self.work, Request)


def look_up(stage: Stage, event: Event) -> Row | None:
    """The row that applies, None where nothing changes."""
    return TABLE.get((stage, event))
