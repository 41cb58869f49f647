"""BEHAVIOUR §1, the table "state by input": every row and every column played on ``step``, states and effects whole."""

import pytest
from msgspec.structs import replace

from engine import runs
from engine.events import (
    Code,
    Effect,
    Ended,
    Kill,
    Note,
    Outcome,
    Released,
    Started,
    Tick,
    Wedged,
)
from engine.turns import TABLE, Event, Stage
from tests.engine.head_cells import (
    B_WEDGED,
    BUSY_TEXT,
    END,
    EXIT,
    EXITED,
    GIVEN,
    GONE,
    HANDLED,
    LOST,
    NO_KEY,
    NO_SETTLE,
    ORPHAN,
    OUTSIDE,
    OWN,
    RETRY,
    ROWS,
    SETTLED,
    STAGES,
    START,
    STARTED,
    STOP,
    UNKNOWN,
    Cell,
    abort,
    aborted,
    both,
    disowned,
    ended,
    exits,
    failing,
    freed,
    head,
    lost,
    lost_effects,
    next_sent,
    note,
    nothing,
    only_spent,
    over,
    read,
    refused,
    run_failed,
    run_is,
    silent,
    was_read,
    wedged,
)
from tests.engine.play import LIMITS, said, spoke

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
        "dead-running", "agent_end", read(spoke("answer", "late"), said("agent_end")),
        lambda _: only_spent(""),
        run_is(open=False, final=True, last="stop", parts=(runs.Part("a", "late"),)),
    ),
    Cell("dead-running", "agent_end, retry", RETRY, silent, run_is(open=False)),
    Cell("dead-running", "settled, its run open", SETTLED, lost_effects(), lost),
    Cell(
        "dead-running", "settled",
        read(spoke("answer", "late"), said("agent_end"), said("settled")), over(*only_spent("")), freed,
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


@pytest.mark.parametrize("row", ROWS)
def test_the_rows_start_where_they_say(row: str) -> None:
    state = ROWS[row]().state
    assert [(turn.name, turn.stage) for turn in state.queue] == [("a", STAGES[row]), ("b", Stage.HELD)]


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
