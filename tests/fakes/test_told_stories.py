"""The comparison of the fake's stories with the real pi's: what must be seen, without any child."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.stories.asked import asked
from tests.contract.stories.order import differences
from tests.contract.stories.told import BESIDE, DATA, INNER, told

Line = dict[str, Any]

START: Line = {"type": "tool_execution_start", "toolCallId": "call_1", "toolName": "bash", "args": {}}
UPDATE: Line = {"type": "tool_execution_update", "toolCallId": "call_1", "partialResult": {}}
END: Line = {"type": "tool_execution_end", "toolCallId": "call_1", "result": {}, "isError": False}
TURN: Line = {"type": "turn_start"}
SETTLED: Line = {"type": "agent_settled", "aborted": False}


def compared(fake: list[Line], real: list[Line]) -> list[str]:
    one, other = ([json.dumps(line).encode() for line in lines] for lines in (fake, real))
    return differences(told(one), told(other))


def answer(text: str = "yes", tokens: int = 100, cost: float = 0.5) -> Line:
    usage = {"input": tokens, "output": 10, "totalTokens": tokens + 10, "cost": {"total": cost}}
    content = [{"type": "text", "text": text}]
    return {"type": "message_end", "message": {"role": "assistant", "content": content, "usage": usage}}


def test_a_turn_that_does_not_start_is_seen() -> None:
    assert compared([TURN, answer()], [TURN, answer()]) == []
    assert compared([answer()], [TURN, answer()]) != []
    assert compared([answer(), TURN], [TURN, answer()]) != []


def test_how_many_updates_a_tool_has_is_chance_and_whether_it_has_any_is_not() -> None:
    assert compared([START, UPDATE, END], [START, UPDATE, UPDATE, END]) == []
    assert compared([START, END], [START, UPDATE, UPDATE, END]) != []
    assert compared([START, UPDATE, END], [START, END]) != []


def test_an_update_behind_its_tools_end_is_seen() -> None:
    assert compared([START, UPDATE, END, UPDATE, SETTLED], [START, UPDATE, END, SETTLED]) != []


def test_an_update_is_of_its_own_tool() -> None:
    second = [{**line, "toolCallId": "call_2"} for line in (START, UPDATE, END)]
    mine = [START, second[0], UPDATE, END, second[2]]
    assert compared(mine, [START, second[0], second[1], END, second[2]]) != []


@pytest.mark.parametrize("other", [answer(cost=9.5), answer(tokens=101), answer(text="no")])
def test_what_an_answer_used_and_cost_is_compared(other: Line) -> None:
    assert compared([other], [answer()]) != []


def test_a_summarys_usage_is_compared() -> None:
    ends = [{"type": "compaction_end", "result": {"summary": "s", "usage": {"input": n}}} for n in (100, 200)]
    assert compared(ends[:1], ends[:1]) == []
    assert compared(ends[:1], ends[1:]) != []


def test_a_sessions_tokens_are_compared() -> None:
    said = [
        {"type": "response", "command": "get_session_stats", "success": True, "data": {"tokens": {"input": count}}}
        for count in (1, 2)
    ]
    assert compared(said[:1], said[1:]) != []


def test_a_long_text_is_compared_in_its_middle_too() -> None:
    long = "a" * 1000 + "b" + "a" * 1000
    assert compared([answer(long)], [answer(long)]) == []
    assert compared([answer(long)], [answer(long.replace("b", "c"))]) != []
    pieces = [
        {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": text}}
        for text in (long, long.replace("b", "c"))
    ]
    assert compared(pieces[:1], pieces[1:]) != []


def test_every_field_of_a_responses_data_that_is_asked_for_is_compared() -> None:
    """The table is kept by hand; what `pi.plain` is asked for in engine and connector is read from their text."""
    names, unknown = asked()
    assert unknown == set()
    assert {"disposition", "steering", "sessionFile", "models", "levels"} <= names
    compared_names = {name for table in (DATA, INNER) for fields in table.values() for name in fields}
    assert names - compared_names - set(BESIDE) == set()
