"""SIGTERM: nothing new is sent, what runs is cut and decided at the next start by evidence, posts drain, exit 0."""

from collections.abc import Callable

import pytest

from connector import notices
from fakes.discord import FakeDiscord
from fakes.program import BOUND, Home, household, living, posts, tool_shown

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]


async def test_a_cut_turn_is_asked_again_uncharged_or_told_by_whether_a_tool_had_started(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6; CONTRACT, exit code 0; invariant 14: what the tool started is gone with the child."""
    ann, bob = world.person("ann"), world.person("bob")
    private, green = world.dm(ann), world.channel("green")
    here = home(discord={"reply_in": "channel", "progress": "live"}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        acting = await world.say(bob, green, "tool 60000", mention=True)
        await posts(world, green, 1)
        await tool_shown(world, green)
        plain = await world.say(ann, private, "slow 60000")
        waits = await world.say(ann, private, "echo waits")
        await run.logged("turn.started", 2)
        family = household(run.pid)
        assert await run.stop() == 0
        assert len(family) >= 4  # ourselves, two children, the tool's process in a session of its own
        assert living(family) == []
        assert [line["code"] for line in run.of("connector.stopped")] == [0]
        assert [line["expected"] for line in run.of("engine.exit")] == [True, True]
    assert world.posts(private) == []

    async with here.running() as run:
        await run.ready()
        assert (await run.logged("connector.started"))["last_exit"] == "0: asked to stop"
        await run.logged("turn.started")
        await world.say(ann, private, "stop")
        await run.ended(plain, waits)
        assert await run.stop() == 0
        assert [line["attempt"] for line in run.of("turn.sent")] == [1, 1]
    _, notice = world.posts(green)
    assert (notice.content, notice.reference) == (notices.not_repeated(retry=True), acting)
    texts = [post.content for post in world.posts(private) if not post.content.startswith("-#")]
    assert [text.split()[0] for text in texts] == ["Stopped", "echo:"]
    assert here.asked() == ["tool 60000", "slow 60000", "slow 60000", "echo waits"]


async def test_posts_are_drained_until_a_second_sigterm_and_an_answer_not_posted_is_posted_at_the_next_start(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT `discord.stop_timeout`; BEHAVIOUR §6: answered, not posted: posted, and the model is not called."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(discord={"stop_timeout": 3600})
    async with here.running() as run:
        await run.ready()
        failing = world.faults.status("POST", f"/channels/{private.id}/messages$", 503)
        await world.say(ann, private, "echo drained")
        await world.wait_for(lambda: failing.hits, BOUND, "the answer's first try")
        assert await run.stop() == 0
    assert [post.content for post in world.posts(private)] == ["echo: drained"]

    async with here.running() as run:
        await run.ready()
        hanging = world.faults.hang("POST", f"/channels/{private.id}/messages$", times=None)
        kept = await world.say(ann, private, "echo kept")
        await world.wait_for(lambda: hanging.hits, BOUND, "the answer's first try")
        run.terminate()
        await run.logged("engine.exit")
        run.terminate()
        assert await run.exit() == 0
    world.faults.clear()
    async with here.running() as run:
        await run.ready()
        await run.ended(kept)
        assert await run.stop() == 0
    assert [post.content for post in world.posts(private)] == ["echo: drained", "echo: kept"]
    assert here.asked() == ["echo drained", "echo kept"]


async def test_an_exit_does_not_wait_for_a_lookup_that_hangs(home: MakeHome) -> None:
    """CONTRACT, exit code 0: a resolver that never answers costs neither the stop nor what else is asked meanwhile."""
    here = home(discord={"api_base": "https://hung.invalid/api/v10", "gateway_url": "wss://hung.invalid"})
    async with here.running(module=("fakes.hung_names",)) as run:
        await run.logged("lookup.hangs")
        assert await run.stop() == 0
        assert [line["code"] for line in run.of("connector.stopped")] == [0]
