"""BEHAVIOUR §1.15 and §1.16: what an answer is, whose it is, and when it is given out."""

import pytest

from engine.events import Answered, Code, Ended, Outcome, Progress, Released, Retrying, Slash, Spent
from engine.pi import Cost, Usage
from tests.engine.play import MS, Play, echo, error_of, only, said, spoke


def running(turn: str = "a") -> Play:
    play = Play()
    play.ask(turn)
    play.runs(turn)
    return play


def outcome(play: Play, turn: str = "a") -> Outcome:
    found = [effect.outcome for effect in play.out if isinstance(effect, Ended) and effect.turn == turn]
    assert len(found) == 1
    return found[0]


ABORTED = error_of("aborted")
RATE = error_of("error")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([spoke("answer", "one")], Outcome(Code.ANSWERED, text="one")),
        ([spoke("answer", "one"), spoke("answer", "two")], Outcome(Code.ANSWERED, text="one\n\ntwo")),
        ([spoke("cut", "cut")], Outcome(Code.ANSWERED, text="cut")),
        ([spoke("tool_use", "I will look"), spoke("answer", "found")], Outcome(Code.ANSWERED, text="found")),
        ([spoke("answer", "")], Outcome(Code.EMPTY)),
        ([spoke("answer", " \n")], Outcome(Code.EMPTY)),
        ([spoke("tool_use", "I will look")], Outcome(Code.EMPTY)),
        ([spoke("aborted", "half")], Outcome(Code.INTERRUPTED, detail=ABORTED)),
        ([said("error")], Outcome(Code.PROVIDER, detail=RATE)),
        ([], Outcome(Code.PROVIDER)),
    ],
    ids=["stop", "several", "length", "toolUse", "empty", "blank", "only toolUse", "aborted", "error", "none"],
)
def test_what_a_run_answers(records: list[object], expected: Outcome) -> None:
    play = running()
    play.says(*records, said("agent_end"), said("settled"))  # type: ignore[arg-type]  # recorded records
    assert outcome(play) == expected


def test_a_failed_trys_text_is_dropped_since_the_next_one_repeats_it() -> None:
    """i_drop_midstream."""
    play = running()
    play.says(spoke("cut_off", "this text is"), said("turn_end"), said("agent_end_retry"), said("retry"))
    play.says(said("agent_start"), spoke("answer", "this text is whole"), said("retry_over"), said("agent_end"))
    assert outcome(play) == Outcome(Code.ANSWERED, text="this text is whole")


def test_pis_own_retry_is_told_with_its_delay() -> None:
    play = running()
    assert play.says(said("error"), said("agent_end_retry"), said("retry"))[-1] == Retrying("a", 1, 3, 2000 * MS)
    assert play.ends == {}


def test_handled_is_an_end_of_its_own() -> None:
    play = Play()
    play.ask("t", Slash("/log"))
    play.says(said("handled", id=play.ids["t"]))
    assert outcome(play, "t") == Outcome(Code.HANDLED)


def test_a_good_answer_is_given_out_at_its_end_before_it_settles() -> None:
    play = running()
    assert only(play.says(spoke("answer", "one"), said("agent_end")), Ended, Released) == [
        Ended("a", Outcome(Code.ANSWERED, text="one"))
    ]
    assert play.says(said("settled")) == [Released("a")]


@pytest.mark.parametrize("last", ["error", "aborted"])
def test_an_end_with_an_error_waits_for_the_settle_since_the_run_may_go_on(last: str) -> None:
    """m_overflow, g_followup_queued_then_fatal."""
    play = running()
    assert only(play.says(said(last), said("agent_end")), Ended) == []
    play.says(said("agent_start"), spoke("answer", "after all"), said("agent_end"))
    assert outcome(play) == Outcome(Code.ANSWERED, text="after all")


def test_an_end_with_a_steer_open_waits_for_the_settle() -> None:
    play = running()
    play.steer("s")
    assert only(play.says(spoke("answer", "one"), said("agent_end")), Ended) == []
    assert only(play.says(said("settled")), Ended, Released) == [
        Ended("a", Outcome(Code.ANSWERED, text="one")),
        Released("a"),
    ]


def test_text_after_the_answer_was_given_out_is_a_further_answer_never_a_second_end() -> None:
    play = running()
    play.says(spoke("answer", "one"), said("agent_end"))
    play.says(said("agent_start"), spoke("answer", "two"))
    assert only(play.says(said("agent_end")), Ended, Answered) == [Answered("a", "two")]
    assert only(play.says(said("settled")), Ended, Answered) == []
    assert outcome(play) == Outcome(Code.ANSWERED, text="one")


def test_a_failure_after_the_answer_was_given_out_is_no_second_end() -> None:
    play = running()
    play.says(spoke("answer", "one"), said("agent_end"), said("agent_start"), said("error"), said("agent_end"))
    assert only(play.says(said("settled")), Ended, Answered, Released) == [Released("a")]


def test_the_exit_lets_stand_what_was_final_and_fails_the_rest() -> None:
    play = running()
    play.steer("s")
    play.says(spoke("answer", "one"), said("agent_end"))
    assert only(play.exit(1), Ended, Released) == [
        Ended("a", Outcome(Code.ANSWERED, text="one")),
        Ended("s", Outcome(Code.EXIT, detail="exit 1")),
        Released("a"),
    ]


def test_the_exit_in_a_run_fails_its_text_too() -> None:
    play = running()
    play.says(spoke("answer", "one"))
    assert only(play.exit(-9), Ended) == [Ended("a", Outcome(Code.EXIT, detail="exit -9"))]


def test_a_settle_after_a_retry_that_never_came_fails_the_running_head() -> None:
    """g_abort_retry_in_backoff."""
    play = running()
    play.says(said("error"), said("agent_end_retry"), said("retry"), said("retry_over"))
    play.says(said("settled"))
    assert outcome(play) == Outcome(Code.PROVIDER, detail=RATE)
    assert not play.state.busy


def test_a_head_that_settles_without_a_run_fails_as_a_provider_error() -> None:
    play = Play()
    play.ask("a")
    play.started("a")
    play.says(said("settled"))
    assert outcome(play) == Outcome(Code.PROVIDER)


# -- split at user echoes ------------------------------------------------------------------------------------------


def steered(play: Play, *names: str) -> None:
    for name in names:
        play.steer(name)
        play.says(said("queued", id=play.ids[name]))


def test_each_part_answers_the_message_echoed_before_it() -> None:
    """e_steer_during_tool, e_steer_while_answer_streams."""
    play = running()
    steered(play, "s")
    play.says(spoke("answer", "for a"), echo("s"), spoke("answer", "for s"), said("agent_end"))
    assert only(play.out, Ended) == [
        Ended("a", Outcome(Code.ANSWERED, text="for a")),
        Ended("s", Outcome(Code.ANSWERED, text="for s")),
    ]


def test_with_no_text_between_two_echoes_one_answer_serves_both_and_refers_to_the_later() -> None:
    play = running()
    steered(play, "s", "t")
    play.says(echo("s"), echo("t"), spoke("answer", "for all"), said("agent_end"))
    assert only(play.out, Ended) == [
        Ended("a", Outcome(Code.JOINED, into="t")),
        Ended("s", Outcome(Code.JOINED, into="t")),
        Ended("t", Outcome(Code.ANSWERED, text="for all")),
    ]


def test_parts_left_without_text_by_an_error_end_as_the_run_ended() -> None:
    play = running()
    steered(play, "s")
    play.says(spoke("answer", "for a"), echo("s"), said("error"), said("agent_end"), said("settled"))
    assert only(play.out, Ended) == [
        Ended("a", Outcome(Code.ANSWERED, text="for a")),
        Ended("s", Outcome(Code.PROVIDER, detail=RATE)),
    ]


def test_an_error_for_several_is_told_once_and_the_others_join_it() -> None:
    play = running()
    steered(play, "s")
    play.says(echo("s"), said("error"), said("agent_end"), said("settled"))
    assert only(play.out, Ended) == [
        Ended("s", Outcome(Code.JOINED, into="a")),
        Ended("a", Outcome(Code.PROVIDER, detail=RATE)),
    ]


def test_a_continuation_belongs_to_whom_the_last_part_answered() -> None:
    play = running()
    steered(play, "s")
    play.says(echo("s"), spoke("answer", "for both"), said("agent_end"), said("agent_start"))
    assert only(play.says(spoke("answer", "more"), said("agent_end")), Answered) == [Answered("s", "more")]


def test_the_heads_own_echo_splits_nothing() -> None:
    play = Play()
    play.ask("a")
    play.started("a")
    play.says(said("agent_start"), spoke("answer", "one"), echo("a"), spoke("answer", "two"), said("agent_end"))
    assert outcome(play) == Outcome(Code.ANSWERED, text="one\n\ntwo")


def test_text_after_a_steers_echo_inside_an_orphan_run_answers_that_message() -> None:
    """BEHAVIOUR §1.12: the head was refused while what ran was nobody's; the steer is heard there."""
    play = Play()
    play.ask("a")
    play.says(said("agent_start"), echo("a"))
    play.started("a")
    steered(play, "s")
    play.says(said("error"), said("agent_end"), said("settled"))
    play.says(said("agent_start"), spoke("answer", "nobody's"), echo("s"), spoke("answer", "for s"))
    assert only(play.says(said("agent_end"), said("settled")), Ended) == [
        Ended("s", Outcome(Code.ANSWERED, text="for s"))
    ]


def test_stop_of_a_message_heard_in_an_orphan_run_stops_that_run() -> None:
    play = running()
    steered(play, "s")
    play.says(said("error"), said("agent_end"), said("settled"), said("agent_start"), echo("s"))
    assert only(play.fail("s"), Ended) == [Ended("s", Outcome(Code.STOPPED))]
    assert type(play.written[-1]).__name__ == "Abort"
    play.says(spoke("answer", "late"), said("agent_end"), said("settled"))
    assert play.ends["s"] is Code.STOPPED


# -- what the card is told -----------------------------------------------------------------------------------------


def test_streaming_text_and_thinking_are_joined_per_read_and_told_as_progress() -> None:
    play = running()
    pieces = [
        said("thought", assistantMessageEvent={"delta": "hm "}),
        said("thought", assistantMessageEvent={"delta": "so"}),
        said("delta", assistantMessageEvent={"delta": "He"}),
        said("delta", assistantMessageEvent={"delta": "llo"}),
    ]
    assert play.says(*pieces) == [Progress("a", "hm so", thinking=True), Progress("a", "Hello")]


def test_usage_is_told_with_the_message() -> None:
    play = running()
    found = only(play.says(spoke("answer", "one")), Spent)
    usage = Usage(input=100, output=10, totalTokens=110, cost=Cost(total=0.00012))
    assert [type(effect) for effect in found] == [Spent]
    assert isinstance(found[0], Spent)
    assert (found[0].turn, found[0].provider, found[0].model) == ("a", "fake", "scripted")
    assert found[0].usage is not None
    assert (found[0].usage.input, found[0].usage.output) == (usage.input, usage.output)


@pytest.mark.parametrize("way", ["Stop", "exit", "position lost"])
def test_a_steer_heard_in_a_continuation_ends_with_it_though_the_head_has_its_answer(way: str) -> None:
    """BEHAVIOUR §7.8: the head had its end at the first ``agent_end``; who joined later has not."""
    play = running()
    play.says(spoke("answer", "one"), said("agent_end"), said("agent_start"))
    steered(play, "s")
    play.says(echo("s"))
    code = {"Stop": Code.STOPPED, "exit": Code.EXIT, "position lost": Code.WEDGED}[way]
    match way:
        case "Stop":
            play.fail("a")
        case "exit":
            play.exit(0)
        case _:
            play.says(said("settled"))
    assert play.ends == {"a": Code.ANSWERED, "s": code}
