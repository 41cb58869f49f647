"""BEHAVIOUR §1, the table "state by input": every row and every column played on ``step``, states and effects whole.

Turn ``a`` is the head, ``b`` is held behind it. A stage's ``unread`` twin is the same with the head's own response not
read yet: the echo of its mark proved the run to be its (BEHAVIOUR §1.13).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

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
    Started,
    Tick,
    Wedged,
    Write,
)
from engine.state import Condition, State
from engine.turns import TABLE, Event, Stage
from engine.wire import Line
from tests.engine.play import LIMITS, Play, echo, mark, said, spoke, text_of

A_ID = "turn2"
BUSY_TEXT = said("busy").error  # type: ignore[union-attr]  # a recorded response
NO_KEY = said("refused").error  # type: ignore[union-attr]  # a recorded response

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


@pytest.mark.parametrize("row", ROWS)
def test_the_rows_start_where_they_say(row: str) -> None:
    state = ROWS[row]().state
    assert [(turn.name, turn.stage) for turn in state.queue] == [("a", STAGES[row]), ("b", Stage.HELD)]


# -- the columns and what the cells say ----------------------------------------------------------------------------


def read(*records: Line) -> Read:
    return Read(7, records)


Change = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """``effects`` expected whole; ``change`` says which fields of the state differ afterwards, from the state before."""

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

CELLS = [
    # written
    Cell("written", "refused", refused(), over(ended(Code.REFUSED, NO_KEY)), freed),
    Cell(
        "written", "refused as busy", refused(busy=True),
        lambda _: [ended(Code.REFUSED, BUSY_TEXT, busy=True), Released("a")],
        lambda s: {"queue": s.queue[1:], "run": replace(ORPHAN, open=False)},
    ),
    Cell("written", "handled", HANDLED, over(ended(Code.HANDLED)), freed),
    Cell("written", "started", STARTED, silent, was_read(lambda s: head(s, read=True, stage=Stage.ANSWERED))),
    Cell("written", "agent_start", START, note("orphan-run"), lambda _: {"run": ORPHAN}),
    Cell("written", "agent_end", END, OUTSIDE, nothing),
    Cell("written", "agent_end, retry", RETRY, OUTSIDE, nothing),
    Cell("written", "settled", SETTLED, NO_SETTLE, nothing),
    Cell(
        "written", "settled, a run open", read(said("agent_start"), said("settled")),
        lambda _: [Note("orphan-run"), LOST, *lost_effects()(_)], both(lost, lambda _: {"run": ORPHAN}),
    ),
    Cell(
        "written", "Stop", STOP, lambda s: [ended(Code.STOPPED), abort(s)],
        lambda s: failing(s, Stage.DEAD, Code.STOPPED),
    ),
    Cell("written", "grace", Tick(), silent, nothing, after=LIMITS.abort_grace + LIMITS.run_grace),
    Cell("written", "exit", EXIT, exits(EXITED), lambda _: GONE),
    # answered: written, its response read
    Cell("answered", "refused", refused(), UNKNOWN, nothing),
    Cell("answered", "handled", HANDLED, UNKNOWN, nothing),
    Cell("answered", "started", STARTED, UNKNOWN, nothing),
    Cell(
        "answered", "agent_start", START, lambda _: [Started("a")],
        lambda s: {"run": OWN, **head(s, stage=Stage.RUNNING)},
    ),
    Cell("answered", "agent_end", END, OUTSIDE, nothing),
    Cell("answered", "agent_end, retry", RETRY, OUTSIDE, nothing),
    Cell("answered", "settled", SETTLED, over(ended(Code.PROVIDER)), freed),
    Cell(
        "answered", "Stop", STOP, lambda s: [ended(Code.STOPPED), abort(s)],
        lambda s: failing(s, Stage.DEAD_ANSWERED, Code.STOPPED),
    ),
    Cell("answered", "grace", Tick(), silent, nothing, after=LIMITS.abort_grace + LIMITS.run_grace),
    Cell("answered", "exit", EXIT, exits(EXITED), lambda _: GONE),
    # dead: failed, not started
    Cell("dead", "refused", refused(), over(), freed),
    Cell(
        "dead", "refused as busy", refused(busy=True), lambda _: [Released("a")],
        lambda s: {"queue": s.queue[1:], "run": replace(ORPHAN, open=False)},
    ),
    Cell("dead", "handled", HANDLED, over(), freed),
    Cell(
        "dead", "started", STARTED, lambda s: [abort(s)],
        lambda s: aborted(s, Stage.DEAD_ANSWERED, read=True),
    ),
    Cell("dead", "agent_start", START, note("orphan-run"), lambda _: {"run": ORPHAN}),
    Cell("dead", "agent_end", END, OUTSIDE, nothing),
    Cell("dead", "agent_end, retry", RETRY, OUTSIDE, nothing),
    Cell("dead", "settled", SETTLED, NO_SETTLE, nothing),
    Cell(
        "dead", "settled, a run open", read(said("agent_start"), said("settled")),
        lambda _: [Note("orphan-run"), *lost_effects()(_)],
        both(lost, lambda _: {"run": ORPHAN}),
    ),
    Cell("dead", "Stop", STOP, silent, nothing),
    Cell("dead", "before its grace", Tick(), silent, nothing, after=LIMITS.abort_grace - 1),
    Cell(
        "dead", "grace", Tick(), lambda _: [Wedged("nothing ended the turn within its grace"), *B_WEDGED, Kill()],
        wedged, after=LIMITS.abort_grace,
    ),
    Cell("dead", "exit", EXIT, exits(), lambda _: GONE),
    # dead, its response read
    Cell("dead-answered", "refused", refused(), UNKNOWN, nothing),
    Cell("dead-answered", "handled", HANDLED, UNKNOWN, nothing),
    Cell("dead-answered", "started", STARTED, UNKNOWN, nothing),
    Cell(
        "dead-answered", "agent_start", START, note("late-start", "a"),
        lambda s: {"run": replace(OWN, ended=frozenset({"a"})), **head(s, stage=Stage.DEAD_RUNNING)},
    ),
    Cell("dead-answered", "agent_end", END, OUTSIDE, nothing),
    Cell("dead-answered", "settled", SETTLED, over(), freed),
    Cell("dead-answered", "Stop", STOP, silent, nothing),
    Cell("dead-answered", "before its grace", Tick(), silent, nothing, after=LIMITS.abort_grace - 1),
    Cell(
        "dead-answered", "grace", Tick(),
        lambda _: [Wedged("nothing ended the turn within its grace"), *B_WEDGED, Kill()],
        wedged, after=LIMITS.abort_grace,
    ),
    Cell("dead-answered", "exit", EXIT, exits(), lambda _: GONE),
    # running
    Cell("running", "a second response", refused(), UNKNOWN, nothing),
    Cell("running", "agent_start", START, note("agent-start-inside-a-run"), nothing),
    Cell("running", "agent_end, retry", RETRY, silent, run_is(open=False)),
    Cell(
        "running", "agent_end", read(spoke("answer", "for a"), said("agent_end")),
        lambda _: [*only_spent("a"), GIVEN],
        both(
            run_is(open=False, final=True, last="stop", ended=frozenset({"a"})),
            lambda s: head(s, stage=Stage.SETTLING),
        ),
    ),
    Cell(
        "running", "agent_end without a message", END, silent,
        both(run_is(open=False, final=True), lambda s: head(s, stage=Stage.SETTLING)),
    ),
    Cell("running", "settled, its run open", SETTLED, lost_effects(LOST), lost),
    Cell(
        "running", "settled, its run closed", read(said("agent_end_retry"), said("settled")),
        over(ended(Code.PROVIDER)), freed,
    ),
    Cell(
        "running", "Stop", STOP, lambda s: [ended(Code.STOPPED), abort(s)],
        both(run_failed, lambda s: failing(s, Stage.DEAD_RUNNING, Code.STOPPED)),
    ),
    Cell("running", "grace", Tick(), silent, nothing, after=LIMITS.abort_grace + LIMITS.run_grace),
    Cell("running", "exit", EXIT, exits(EXITED), lambda _: GONE),
    # running, proved by its echo before its response
    Cell(
        "running-unread", "refused", refused(), lambda _: [ended(Code.REFUSED, NO_KEY), Released("a")],
        disowned,
    ),
    Cell(
        # its echo proves that its text is in this run: it fails visibly, since asking again would ask twice
        "running-unread", "refused as busy", refused(busy=True),
        lambda _: [ended(Code.REFUSED, BUSY_TEXT), Released("a")],
        disowned,
    ),
    Cell(
        "running-unread", "handled", HANDLED, lambda _: [ended(Code.HANDLED), Released("a")],
        disowned,
    ),
    Cell("running-unread", "started", STARTED, silent, was_read()),
    Cell(
        "running-unread", "settled, its run closed", read(said("agent_end_retry"), said("settled")), silent,
        both(run_is(open=False), lambda s: head(s, settled=True)),
    ),
    # dead-running
    Cell("dead-running", "a second response", refused(), UNKNOWN, nothing),
    Cell("dead-running", "agent_start", START, note("agent-start-inside-a-run"), nothing),
    Cell(
        "dead-running", "agent_end", read(spoke("answer", "late"), said("agent_end")), silent,
        run_is(open=False, final=True, last="stop", parts=(runs.Part("a", "late"),)),
    ),
    Cell("dead-running", "agent_end, retry", RETRY, silent, run_is(open=False)),
    Cell("dead-running", "settled, its run open", SETTLED, lost_effects(), lost),
    Cell(
        "dead-running", "settled",
        read(spoke("answer", "late"), said("agent_end"), said("settled")), over(), freed,
    ),
    Cell("dead-running", "Stop", STOP, silent, nothing),
    Cell("dead-running", "abort_grace", Tick(), silent, nothing, after=LIMITS.abort_grace),
    Cell("dead-running", "before run_grace", Tick(), silent, nothing, after=LIMITS.run_grace - 1),
    Cell(
        "dead-running", "run_grace", Tick(),
        lambda _: [Wedged("nothing ended the turn within its grace"), *B_WEDGED, Kill()],
        wedged, after=LIMITS.run_grace,
    ),
    Cell("dead-running", "exit", EXIT, exits(), lambda _: GONE),
    Cell("dead-running-unread", "refused", refused(), lambda _: [Released("a")], disowned),
    Cell("dead-running-unread", "handled", HANDLED, lambda _: [Released("a")], disowned),
    Cell("dead-running-unread", "started", STARTED, silent, was_read()),
    Cell("dead-between-runs", "agent_start", START, silent, run_is(open=True, final=False)),
    Cell("dead-between-runs", "settled", SETTLED, over(), freed),
    # settling
    Cell("settling", "a second response", refused(), UNKNOWN, nothing),
    Cell("settling-unread", "refused", refused(), silent, was_read()),
    Cell("settling-unread", "handled", HANDLED, silent, was_read()),
    Cell("settling-unread", "started", STARTED, silent, was_read()),
    Cell(
        "settling", "agent_start", START, silent,
        both(run_is(open=True, final=False), lambda s: head(s, stage=Stage.RUNNING)),
    ),
    Cell("settling", "agent_end", END, OUTSIDE, nothing),
    Cell("settling", "settled", SETTLED, over(), freed),
    Cell("settling", "settled twice", read(said("settled"), said("settled")),
         lambda s: [Released("a"), Note("settled-without-a-run"), *next_sent(s)], freed),
    Cell(
        "settling", "Stop", STOP, lambda s: [abort(s)], lambda s: failing(s, Stage.DEAD_RUNNING, Code.STOPPED),
    ),
    Cell("settling", "grace", Tick(), silent, nothing, after=LIMITS.abort_grace + LIMITS.run_grace),
    Cell("settling", "exit", EXIT, exits(), lambda _: GONE),
    Cell("dead-settling", "settled", SETTLED, over(), freed),
]  # fmt: skip


def only_spent(turn: str) -> list[Effect]:
    """The usage of the recorded answer, told beside it."""
    play = running()
    return [effect for effect in play.says(spoke("answer", "for a")) if getattr(effect, "turn", "") == turn]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.row} x {cell.column}")
def test_a_cell_of_the_table(cell: Cell) -> None:
    play = ROWS[cell.row]()
    before = play.state
    effects = play.give(cell.given, at=play.now + cell.after)
    assert effects == cell.effects(before)
    expected = replace(before, **cell.change(before))
    life = replace(expected, life=play.state.life)
    assert play.state == life


TIMEOUTS: dict[str, tuple[Stage, list[Effect]]] = {
    "written": (Stage.DEAD, [ended(Code.TIMEOUT)]),
    "answered": (Stage.DEAD_ANSWERED, [ended(Code.TIMEOUT)]),
    "running": (Stage.DEAD_RUNNING, [ended(Code.TIMEOUT)]),
    "settling": (Stage.DEAD_RUNNING, []),
}


@pytest.mark.parametrize("row", TIMEOUTS)
def test_a_timeout_fails_the_head_like_stop_and_frees_nobody(row: str) -> None:
    """BEHAVIOUR §1.3, §1.5, §1.10: ``b`` was given at the same instant and fails as one that waited."""
    stage, ends = TIMEOUTS[row]
    play = ROWS[row]()
    before = play.state
    waited = [Ended("b", Outcome(Code.TIMEOUT, detail="while waiting for the engine")), Released("b")]
    at = play.now + LIMITS.turn_timeout
    assert play.give(Tick(), at=at - 1) == []
    assert play.state == before
    assert play.give(Tick(), at=at) == [*waited, *ends, abort(before)]
    own = run_failed(before) if before.run is not None else {}
    failed_head = failing(before, stage, Code.TIMEOUT, at)
    assert play.state == replace(before, **{**failed_head, **own, "queue": failed_head["queue"][:1]})


def test_every_pair_of_stage_and_event_outside_the_table_is_a_dash() -> None:
    """The pairs that pi can bring about are in CELLS; the table has no more rows than BEHAVIOUR §1 gives it."""
    assert {(stage.name, event.name) for stage, event in TABLE} == {
        *(("WRITTEN", event) for event in ("REFUSED", "HANDLED", "STARTED", "FAIL")),
        *(("ANSWERED", event) for event in ("AGENT_START", "SETTLED", "FAIL")),
        *(("RUNNING", event) for event in ("REFUSED", "HANDLED", "AGENT_START", "AGENT_END", "SETTLED", "FAIL")),
        *(("SETTLING", event) for event in ("AGENT_START", "SETTLED", "FAIL")),
        *(("DEAD", event) for event in ("REFUSED", "HANDLED", "STARTED", "GRACE")),
        *(("DEAD_ANSWERED", event) for event in ("AGENT_START", "SETTLED", "GRACE")),
        *(("DEAD_RUNNING", event) for event in ("REFUSED", "HANDLED", "SETTLED", "GRACE")),
    }


def test_only_four_things_release_the_head() -> None:
    """BEHAVIOUR §1.2: refusal, ``handled``, settled; the exit is no row."""
    assert {event for (_, event), row in TABLE.items() if row.to is None} == {
        Event.REFUSED,
        Event.HANDLED,
        Event.SETTLED,
    }
