"""The whole program on the real pi: people ask in Discord, the scripted provider answers, each gets his own answer."""

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from connector import notices
from fakes.behaviour import Text
from fakes.discord import FakeDiscord, Place
from fakes.program import BOUND, Home, household, living, posts, thread
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.tether import Tether

pytestmark = pytest.mark.anyio

Relay = Callable[..., Home]


def told(world: FakeDiscord, place: Place) -> list[tuple[str, int | None]]:
    """What stands in a place: each post's text, and the message it refers to."""
    return [(post.content, post.reference) for post in world.posts(place)]


async def test_a_mention_a_private_message_and_a_line_in_our_thread_are_answered(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """CONTRACT, What the child sees: the header and then the person's own text, also what looks like line ends."""
    ann, general = world.person("ann"), world.channel("general")
    private = world.dm(ann)
    here = relay(discord={"reply_in": "thread"})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "echo in public", mention=True)
        secret = await world.say(ann, private, "echo one\u2028two")
        ours = await thread(world, general)
        await run.ended(asked, secret)
        line = await world.say(ann, ours, "echo once more")
        await run.ended(line)
        assert await run.stop() == 0
    assert told(world, ours) == [("echo: in public", None), ("echo: once more", line)]
    assert told(world, private) == [("echo: one\u2028two", secret)]
    assert {call.user_text for call in provider.calls} == {
        f"[discord] #general · ann ({ann.id}) · {asked}{here.introduction(ours.id)}\n\necho in public",
        f"[discord] private · ann ({ann.id}) · {secret}{here.introduction(private.id)}\n\necho one\u2028two",
        f"[discord] #{ours.name} · ann ({ann.id}) · {line}\n\necho once more",
    }


async def test_a_hundred_messages_in_two_channels_are_answered_in_order_without_cross_talk(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §7.2, §7.26, §7.31: one call of the provider each, one open call a lane."""
    ann, bob = world.person("ann"), world.person("bob")
    red, blue = world.channel("red"), world.channel("blue")
    asked: dict[str, list[int]] = {"red": [], "blue": []}
    async with relay(lanes={"per_person": 100, "busy": "queue"}).running() as run:
        await run.ready()
        for n in range(50):
            asked["red"].append(await world.say(ann, red, f"echo red {n}", mention=True))
            asked["blue"].append(await world.say(bob, blue, f"echo blue {n}", mention=True))
        await run.ended(*asked["red"], *asked["blue"])
        assert await run.stop() == 0
    for place, name in ((red, "red"), (blue, "blue")):
        assert told(world, place) == [(f"echo: {name} {n}", asked[name][n]) for n in range(50)]
    assert len(provider.calls) == 100


async def test_tools_run_at_once_and_the_last_text_is_the_answer(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    ann = world.person("ann")
    provider.push(bash("echo one; pwd", "echo two", text="I will look."), Text("Two tools ran."))
    here = relay()
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, world.dm(ann), "look twice")
        await run.ended(asked)
        assert await run.stop() == 0
    assert told(world, world.dm(ann)) == [("Two tools ran.", asked)]
    results = [message["content"] for message in provider.calls[1].messages if message["role"] == "tool"]
    assert results == [f"one\n{here.workspace}\n", "two\n"]


async def test_a_wedged_pi_ends_in_exit_1_leaves_no_process_and_the_next_start_serves_what_was_held(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §1.5, §6: a pi that is stopped by a signal hears nothing, not even SIGTERM."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = relay(engine={"turn_timeout": 6, "run_grace": 0.5, "kill_after": 0.5}, lanes={"busy": "queue"})
    gate = asyncio.Event()
    provider.push(Text("never heard"), gate=gate)
    async with here.running() as run:
        await run.ready()
        silent = await world.say(ann, private, "hello?")
        await run.logged("turn.started")
        await provider.wait_for(lambda p: len(p.calls) == 1)
        family = household(run.pid)
        children = [who.pid for who in family if who.pid != run.pid]
        for pid in children:
            os.kill(pid, signal.SIGSTOP)
        held = await world.say(ann, private, "echo held")
        assert await run.exit() == 1
        assert len(run.of("engine.wedged")) == 1
        assert [line["code"] for line in run.of("engine.exit")] == [-signal.SIGKILL]
        assert living(family) == []
    async with here.running() as run:
        await run.ended(held)
        assert await run.stop() == 0
    assert told(world, private) == [(notices.failed("engine-timeout", retry=True), silent), ("echo: held", held)]


STARTER = """
let provoked = false;
export default function (pi) {
  pi.on("input", async (event) => {
    if (event.source !== "rpc" || provoked) return;
    provoked = true;
    const began = new Promise((resolve) => pi.on("agent_start", resolve));
    pi.sendUserMessage("a run of the extension's own");
    await began;
  });
}
"""


async def test_a_prompt_refused_while_an_extension_runs_is_asked_again_after_that_run(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §1.14: back to the front of its lane, charged as an attempt; the orphan's text reaches nobody."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(Text("for nobody"))
    async with relay(extension=STARTER, lanes={"busy": "queue"}).running() as run:
        await run.ready()
        asked = await world.say(ann, private, "echo refused")
        behind = await world.say(ann, private, "echo behind")
        await run.ended(asked, behind)
        assert await run.stop() == 0
        assert [line["attempt"] for line in run.of("turn.sent")] == [1, 2, 1]
    assert told(world, private) == [("echo: refused", asked), ("echo: behind", behind)]


# -- lines into a running turn -------------------------------------------------------------------------------------


async def test_a_line_during_a_tool_joins_the_run_and_one_answer_serves_both(
    world: FakeDiscord, relay: Relay, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §4: it refers to the later message, and the first one says by a sign that it is done."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash(tether.command()), Text("For both."))
    async with relay().running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        await tether.attached()
        line = await world.say(ann, private, "by the way")
        await run.logged("steer.sent")
        await world.wait_for(lambda: world.reactions(line), BOUND, "a sign that the line was taken")
        await tether.release()
        await run.ended(asked, line)
        assert await run.stop() == 0
        outcomes = {line["message_id"]: line["outcome"] for line in run.of("turn.ended")}
        assert outcomes == {str(asked): "joined", str(line): "answered"}
    assert told(world, private) == [("For both.", line)]
    assert world.reactions(asked)[-1] == "✅"
    assert len(provider.calls) == 2


async def test_a_line_during_the_final_answer_gets_its_own(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §4 [e_steer_while_answer_streams]; whether pi took it as a steer or it came too late."""
    ann = world.person("ann")
    private = world.dm(ann)
    gate = asyncio.Event()
    provider.push(Text("The first."), gate=gate)
    async with relay().running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        await provider.wait_for(lambda p: len(p.calls) == 1)
        await run.logged("turn.started")
        line = await world.say(ann, private, "echo and this?")
        await run.logged("steer.sent")
        gate.set()
        await run.ended(asked, line)
        assert await run.stop() == 0
    assert told(world, private) == [("The first.", asked), ("echo: and this?", line)]
    assert len(provider.calls) == 2
    assert len(await posts(world, private, 2)) == 2
