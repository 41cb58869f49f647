"""BEHAVIOUR §1.1 to §1.4, played in memory: who is busy, that the head stays, and what failing writes."""

import pytest
from msgspec.structs import replace

from engine import commands
from engine.commands import Abort, Compact, DialogAnswer, GetState, NewSession, Prompt
from engine.core import start
from engine.events import (
    SECOND,
    Code,
    Ended,
    Kill,
    Limits,
    Outcome,
    Ready,
    Released,
    Replied,
    Request,
    Sent,
    Slash,
    Stop,
    Submit,
    Text,
    Tick,
    Wedged,
    Write,
)
from engine.state import deadline
from tests.engine.head_cells import only_spent
from tests.engine.play import LIMITS, MS, Play, echo, lines, only, prompts, said, spoke, text_of

QUICK = Limits(abort_grace=150 * MS, run_grace=300 * MS, turn_timeout=2 * SECOND, tool_timeout=20 * SECOND)
GRACE = "nothing ended the turn within its grace"


# -- busy (§1.1) -------------------------------------------------------------------------------------------------------


def test_a_new_child_is_asked_its_state_and_nothing_else_until_it_answers() -> None:
    state, effects = start(3, LIMITS, 0)
    assert effects == (Write((GetState("hello1"),)),)
    assert state.busy
    play = Play(ready=False)
    assert play.ask("a") == []
    ready = said("ready", id="hello1")
    state_data = ready.data  # type: ignore[union-attr]  # a recorded response
    assert play.says(ready) == [Ready(state_data), Sent("a"), Write((Prompt("turn2", text_of("a")),))]


def test_a_child_that_never_answers_its_first_question_is_wedged_after_turn_timeout() -> None:
    play = Play(QUICK, ready=False)
    play.give(Submit("a", Text(text_of("a"))), at=play.now + SECOND)
    born = play.now - SECOND
    assert deadline(play.state) == born + QUICK.turn_timeout
    assert play.give(Tick(), at=born + QUICK.turn_timeout - 1) == []
    down = [Ended("a", Outcome(Code.WEDGED)), Released("a")]
    assert play.give(Tick(), at=born + QUICK.turn_timeout) == [Wedged("no first answer"), *down, Kill()]


def test_life_before_the_first_answer_puts_off_that_wedge() -> None:
    play = Play(QUICK, ready=False)
    born = play.now
    play.says(said("compaction"), at=born + SECOND)
    assert play.give(Tick(), at=born + QUICK.turn_timeout) == []
    assert only(play.give(Tick(), at=born + SECOND + QUICK.turn_timeout), Wedged) == [Wedged("no first answer")]


@pytest.mark.parametrize(
    "cause",
    ["starting", "queue", "run", "orphan", "steer", "clear", "command", "wedged", "stopping", "exited"],
)
def test_every_cause_of_busy_holds_a_prompt_back(cause: str) -> None:
    play = Play(ready=cause != "starting")
    match cause:
        case "queue":
            play.ask("a")
        case "run":
            play.ask("a")
            play.runs("a")
        case "orphan":
            play.says(said("agent_start"))
        case "steer" | "clear":
            play.ask("a")
            play.runs("a")
            play.steer("s")
            if cause == "clear":
                play.says(said("queued", id=play.ids["s"]))
                play.fail("s")
                play.says(echo("s"))
            play.answers("done")
        case "command":
            play.give(Submit("c", Request(Compact(""))))
        case "wedged":
            play.says(said("agent_start"), said("settled"))
        case "stopping":
            play.give(Stop())
        case "exited":
            play.exit()
        case _:
            pass
    assert play.state.busy
    assert prompts(play.ask("b")) == []


def test_an_idle_child_is_not_busy() -> None:
    play = Play()
    assert not play.state.busy
    play.ask("a")
    play.runs("a")
    play.answers("done")
    assert not play.state.busy
    assert deadline(play.state) is None


@pytest.mark.parametrize(
    "command",
    [Compact(""), NewSession(""), commands.SwitchSession("", "s.jsonl"), commands.Fork("", "e1")],
    ids=["compact", "new_session", "switch_session", "fork"],
)
def test_a_session_command_waits_its_turn_and_holds_the_next_prompt_until_answered(command: commands.Ask) -> None:
    play = Play()
    play.ask("a")
    play.ask("c", Request(command))
    play.ask("b")
    play.runs("a")
    effects = play.answers("done")
    name = play.ids["c"]
    assert lines(effects) == [type(command)(**{**_fields(command), "id": name})]
    reply = said("compacted_response", id=name)
    ended = Ended("c", Outcome(Code.HANDLED))
    assert play.says(reply) == [
        Replied("c", reply),  # type: ignore[arg-type]  # a recorded response
        ended,
        Released("c"),
        Sent("b"),
        Write((Prompt(play.ids["b"], text_of("b")),)),
    ]


def _fields(command: commands.Ask) -> dict[str, str]:
    return {
        name: getattr(command, name) for name in command.__struct_fields__ if isinstance(getattr(command, name), str)
    }


def test_a_refused_session_command_ends_as_refused() -> None:
    play = Play()
    play.ask("c", Request(Compact("")))
    reply = said("compact_refused", id=play.ids["c"])
    detail = "Nothing to compact (session too small)"
    assert play.says(reply) == [
        Replied("c", reply),  # type: ignore[arg-type]  # a recorded response
        Ended("c", Outcome(Code.REFUSED, detail=detail)),
        Released("c"),
    ]


def test_an_unanswered_session_command_without_life_wedges_after_turn_timeout() -> None:
    play = Play()
    play.ask("c", Request(Compact("")))
    play.ask("b")
    play.tick(LIMITS.turn_timeout - 1)
    assert not play.wedged
    assert play.tick(1)[-3:] == [Released("b"), Wedged("a session command was not answered"), Kill()]


def test_a_compaction_that_shows_life_has_the_tool_timeout() -> None:
    play = Play()
    play.ask("c", Request(Compact("")))
    play.says(said("compaction"))
    play.tick(LIMITS.tool_timeout - 1)
    assert not play.wedged
    play.tick(1)
    assert play.wedged


# -- the head stays (§1.2, §1.3) ---------------------------------------------------------------------------------------


def test_an_aborts_success_frees_nobody() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    play.runs("a")
    abort = lines(play.fail("a"))[0]
    assert play.says(said("abort_done", id=abort.id)) == []  # type: ignore[attr-defined]  # an Abort
    assert [turn.name for turn in play.state.queue] == ["a", "b"]


def test_late_events_land_on_the_failed_head_and_on_nobody_else() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    play.runs("a")
    play.fail("a")
    late = play.says(spoke("answer", "late"), said("tool_start"), said("tool_end"), said("delta"), said("agent_end"))
    assert late == only_spent("")
    play.says(said("settled"))
    play.runs("b")
    play.answers("for b")
    assert [effect for effect in play.out if isinstance(effect, Ended)] == [
        Ended("a", Outcome(Code.STOPPED)),
        Ended("b", Outcome(Code.ANSWERED, text="for b")),
    ]


def test_a_held_turn_that_fails_just_leaves() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    assert play.fail("b") == [Ended("b", Outcome(Code.STOPPED)), Released("b")]
    assert play.fail("b") == []


def test_a_held_turn_times_out_while_waiting_for_the_engine() -> None:
    play = Play()
    play.ask("a")
    play.runs("a")
    play.tick(SECOND)
    play.ask("b")
    play.says(said("turn_start"), at=play.now + LIMITS.turn_timeout - 1)
    assert play.tick(0) == []
    waited = Outcome(Code.TIMEOUT, detail="while waiting for the engine")
    assert play.tick(1) == [Ended("b", waited), Released("b")]


# -- what failing writes (§1.4) ----------------------------------------------------------------------------------------


def test_failing_writes_clear_queue_then_cancels_then_abort_in_one_write() -> None:
    play = Play(replace(LIMITS, dialog=60 * SECOND))
    play.ask("a")
    play.runs("a")
    play.steer("s")
    play.says(said("confirm", id="d1"), said("select", id="d2"))
    write = only(play.fail("a"), Write)
    n = play.state.serial
    assert write == [
        Write(
            (
                commands.ClearQueue(f"clear{n - 1}"),
                DialogAnswer("d1", cancelled=True),
                DialogAnswer("d2", cancelled=True),
                Abort(f"abort{n}"),
            )
        )
    ]


def test_an_abort_before_the_response_is_written_again_at_started_and_never_a_third_time() -> None:
    """f_prompt_abort_one_write: the first does nothing on the real pi."""
    play = Play()
    play.ask("a")
    assert [type(line) for line in lines(play.fail("a"))] == [Abort]
    assert [type(line) for line in lines(play.started("a"))] == [Abort]
    assert lines(play.says(said("agent_start"), echo("a"))) == []
    assert lines(play.fail("a")) == []
    assert sum(isinstance(line, Abort) for line in play.written) == 2


def test_an_abort_before_the_response_is_written_again_when_the_echo_proves_the_start() -> None:
    play = Play()
    play.ask("a")
    play.fail("a")
    assert lines(play.says(said("agent_start"))) == []
    assert [type(line) for line in lines(play.says(echo("a")))] == [Abort]
    assert lines(play.started("a")) == []
    assert sum(isinstance(line, Abort) for line in play.written) == 2


def test_an_abort_after_the_response_is_not_written_again() -> None:
    play = Play()
    play.ask("a")
    play.started("a")
    play.fail("a")
    play.says(said("agent_start"), echo("a"))
    assert sum(isinstance(line, Abort) for line in play.written) == 1


@pytest.mark.parametrize("answered", [False, True], ids=["abort unanswered", "abort answered"])
def test_a_dialog_that_opens_under_a_failed_head_is_cancelled_at_once(answered: bool) -> None:
    """x_B_cancel_first."""
    play = Play(replace(LIMITS, dialog=60 * SECOND))
    play.ask("a")
    play.runs("a")
    abort = lines(play.fail("a"))[0]
    if answered:
        play.says(said("abort_done", id=abort.id))  # type: ignore[attr-defined]  # an Abort
    assert play.says(said("confirm", id="d2")) == [Write((DialogAnswer("d2", cancelled=True),))]


def test_a_dialog_under_a_failed_head_is_cancelled_even_where_a_commands_run_has_somebody_to_ask() -> None:
    play = Play(replace(LIMITS, dialog=60 * SECOND))
    play.ask("t", Slash("/say hello"))
    play.says(said("handled", id=play.ids["t"]))
    play.ask("c", Request(Compact("")))
    play.says(said("agent_start"))
    abort = lines(play.fail("c"))[0]
    play.says(said("abort_done", id=abort.id))  # type: ignore[attr-defined]  # an Abort
    assert play.says(said("confirm", id="d")) == [Write((DialogAnswer("d", cancelled=True),))]
