"""How the head gets into each row of BEHAVIOUR §1's table, and words for what a cell expects; values and setups only.

Turn ``a`` is the head, ``b`` is held behind it. A stage's ``unread`` twin is the same with the head's own response not
read yet: the echo of its mark proved the run to be its (BEHAVIOUR §1.13).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from engine import runs
from engine.commands import Abort, Prompt
from engine.events import (
    Code,
    Effect,
    Ended,
    Exited,
    Fail,
    Input,
    Kill,
    Note,
    Outcome,
    Read,
    Released,
    Sent,
    Spent,
    Wedged,
    Write,
)
from engine.state import Condition, State
from engine.turns import Stage
from engine.wire import Line
from tests.engine.play import Play, echo, error_of, mark, only, said, spoke, text_of

A_ID = "turn2"
BUSY_TEXT = error_of("busy")
NO_KEY = error_of("refused")

# -- the rows: how the head gets there -----------------------------------------------------------------------------


def written() -> Play:
    play = Play()
    play.ask("a")
    play.ask("b")
    return play


def answered() -> Play:
    play = written()
    play.started("a")
    return play


def running() -> Play:
    play = answered()
    play.says(said("agent_start"), echo("a"))
    return play


def running_unread() -> Play:
    play = written()
    play.says(said("agent_start"), echo("a"))
    return play


def settling() -> Play:
    play = running()
    play.says(spoke("answer", "for a"), said("agent_end"))
    return play


def settling_unread() -> Play:
    play = running_unread()
    play.says(spoke("answer", "for a"), said("agent_end"))
    return play


def failed(before: Callable[[], Play]) -> Callable[[], Play]:
    def stopped() -> Play:
        play = before()
        play.fail("a")
        return play

    return stopped


def failed_between_runs() -> Play:
    play = running()
    play.says(said("error"), said("agent_end_retry"))
    play.fail("a")
    return play


ROWS: dict[str, Callable[[], Play]] = {
    "written": written,
    "answered": answered,
    "running": running,
    "running-unread": running_unread,
    "settling": settling,
    "settling-unread": settling_unread,
    "dead": failed(written),
    "dead-answered": failed(answered),
    "dead-running": failed(running),
    "dead-running-unread": failed(running_unread),
    "dead-between-runs": failed_between_runs,
    "dead-settling": failed(settling),
}

STAGES = {
    "written": Stage.WRITTEN,
    "answered": Stage.ANSWERED,
    "running": Stage.RUNNING,
    "running-unread": Stage.RUNNING,
    "settling": Stage.SETTLING,
    "settling-unread": Stage.SETTLING,
    "dead": Stage.DEAD,
    "dead-answered": Stage.DEAD_ANSWERED,
    "dead-running": Stage.DEAD_RUNNING,
    "dead-running-unread": Stage.DEAD_RUNNING,
    "dead-between-runs": Stage.DEAD_RUNNING,
    "dead-settling": Stage.DEAD_RUNNING,
}


# -- the columns and what the cells say ----------------------------------------------------------------------------


def read(*records: Line) -> Read:
    return Read(7, records)


Change = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """``effects`` are expected whole; ``change`` says which fields of the state differ afterwards."""

    row: str
    column: str
    given: Input
    effects: Callable[[State], list[Effect]]
    change: Callable[[State], Change]
    after: int = 0


def head(state: State, **changes: Any) -> Change:
    return {"queue": (replace(state.queue[0], **changes), *state.queue[1:])}


def nothing(_: State) -> Change:
    return {}


def note(kind: str, detail: str = "") -> Callable[[State], list[Effect]]:
    return lambda _: [Note(kind, detail)]


def silent(_: State) -> list[Effect]:
    return []


def next_sent(state: State) -> list[Effect]:
    return [Sent("b"), Write((Prompt(f"turn{state.serial + 1}", text_of("b")),))]


NOW = Play().now


def freed(state: State) -> Change:
    """The head has left, its run with it, and ``b`` is the head now."""
    b = replace(state.queue[1], stage=Stage.WRITTEN, request=f"turn{state.serial + 1}", since=NOW)
    return {"queue": (b,), "run": None, "serial": state.serial + 1, "marks": (mark("a"), mark("b"))}


def disowned(state: State) -> Change:
    """The head has left and what runs is nobody's; ``b`` is held back."""
    assert state.run is not None
    orphan = replace(state.run, head=None, parts=(runs.Part(None),), since=NOW)
    return {"queue": state.queue[1:], "run": orphan}


def ended(code: Code, detail: str = "", text: str = "", *, busy: bool = False) -> Ended:
    return Ended("a", Outcome(code, text=text, detail=detail, busy=busy))


def over(*before: Effect) -> Callable[[State], list[Effect]]:
    return lambda state: [*before, Released("a"), *next_sent(state)]


def abort(state: State) -> Write:
    return Write((Abort(f"abort{state.serial + 1}"),))


def aborted(state: State, stage: Stage, at: int = NOW, **changes: Any) -> Change:
    return {
        **head(state, stage=stage, aborts=state.queue[0].aborts + 1, aborted=at, **changes),
        "serial": state.serial + 1,
        "aborts": (*state.aborts, f"abort{state.serial + 1}"),
    }


def failing(state: State, stage: Stage, code: Code, at: int = NOW) -> Change:
    return aborted(state, stage, at, failed_at=at, outcome=Outcome(code))


def run_failed(state: State) -> Change:
    assert state.run is not None
    return {"run": replace(state.run, parts=(runs.Part("a"),), ended=frozenset({"a"}))}


def lost(state: State) -> Change:
    """Position lost: the head fails, ``b`` fails, the head stays for the exit."""
    failed_head = replace(state.queue[0], stage=Stage.DEAD_RUNNING, outcome=Outcome(Code.WEDGED))
    own = run_failed(state) if state.run is not None and state.run.head == "a" else {}
    return {"condition": Condition.WEDGED, "queue": (failed_head,), **own}


def wedged(state: State) -> Change:
    return {"condition": Condition.WEDGED, "queue": state.queue[:1]}


B_WEDGED: list[Effect] = [Ended("b", Outcome(Code.WEDGED)), Released("b")]
GONE: Change = {
    "condition": Condition.EXITED,
    "queue": (),
    "run": None,
    "retrying": False,
}


def lost_effects(*before: Effect) -> Callable[[State], list[Effect]]:
    reason = "position lost: agent_settled inside a run"
    return lambda _: [*before, Wedged(reason), *B_WEDGED, Kill()]


LOST = ended(Code.WEDGED, "agent_settled inside a run")


def refused(busy: bool = False) -> Read:
    return read(said("busy" if busy else "refused", id=A_ID))


HANDLED = read(said("handled", id=A_ID))
STARTED = read(said("started", id=A_ID))
START = read(said("agent_start"))
END = read(said("agent_end"))
RETRY = read(said("agent_end_retry"))
SETTLED = read(said("settled"))
STOP = Fail("a", Code.STOPPED)
EXIT = Exited(7, 3)
ORPHAN = runs.begun(NOW, None, None)
OWN = runs.begun(NOW, "a", "a")
UNKNOWN = note("response-unknown", "prompt turn2")
OUTSIDE = note("agent-end-outside-a-run")
NO_SETTLE = note("settled-without-a-run")


def was_read(more: Callable[[State], Change] = nothing) -> Callable[[State], Change]:
    return lambda state: {**head(state, read=True), **more(state)}


def run_is(**changes: Any) -> Callable[[State], Change]:
    return lambda state: {"run": replace(state.run, **changes)}  # type: ignore[type-var]  # a run is there


def both(*changes: Callable[[State], Change]) -> Callable[[State], Change]:
    return lambda state: {key: value for change in changes for key, value in change(state).items()}


def exits(*before: Effect) -> Callable[[State], list[Effect]]:
    return lambda _: [*before, Released("a"), Ended("b", Outcome(Code.DOWN)), Released("b")]


EXITED = ended(Code.EXIT, "exit 3")
GIVEN = ended(Code.ANSWERED, text="for a")


def only_spent(turn: str) -> list[Effect]:
    """The usage of the recorded answer, told beside it; of a turn that has ended it is nobody's, "" (`Spent`)."""
    told = only(running().says(spoke("answer", "for a")), Spent)
    return [replace(spent, turn=turn) for spent in told if isinstance(spent, Spent)]
