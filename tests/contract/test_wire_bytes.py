"""PROTOCOL's facts about framing, sizes and characters, seen again on the real pi by raw lines."""

import json

import pytest

from fakes.behaviour import Text
from fakes.provider import Provider
from fakes.raw_child import RawChild
from fakes.records import echoed, outline, prompt, spoken

pytestmark = pytest.mark.anyio

SEPARATORS = "line\u2028paragraph\u2029next\x85line"


async def test_a_prompt_of_five_megabytes_comes_back_in_lines_of_that_size(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §2 [k_big_prompt]: three times, in the echo's start and end and in `agent_end`."""
    text = "x" * 5_000_000
    provider.push(Text("read it all"))

    records = await pi.run(prompt(text))

    assert echoed(records) == [text]
    assert spoken(records) == [("stop", "read it all")]
    assert provider.calls[0].user_text == text
    large = [json.loads(line)["type"] for line in pi.lines if len(line) > 5_000_000]
    assert large == ["message_start", "message_end", "agent_end"]


async def test_line_separators_come_raw_inside_a_line(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §2 [k_unicode]: why nothing may split on more than the line feed."""
    provider.push(Text(SEPARATORS, chunks=1))

    records = await pi.run(prompt(SEPARATORS))

    assert (echoed(records), spoken(records)) == ([SEPARATORS], [("stop", SEPARATORS)])
    assert provider.calls[0].user_text == SEPARATORS
    assert any(SEPARATORS.encode() in line for line in pi.lines)


async def test_lone_surrogates_are_echoed_as_escapes_and_kept_from_the_provider(
    pi: RawChild, provider: Provider
) -> None:
    """PROTOCOL §2 [k_unicode]."""
    start = len(pi.lines)

    records = await pi.run(prompt("high \ud83d low \ude00 end"))

    assert echoed(records) == ["high \ud83d low \ude00 end"]
    assert any(rb"high \ud83d low \ude00 end" in line for line in pi.lines[start:])
    assert provider.calls[0].user_text == "high  low  end"


async def test_what_is_no_command_is_answered_without_an_id_and_harms_nothing(pi: RawChild) -> None:
    """PROTOCOL §2 [k_malformed]: such a response belongs to nobody."""
    start = len(pi.records)

    await pi.write(b'not json\n{"type":"no_such_command","id":"q"}\n[]\n')
    await pi.run(prompt("still there?"))

    refused = [record for record in pi.records[start:] if not record.get("success", True)]
    assert [(r.get("id"), r.get("command"), r["error"].partition(":")[0]) for r in refused] == [
        (None, "parse", "Failed to parse command"),
        ("q", "no_such_command", "Unknown command"),
        (None, None, "Unknown command"),
    ]
    assert spoken(pi.records) == [("stop", "echo: still there?")]


async def test_a_long_answer_costs_each_piece_once(pi: RawChild) -> None:
    """PROTOCOL §2 [k_huge_answer]: updates carry the delta alone, not the whole message."""
    records = await pi.run(prompt("huge 400000"))

    assert spoken(records) == [("stop", "y" * 400_000)]
    deltas = [r["assistantMessageEvent"].get("delta", "") for r in records if r["type"] == "message_update"]
    assert sum(map(len, deltas)) == 400_000
    assert outline(records)[-1] == "agent_settled"
