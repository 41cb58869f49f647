"""PROTOCOL's facts about runs, tools, queues and aborts, seen again on the real pi by raw lines."""

import asyncio
import os

import pytest

from fakes.behaviour import Stall, Text
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.raw_child import RawChild
from fakes.records import echoed, outline, prompt, spoken, tool_results
from fakes.tether import Tether

pytestmark = pytest.mark.anyio

HEADER = "[discord] #general · Ada (1001) · 2001\n\n"
BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
ECHO = ["message_start user", "message_end user"]
SYSTEM = ["message_start system", "message_end system"]
STARTED = ["response prompt started", "agent_start", "turn_start"]


async def test_a_plain_answer_is_one_run_in_protocol_order_and_echoes_the_text(
    pi: RawChild, provider: Provider
) -> None:
    """PROTOCOL §4 [a_plain]."""
    records = await pi.run(prompt(f"{HEADER}good morning"))

    assert outline(records) == [
        *STARTED,
        *SYSTEM,
        *ECHO,
        "message_start assistant",
        "message_end assistant stop",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert echoed(records) == [f"{HEADER}good morning"]
    assert spoken(records) == [("stop", "echo: good morning")]
    assert [call.outcome for call in provider.calls] == ["answered"]


async def test_the_second_run_of_a_session_has_no_system_message(pi: RawChild) -> None:
    """PROTOCOL §4 [a_plain]."""
    await pi.run(prompt("one"))

    records = await pi.run(prompt("two", "p2"))

    assert outline(records)[:5] == [*STARTED, *ECHO]
    assert spoken(records) == [("stop", "echo: two")]


async def test_a_tool_call_runs_inside_the_same_run(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §4 [b_bash_tool]: a failing command is an error result, and the run goes on."""
    provider.push(bash("echo hello; exit 3", text="I will look."), Text("The code was 3."))

    records = await pi.run(prompt("run it"))

    assert outline(records) == [
        *STARTED,
        *SYSTEM,
        *ECHO,
        "message_start assistant",
        "message_end assistant toolUse",
        "tool_execution_start call_1_0",
        "tool_execution_end call_1_0 error",
        "message_start toolResult",
        "message_end toolResult",
        "turn_end",
        "turn_start",
        "message_start assistant",
        "message_end assistant stop",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert spoken(records) == [("toolUse", "I will look."), ("stop", "The code was 3.")]
    assert provider.calls[1].messages[-1]["content"] == "hello\n\n\nCommand exited with code 3"


async def test_parallel_tools_end_as_they_finish_and_report_in_call_order(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §4 [c_parallel_tools]."""
    async with Tether() as first, Tether() as second:
        provider.push(bash(first.command(), second.command()), Text("both ran"))
        await pi.send(prompt("two tools"))
        await first.attached()
        await second.attached()
        await second.release()
        await pi.until("tool_execution_end", toolCallId="call_1_1")
        await first.release()
        await pi.until("agent_settled")

    tools = [record for record in pi.records if "tool_execution" in record["type"]]
    assert outline(tools) == [
        "tool_execution_start call_1_0",
        "tool_execution_start call_1_1",
        "tool_execution_end call_1_1",
        "tool_execution_end call_1_0",
    ]
    assert tool_results(pi.records) == [("call_1_0", "released\n"), ("call_1_1", "released\n")]


async def test_a_prompt_while_busy_is_refused_and_leaves_the_run_alone(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §5 [d_busy_refusal]."""
    gate = asyncio.Event()
    provider.push(Text("the first answer"), gate=gate)
    await pi.send(prompt("first"))
    await pi.until("message_update")

    refusal = await pi.ask({"type": "prompt", "message": "second"})
    gate.set()
    await pi.until("agent_settled")

    assert (refusal["success"], refusal["error"]) == (False, BUSY)
    assert spoken(pi.records) == [("stop", "the first answer")]
    assert len(provider.calls) == 1


async def test_a_steer_is_consumed_after_the_tool_and_shown_by_its_echo_alone(
    pi: RawChild, provider: Provider, tether: Tether
) -> None:
    """PROTOCOL §5 [e_steer_during_tool]."""
    provider.push(bash(tether.command()), Text("answer to both"))
    await pi.send(prompt("original"))
    await tether.attached()
    start = len(pi.records)

    await pi.ask({"type": "steer", "message": "by the way"})
    await tether.release()
    await pi.until("agent_settled")

    assert outline(pi.records[start:]) == [
        "queue_update",
        "response steer queued",
        "tool_execution_end call_1_0",
        "message_start toolResult",
        "message_end toolResult",
        "turn_end",
        "turn_start",
        "queue_update",
        *ECHO,
        "message_start assistant",
        "message_end assistant stop",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert echoed(pi.records) == ["original", "by the way"]


async def test_clear_queue_gives_a_steer_back(pi: RawChild, provider: Provider, tether: Tether) -> None:
    """PROTOCOL §6 [f_clear_queue]: in one write with the abort, nothing is left for the next prompt."""
    provider.push(bash(tether.command()))
    await pi.send(prompt("original"))
    await tether.attached()
    await pi.ask({"type": "steer", "message": "by the way"})

    await pi.send({"id": "c1", "type": "clear_queue"}, {"id": "a1", "type": "abort"})
    cleared = await pi.until("response", id="c1")
    await pi.until("response", id="a1")
    records = await pi.run(prompt("next", "p2"))

    assert cleared["data"] == {"steering": ["by the way"], "followUp": []}
    assert echoed(records) == ["next"]


async def test_abort_in_mid_stream_cuts_the_provider_call_and_keeps_the_partial_text(
    pi: RawChild, provider: Provider
) -> None:
    """PROTOCOL §6 [f_abort_stream]."""
    provider.push(Stall("partial", chunks=1))
    await pi.send(prompt("long"))
    await pi.until_that(lambda r: r.get("assistantMessageEvent", {}).get("type") == "text_delta")
    start = len(pi.records)

    await pi.ask({"type": "abort"})

    assert outline(pi.records[start:]) == [
        "message_end assistant aborted",
        "turn_end",
        "agent_end",
        "agent_settled aborted",
        "response abort",
    ]
    assert spoken(pi.records) == [("aborted", "partial")]
    await provider.wait_for(lambda p: p.calls[0].outcome == "cut")
    assert spoken(await pi.run(prompt("next", "p2"))) == [("stop", "echo: next")]


async def test_abort_in_a_tool_kills_its_tree_and_adds_an_empty_message(
    pi: RawChild, provider: Provider, tether: Tether
) -> None:
    """PROTOCOL §6 [f_abort_tool]."""
    provider.push(bash(tether.command()))
    await pi.send(prompt("long tool"))
    await tether.attached()
    start = len(pi.records)

    await pi.ask({"type": "abort"})

    await tether.gone()
    assert outline(pi.records[start:]) == [
        "tool_execution_end call_1_0 error",
        "message_start toolResult",
        "message_end toolResult",
        "turn_end",
        "turn_start",
        "message_start assistant",
        "message_end assistant aborted",
        "turn_end",
        "agent_end",
        "agent_settled aborted",
        "response abort",
    ]
    assert spoken(pi.records[start:]) == [("aborted", "")]
    assert len(provider.calls) == 1


async def test_a_tool_has_a_session_of_its_own_and_what_left_that_outlives_an_abort(
    pi: RawChild, provider: Provider, tether: Tether
) -> None:
    """PROTOCOL §6 [j_setsid_grandchild]: why BEHAVIOUR §1.17 sweeps descendants one by one."""
    provider.push(bash(tether.command(own_session=True)))
    await pi.send(prompt("long tool"))
    tool = await tether.attached()
    assert os.getsid(tool) == os.getpgid(tool) == tool
    assert await tether.echo("both alive") == "both alive"

    await pi.ask({"type": "abort"})

    assert await tether.echo("still here") == "still here"
    await tether.release()
    await tether.gone()


async def test_an_abort_while_idle_succeeds_without_an_event(pi: RawChild) -> None:
    """PROTOCOL §6 [f_abort_idle]."""
    start = len(pi.records)

    await pi.ask({"type": "abort"})

    assert outline(pi.records[start:]) == ["response abort"]
    assert spoken(await pi.run(prompt("works"))) == [("stop", "echo: works")]


async def test_an_abort_written_with_its_prompt_does_nothing(pi: RawChild) -> None:
    """PROTOCOL §6 [f_prompt_abort_one_write]: why BEHAVIOUR §1.4 writes a second abort."""
    await pi.send(prompt("go on"), {"id": "a1", "type": "abort"})
    await pi.until("agent_settled", aborted=False)

    assert spoken(pi.records) == [("stop", "echo: go on")]


async def test_of_two_prompts_in_one_write_the_second_is_lost_and_settles_falsely(
    pi: RawChild, provider: Provider
) -> None:
    """PROTOCOL §5 [f_prompts_one_write]: the sign by which BEHAVIOUR §1.7 knows that its position is lost."""
    gate = asyncio.Event()
    provider.push(Text("the only answer"), gate=gate)

    await pi.send(prompt("first"), prompt("second", "p2"))
    second = await pi.until("response", id="p2")
    await pi.until("agent_settled")
    open_run = "agent_end" not in outline(pi.records)
    gate.set()
    await pi.until("agent_end")
    await pi.until("agent_settled")

    assert second["data"] == {"disposition": "started"}
    assert open_run
    assert echoed(pi.records) == ["first"]
    assert spoken(pi.records) == [("stop", "the only answer")]
    assert len(provider.calls) == 1
