"""Discord's faults, one after the other on one running program: exactly one answer each, in its place."""

from collections.abc import Callable

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home, thread

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]
MESSAGES = "/channels/{channel_id}/messages"
THREADS = "/channels/{channel_id}/messages/{message_id}/threads"


async def test_a_request_whose_reply_is_lost_or_refused_is_posted_once(world: FakeDiscord, home: MakeHome) -> None:
    """CONTRACT: tries of one post share a nonce; a thread that a lost reply left is found by its id."""
    ann, general = world.person("ann"), world.channel("general")
    private = world.dm(ann)
    here = home(lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        asked = []
        faults = world.faults
        for name, cue in (
            ("stored-then-502", faults.stored_then),
            ("stored-then-reset", faults.stored_then_reset),
            ("reset", faults.reset),
        ):
            cue("POST", MESSAGES)
            asked.append(await world.say(ann, private, f"echo {name}"))
            await run.ended(asked[-1])
        faults.status("POST", MESSAGES, 503)
        faults.rate_limit("POST", MESSAGES, retry_after=0.1)
        asked.append(await world.say(ann, private, "echo limited"))
        await run.ended(asked[-1])
        assert all(fault.left == 0 for fault in faults.rest)

        faults.stored_then("POST", THREADS)
        public = await world.say(ann, general, "echo in a thread", mention=True)
        await run.ended(public)
        assert await run.stop() == 0
    names = ("stored-then-502", "stored-then-reset", "reset", "limited")
    assert [(post.content, post.reference) for post in world.posts(private)] == [
        (f"echo: {name}", message) for name, message in zip(names, asked, strict=True)
    ]
    ours = await thread(world, general)
    assert [post.content for post in world.posts(ours)] == ["echo: in a thread"]
    assert world.posts(general) == []
    assert len(here.asked()) == 5
    tries = [r.body for r in world.sent("POST", MESSAGES)]
    assert len({(body["content"], body["nonce"]) for body in tries}) == 5
    assert len(tries) > 5


async def test_a_thread_that_may_not_be_opened_is_answered_in_the_channel(world: FakeDiscord, home: MakeHome) -> None:
    """The fallback is told once, and the answer refers to the message."""
    ann, general = world.person("ann"), world.channel("general")
    world.forbid(general, "create_public_threads")
    here = home()
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "echo where", mention=True)
        await run.ended(asked)
        assert await run.stop() == 0
    told = [(post.content, post.reference) for post in world.posts(general)]
    assert ("echo: where", asked) in told
    assert len(told) == 2
    assert here.asked() == ["echo where"]


async def test_a_gateway_that_drops_doubles_and_swallows_events_loses_and_repeats_nothing(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6: missed messages are fetched on every ready; the same id enters once, however it comes."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        faults = world.faults
        asked = [await world.say(ann, private, "echo first")]
        await run.ended(*asked)

        faults.double()
        asked.append(await world.say(ann, private, "echo doubled"))
        await run.ended(*asked)
        faults.double(0)

        faults.drop()
        await run.logged("gateway.down")
        asked.append(await world.say(ann, private, "echo resumed"))
        await run.ended(*asked)
        assert world.gateway.count("resumed") == 1

        await faults.reconnect()
        asked.append(await world.say(ann, private, "echo asked to reconnect"))
        await run.ended(*asked)
        assert world.gateway.count("resumed") == 2

        # Lost for good: no RESUME brings it back, only the channel's history has it.
        faults.swallow(1, "MESSAGE_CREATE")
        asked.append(await world.say(ann, private, "echo swallowed"))
        await faults.invalidate(resumable=False)
        asked += [await world.say(ann, private, f"echo meanwhile {n}") for n in range(3)]
        await run.ended(*asked)
        assert world.gateway.count("identify") == 2
        assert sum(line["count"] for line in run.of("gateway.backfilled")) == 4
        assert await run.stop() == 0
    names = ["first", "doubled", "resumed", "asked to reconnect", "swallowed", *(f"meanwhile {n}" for n in range(3))]
    assert [(post.content, post.reference) for post in world.posts(private)] == [
        (f"echo: {name}", message) for name, message in zip(names, asked, strict=True)
    ]
    assert here.asked() == [f"echo {name}" for name in names]
