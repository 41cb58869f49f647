"""What a child paid for is told: messages, tools, summaries, also of turns that were stopped."""

import json
from typing import Any

import pytest

from engine import pi, wire
from engine.events import AbortOrphan, Code, Fail, Spent
from engine.wire import Line
from tests.engine.play import Play, lines_of, only, raw, said, spoke

ANSWER = raw("answer")["message"]["usage"]
MESSAGE = pi.usage_in(ANSWER)


def running(turn: str = "a") -> Play:
    play = Play()
    play.ask(turn)
    play.runs(turn)
    return play


def told(play: Play, *lines: Line) -> list[Any]:
    return only(play.says(*lines), Spent)


def test_a_message_with_its_model() -> None:
    assert told(running(), spoke("answer", "one")) == [Spent("a", "fake", "scripted", MESSAGE)]


def test_a_turn_that_was_stopped_is_paid_for_too() -> None:
    """Nobody's turn any more, but its tokens are spent: an aborted message of a real provider costs what it read."""
    play = running()
    play.give(Fail("a", Code.STOPPED))
    assert told(play, said("aborted", message={"usage": ANSWER})) == [Spent("", "fake", "scripted", MESSAGE)]


def test_a_tool_that_asks_models_itself() -> None:
    """pi adds what a tool's own calls cost to the result's message; the model is not named there."""
    lines = said("tool_start"), said("tool_end"), said("result_start"), said("result_end", message={"usage": ANSWER})
    assert told(running(), *lines) == [Spent("a", "", "", MESSAGE)]
    assert told(running(), said("tool_start"), said("tool_end"), said("result_start"), said("result_end")) == []


def test_a_summary_within_a_turn_and_outside_of_one() -> None:
    summary = pi.usage_in(raw("compaction_end")["result"]["usage"])
    assert summary != MESSAGE
    assert told(running(), said("compaction"), said("compaction_end")) == [Spent("a", "", "", summary)]
    assert told(Play(), said("compaction"), said("compaction_end")) == [Spent("", "", "", summary)]


@pytest.mark.parametrize("result", [None, [], "much", {"usage": "much"}, {"usage": {"input": "x"}}, {"usage": None}])
def test_a_summary_that_says_nothing_of_it_still_ends(result: object) -> None:
    play = running()
    assert told(play, said("compaction"), said("compaction_end", result=result)) == []
    assert not play.state.compacting


def test_a_call_that_is_no_message() -> None:
    """pi's own entry of type "usage": a prompt cache that was kept warm. Other entries cost nothing."""
    entry = {"type": "usage", "kind": "cache_warm", "provider": "fake", "model": "other", "usage": ANSWER}
    assert told(running(), said("entry", entry=entry)) == [Spent("a", "fake", "other", MESSAGE)]
    assert told(running(), said("entry")) == []
    assert told(running(), said("entry", entry={**entry, "provider": None})) == []


def test_a_run_of_nobodys() -> None:
    play = Play()
    lines = said("agent_start"), said("turn_start"), spoke("answer", "one")
    assert told(play, *lines) == [Spent("", "fake", "scripted", MESSAGE)]
    play.give(AbortOrphan())
    assert told(play, said("aborted", message={"usage": ANSWER})) == [Spent("", "fake", "scripted", MESSAGE)]


def test_their_sum_is_what_pi_says_of_the_session() -> None:
    """Recorded: `get_session_stats` behind one answer. With tools and summaries: tests/contract."""
    lines = lines_of("m_state_commands")
    stats = next(json.loads(line)["data"] for line in lines if '"command":"get_session_stats"' in line)
    spoken = [wire.decode(line.encode()) for line in lines if line.startswith('{"type":"message_end"')]
    usages = [one.message.usage for one in spoken if isinstance(one, pi.MessageEnd) and one.message.usage]
    assert (stats["tokens"]["input"], stats["tokens"]["output"], stats["cost"]) == (
        sum(one.input for one in usages),
        sum(one.output for one in usages),
        sum(one.cost.total for one in usages if one.cost is not None),
    )
