"""BEHAVIOUR §1.5, §1.6, §1.9 and "Cases that must hold", in memory: graces, wedges, a child that is given up."""

import pytest
from msgspec.structs import replace

from engine.commands import Abort, Prompt
from engine.events import (
    SECOND,
    AbortOrphan,
    Code,
    Ended,
    Fail,
    Kill,
    Limits,
    Note,
    Outcome,
    Released,
    Returned,
    SteerIn,
    Stop,
    Text,
    Tick,
    Wedged,
)
from engine.state import Condition, deadline
from tests.engine.play import LIMITS, MS, Play, echo, only, prompts, said, spoke, text_of

QUICK = Limits(abort_grace=150 * MS, run_grace=300 * MS, turn_timeout=2 * SECOND, tool_timeout=20 * SECOND)
GRACE = "nothing ended the turn within its grace"


# -- graces and wedges (§1.5, §1.6, §1.9) ------------------------------------------------------------------------------


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
    play = Play(replace(LIMITS, dialog=60 * SECOND))
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
