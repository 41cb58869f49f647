"""The engine in front of the real pi: answers, refusals, aborts, limits, steers and ends, by what it tells."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from engine import processes
from engine.events import (
    AbortOrphan,
    Code,
    Ended,
    Fail,
    Heard,
    Outcome,
    Progress,
    Retrying,
    Slash,
    Spent,
    Started,
    Submit,
    ToolClosed,
    ToolOpened,
    Wedged,
)
from fakes.behaviour import Drop, Hang, Http, Stall, Text
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.real_pi import RealPi
from fakes.tether import Tether
from tests.contract.live_engine import LIMITS, LiveEngine, living

pytestmark = pytest.mark.anyio

ANSWERED = Code.ANSWERED


@pytest.fixture
async def live(real_pi: RealPi) -> AsyncIterator[LiveEngine]:
    async with living(real_pi.launch()) as live:
        yield live


def tools(live: LiveEngine) -> list[tuple[str, str]]:
    """Openings and closings of tools, in order."""
    told = [effect for effect in live.told if isinstance(effect, ToolOpened | ToolClosed)]
    return [("opened" if isinstance(effect, ToolOpened) else "closed", effect.call) for effect in told]


# -- answers -------------------------------------------------------------------------------------------------------


async def test_turns_one_after_the_other_get_their_own_answers(live: LiveEngine, provider: Provider) -> None:
    """BEHAVIOUR §1.15; what is given while one runs is held, and written when it has settled."""
    for mark in (1, 2, 3):
        live.submit(f"words {mark}", mark)
    assert [await live.ended(mark) for mark in (1, 2, 3)] == [
        Outcome(ANSWERED, text=f"echo: words {mark}") for mark in (1, 2, 3)
    ]
    assert [started.turn for started in live.of(Started)] == ["1", "2", "3"]
    assert [(spent.turn, spent.provider, spent.model) for spent in live.of(Spent)] == [
        (mark, "fake", "scripted") for mark in "123"
    ]
    assert len(provider.calls) == 3


async def test_tools_open_and_close_inside_the_run_and_their_text_is_no_answer(
    live: LiveEngine, provider: Provider
) -> None:
    """BEHAVIOUR §1.15, §5; two at once close in the order in which they end."""
    provider.push(bash("echo one", text="I will look."), Text("Found it."))
    assert await live.ask("look", 1) == Outcome(ANSWERED, text="Found it.")
    assert tools(live) == [("opened", "call_1_0"), ("closed", "call_1_0")]
    live.told.clear()

    async with Tether() as tether:
        provider.push(bash(tether.command(), "echo quick"), Text("Both."))
        live.submit("twice", 2)
        await tether.attached()
        await live.until(ToolClosed)
        await tether.release()
        assert await live.ended(2) == Outcome(ANSWERED, text="Both.")
    assert [effect for effect, _ in tools(live)] == ["opened", "opened", "closed", "closed"]
    assert [call for _, call in tools(live)][2:] == ["call_3_1", "call_3_0"]


@pytest.mark.parametrize(
    "words", ["x" * 5_000_000, "one\u2028two\u2029three\x85four", "// no command", "half 🦊", "\ud83d alone"]
)
async def test_texts_of_every_kind_come_back_whole(live: LiveEngine, provider: Provider, words: str) -> None:
    """PROTOCOL §2 [k_big_prompt, k_unicode]: lines of megabytes, raw line separators, lone surrogates replaced."""
    provider.push(Text(f"<{words[:100]}>", chunks=1), Text("after"))
    whole = words.encode("utf-8", "replace").decode().replace("?", "\ufffd") if "\ud83d" in words else words
    outcome = await live.ask(whole, 1)
    assert outcome.code is ANSWERED
    assert provider.calls[0].user_text.endswith(whole[-100:])
    assert (await live.ask("next", 2)).text == "after"


async def test_an_answer_without_text_is_empty_and_one_cut_by_length_counts(
    live: LiveEngine, provider: Provider
) -> None:
    """BEHAVIOUR §1.15 [a_empty_and_length]."""
    provider.push(Text("", chunks=1), Text("cut of", finish="length"))
    assert (await live.ask("nothing", 1)).code is Code.EMPTY
    assert await live.ask("much", 2) == Outcome(ANSWERED, text="cut of")


# -- runs of others ------------------------------------------------------------------------------------------------

MEDDLER = """
export default function (pi) {
  pi.on("input", async (event) => {
    if (event.source !== "rpc" || !event.text.includes("provoke")) return;
    const began = new Promise((resolve) => pi.on("agent_start", resolve));
    pi.sendUserMessage("a run of the extension's own");
    await began;
  });
  pi.registerCommand("later", { description: "starts a run", handler: async (args, ctx) => {
    pi.sendUserMessage("a run after the command");
  }});
  pi.registerCommand("quiet", { description: "does nothing", handler: async (args, ctx) => {} });
}
"""


async def test_a_prompt_that_pi_refuses_because_an_extension_runs_is_told_so_and_the_next_waits_for_that_run(
    real_pi: RealPi, provider: Provider
) -> None:
    """BEHAVIOUR §1.14, §1.12 [x_C_0]: a refusal that means later; the orphan's text reaches nobody."""
    gate = asyncio.Event()
    provider.push(Text("for nobody"), gate=gate)
    async with living(real_pi.launch(extension=MEDDLER)) as live:
        live.submit("provoke", 1)
        refused = await live.ended(1)
        assert (refused.code, refused.busy) == (Code.REFUSED, True)
        assert live.busy
        await provider.wait_for(lambda p: len(p.calls) == 1)
        gate.set()
        await live.idle()
        assert await live.ask("after it", 2) == Outcome(ANSWERED, text="echo: after it")
    assert "for nobody" not in repr(live.of(Ended))
    assert [call.user_text.rpartition("\n")[2] for call in provider.calls] == [
        "a run of the extension's own",
        "after it",
    ]


async def test_a_command_is_handled_and_the_run_it_starts_can_be_aborted_as_nobodys(
    real_pi: RealPi, provider: Provider
) -> None:
    """BEHAVIOUR §1.12, `/stop lane`; CONTRACT: a text that starts with `/` is a turn of its own."""
    async with living(real_pi.launch(extension=MEDDLER)) as live:
        live.engine.give(Submit("quiet", Slash("/quiet")))
        live.engine.give(Submit("later", Slash("/later")))
        provider.push(Hang())
        await provider.wait_for(lambda p: len(p.calls) == 1)
        codes = [(ended.turn, ended.outcome.code) for ended in live.of(Ended)]
        assert codes == [("quiet", Code.HANDLED), ("later", Code.HANDLED)]
        live.engine.give(AbortOrphan())
        await provider.wait_for(lambda p: p.calls[0].outcome == "cut")
        assert await live.ask("after it", 3) == Outcome(ANSWERED, text="echo: after it")


CONFIRM = """
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const ok = await ctx.ui.confirm("Run it?", event.input.command);
    if (!ok) return { block: true, reason: "not wanted" };
  });
}
"""


async def test_a_dialog_is_cancelled_where_nobody_answers_dialogs(real_pi: RealPi, provider: Provider) -> None:
    """Limits with `dialog` 0: answered at once, so that neither the run nor an abort waits for it."""
    provider.push(bash("echo never"), Text("It was not wanted."))
    async with living(real_pi.launch(extension=CONFIRM)) as live:
        assert await live.ask("run it", 1) == Outcome(ANSWERED, text="It was not wanted.")
    assert provider.calls[1].messages[-1]["content"] == "not wanted"


# -- Stop and silence ----------------------------------------------------------------------------------------------


async def test_stop_in_the_stream_ends_the_turn_at_once_and_cuts_the_provider(
    live: LiveEngine, provider: Provider
) -> None:
    """BEHAVIOUR §1.3, §1.4: the failed head stays until it has settled; the next one gets its own answer."""
    provider.push(Stall("some text"))
    live.submit("long", 1)
    await live.until(Progress)
    live.submit("next", 2)
    live.engine.give(Fail("1", Code.STOPPED))
    assert live.outcome(1) == Outcome(Code.STOPPED)
    assert await live.ended(2) == Outcome(ANSWERED, text="echo: next")
    assert [call.outcome for call in provider.calls] == ["cut", "answered"]


async def test_stop_in_a_tool_ends_its_process_tree(live: LiveEngine, provider: Provider, tether: Tether) -> None:
    """BEHAVIOUR §2; what left its tool's session is named, not hoped away [j_setsid_grandchild]."""
    provider.push(bash(tether.command()))
    live.submit("work", 1)
    await tether.attached()
    live.engine.give(Fail("1", Code.STOPPED))
    await tether.gone()
    await live.idle()
    assert live.engine.left_by_turn() == ()

    async with Tether() as escaped:
        provider.push(bash(escaped.command(own_session=True)))
        live.submit("work", 2)
        await escaped.attached()
        assert await escaped.echo("in its own session") == "in its own session"
        live.engine.give(Fail("2", Code.STOPPED))
        await live.idle()
        left = live.engine.left_by_turn()
        assert left is not None
        assert [name.partition(" ")[0] for name in left] == ["cat"]
        assert await escaped.echo("still here") == "still here"
        await escaped.release()
        await escaped.gone()
    assert live.of(Wedged) == []
    assert len(provider.calls) == 2


async def test_a_provider_that_hangs_is_given_up_after_the_silence_bound_and_the_child_is_kept(
    live: LiveEngine, provider: Provider
) -> None:
    """BEHAVIOUR §1.11 [h_hang_abort]."""
    provider.push(Hang())
    live.submit("hello?", 1)
    await provider.wait_for(lambda p: len(p.calls) == 1)
    live.advance(LIMITS.turn_timeout)
    assert (await live.ended(1)).code is Code.TIMEOUT
    await live.idle()
    assert await live.ask("again", 2) == Outcome(ANSWERED, text="echo: again")
    assert live.of(Wedged) == []
    assert [call.outcome for call in provider.calls] == ["cut", "answered"]


# -- the provider's failures ---------------------------------------------------------------------------------------


async def test_pi_asks_again_after_a_429_and_after_a_cut_stream_inside_the_run(
    live: LiveEngine, provider: Provider
) -> None:
    """BEHAVIOUR §1.15, §2.1 [i_drop_midstream]: a failed attempt's text is dropped, since the next one repeats it."""
    assert await live.ask("err429 1", 1) == Outcome(ANSWERED, text="echo: err429 1")
    assert [(retry.turn, retry.attempt, retry.attempts) for retry in live.of(Retrying)] == [("1", 1, 3)]
    provider.push(Drop("half of it"), Text("all of it"))
    assert await live.ask("more", 2) == Outcome(ANSWERED, text="all of it")
    assert [started.turn for started in live.of(Started)] == ["1", "2"]


async def test_four_429_end_the_turn_with_the_providers_words_for_classification(
    live: LiveEngine, provider: Provider
) -> None:
    """BEHAVIOUR §2.1 [g_retry_exhausted]; a 400 is not asked again at all."""
    limited = await live.ask("err429", 1)
    assert (limited.code, limited.detail.partition(":")[0]) == (Code.PROVIDER, "429")
    assert len(provider.calls) == 4
    provider.push(Http(400, "bad request"))
    failed = await live.ask("anything", 2)
    assert (failed.code, failed.detail.partition(":")[0]) == (Code.PROVIDER, "400")
    assert len(provider.calls) == 5
    assert await live.ask("good", 3) == Outcome(ANSWERED, text="echo: good")


async def test_stop_in_pis_own_backoff_makes_no_further_call(real_pi: RealPi, provider: Provider) -> None:
    """PROTOCOL §7 [g_abort_in_backoff]: no second `agent_end`, but it settles."""
    async with living(real_pi.launch(settings={"retry": {"baseDelayMs": 60_000}})) as live:
        live.submit("err429", 1)
        await live.until(Retrying)
        live.engine.give(Fail("1", Code.STOPPED))
        await live.idle()
        assert await live.ask("next", 2) == Outcome(ANSWERED, text="echo: next")
    assert [call.user_text.rpartition("\n")[2] for call in provider.calls] == ["err429", "next"]


# -- steers --------------------------------------------------------------------------------------------------------


async def test_a_steer_in_a_tool_is_heard_after_it_and_has_the_text_behind_its_echo(
    live: LiveEngine, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §4, §1.15 [e_steer_during_tool]: with no text before the steer, one answer serves both."""
    provider.push(bash(tether.command()), Text("For both."))
    live.submit("work", 1)
    await tether.attached()
    await live.steer("by the way", 2)
    await tether.release()
    assert await live.ended(2) == Outcome(ANSWERED, text="For both.")
    assert await live.ended(1) == Outcome(Code.JOINED, into="2")
    assert live.of(Heard) == [Heard("2", "1")]
    assert len(provider.calls) == 2


async def test_a_steer_in_the_final_answer_gets_an_answer_of_its_own(live: LiveEngine, provider: Provider) -> None:
    """BEHAVIOUR §4 [e_steer_while_answer_streams]."""
    gate = asyncio.Event()
    provider.push(Text("The first answer."), gate=gate)
    provider.push(Text("The second answer."))
    live.submit("work", 1)
    await live.until(Progress)
    await live.steer("and this?", 2)
    gate.set()
    assert await live.ended(1) == Outcome(ANSWERED, text="The first answer.")
    assert await live.ended(2) == Outcome(ANSWERED, text="The second answer.")
    await live.idle()
    assert await live.ask("next", 3) == Outcome(ANSWERED, text="echo: next")
    assert [started.turn for started in live.of(Started)] == ["1", "3"]


async def test_stop_of_the_head_gives_an_unheard_steer_back_and_it_never_joins_a_later_run(
    live: LiveEngine, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §4, invariant 33 [f_clear_queue]: residue is returned, and is then an ordinary prompt."""
    provider.push(bash(tether.command()))
    live.submit("work", 1)
    await tether.attached()
    await live.steer("by the way", 2)
    live.engine.give(Fail("1", Code.STOPPED))
    await tether.gone()
    await live.idle()
    assert live.outcome(1) == Outcome(Code.STOPPED)
    assert live.outcome(2) is None
    assert await live.ask("next", 3) == Outcome(ANSWERED, text="echo: next")
    assert await live.ask("by the way", 2) == Outcome(ANSWERED, text="echo: by the way")
    asked = [call.user_text.rpartition("\n")[2] for call in provider.calls]
    assert asked == ["work", "next", "by the way"]


async def test_an_error_behind_a_steers_echo_is_the_steers_alone(live: LiveEngine, provider: Provider) -> None:
    """BEHAVIOUR §1.15, §4: what was answered before the echo stands; nobody's words are lost or run later."""
    gate = asyncio.Event()
    provider.push(Text("the first answer"), gate=gate)
    live.submit("work", 1)
    await live.until(Progress)
    await live.steer("by the way", 2)
    provider.push(Http(400, "bad request"))
    gate.set()
    assert await live.ended(1) == Outcome(ANSWERED, text="the first answer")
    failed = await live.ended(2)
    assert (failed.code, failed.detail.partition(":")[0]) == (Code.PROVIDER, "400")
    await live.idle()
    assert await live.ask("next", 3) == Outcome(ANSWERED, text="echo: next")
    assert len(provider.calls) == 3


# -- ends ----------------------------------------------------------------------------------------------------------


async def test_stopping_in_a_tool_leaves_no_process(real_pi: RealPi, provider: Provider, tether: Tether) -> None:
    """BEHAVIOUR §1.17, invariant 14: what left for a session of its own is swept too [j_setsid_grandchild]."""
    provider.push(bash(tether.command(own_session=True)))
    async with living(real_pi.launch()) as live:
        live.submit("work", 1)
        await tether.attached()
        assert await tether.echo("in its own session") == "in its own session"
        exited = await live.engine.stop()
        assert (exited.code, exited.expected, exited.left) == (0, True, ())
        assert exited.swept == 1
        await tether.gone()
        assert live.outcome(1) == Outcome(Code.EXIT, detail="exit 0")
        assert not processes.alive(live.engine.identity)


async def test_a_child_that_is_killed_in_a_tool_ends_the_turn_and_its_tool_is_swept(
    real_pi: RealPi, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §1.6, §1.17 [j_sigkill_bash]: the exit fails what is left, once."""
    provider.push(bash(tether.command()))
    async with living(real_pi.launch()) as live:
        live.submit("work", 1)
        live.submit("held", 2)
        await tether.attached()
        os.kill(live.engine.identity.pid, signal.SIGKILL)
        exited = await live.engine.wait()
        await tether.gone()
    assert (exited.code, exited.expected) == (-signal.SIGKILL, False)
    codes = [(ended.turn, ended.outcome.code) for ended in live.of(Ended)]
    assert codes == [("1", Code.EXIT), ("2", Code.DOWN)]
