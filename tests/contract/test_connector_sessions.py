"""A lane's session on the real pi: it outlives its child, an idle stop, a restart; a lost one is told."""

import os
import signal
from collections.abc import Callable

import pytest

from connector import notices
from fakes.behaviour import Text
from fakes.discord import FakeDiscord
from fakes.program import Home, household, living
from fakes.provider import Call, Provider
from fakes.provider_words import bash, user_texts
from fakes.tether import Tether

pytestmark = pytest.mark.anyio

Relay = Callable[..., Home]


def remembered(call: Call) -> list[str]:
    """The persons' words that the model saw in this call."""
    return [text.rpartition("\n")[2] for text in user_texts(call.messages)]


async def test_a_session_goes_on_after_kill_9_of_the_child_an_idle_stop_and_a_restart(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §0, CONTRACT: chosen over the wire by `switch_session`; each lane has its own."""
    ann, bob = world.person("ann"), world.person("bob")
    here = relay(agent={"idle_timeout": 3600})
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(bob, world.dm(bob), "bob's own"))
        await run.ended(await world.say(ann, world.dm(ann), "one"))
        children = {line["lane"]: line["child"] for line in run.of("turn.sent")}
        assert len(children) == 2
        newest = max((who for who in household(run.pid) if who.pid != run.pid), key=lambda who: who.pid)
        os.kill(newest.pid, signal.SIGKILL)
        await run.logged("engine.exit")
        await run.ended(await world.say(ann, world.dm(ann), "two"))
        assert await run.stop() == 0
    here = relay(agent={"idle_timeout": 0.2})
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(ann, world.dm(ann), "three"))
        stopped = await run.logged("engine.exit")
        assert stopped["expected"]
        await run.ended(await world.say(ann, world.dm(ann), "four"))
        assert await run.stop() == 0
    assert [remembered(call) for call in provider.calls] == [
        ["bob's own"],
        ["one"],
        ["one", "two"],
        ["one", "two", "three"],
        ["one", "two", "three", "four"],
    ]
    assert len(world.posts(world.dm(ann))) == 4


async def test_a_session_file_that_is_gone_or_damaged_begins_a_new_session_with_a_notice(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """CONTRACT: no prompt goes into a session that is not there; what is damaged is kept aside, not overwritten."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = relay()
    sessions = here.folder / "agent" / "sessions"
    for number, spoil in enumerate(("gone", "damaged")):
        async with here.running() as run:
            await run.ready()
            await run.ended(await world.say(ann, private, f"before {number}"))
            assert await run.stop() == 0
        (path,) = sessions.rglob("*.jsonl")
        if spoil == "gone":
            path.unlink()
        else:
            path.write_bytes(b"\0\0 no session\n")
        async with here.running() as run:
            await run.ready()
            await run.ended(await world.say(ann, private, f"after {number}"))
            assert await run.stop() == 0
    assert [remembered(call)[-2:] for call in provider.calls] == [
        ["before 0"],
        ["after 0"],
        ["after 0", "before 1"],
        ["after 1"],
    ]
    texts = [post.content for post in world.posts(private)]
    lost = notices.session_lost()
    # The notice comes as soon as the loss is seen, the answer when it is there.
    assert sorted(texts) == sorted([lost, lost, *(f"echo: {when} {n}" for when in ("before", "after") for n in (0, 1))])
    assert len([path for path in sessions.rglob("*") if "damaged" in path.name]) == 1


async def test_a_child_killed_in_a_tool_is_told_once_its_tool_is_ended_and_the_session_goes_on(
    world: FakeDiscord, relay: Relay, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §6: exit 1, one notice with Retry, never asked again by itself [m_resume_after_kill]."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash(tether.command(own_session=True)))
    here = relay()
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        tool = await tether.attached()
        assert await tether.echo("in its own session") == "in its own session"
        family = household(run.pid)
        (pi,) = [who.pid for who in family if who.pid == os.getsid(who.pid) and who.pid not in (run.pid, tool)][:1]
        os.kill(pi, signal.SIGKILL)
        assert await run.exit() == 1
        await tether.gone()
        assert living(family) == []
    async with here.running() as run:
        await run.ready()
        provider.push(Text("fine"))
        after = await world.say(ann, private, "and now?")
        await run.ended(after)
        assert await run.stop() == 0
    assert [(post.content, post.reference) for post in world.posts(private)] == [
        (notices.not_repeated(retry=True), asked),
        ("fine", after),
    ]
    assert [remembered(call) for call in provider.calls] == [["work"], ["work", "and now?"]]


async def test_a_child_killed_in_the_stream_is_asked_again_flagged_in_the_same_session(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """BEHAVIOUR §6: started, no tool opened, nothing posted."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = relay()
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "slow 20000")
        await provider.wait_for(lambda p: len(p.calls) == 1)
        await run.logged("turn.started")
        (pi,) = [who.pid for who in household(run.pid) if who.pid != run.pid]
        os.kill(pi, signal.SIGKILL)
        assert await run.exit() == 1
    provider.push(Text("once"))
    async with here.running() as run:
        await run.ended(asked)
        assert [line["attempt"] for line in run.of("turn.sent")] == [2]
        assert await run.stop() == 0
    assert [(post.content, post.reference) for post in world.posts(private)] == [("once", asked)]
    assert notices.repeat_note() in provider.calls[1].user_text
