"""BEHAVIOUR §4: every row of its table, what ``clear_queue`` proves, and what holds a prompt back."""

import pytest

from engine.commands import Abort, ClearQueue, Prompt, Steer
from engine.events import (
    SECOND,
    Code,
    Ended,
    Heard,
    Kill,
    Outcome,
    Released,
    Returned,
    Submit,
    Text,
    Tick,
    Wedged,
    Write,
)
from engine.state import Advice, advice, deadline
from engine.wire import Line
from tests.engine.play import LIMITS, Play, echo, lines, mark, only, prompts, said, spoke, text_of

WAIT = 60 * SECOND


def running() -> Play:
    play = Play()
    play.ask("a")
    play.runs("a")
    return play


def steered(*, answered: bool = True) -> Play:
    play = running()
    play.steer("s")
    if answered:
        play.says(said("queued", id=play.ids["s"]))
    return play


def last_clear(play: Play) -> str:
    return [line.id for line in play.written if isinstance(line, ClearQueue)][-1]


def cleared(play: Play, *turns: str) -> Line:
    """The answer to the last ``clear_queue``, naming these turns' texts."""
    return said("cleared", id=last_clear(play), data={"steering": [text_of(turn) for turn in turns], "followUp": []})


# -- the rows of the table -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    ["starting", "idle", "written", "answered", "unread", "backoff", "settling", "stopped", "orphan", "wedged", "gone"],
)
def test_a_head_that_is_not_running_and_healthy_is_not_steered_at_all(where: str) -> None:
    play = Play(ready=where != "starting")
    if where not in {"starting", "idle", "orphan"}:
        play.ask("a")
    match where:
        case "answered":
            play.started("a")
        case "unread":
            play.says(said("agent_start"), echo("a"))
        case "backoff":
            play.runs("a")
            play.says(said("error"), said("agent_end_retry"), said("retry"))
        case "settling":
            play.runs("a")
            play.says(spoke("answer", "one"), said("agent_end"))
        case "stopped":
            play.runs("a")
            play.fail("a")
        case "orphan":
            play.says(said("agent_start"))
        case "wedged":
            play.runs("a")
            play.says(said("settled"))
        case "gone":
            play.runs("a")
            play.exit()
        case _:
            pass
    assert advice(play.state, play.now, WAIT) is Advice.QUEUE
    before = play.state
    assert play.steer("s") == [Returned("s", written=False)]
    assert play.state == before


def test_a_steer_is_written_alone_into_the_second_try_too() -> None:
    play = running()
    play.says(said("error"), said("agent_end_retry"), said("retry"), said("agent_start"))
    assert play.steer("s") == [Write((Steer(play.ids["s"], text_of("s")),))]


def test_a_refused_steer_goes_back_as_refused_and_touches_nobody() -> None:
    play = steered(answered=False)
    run = play.state.run
    assert play.says(said("not_queued", id=play.ids["s"])) == [Returned("s", refused=True)]
    assert not play.state.steering.busy
    assert play.state.run == run


def test_an_accepted_steer_waits_for_its_echo_and_nothing_is_written() -> None:
    play = steered()
    before = play.written
    play.says(said("queue"), said("tool_start"), said("tool_end"))
    assert play.written == before
    assert play.says(echo("s")) == [Heard("s", "a")]
    assert not play.state.steering.busy


def test_an_echo_may_come_before_the_steers_response() -> None:
    play = steered(answered=False)
    assert play.says(echo("s")) == [Heard("s", "a")]
    play.says(said("queued", id=play.ids["s"]), spoke("answer", "both"))
    play.says(said("agent_end"), said("settled"))
    assert play.ends == {"a": Code.JOINED, "s": Code.ANSWERED}
    assert not play.state.busy


def test_stop_of_the_run_stops_what_joined_it() -> None:
    play = steered()
    play.says(echo("s"))
    assert only(play.fail("a"), Ended) == [
        Ended("a", Outcome(Code.STOPPED)),
        Ended("s", Outcome(Code.STOPPED)),
    ]


def test_stop_of_a_joined_message_alone_stops_the_run() -> None:
    play = steered()
    play.says(echo("s"))
    effects = play.fail("s")
    assert only(effects, Ended) == [Ended("a", Outcome(Code.STOPPED)), Ended("s", Outcome(Code.STOPPED))]
    assert [type(line) for line in lines(effects)] == [Abort]


def test_a_joined_message_ends_as_its_run_times_out() -> None:
    play = steered()
    play.says(echo("s"))
    play.tick(LIMITS.turn_timeout)
    assert play.ends == {"a": Code.TIMEOUT, "s": Code.TIMEOUT}


def test_residue_of_a_run_that_is_over_is_taken_back_and_then_is_an_ordinary_prompt() -> None:
    play = steered()
    play.ask("b")
    effects = play.answers("one")
    assert [type(line) for line in lines(effects)] == [ClearQueue]
    assert play.says(cleared(play, "s")) == [Returned("s"), *play.out[-2:]]
    assert prompts(play.out)[-1] == text_of("b")


def test_residue_of_a_stopped_head_comes_back_too() -> None:
    """Stop of the head alone does not drop it."""
    play = steered()
    assert [type(line) for line in lines(play.fail("a"))] == [ClearQueue, Abort]
    assert play.says(cleared(play, "s")) == [Returned("s")]
    play.says(said("aborted"), said("agent_end"), said("settled"))
    assert play.ends == {"a": Code.STOPPED}
    assert not play.state.busy


def test_a_steer_that_was_stopped_itself_does_not_come_back() -> None:
    play = steered()
    assert [type(line) for line in lines(play.fail("s"))] == [ClearQueue]
    assert play.says(cleared(play, "s")) == [Ended("s", Outcome(Code.STOPPED))]
    play.answers("one")
    assert play.ends == {"s": Code.STOPPED, "a": Code.ANSWERED}


def test_a_stopped_steer_that_is_heard_all_the_same_stops_the_run() -> None:
    play = steered()
    play.fail("s")
    effects = play.says(echo("s"))
    assert only(effects, Heard, Ended) == [
        Heard("s", "a"),
        Ended("a", Outcome(Code.STOPPED)),
        Ended("s", Outcome(Code.STOPPED)),
    ]
    assert [type(line) for line in lines(effects)] == [Abort]


def test_a_stopped_steer_is_asked_back_again_once_its_own_answer_came_too_late_for_the_first_time() -> None:
    """x_J: ``clear_queue`` is answered before the steer that is still being handled."""
    play = steered(answered=False)
    play.fail("s")
    play.says(cleared(play))
    assert [type(line) for line in lines(play.says(said("queued", id=play.ids["s"])))] == [ClearQueue]
    assert play.says(cleared(play, "s")) == [Ended("s", Outcome(Code.STOPPED))]


def test_a_steer_heard_by_a_failed_heads_run_ends_with_it() -> None:
    """f_abort_during_tool_with_queue."""
    play = steered()
    play.fail("a")
    assert only(play.says(echo("s")), Heard, Ended) == [Heard("s", "a"), Ended("s", Outcome(Code.STOPPED))]


def test_the_childs_exit_ends_an_open_steer() -> None:
    play = steered()
    assert only(play.exit(1), Ended) == [
        Ended("a", Outcome(Code.EXIT, detail="exit 1")),
        Ended("s", Outcome(Code.EXIT, detail="exit 1")),
    ]


# -- what clear_queue proves ---------------------------------------------------------------------------------------


def test_a_steer_whose_answer_comes_after_clear_queue_is_cleared_again_before_any_prompt() -> None:
    """x_D_2: ``clear_queue`` is answered empty before the steer is queued."""
    play = steered(answered=False)
    play.ask("b")
    play.answers("one")
    assert play.says(cleared(play)) == []
    assert prompts(play.out) == [text_of("a")]
    first = last_clear(play)
    assert [type(line) for line in lines(play.says(said("queued", id=play.ids["s"])))] == [ClearQueue]
    assert last_clear(play) != first
    assert prompts(play.says(cleared(play, "s"))) == [text_of("b")]
    assert only(play.out, Returned) == [Returned("s")]


def test_a_clear_queue_of_a_failed_head_is_repeated_too() -> None:
    """x_J."""
    play = steered(answered=False)
    play.fail("a")
    play.says(cleared(play))
    play.says(said("queued", id=play.ids["s"]))
    assert sum(isinstance(line, ClearQueue) for line in play.written) == 2
    play.says(cleared(play, "s"), said("aborted"), said("agent_end"), said("settled"))
    assert only(play.out, Returned) == [Returned("s")]


def test_a_text_it_names_is_given_back_whenever_it_says_so() -> None:
    play = steered(answered=False)
    play.answers("one")
    assert play.says(cleared(play, "s")) == [Returned("s")]
    play.says(said("queued", id=play.ids["s"]))
    assert not play.state.busy


def test_a_named_text_that_an_extension_rewrote_is_the_oldest_covered_steers() -> None:
    play = steered()
    play.steer("t")
    play.says(said("queued", id=play.ids["t"]))
    play.answers("one")
    named = said("cleared", id=last_clear(play), data={"steering": ["rewritten", text_of("t")], "followUp": []})
    assert only(play.says(named), Returned) == [Returned("t"), Returned("s")]


def test_a_covered_steer_that_it_does_not_name_was_consumed_without_its_mark() -> None:
    play = steered()
    play.answers("one")
    assert play.says(cleared(play)) == [Ended("s", Outcome(Code.JOINED, into="a"))]
    assert not play.state.busy


def test_a_consumed_one_that_was_stopped_ends_as_stopped() -> None:
    play = steered()
    play.answers("one")
    play.fail("s")
    assert play.says(cleared(play)) == [Ended("s", Outcome(Code.STOPPED))]


def test_a_consumed_one_joins_a_run_that_still_goes_on() -> None:
    play = steered()
    play.steer("t")
    play.says(said("queued", id=play.ids["t"]))
    play.fail("t")
    effects = play.says(cleared(play, "t"))
    assert only(effects, Heard, Ended) == [Ended("t", Outcome(Code.STOPPED)), Heard("s", "a")]
    play.answers("both")
    assert play.ends == {"t": Code.STOPPED, "a": Code.JOINED, "s": Code.ANSWERED}


def test_a_refused_clear_queue_proves_nothing_and_the_grace_ends_it() -> None:
    """f_clear_queue@0.73.1: that pi does not know the command."""
    play = steered()
    play.answers("one")
    play.says(said("cleared_refused", id=last_clear(play)))
    assert play.state.steering.busy
    play.tick(LIMITS.abort_grace)
    assert play.wedged


@pytest.mark.parametrize("data", [None, 5, "x", {"steering": "no list"}, {"steering": [5, None, {}]}, []])
def test_an_odd_answer_names_nothing(data: object) -> None:
    play = steered(answered=False)
    play.answers("one")
    assert play.says(said("cleared", id=last_clear(play), data=data)) == []
    assert play.state.steering.of(turn="s") is not None


# -- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unanswered", ["steer", "clear_queue"])
def test_no_answer_within_abort_grace_after_the_runs_end_wedges(unanswered: str) -> None:
    play = steered(answered=unanswered == "clear_queue")
    play.ask("b")
    play.answers("one")
    if unanswered == "steer":
        play.says(cleared(play))
    over = play.now
    assert deadline(play.state) == over + LIMITS.abort_grace
    assert play.give(Tick(), at=over + LIMITS.abort_grace - 1) == []
    reason = "a steer or clear_queue was not answered after the run's end"
    ends = [Ended("b", Outcome(Code.WEDGED)), Released("b")]
    assert play.give(Tick(), at=over + LIMITS.abort_grace) == [Wedged(reason), *ends, Kill()]
    assert play.tick(1) == []
    assert play.exit(-9) == [Ended("s", Outcome(Code.WEDGED, detail="exit -9"))]


def test_that_grace_counts_from_the_runs_end_and_not_from_the_heads_failure() -> None:
    """The failed head's ``run_grace`` bounds its run; a tool may ignore the abort for longer than ``abort_grace``."""
    play = steered(answered=False)
    play.fail("a")
    play.tick(LIMITS.abort_grace + SECOND)
    assert not play.wedged
    play.says(said("aborted"), said("agent_end"), said("settled"))
    assert deadline(play.state) == play.now + LIMITS.abort_grace
    play.tick(LIMITS.abort_grace)
    assert play.wedged


def test_steering_renews_no_bound() -> None:
    play = running()
    due = deadline(play.state)
    play.now += SECOND
    play.steer("s")
    play.says(said("queue"), said("queued", id=play.ids["s"]))
    assert deadline(play.state) == due


def test_an_open_steer_holds_a_prompt_back_after_the_settle() -> None:
    play = steered()
    play.answers("one")
    play.ask("b")
    assert prompts(play.out) == [text_of("a")]


def test_residue_that_an_orphan_run_hears_answers_there() -> None:
    """BEHAVIOUR §1.12."""
    play = steered()
    play.answers("one")
    play.says(said("agent_start"))
    assert play.says(echo("s")) == [Heard("s", None)]
    play.says(cleared(play))
    assert only(play.answers("for s"), Ended) == [Ended("s", Outcome(Code.ANSWERED, text="for s"))]


def test_a_returned_steer_that_runs_all_the_same_loses_the_position() -> None:
    """BEHAVIOUR §7.33: nothing given up runs inside a later prompt."""
    play = steered()
    play.answers("one")
    play.says(cleared(play, "s"))
    play.ask("b")
    play.runs("b")
    play.says(echo("s"))
    assert play.wedged


def test_a_returned_steer_may_be_prompted_and_answers_by_its_own_mark() -> None:
    play = steered()
    play.answers("one")
    play.says(cleared(play, "s"))
    play.give(Submit("s2", Text(text_of("s"))))
    play.says(said("started", id=play.ids["s2"]), said("agent_start"), echo("s"))
    play.answers("own")
    assert play.ends == {"a": Code.ANSWERED, "s2": Code.ANSWERED}


def test_a_text_is_never_both_steered_and_prompted() -> None:
    play = steered()
    play.answers("one")
    play.says(cleared(play, "s"))
    assert [type(line) for line in play.written] == [Prompt, Steer, ClearQueue]


def test_two_steers_are_one_clear_queue() -> None:
    play = steered()
    play.steer("t")
    play.says(said("queued", id=play.ids["t"]))
    play.answers("one")
    assert sum(isinstance(line, ClearQueue) for line in play.written) == 1
    assert only(play.says(cleared(play, "s", "t")), Returned) == [Returned("s"), Returned("t")]


def test_a_steers_mark_is_remembered_like_a_prompts() -> None:
    play = running()
    play.steer("s")
    assert play.state.marks == (mark("a"), mark("s"))
