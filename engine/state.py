"""The engine's whole state as one frozen value, and what can be asked of it without changing it; pure."""

from enum import Enum, auto

from msgspec import Struct

from engine.events import Limits
from engine.runs import Run
from engine.steering import NOTHING_STEERED, Steering
from engine.turns import Stage, Turn
from engine.waits import Waits, hanging


class Condition(Enum):
    """What the child is to us."""

    STARTING = auto()
    LIVE = auto()
    WEDGED = auto()
    STOPPING = auto()
    EXITED = auto()


class OpenDialog(Struct, frozen=True):
    """A dialog that waits for an answer of ``turn`` since ``since``; pi itself ends it at ``due`` unless ``ours``."""

    name: str
    due: int
    ours: bool
    turn: str
    since: int


class State(Struct, frozen=True):
    """One generation's engine; instants in nanoseconds of the caller's clock.

    ``life``: the last sign of life. ``marks``: of the last turns and steers written. ``tail``: the ``/command`` that
    answered ``handled`` last, while no prompt was written since. ``aborts``: unanswered aborts by request id.
    """

    generation: int
    limits: Limits
    born: int
    life: int
    condition: Condition = Condition.STARTING
    queue: tuple[Turn, ...] = ()
    run: Run | None = None
    waits: Waits = ()
    dialogs: tuple[OpenDialog, ...] = ()
    compacting: bool = False
    retrying: bool = False
    steering: Steering = NOTHING_STEERED
    aborts: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    tail: str | None = None
    serial: int = 0
    foreign: int = 0

    @property
    def head(self) -> Turn | None:
        """The turn that the child has, None while it has none."""
        return self.queue[0] if self.queue and self.queue[0].written else None

    @property
    def blocked(self) -> bool:
        """Whether nothing of the queue may be written now."""
        return (
            self.condition is not Condition.LIVE or self.run is not None or self.steering.busy or self.head is not None
        )

    @property
    def busy(self) -> bool:
        """BEHAVIOUR §1.1; ``Submit``, sending the next held turn and the shell's property all use this one."""
        return self.blocked or bool(self.queue)

    @property
    def silence(self) -> int:
        """The silence bound in force (BEHAVIOUR §1.11)."""
        long = self.waits or self.dialogs or self.compacting or self.retrying
        return self.limits.tool_timeout if long else self.limits.turn_timeout


class Advice(Enum):
    """What to do with a person's line now (BEHAVIOUR §4, §5)."""

    STEER = auto()
    INTERRUPT = auto()
    QUEUE = auto()


def steerable(state: State) -> bool:
    """Whether the head is started and healthy, its low-level run open and its response read (BEHAVIOUR §4)."""
    head, run = state.head, state.run
    if state.condition is not Condition.LIVE or head is None or head.stage is not Stage.RUNNING:
        return False
    return run is not None and run.open and run.head == head.name and head.read


def advice(state: State, now: int, long_wait: int) -> Advice:
    """Whether a line would be steered, interrupts a hanging tool (``long_wait`` in ns), or waits its turn."""
    if not steerable(state):
        return Advice.QUEUE
    if not state.dialogs and hanging(state.waits, now, long_wait):
        return Advice.INTERRUPT
    return Advice.STEER


def bound(state: State, since: int) -> int:
    """When silence (or ``turn_limit``) ends what was written or started at ``since``."""
    due = max(since, state.life) + state.silence
    return min(due, since + state.limits.turn_limit) if state.limits.turn_limit else due


def grace(state: State, head: Turn) -> int:
    """When a failed head's grace ends: ``abort_grace`` from its failure; started, ``run_grace`` from its last abort."""
    if head.stage is Stage.DEAD_RUNNING:
        return head.aborted + state.limits.run_grace
    return head.failed_at + state.limits.abort_grace


def residue_due(state: State) -> int | None:
    """When unanswered residue wedges the child: ``abort_grace`` after the end of the run it was steered into."""
    residue, run = state.steering, state.run
    goes_on = run is not None and run.head is not None and run.head == residue.head
    if not residue.busy or residue.over is None or goes_on:
        return None
    return residue.over + state.limits.abort_grace


def deadline(state: State) -> int | None:
    """The next instant at which a ``Tick`` can change something, None where nothing waits for time."""
    if state.condition is Condition.STARTING:
        dues = [max(state.born, state.life) + state.limits.turn_timeout]
    elif state.condition is Condition.LIVE:
        dues = [dialog.due for dialog in state.dialogs]
        if (due := residue_due(state)) is not None:
            dues.append(due)
        if (run := state.run) is not None and run.head is None:
            dues.append(bound(state, run.since) if run.aborted is None else run.aborted + state.limits.run_grace)
        if (head := state.head) is not None:
            dues.append(grace(state, head) if head.failed else bound(state, head.since))
    else:
        return None
    dues += [turn.since + state.limits.turn_timeout for turn in state.queue if not turn.written]
    return min(dues, default=None)
