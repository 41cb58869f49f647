"""BEHAVIOUR §1.7, §1.8, §1.12 to §1.14, played in memory: whose a run is, and what becomes of nobody's."""

import pytest
from msgspec.structs import replace

from engine.commands import Abort, Compact, DialogAnswer
from engine.events import (
    SECOND,
    AbortOrphan,
    Answered,
    Code,
    Ended,
    Kill,
    Limits,
    Note,
    Outcome,
    Released,
    Request,
    Slash,
    Wedged,
    Write,
)
from engine.state import deadline
from engine.turns import Stage
from tests.engine.head_cells import only_spent
from tests.engine.play import LIMITS, MS, Play, echo, error_of, lines, only, prompts, said, spoke, text_of

QUICK = Limits(abort_grace=150 * MS, run_grace=300 * MS, turn_timeout=2 * SECOND, tool_timeout=20 * SECOND)
GRACE = "nothing ended the turn within its grace"


# -- settled, orphans, echoes (§1.7, §1.8, §1.13) ----------------------------------------------------------------------


def runs_for(play: Play) -> str:
    """Whose the run is."""
    assert play.state.run is not None
    return play.state.run.head or "nobody"


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
    assert orphan == [Note("orphan-run"), *only_spent("")]
    play.says(said("agent_end"), said("settled"))
    assert play.state.head is not None
    assert play.state.head.stage is Stage.WRITTEN
    play.runs("a")
    play.answers("own")
    assert only(play.out, Ended) == [Ended("a", Outcome(Code.ANSWERED, text="own"))]


def test_an_orphans_settle_releases_nobody_though_the_heads_response_was_read_meanwhile() -> None:
    """BEHAVIOUR §1.8: that settle ends the orphan run and nothing else."""
    play = Play()
    play.ask("a")
    play.ask("b")
    play.says(said("agent_start"))
    play.started("a")
    assert play.says(spoke("answer", "EXT ANSWER"), said("agent_end"), said("settled")) == only_spent("")
    assert play.state.head is not None
    assert play.state.head.stage is Stage.ANSWERED
    play.says(said("agent_start"), echo("a"))
    assert prompts(play.answers("own")) == [text_of("b")]
    assert play.ends == {"a": Code.ANSWERED}


def test_a_start_while_an_orphan_run_is_unsettled_stays_the_orphans_unless_an_echo_proves_otherwise() -> None:
    play = Play()
    play.ask("a")
    play.says(said("agent_start"), said("agent_end"))
    play.started("a")
    play.says(said("agent_start"))
    assert runs_for(play) == "nobody"
    play.says(echo("a"))
    assert runs_for(play) == "a"
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


# -- orphan runs (§1.12, §1.14) ----------------------------------------------------------------------------------------


def test_an_orphan_run_gets_the_bounds_of_a_turn_then_one_abort_then_run_grace_then_the_wedge() -> None:
    play = Play()
    play.says(said("agent_start"))
    assert deadline(play.state) == play.now + LIMITS.turn_timeout
    assert play.tick(LIMITS.turn_timeout - 1) == []
    assert [type(line) for line in lines(play.tick(1))] == [Abort]
    assert deadline(play.state) == play.now + LIMITS.run_grace
    assert play.tick(LIMITS.run_grace - 1) == []
    play.says(said("turn_start"))
    assert play.tick(1) == [Wedged("an orphan run did not end after its abort"), Kill()]


def test_an_orphan_run_has_the_turn_limit_whatever_its_life() -> None:
    play = Play(replace(LIMITS, turn_limit=10 * SECOND))
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
    play = Play(replace(LIMITS, dialog=60 * SECOND))
    play.ask("t", Slash("/say hello"))
    play.says(said("handled", id=play.ids["t"]))
    play.says(said("agent_start"), said("confirm", id="d"))
    assert [line for line in lines(play.give(AbortOrphan())) if not isinstance(line, Abort)] == [
        DialogAnswer("d", cancelled=True)
    ]
    assert play.state.dialogs == ()
    assert play.says(said("confirm", id="e")) == [Write((DialogAnswer("e", cancelled=True),))]


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
    outcome = Outcome(Code.REFUSED, detail=error_of(kind), busy=True)
    assert play.says(said(kind, id=play.ids["a"])) == [Ended("a", outcome), Released("a")]
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
