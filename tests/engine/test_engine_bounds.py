"""BEHAVIOUR §1.11 played in memory, and what means nothing: bounds, life, nonsense, foreign inputs, early ticks."""

import msgspec
import pytest
from msgspec.structs import replace

from engine.commands import Abort
from engine.events import (
    SECOND,
    AnswerDialog,
    Code,
    Exited,
    Limits,
    Note,
    Read,
    Tick,
)
from engine.state import deadline
from engine.wire import Malformed, Unknown
from tests.engine.play import LIMITS, MS, Play, lines, said

QUICK = Limits(abort_grace=150 * MS, run_grace=300 * MS, turn_timeout=2 * SECOND, tool_timeout=20 * SECOND)
GRACE = "nothing ended the turn within its grace"


# -- silence bounds (§1.11) --------------------------------------------------------------------------------------------

LIFE = [
    "agent_start", "agent_end", "agent_end_retry", "turn_start", "turn_end", "echo", "answer", "tool_use", "delta",
    "thought", "tool_start", "tool_update", "tool_end", "result_start", "result_end", "retry", "retry_over",
    "compaction", "compaction_end",
]  # fmt: skip
NO_LIFE = ["started", "queued", "abort_done", "queue", "notify", "extension_error", "entry", "confirm"]


@pytest.mark.parametrize("kind", LIFE)
def test_these_records_are_life(kind: str) -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    play.says(said(kind), at=play.now + SECOND)
    assert play.state.life == play.now


@pytest.mark.parametrize("kind", NO_LIFE)
def test_these_records_are_no_life(kind: str) -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    before = play.state.life
    play.says(said(kind), at=play.now + SECOND)
    assert play.state.life == before


def test_settled_is_life() -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    play.says(said("agent_end"))
    play.says(said("settled"), at=play.now + SECOND)
    assert play.state.life == play.now


@pytest.mark.parametrize(
    ("opens", "closes"),
    [("tool_start", "tool_end"), ("compaction", "compaction_end"), ("retry", "retry_over"), ("retry", "agent_start")],
)
def test_tool_timeout_while_something_slow_is_open(opens: str, closes: str) -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    if opens == "retry":
        play.says(said("error"), said("agent_end_retry"))
    play.says(said(opens))
    assert deadline(play.state) == play.now + LIMITS.tool_timeout
    play.tick(LIMITS.turn_timeout)
    assert play.ends == {}
    play.says(said(closes))
    assert deadline(play.state) == play.now + LIMITS.turn_timeout


def test_tool_timeout_while_a_dialog_is_open_and_turn_timeout_from_its_answer() -> None:
    play = Play(replace(LIMITS, dialog=600 * SECOND))
    play.ask("a")
    play.runs("a")
    play.says(said("confirm", id="d"))
    play.tick(300 * SECOND)
    assert play.ends == {}
    play.give(_answer("d"))
    assert deadline(play.state) == play.now + LIMITS.turn_timeout


def _answer(dialog: str) -> AnswerDialog:
    return AnswerDialog(dialog, confirmed=True)


def test_turn_limit_bounds_a_turn_whatever_its_life() -> None:
    play = Play()
    play.ask("a")
    asked = play.now
    play.runs("a")
    for minute in range(1, 120):
        play.says(said("delta"), at=asked + minute * 60 * SECOND)
    assert deadline(play.state) == asked + LIMITS.turn_limit
    play.give(Tick(), at=asked + LIMITS.turn_limit)
    assert play.ends == {"a": Code.TIMEOUT}


def test_no_turn_limit_where_it_is_zero() -> None:
    play = Play(replace(LIMITS, turn_limit=0))
    play.ask("a")
    play.runs("a")
    for minute in range(1, 200):
        play.says(said("delta"), at=play.now + minute * SECOND)
    assert play.tick(0) == []


@pytest.mark.parametrize("stage", ["running", "settling"])
def test_silence_bounds_hold_for_running_and_settling_heads(stage: str) -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    if stage == "settling":
        play.says(said("agent_end"), at=play.now + SECOND)
    assert deadline(play.state) == play.now + LIMITS.turn_timeout
    assert [type(line) for line in lines(play.tick(LIMITS.turn_timeout))] == [Abort]


# -- nonsense, doubled and foreign records -----------------------------------------------------------------------------


def test_nonsense_is_logged_and_changes_nothing() -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    before = play.state
    assert play.says(Malformed("no JSON", 5), Unknown("novelty"), said("ready", id=17), said("ready", id=["x"])) == [
        Note("malformed-record", "no JSON, 5 bytes"),
        Note("unknown-record", "novelty"),
        Note("response-without-id", "get_state"),
        Note("response-without-id", "get_state"),
    ]
    assert play.state == before


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e308", "-5"])
def test_a_duration_that_is_none_is_no_exception(number: str) -> None:
    play = Play(replace(LIMITS, dialog=60 * SECOND))
    play.ask("a")
    play.runs("a")
    play.says(said("retry", delayMs=float(number)))
    play.says(said("confirm", id="d", timeout=float(number)))
    assert play.state.retrying
    assert [(dialog.name, dialog.due) for dialog in play.state.dialogs] == [("d", play.now + 60 * SECOND)]


@pytest.mark.parametrize("given", [Read(6, (said("settled"), said("started", id="turn2"))), Exited(8, 1)])
def test_a_foreign_generations_input_changes_nothing_and_is_counted(given: Read | Exited) -> None:
    play = Play()
    play.ask("a")
    before = play.state
    assert play.give(given) == [Note("foreign-generation", str(given.generation))]
    assert play.state == msgspec.structs.replace(before, foreign=1)


def test_early_and_idle_ticks_change_nothing() -> None:
    play = Play()
    before = play.state
    assert play.tick(LIMITS.turn_limit) == []
    play.ask("a")
    play.runs("a")
    running = play.state
    assert play.tick(LIMITS.turn_timeout - 1) == []
    assert play.state == running
    assert before.queue == ()
