"""PROTOCOL's facts about how pi ends and what then lives on, seen again on the real pi by raw lines."""

import signal

import pytest

from fakes.behaviour import Stall
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.raw_child import RawChild
from fakes.real_pi import RealPi
from fakes.records import outline, prompt
from fakes.tether import Tether

pytestmark = pytest.mark.anyio

CONFIRM = """
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => { await ctx.ui.confirm("Run it?", ""); });
}
"""


async def in_a_tool(pi: RawChild, provider: Provider, tether: Tether, prefix: str = "") -> None:
    """Bring pi into a bash tool that ends only when it is killed or released."""
    provider.push(bash(prefix + tether.command()))
    await pi.send(prompt("long tool"))
    await tether.attached()
    await pi.until("tool_execution_start")


async def test_end_of_input_ends_an_idle_child(pi: RawChild) -> None:
    """PROTOCOL §10 [j_eof_idle]."""
    pi.close_input()

    assert await pi.exited() == 0


async def test_what_waits_in_the_pipe_is_answered_before_the_end(real_pi: RealPi) -> None:
    """PROTOCOL §1 [j_eof_at_startup]."""
    async with await RawChild.spawn(real_pi.launch()) as pi:
        await pi.send({"id": "q1", "type": "get_state"})
        pi.close_input()
        await pi.until("response", id="q1", bound=30)

        assert await pi.exited() == 0


async def test_a_sigterm_in_a_stream_exits_143_with_nothing_more_said(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §0.9, §10 [j_sigterm_streaming]."""
    provider.push(Stall("some text"))
    await pi.send(prompt("hi"))
    await pi.until("message_update")

    pi.signal(signal.SIGTERM)

    assert await pi.exited() == 143
    assert outline(pi.records)[-1] == "message_start assistant"
    await provider.wait_for(lambda p: p.calls[0].outcome == "cut")


@pytest.mark.parametrize("prefix", ["", "trap '' TERM HUP INT; "])
async def test_a_sigterm_takes_the_tool_along_also_one_that_ignores_signals(
    pi: RawChild, provider: Provider, tether: Tether, prefix: str
) -> None:
    """PROTOCOL §10 [j_sigterm_bash, j_sigterm_ignoring_tool]."""
    await in_a_tool(pi, provider, tether, prefix)

    pi.signal(signal.SIGTERM)

    assert await pi.exited() == 143
    await tether.gone()


async def test_end_of_input_takes_the_tool_along(pi: RawChild, provider: Provider, tether: Tether) -> None:
    """PROTOCOL §10 [j_eof_bash]."""
    await in_a_tool(pi, provider, tether)

    pi.close_input()

    assert await pi.exited() == 0
    await tether.gone()


async def test_a_sigkill_leaves_the_tool_running(pi: RawChild, provider: Provider, tether: Tether) -> None:
    """PROTOCOL §10 [j_sigkill_bash]: why BEHAVIOUR §1.17 takes a snapshot of the descendants first."""
    await in_a_tool(pi, provider, tether)

    pi.signal(signal.SIGKILL)

    assert await pi.exited() == -signal.SIGKILL
    assert await tether.echo("orphan") == "orphan"
    await tether.release()
    await tether.gone()


async def test_end_of_input_and_sigterm_together_end_it_with_a_dialog_open(real_pi: RealPi, provider: Provider) -> None:
    """PROTOCOL §13, BEHAVIOUR §1.17 [x_E]."""
    provider.push(bash("echo never"))
    async with RawChild.started(real_pi.launch(extension=CONFIRM)) as pi:
        await pi.send(prompt("run it"))
        await pi.until("extension_ui_request", method="confirm")

        pi.close_input()
        pi.signal(signal.SIGTERM)

        assert await pi.exited() in (0, 143)
