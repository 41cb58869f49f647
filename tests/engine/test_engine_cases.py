"""BEHAVIOUR §1.1 to §1.14 and "Cases that must hold", played in memory: position, failing, aborts, wedges, bounds."""

import dataclasses

import pytest

from engine import commands
from engine.commands import Abort, Compact, DialogAnswer, GetState, NewSession, Prompt
from engine.core import start
from engine.events import (
    SECOND,
    AbortOrphan,
    AnswerDialog,
    Answered,
    Code,
    Ended,
    Exited,
    Fail,
    Kill,
    Limits,
    Note,
    Outcome,
    Read,
    Ready,
    Released,
    Replied,
    Request,
    Returned,
    Sent,
    Slash,
    SteerIn,
    Stop,
    Submit,
    Text,
    Tick,
    Wedged,
    Write,
)
from engine.state import Condition, deadline
from engine.turns import Stage
from engine.wire import Malformed, Unknown
from tests.engine.play import LIMITS, MS, Play, echo, lines, only, prompts, said, spoke, text_of

QUICK = Limits(abort_grace=150 * MS, run_grace=300 * MS, turn_timeout=2 * SECOND, tool_timeout=20 * SECOND)
GRACE = "nothing ended the turn within its grace"


# -- busy (§1.1) ---------------------------------------------------------------------------------------------------


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


# -- the head stays (§1.2, §1.3) -----------------------------------------------------------------------------------


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
    assert late == []
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


# -- what failing writes (§1.4) ------------------------------------------------------------------------------------


def test_failing_writes_clear_queue_then_cancels_then_abort_in_one_write() -> None:
    play = Play(dataclasses.replace(LIMITS, dialog=60 * SECOND))
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
    play = Play(dataclasses.replace(LIMITS, dialog=60 * SECOND))
    play.ask("a")
    play.runs("a")
    abort = lines(play.fail("a"))[0]
    if answered:
        play.says(said("abort_done", id=abort.id))  # type: ignore[attr-defined]  # an Abort
    assert play.says(said("confirm", id="d2")) == [Write((DialogAnswer("d2", cancelled=True),))]


def test_a_dialog_under_a_failed_head_is_cancelled_even_where_a_commands_run_has_somebody_to_ask() -> None:
    play = Play(dataclasses.replace(LIMITS, dialog=60 * SECOND))
    play.ask("t", Slash("/say hello"))
    play.says(said("handled", id=play.ids["t"]))
    play.ask("c", Request(Compact("")))
    play.says(said("agent_start"))
    abort = lines(play.fail("c"))[0]
    play.says(said("abort_done", id=abort.id))  # type: ignore[attr-defined]  # an Abort
    assert play.says(said("confirm", id="d")) == [Write((DialogAnswer("d", cancelled=True),))]


# -- graces and wedges (§1.5, §1.6, §1.9) --------------------------------------------------------------------------


def test_mute() -> None:
    """Cases that must hold: mute, grace 150 ms, a second prompt held."""
    play = Play(QUICK)
    play.ask("mute")
    play.ask("held")
    play.fail("mute")
    assert deadline(play.state) == play.now + QUICK.abort_grace
    held = [Ended("held", Outcome(Code.WEDGED)), Released("held")]
    assert play.tick(QUICK.abort_grace) == [Wedged(GRACE), *held, Kill()]
    assert play.ask("later") == [Ended("later", Outcome(Code.DOWN)), Released("later")]
    assert play.exit(-15) == [Released("mute")]
    assert play.exit(-15) == []
    assert play.ends == {"mute": Code.STOPPED, "held": Code.WEDGED, "later": Code.DOWN}
    assert [type(line) for line in play.written] == [Prompt, Abort]
    assert prompts(play.out) == [text_of("mute")]


def test_stall() -> None:
    """Accepted, then nothing is read for 400 ms: the child is gone before it reads on."""
    play = Play(QUICK)
    play.ask("stall")
    play.ask("second")
    play.started("stall")
    play.fail("stall")
    play.tick(QUICK.abort_grace)
    assert play.state.condition is Condition.WEDGED
    play.says(said("agent_start"), echo("stall"), at=play.now + 250 * MS)
    play.exit(-9)
    assert play.ends == {"stall": Code.STOPPED, "second": Code.WEDGED}
    assert prompts(play.out) == [text_of("stall")]


@pytest.mark.parametrize("response", ["before the timeout", "with the late events"])
def test_the_old_runs_events_arrive_while_the_child_is_still_exiting(response: str) -> None:
    play = Play(QUICK)
    play.ask("old")
    play.ask("held")
    early = response == "before the timeout"
    if early:
        play.started("old")
    play.fail("old")
    play.tick(QUICK.abort_grace)
    before = play.state
    late = [said("agent_start"), echo("old"), said("tool_start"), said("tool_end"), spoke("answer", "old answer")]
    if not early:
        late.insert(0, said("started", id=play.ids["old"]))
    effects = play.says(*late, said("agent_end"), said("settled"))
    assert {type(effect) for effect in effects} == {Note}
    assert play.state == before
    play.ask("later")
    assert play.exit(-9) == [Released("old")]
    assert play.ends == {"old": Code.STOPPED, "held": Code.WEDGED, "later": Code.DOWN}
    assert [type(line) for line in play.written] == [Prompt, Abort]


@pytest.mark.parametrize("second", [False, True])
def test_late(second: bool) -> None:
    """The run starts after the abort, within the grace: no wedge, the next prompt gets its own answer."""
    play = Play(QUICK)
    play.ask("late")
    play.started("late")
    play.ask("next")
    play.fail("late")
    play.says(said("agent_start"), echo("late"), at=play.now + 100 * MS)
    play.tick(100 * MS)
    assert not play.wedged
    play.says(spoke("answer", "late answer"), said("agent_end"))
    if second:
        play.says(said("agent_start"), spoke("answer", "more"), said("agent_end"))
    assert prompts(play.says(said("settled"))) == [text_of("next")]
    play.runs("next")
    play.answers("own")
    assert only(play.out, Ended) == [
        Ended("late", Outcome(Code.STOPPED)),
        Ended("next", Outcome(Code.ANSWERED, text="own")),
    ]


def test_a_timer_that_fires_before_any_event_is_read_frees_nobody() -> None:
    play = Play(QUICK)
    play.ask("a")
    play.tick(SECOND)
    play.ask("b")
    play.give(Tick(), at=play.now - SECOND + QUICK.turn_timeout)
    assert play.ends == {"a": Code.TIMEOUT}
    play.started("a")
    play.says(said("agent_start"), echo("a"), said("aborted"), said("agent_end"))
    assert prompts(play.says(said("settled"))) == [text_of("b")]
    play.runs("b")
    play.answers("own")
    assert play.ends == {"a": Code.TIMEOUT, "b": Code.ANSWERED}


def test_slow() -> None:
    play = Play()
    play.ask("slow")
    play.ask("b")
    play.runs("slow")
    play.says(spoke("answer", "done"), said("agent_end"), at=play.now + 300 * MS)
    assert prompts(play.out) == [text_of("slow")]
    assert prompts(play.says(said("settled"))) == [text_of("b")]


@pytest.mark.parametrize("way", ["settled", "refused", "handled", "exit"])
def test_a_grace_is_released_wherever_the_turn_leaves(way: str) -> None:
    """BEHAVIOUR §1.9: nothing of the old turn's grace ends the next one, or an idle child."""
    play = Play(QUICK)
    play.ask("a")
    if way == "settled":
        play.runs("a")
    play.fail("a")
    match way:
        case "settled":
            play.says(said("aborted"), said("agent_end"), said("settled"))
        case "exit":
            play.exit()
        case _:
            play.says(said(way, id=play.ids["a"]))
    assert deadline(play.state) is None
    assert play.tick(10 * SECOND) == []


def test_run_grace_counts_from_the_last_abort() -> None:
    play = Play(QUICK)
    play.ask("a")
    play.fail("a")
    play.says(said("started", id=play.ids["a"]), at=play.now + 100 * MS)
    play.says(said("agent_start"), at=play.now + 10 * MS)
    assert deadline(play.state) == play.now - 10 * MS + QUICK.run_grace
    play.tick(QUICK.run_grace - 10 * MS - 1)
    assert not play.wedged
    play.tick(1)
    assert play.wedged


@pytest.mark.parametrize("how", ["wedged", "stopping"])
def test_nothing_is_written_to_a_child_that_is_given_up(how: str) -> None:
    play = Play(dataclasses.replace(LIMITS, dialog=60 * SECOND))
    play.ask("a")
    play.runs("a")
    play.steer("s")
    play.says(said("confirm", id="d"))
    if how == "wedged":
        play.says(said("settled"))
    else:
        play.give(Stop())
    before = len(play.written)
    play.give(SteerIn("t", Text(text_of("t"))))
    play.give(Fail("a", Code.STOPPED))
    play.give(Fail("s", Code.STOPPED))
    play.give(AbortOrphan())
    play.ask("b")
    play.says(said("confirm", id="e"), said("agent_end"), said("settled"))
    play.tick(LIMITS.turn_limit)
    assert len(play.written) == before
    assert play.ends["b"] is Code.DOWN
    assert only(play.out, Returned) == [Returned("t", written=False)]


def test_stop_fails_what_is_held_and_leaves_the_head_to_the_exit() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    assert play.give(Stop()) == [Ended("b", Outcome(Code.DOWN)), Released("b"), Kill()]
    assert play.give(Stop()) == []
    assert play.exit(0) == [Ended("a", Outcome(Code.EXIT, detail="exit 0")), Released("a")]


def test_a_wedged_childs_head_that_had_not_failed_ends_as_wedged_at_the_exit() -> None:
    play = Play(QUICK)
    play.ask("a")
    play.says(said("agent_start"))
    play.give(AbortOrphan())
    play.tick(QUICK.run_grace)
    assert play.wedged
    assert play.exit(-9) == [Ended("a", Outcome(Code.WEDGED, detail="exit -9")), Released("a")]


# -- settled, orphans, echoes (§1.7, §1.8, §1.13) ------------------------------------------------------------------


def test_a_lost_prompts_false_settled_loses_the_position() -> None:
    """f_prompts_one_write."""
    play = Play()
    play.ask("a")
    play.ask("b")
    play.runs("a")
    reason = "agent_settled inside a run"
    assert play.says(said("settled")) == [
        Ended("a", Outcome(Code.WEDGED, detail=reason)),
        Wedged(f"position lost: {reason}"),
        Ended("b", Outcome(Code.WEDGED)),
        Released("b"),
        Kill(),
    ]
    assert play.state.head is not None
    assert play.exit(-15) == [Released("a")]


def test_an_orphan_run_between_prompt_and_response_is_nobodys() -> None:
    """x_N_slow."""
    play = Play()
    play.ask("a")
    orphan = play.says(said("agent_start"), spoke("echo", "EXT RUN"), said("delta"), spoke("answer", "EXT ANSWER"))
    assert orphan == [Note("orphan-run")]
    play.says(said("agent_end"), said("settled"))
    assert play.state.head is not None
    assert play.state.head.stage is Stage.WRITTEN
    play.runs("a")
    play.answers("own")
    assert only(play.out, Ended) == [Ended("a", Outcome(Code.ANSWERED, text="own"))]


def test_a_start_while_an_orphan_run_is_unsettled_stays_the_orphans_unless_an_echo_proves_otherwise() -> None:
    play = Play()
    play.ask("a")
    play.says(said("agent_start"), said("agent_end"))
    play.started("a")
    play.says(said("agent_start"))
    assert play.state.run is not None
    assert play.state.run.head is None
    play.says(echo("a"))
    assert play.state.run.head == "a"
    play.answers("own")
    assert play.ends == {"a": Code.ANSWERED}


def test_the_orphans_own_text_does_not_reach_the_head_that_an_echo_proves() -> None:
    play = Play()
    play.ask("a")
    play.says(said("agent_start"), spoke("answer", "orphan"), said("agent_end"), said("agent_start"), echo("a"))
    play.started("a")
    play.answers("own")
    assert only(play.out, Ended) == [Ended("a", Outcome(Code.ANSWERED, text="own"))]


@pytest.mark.parametrize(
    ("response", "code"),
    [("started", Code.ANSWERED), ("refused", Code.ANSWERED), ("handled", Code.ANSWERED)],
)
def test_a_head_proved_before_its_response_is_released_once_both_are_read(response: str, code: Code) -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    play.says(said("agent_start"), echo("a"))
    play.answers("own")
    assert play.state.queue[0].name == "a"
    assert prompts(play.says(said(response, id=play.ids["a"]))) == [text_of("b")]
    assert play.ends == {"a": code}


def test_a_run_that_goes_on_after_that_settle_is_not_cut_off_by_the_late_response() -> None:
    """BEHAVIOUR §7.3: no prompt is written while a run is open."""
    play = Play()
    play.ask("a")
    play.ask("b")
    play.says(said("agent_start"), echo("a"))
    play.answers("own")
    play.says(said("agent_start"))
    assert prompts(play.started("a")) == []
    assert prompts(play.answers("more")) == [text_of("b")]
    assert only(play.out, Answered) == [Answered("a", "more")]


def test_an_echo_of_another_turn_loses_the_position() -> None:
    play = Play()
    play.ask("old")
    play.runs("old")
    play.answers("done")
    play.ask("a")
    play.started("a")
    play.says(said("agent_start"))
    reason = "the echo of another turn"
    assert play.says(echo("old")) == [
        Ended("a", Outcome(Code.WEDGED, detail=reason)),
        Wedged(f"position lost: {reason}"),
        Kill(),
    ]


@pytest.mark.parametrize("text", ["no mark at all", "[discord] rewritten", "[discord] somebody 99\n\nunknown"])
def test_an_echo_without_a_known_mark_proves_nothing(text: str) -> None:
    play = Play()
    play.ask("a")
    play.started("a")
    before = play.says(said("agent_start"))
    assert before
    assert play.says(spoke("echo", text)) == []
    play.answers("own")
    assert play.ends == {"a": Code.ANSWERED}


def test_the_last_sixty_four_marks_are_known_and_an_older_one_proves_nothing() -> None:
    play = Play()
    names = [f"m{n}" for n in range(66)]
    for name in names:
        play.ask(name)
        play.runs(name)
        play.answers("done")
    play.ask("a")
    play.runs("a")
    play.says(echo(names[1]))
    assert not play.wedged
    play.says(echo(names[3]))
    assert play.wedged


# -- orphan runs (§1.12, §1.14) ------------------------------------------------------------------------------------


def test_an_orphan_run_gets_the_bounds_of_a_turn_then_one_abort_then_run_grace_then_the_wedge() -> None:
    play = Play()
    play.says(said("agent_start"))
    assert deadline(play.state) == play.now + LIMITS.turn_timeout
    assert play.tick(LIMITS.turn_timeout - 1) == []
    assert [type(line) for line in lines(play.tick(1))] == [Abort]
    assert play.tick(LIMITS.run_grace - 1) == []
    play.says(said("turn_start"))
    assert play.tick(1) == [Wedged("an orphan run did not end after its abort"), Kill()]


def test_an_orphan_run_has_the_turn_limit_whatever_its_life() -> None:
    play = Play(dataclasses.replace(LIMITS, turn_limit=10 * SECOND))
    play.says(said("agent_start"))
    play.says(said("turn_start"), at=play.now + 9 * SECOND)
    assert [type(line) for line in lines(play.tick(SECOND))] == [Abort]


def test_stop_of_the_lane_aborts_an_orphan_run_once() -> None:
    play = Play()
    assert play.give(AbortOrphan()) == []
    play.says(said("agent_start"))
    assert [type(line) for line in lines(play.give(AbortOrphan()))] == [Abort]
    assert play.give(AbortOrphan()) == []
    play.ask("a")
    assert prompts(play.says(said("aborted"), said("agent_end"), said("settled"))) == [text_of("a")]


def test_aborting_a_commands_run_cancels_its_dialog_in_the_same_write() -> None:
    """l_confirm_nobody_answers: an open dialog blocks the abort, and the grace would wedge a healthy child."""
    play = Play(dataclasses.replace(LIMITS, dialog=60 * SECOND))
    play.ask("t", Slash("/say hello"))
    play.says(said("handled", id=play.ids["t"]))
    play.says(said("agent_start"), said("confirm", id="d"))
    assert [line for line in lines(play.give(AbortOrphan())) if not isinstance(line, Abort)] == [
        DialogAnswer("d", cancelled=True)
    ]
    assert play.state.dialogs == ()


def test_a_run_between_handled_and_the_next_prompt_answers_that_command() -> None:
    """l_commands, /say."""
    play = Play()
    play.ask("t", Slash("/say hello"))
    assert play.says(said("handled", id=play.ids["t"])) == [Ended("t", Outcome(Code.HANDLED)), Released("t")]
    play.says(said("agent_start"), spoke("echo", "message from the extension: hello"))
    assert only(play.answers("hello to you"), Answered) == [Answered("t", "hello to you")]
    play.says(said("agent_start"))
    assert only(play.answers("again"), Answered) == [Answered("t", "again")]
    play.ask("a")
    play.says(said("agent_start"))
    assert only(play.answers("too late"), Answered, Ended) == []


def test_a_session_command_in_between_does_not_end_that() -> None:
    play = Play()
    play.ask("t", Slash("/say hello"))
    play.says(said("handled", id=play.ids["t"]))
    play.ask("c", Request(Compact("")))
    play.says(said("agent_start"))
    assert only(play.answers("hello to you"), Answered) == [Answered("t", "hello to you")]


def test_a_stopped_command_gets_no_tail() -> None:
    play = Play()
    play.ask("t", Slash("/say hello"))
    play.fail("t")
    play.says(said("handled", id=play.ids["t"]), said("agent_start"))
    assert only(play.answers("hello"), Answered, Ended) == []


def test_stop_of_a_command_aborts_the_run_that_answers_it() -> None:
    play = Play()
    play.ask("t", Slash("/say hello"))
    play.says(said("handled", id=play.ids["t"]), said("agent_start"), spoke("answer", "half"))
    assert [type(line) for line in lines(play.fail("t"))] == [Abort]
    assert only(play.says(said("aborted"), said("agent_end"), said("settled")), Answered) == []


@pytest.mark.parametrize("kind", ["busy", "compacting"])
def test_a_busy_refusal_makes_the_child_busy_as_by_an_orphan_run(kind: str) -> None:
    """x_C_0, m_compact."""
    play = Play()
    play.ask("a")
    play.ask("b")
    refusal = said(kind, id=play.ids["a"])
    detail = refusal.error  # type: ignore[union-attr]  # a recorded response
    assert play.says(refusal) == [Ended("a", Outcome(Code.REFUSED, detail=detail, busy=True)), Released("a")]
    assert deadline(play.state) == play.now + LIMITS.turn_timeout
    over = [said("settled")] if kind == "busy" else [said("compaction_end")]
    assert prompts(play.says(*over)) == [text_of("b")]


def test_a_busy_refusal_inside_an_orphan_run_ends_with_that_run() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    play.says(said("agent_start"), said("busy", id=play.ids["a"]), spoke("answer", "EXT"), said("agent_end"))
    assert prompts(play.out) == [text_of("a")]
    assert prompts(play.says(said("settled"))) == [text_of("b")]


def test_a_compactions_end_does_not_end_a_run_that_an_extension_began_meanwhile() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    play.says(said("compacting", id=play.ids["a"]), said("agent_start"))
    assert prompts(play.says(said("compaction_end"))) == []


def test_another_refusal_fails_visibly_and_the_next_is_asked() -> None:
    play = Play()
    play.ask("a")
    play.ask("b")
    effects = play.says(said("refused", id=play.ids["a"]))
    assert only(effects, Ended)[0].outcome.busy is False  # type: ignore[union-attr]  # an Ended
    assert prompts(effects) == [text_of("b")]


# -- silence bounds (§1.11) ----------------------------------------------------------------------------------------

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
    play = Play(dataclasses.replace(LIMITS, dialog=600 * SECOND))
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
    play = Play(dataclasses.replace(LIMITS, turn_limit=0))
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


# -- nonsense, doubled and foreign records -------------------------------------------------------------------------


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
    play = Play(dataclasses.replace(LIMITS, dialog=60 * SECOND))
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
    assert play.state == dataclasses.replace(before, foreign=1)


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
