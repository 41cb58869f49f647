"""BEHAVIOUR §5 and the dialogs: open tool waits by call id, what a line does now, who is asked and who is cancelled."""

import pytest
from msgspec.structs import replace

from engine.commands import DialogAnswer
from engine.events import SECOND, AnswerDialog, Asked, Stop, Told, ToolClosed, ToolOpened, Unasked, Write
from engine.state import Advice, advice
from engine.waits import Wait, closed, hanging, oldest, opened
from engine.wire import Line
from tests.engine.play import LIMITS, MS, Play, echo, lines_of, only, raw, said, spoke

LONG = 60 * SECOND
ASKING = replace(LIMITS, dialog=60 * SECOND)


def running(limits: object = LIMITS) -> Play:
    play = Play(limits)  # type: ignore[arg-type]  # Limits
    play.ask("a")
    play.runs("a")
    return play


def tool(call: str, name: str = "bash") -> Line:
    return said("tool_start", toolCallId=call, toolName=name)


def calls(play: Play) -> list[str]:
    return [wait.call for wait in play.state.waits]


# -- bookkeeping ---------------------------------------------------------------------------------------------------


def test_a_tool_opens_a_wait_and_tells_it() -> None:
    play = running()
    args = raw("tool_start")["args"]
    assert play.says(tool("c1")) == [ToolOpened("a", "c1", "bash", args)]
    assert play.state.waits == (Wait("c1", "bash", play.now),)


RESULTS = {
    "tool_execution_end, toolCallId": said("tool_end", toolCallId="c1"),
    "tool_execution_end, callId": said("tool_end", toolCallId=None, callId="c1"),
    "message_start, message.toolCallId": said("result_start", message={"toolCallId": "c1"}),
    "message_end, message.toolCallId": said("result_end", message={"toolCallId": "c1"}),
    "message_end, message.source.callId": said("result_end", message={"toolCallId": None, "source": {"callId": "c1"}}),
}


@pytest.mark.parametrize("shape", RESULTS)
def test_a_result_in_any_shape_that_names_the_call_closes_its_wait(shape: str) -> None:
    play = running()
    play.says(tool("c1"), tool("c2"))
    assert play.says(RESULTS[shape]) == [ToolClosed("a", "c1")]
    assert calls(play) == ["c2"]


@pytest.mark.parametrize("call", ["", None, "unknown", 7])
def test_empty_and_unknown_ids_close_nothing(call: object) -> None:
    play = running()
    play.says(tool("c1"))
    assert play.says(said("tool_end", toolCallId=call)) == []
    assert calls(play) == ["c1"]


def test_an_empty_id_opens_nothing_and_a_doubled_start_keeps_the_first() -> None:
    play = running()
    assert play.says(tool("")) == []
    play.says(tool("c1"))
    first = play.state.waits
    assert play.says(tool("c1"), at=play.now + SECOND) == []
    assert play.state.waits == first


def test_a_tool_outside_a_run_opens_nothing() -> None:
    play = Play()
    play.says(tool("c1"))
    play.ask("a")
    play.runs("a")
    play.says(said("agent_end_retry"))
    play.says(tool("c2"))
    assert play.state.waits == ()


@pytest.mark.parametrize("kind", ["agent_start", "agent_end", "agent_end_retry"])
def test_open_is_empty_at_each_run_start_and_end(kind: str) -> None:
    play = running()
    play.says(tool("c1"))
    assert only(play.says(said(kind)), ToolClosed) == [ToolClosed("a", "c1")]
    assert play.state.waits == ()


@pytest.mark.parametrize("name", ["b_bash_tool", "b_unknown_tool_and_bad_args", "c_parallel_tools", "f_abort_tool"])
@pytest.mark.parametrize("version", ["", "@0.73.1"])
def test_every_tool_of_a_recording_opens_once_and_closes_once(name: str, version: str) -> None:
    """Payloads whole from the recordings; every one of them closes by its own result, not by its run's end."""
    from engine import wire

    play = running()
    records = [wire.decode(line.encode()) for line in lines_of(name + version)]
    kinds = {"ToolStart", "ToolUpdate", "ToolEnd", "MessageStart", "MessageEnd"}
    play.says(*(record for record in records if type(record).__name__ in kinds))
    opens = [effect.call for effect in play.out if isinstance(effect, ToolOpened)]
    closes = [effect.call for effect in play.out if isinstance(effect, ToolClosed)]
    assert opens
    assert sorted(opens) == sorted(closes)
    assert play.state.waits == ()


def test_the_pure_parts() -> None:
    waits = opened(opened((), "c1", "bash", 5), "c2", "read", 3)
    assert oldest(waits) == Wait("c2", "read", 3)
    assert oldest(()) is None
    assert closed(waits, "c2") == (Wait("c1", "bash", 5),)
    assert (hanging(waits, 13, 10), hanging(waits, 14, 10), hanging((), 99, 0)) == (False, True, False)


# -- what a person's line does (§5's table) ------------------------------------------------------------------------


def test_a_tool_that_has_returned_interrupts_nothing() -> None:
    play = running()
    play.says(tool("c1"))
    play.says(said("tool_end", toolCallId="c1"), at=play.now + 5 * SECOND)
    assert advice(play.state, play.now + 56 * SECOND, LONG) is Advice.STEER


@pytest.mark.parametrize(("after", "expected"), [(LONG, Advice.STEER), (LONG + 1, Advice.INTERRUPT)])
def test_only_strictly_more_than_long_wait_interrupts(after: int, expected: Advice) -> None:
    play = running()
    play.says(tool("c1"))
    assert advice(play.state, play.now + after, LONG) is expected


def test_the_age_is_that_of_the_oldest_open_wait() -> None:
    play = running()
    play.says(tool("old"))
    play.says(tool("young"), at=play.now + 50 * SECOND)
    assert advice(play.state, play.now + 20 * SECOND, LONG) is Advice.INTERRUPT
    play.says(said("tool_end", toolCallId="old"))
    assert advice(play.state, play.now + 20 * SECOND, LONG) is Advice.STEER


def test_a_second_line_while_that_abort_is_pending_is_queued() -> None:
    play = running()
    play.says(tool("c1"))
    later = play.now + LONG + 1
    assert advice(play.state, later, LONG) is Advice.INTERRUPT
    play.fail("a")
    assert advice(play.state, later, LONG) is Advice.QUEUE


def test_a_tool_that_waits_for_a_dialog_is_not_hanging() -> None:
    play = running(ASKING)
    play.says(tool("c1"), said("confirm", id="d"))
    assert advice(play.state, play.now + LONG + 1, LONG) is Advice.STEER
    play.give(AnswerDialog("d"))
    assert advice(play.state, play.now + LONG + 1, LONG) is Advice.INTERRUPT


def test_the_time_a_person_took_to_answer_is_no_time_of_the_tool() -> None:
    play = running(ASKING)
    play.says(tool("c1"))
    play.tick(SECOND)
    play.says(said("confirm", id="d"))
    play.tick(50 * SECOND)
    play.says(tool("c2"))
    play.tick(9 * SECOND)
    play.give(AnswerDialog("d", confirmed=True))
    assert [play.now - wait.since for wait in play.state.waits] == [SECOND, 0]
    assert advice(play.state, play.now + LONG - SECOND, LONG) is Advice.STEER
    assert advice(play.state, play.now + LONG - SECOND + 1, LONG) is Advice.INTERRUPT


# -- dialogs -------------------------------------------------------------------------------------------------------


def test_a_dialog_is_cancelled_at_once_where_nobody_is_to_be_asked() -> None:
    play = running()
    assert play.says(said("confirm", id="d")) == [Write((DialogAnswer("d", cancelled=True),))]
    assert play.state.dialogs == ()


@pytest.mark.parametrize("where", ["idle", "orphan", "starting"])
def test_a_dialog_of_nobody_is_cancelled_at_once(where: str) -> None:
    play = Play(ASKING, ready=where != "starting")
    if where == "orphan":
        play.says(said("agent_start"))
    assert play.says(said("select", id="d")) == [Write((DialogAnswer("d", cancelled=True),))]


def test_a_dialog_before_the_response_is_the_heads() -> None:
    """x_H: a hook asks before the prompt is answered."""
    play = Play(ASKING)
    play.ask("a")
    dialog = said("confirm", id="d")
    assert play.says(dialog) == [Asked("a", dialog)]  # type: ignore[arg-type]  # a recorded dialog


@pytest.mark.parametrize(
    ("given", "reply"),
    [
        (AnswerDialog("d", value="green"), DialogAnswer("d", value="green")),
        (AnswerDialog("d", value=""), DialogAnswer("d", value="")),
        (AnswerDialog("d", confirmed=True), DialogAnswer("d", confirmed=True)),
        (AnswerDialog("d", confirmed=False), DialogAnswer("d", confirmed=False)),
        (AnswerDialog("d"), DialogAnswer("d", cancelled=True)),
    ],
)
def test_an_answer_is_written_once(given: AnswerDialog, reply: DialogAnswer) -> None:
    play = running(ASKING)
    play.says(said("select", id="d"))
    assert play.give(given) == [Unasked("d"), Write((reply,))]
    assert play.give(given) == []


def test_nobody_answers_and_it_is_cancelled_when_it_is_due() -> None:
    play = running(ASKING)
    play.says(said("confirm", id="d"))
    assert play.tick(ASKING.dialog - 1) == []
    assert play.tick(1) == [Unasked("d", timed_out=True), Write((DialogAnswer("d", cancelled=True),))]


def test_pi_resolves_a_dialog_with_a_shorter_timeout_itself_and_says_nothing() -> None:
    """l_confirm_timeout: nothing on the wire tells it, so nothing is written for it."""
    play = running(ASKING)
    play.says(said("timed", id="d", timeout=1500))
    assert play.tick(1500 * MS - 1) == []
    assert play.tick(1) == [Unasked("d", timed_out=True)]


def test_a_dialog_with_a_longer_timeout_is_ours_to_cancel() -> None:
    play = running(ASKING)
    play.says(said("timed", id="d", timeout=600_000))
    assert play.tick(ASKING.dialog) == [Unasked("d", timed_out=True), Write((DialogAnswer("d", cancelled=True),))]


def test_a_second_dialog_is_asked_beside_the_first_and_a_doubled_id_is_not() -> None:
    play = running(ASKING)
    play.says(said("confirm", id="d1"))
    second = said("select", id="d2")
    assert play.says(second) == [Asked("a", second)]  # type: ignore[arg-type]  # a recorded dialog
    assert only(play.says(said("confirm", id="d1"), said("confirm", id="")), Asked, Write) == []
    assert [dialog.name for dialog in play.state.dialogs] == ["d1", "d2"]


def test_one_way_requests_are_told_to_the_runs_owner_alone() -> None:
    play = running(ASKING)
    notify = said("notify")
    assert play.says(notify) == [Told("a", notify)]  # type: ignore[arg-type]  # a recorded dialog
    play.fail("a")
    assert play.says(notify) == []


@pytest.mark.parametrize("way", ["settled", "handled", "refused"])
def test_a_dialog_that_its_turn_left_open_is_cancelled_since_it_would_block_the_next_abort(way: str) -> None:
    """l_confirm_nobody_answers: nothing ends while a dialog is open, and nobody will answer this one any more."""
    play = Play(ASKING)
    play.ask("a")
    if way == "settled":
        play.runs("a")
    play.says(said("confirm", id="d"))
    if way == "settled":
        play.says(spoke("answer", "one"), said("agent_end"))
        effects = play.says(said("settled"))
    else:
        effects = play.says(said(way, id=play.ids["a"]))
    assert only(effects, Unasked, Write) == [Unasked("d"), Write((DialogAnswer("d", cancelled=True),))]
    assert play.state.dialogs == ()


def test_a_stopped_childs_dialogs_are_not_answered() -> None:
    play = running(ASKING)
    play.says(said("confirm", id="d"))
    play.give(Stop())
    assert only(play.give(AnswerDialog("d", confirmed=True)), Write) == []
    assert only(play.tick(ASKING.dialog), Write) == []


def test_a_steered_persons_part_of_the_run_is_asked_as_theirs() -> None:
    play = running(ASKING)
    play.steer("s")
    play.says(said("queued", id=play.ids["s"]), echo("s"))
    dialog = said("confirm", id="d")
    assert play.says(dialog) == [Asked("s", dialog)]  # type: ignore[arg-type]  # a recorded dialog
