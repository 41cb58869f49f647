"""Stop and rate limits of the whole program on the real pi, by the calls that reach the provider."""

import asyncio
from collections.abc import Callable

import pytest

from connector import notices
from fakes.behaviour import Drop, Hang, Http, Text
from fakes.discord import FakeDiscord, Place
from fakes.program import BOUND, Home, posts
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.tether import Tether

pytestmark = pytest.mark.anyio

Relay = Callable[..., Home]


def words(provider: Provider) -> list[str]:
    """The person's words in each call, in order."""
    return [call.user_text.rpartition("\n")[2] for call in provider.calls]


def told(world: FakeDiscord, place: Place) -> list[tuple[str, int | None]]:
    """Each post that is no card: its text, or `Stopped` for a receipt, and the message it refers to."""
    shown = [post for post in world.posts(place) if not post.content.startswith("-#")]
    return [("Stopped" if p.content.startswith("Stopped") else p.content, p.reference) for p in shown]


async def test_stop_in_the_stream_and_in_a_tool(
    world: FakeDiscord, relay: Relay, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §2: the provider's call is cut, the tool's process tree is gone, what comes after runs normally."""
    ann = world.person("ann")
    private = world.dm(ann)
    gate = asyncio.Event()
    provider.push(Text("never finished"), gate=gate)
    async with relay().running() as run:
        await run.ready()
        first = await world.say(ann, private, "talk")
        await provider.wait_for(lambda p: len(p.calls) == 1)
        await run.logged("turn.started")
        await world.say(ann, private, "stop")
        await run.ended(first)
        await provider.wait_for(lambda p: p.calls[0].outcome == "cut")

        provider.push(bash(tether.command()))
        second = await world.say(ann, private, "work")
        await tether.attached()
        await world.say(ann, private, "STOP.")
        await run.ended(second)
        await tether.gone()
        third = await world.say(ann, private, "echo after")
        await run.ended(third)
        assert await run.stop() == 0
    assert told(world, private) == [("Stopped", first), ("Stopped", second), ("echo: after", third)]
    receipt = world.posts(private)[1].content
    assert receipt == f"Stopped by <@{ann.id}>: running turn, 1 open tool."
    assert words(provider) == ["talk", "work", "echo after"]


async def test_stop_names_what_a_tool_set_free_and_left_running(
    world: FakeDiscord, relay: Relay, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §2: the receipt is edited when the run has settled [j_setsid_grandchild]."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash(tether.command(own_session=True)))
    async with relay().running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        await tether.attached()
        assert await tether.echo("in its own session") == "in its own session"
        await world.say(ann, private, "stop")
        await run.ended(asked)
        (receipt,) = await posts(world, private, 1)
        await world.wait_for(lambda: "Still running: cat" in world.post(receipt.id).content, BOUND, "its name")
        await tether.release()
        await tether.gone()
        assert await run.stop() == 0


async def test_a_429_inside_pi_and_a_cut_stream_are_pis_business(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §2.1: nothing of it is seen but the answer."""
    ann = world.person("ann")
    private = world.dm(ann)
    async with relay(lanes={"busy": "queue"}).running() as run:
        await run.ready()
        first = await world.say(ann, private, "err429 1")
        await run.ended(first)
        provider.push(Drop("half of it"), Text("all of it"))
        second = await world.say(ann, private, "more")
        await run.ended(second)
        assert await run.stop() == 0
        assert run.of("turn.retry_scheduled") == []
    assert told(world, private) == [("echo: err429 1", first), ("all of it", second)]
    assert len(provider.calls) == 4


async def test_an_exhausted_retry_is_asked_again_once_flagged_and_other_errors_fail_visibly(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §2.1, §2.3: four calls a run; no text of the provider reaches Discord."""
    ann = world.person("ann")
    private = world.dm(ann)
    async with relay(retry={"backoff": [0.1]}, lanes={"busy": "queue"}).running() as run:
        await run.ready()
        asked = [await world.say(ann, private, text) for text in ("err429 4", "err429", "err400", "quota")]
        await run.ended(*asked)
        assert await run.stop() == 0
    limit = notices.failed("rate-limited", status=429, model="scripted", retry=True)
    failed = notices.failed("provider-error", status=400, model="scripted", retry=True)
    expected = ["echo: err429 4", limit, failed, limit]
    assert told(world, private) == list(zip(expected, asked, strict=True))
    assert words(provider) == [*["err429 4"] * 5, *["err429"] * 8, "err400", "quota"]
    flagged = [notices.repeat_note() in call.user_text for call in provider.calls]
    assert flagged == [*[False] * 4, True, *[False] * 4, *[True] * 4, False, False]


async def test_stop_in_our_backoff_makes_no_further_call(world: FakeDiscord, relay: Relay, provider: Provider) -> None:
    """BEHAVIOUR §2's first row: the next message runs for three times the backoff, and nothing else is asked."""
    ann = world.person("ann")
    private = world.dm(ann)
    async with relay(retry={"backoff": [0.4, 0.4]}, lanes={"busy": "queue"}).running() as run:
        await run.ready()
        asked = await world.say(ann, private, "err429")
        await run.logged("turn.retry_scheduled")
        await world.say(ann, private, "stop")
        await run.ended(asked)
        after = await world.say(ann, private, "slow 1200")
        await run.ended(after)
        assert await run.stop() == 0
    assert told(world, private) == [("Stopped", asked), ("echo: slow 1200", after)]
    assert words(provider) == [*["err429"] * 4, "slow 1200"]


async def test_stop_in_pis_own_backoff_makes_no_further_call(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """PROTOCOL §7 [g_abort_in_backoff]; by the button on the card that tells of the wait."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = relay(pi={"retry": {"baseDelayMs": 60_000}}, discord={"progress": "live"})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "err429")
        (card,) = await posts(world, private, 1)
        await world.wait_for(
            lambda: "try 1 of 3" in world.post(card.id).content, BOUND, "a card that tells of the wait"
        )
        await world.click(ann, card.id, f"stop:{asked}")
        await run.ended(asked)
        after = await world.say(ann, private, "echo after")
        await run.ended(after)
        assert await run.stop() == 0
    assert told(world, private) == [("Stopped", asked), ("echo: after", after)]
    assert words(provider) == ["err429", "echo after"]


async def test_a_provider_that_hangs_ends_in_a_notice_and_the_child_serves_the_next_message(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §1.11: silence is ended by an abort, not by a new child."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(Hang())
    async with relay(engine={"turn_timeout": 6}, lanes={"busy": "queue"}).running() as run:
        await run.ready()
        asked = await world.say(ann, private, "hello?")
        after = await world.say(ann, private, "echo after")
        await run.ended(asked, after)
        assert {line["child"] for line in run.of("turn.sent")} == {1}
        assert await run.stop() == 0
    assert told(world, private) == [(notices.failed("engine-timeout", retry=True), asked), ("echo: after", after)]
    assert [call.outcome for call in provider.calls] == ["cut", "answered"]


CONFIRM = """
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const ok = await ctx.ui.confirm("Run it?", event.input.command);
    if (!ok) return { block: true, reason: "not wanted" };
  });
}
"""


async def test_a_stop_with_an_extensions_dialog_about_and_a_run_that_asks(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §1.4: a dialog blocks neither a run nor its end."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash("echo never"), Text("It was not wanted."))
    async with relay(extension=CONFIRM, agent={"dialog_timeout": 0.2}).running() as run:
        await run.ready()
        asked = await world.say(ann, private, "run it")
        await run.ended(asked)
        assert await run.stop() == 0
    assert told(world, private)[-1] == ("It was not wanted.", asked)
    assert provider.calls[1].messages[-1]["content"] == "not wanted"


# -- lines into a running turn, and Stop or an error ---------------------------------------------------------------


async def test_a_line_given_to_a_run_that_is_stopped_before_it_was_heard_is_asked_on_its_own(
    world: FakeDiscord, relay: Relay, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §4: residue comes back by `clear_queue`; Stop of the head alone does not drop it."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash(tether.command()))
    async with relay(discord={"progress": "live"}).running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        await tether.attached()
        (card,) = await posts(world, private, 1)
        line = await world.say(ann, private, "echo by the way")
        await run.logged("steer.sent")
        await world.click(ann, card.id, f"stop:{asked}")
        await tether.gone()
        await run.ended(asked, line)
        assert await run.stop() == 0
        outcomes = {entry["message_id"]: entry["outcome"] for entry in run.of("turn.ended")}
        assert outcomes == {str(asked): "stopped", str(line): "answered"}
    assert told(world, private) == [("Stopped", asked), ("echo: by the way", line)]
    assert words(provider) == ["work", "echo by the way"]


async def test_an_error_behind_a_line_that_joined_is_told_to_that_line_alone(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §4: it ends as the run ends; what was answered before its echo stands."""
    ann = world.person("ann")
    private = world.dm(ann)
    gate = asyncio.Event()
    provider.push(Text("The first."), gate=gate)
    provider.push(Http(400, "bad request"))
    async with relay().running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        await provider.wait_for(lambda p: len(p.calls) == 1)
        await run.logged("turn.started")
        line = await world.say(ann, private, "and this?")
        await run.logged("steer.sent")
        gate.set()
        await run.ended(asked, line)
        assert await run.stop() == 0
    failed = notices.failed("provider-error", status=400, model="scripted", retry=True)
    assert told(world, private) == [("The first.", asked), (failed, line)]
    assert len(provider.calls) == 2
