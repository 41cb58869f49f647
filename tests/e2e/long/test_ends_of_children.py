"""A child that wedges or dies under the program: notices or repeats by evidence, the drain, exit 1, nothing left."""

import os
import signal
from collections.abc import Callable

import pytest

from connector import notices
from fakes.discord import FakeDiscord
from fakes.program import Home, household, living, posts

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]
HASTY = {"turn_timeout": 2, "abort_grace": 0.3, "kill_after": 1}


async def test_a_wedge_exits_with_1_leaves_no_process_and_the_next_start_serves_what_was_held(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §1.5, §1.6, §6: failed by timeout is never asked again, never written is asked uncharged."""
    ann, general = world.person("ann"), world.channel("general")
    here = home(discord={"reply_in": "channel"}, engine=HASTY, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        silent = await world.say(ann, general, "mute", mention=True)
        await run.logged("turn.sent")
        family = household(run.pid)
        held = await world.say(ann, general, "echo held", mention=True)
        assert await run.exit() == 1
        wedge = run.of("engine.wedged")
        gone = run.of("engine.exit")
    assert len(family) >= 2
    assert living(family) == []
    assert [line["child"] for line in wedge] == [1]
    assert [(line["child"], line["expected"], line["swept"]) for line in gone] == [(1, True, 0)]
    assert run.of("connector.stopped")[0]["code"] == 1
    assert here.asked() == ["mute"]
    assert len(here.commands("abort")) == 1

    async with here.running() as run:
        await run.ended(held)
        started = await run.logged("connector.started")
        assert (started["wedges_in_a_row"], started["recovered"]) == (1, 1)
        assert await run.stop() == 0
        assert [line["attempt"] for line in run.of("turn.sent")] == [1]
    told = [(post.content, post.reference) for post in world.posts(general)]
    assert told == [(notices.failed("engine-timeout", retry=True), silent), ("echo: held", held)]
    assert world.posts(general)[0].custom_ids() == [f"retry:{silent}"]


async def test_a_child_that_dies_in_a_tool_is_not_asked_again_and_other_turns_are_let_finish(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6: a tool's start is evidence; CONTRACT `supervision.drain`: nothing new is sent meanwhile."""
    ann, bob = world.person("ann"), world.person("bob")
    red, blue, green = (world.channel(name) for name in ("red", "blue", "green"))
    here = home(discord={"reply_in": "channel"}, engine={"kill_after": 1})
    async with here.running() as run:
        await run.ready()
        long = await world.say(bob, blue, "slow 1500", mention=True)
        await run.logged("turn.started")
        broken = await world.say(ann, red, "exitmid 7", mention=True)
        await run.ended(broken)
        late = await world.say(ann, green, "echo late", mention=True)
        assert await run.exit() == 1
        unexpected = [line for line in run.of("engine.exit") if not line["expected"]]
        assert [line["code"] for line in unexpected] == [7]
        assert unexpected[0]["swept"] >= 1  # the tool lived on
        assert run.of("connector.stopped")[0]["code"] == 1
    assert [(post.content, post.reference) for post in world.posts(blue)] == [("echo: slow 1500", long)]
    assert [(post.content, post.reference) for post in world.posts(red)] == [(notices.not_repeated(retry=True), broken)]
    assert world.posts(green) == []

    async with here.running() as run:
        await run.ended(late)
        assert await run.stop() == 0
    assert [post.content for post in world.posts(green)] == ["echo: late"]
    assert [len(world.posts(place)) for place in (red, blue)] == [1, 1]
    assert here.asked() == ["slow 1500", "exitmid 7", "echo late"]


async def test_a_message_that_kills_the_child_each_time_is_a_dead_letter_and_the_next_one_is_served(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §3.2, §6: started without a tool is asked again, charged and flagged, within `retry.max_attempts`."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(retry={"max_attempts": 2}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        poison = await world.say(ann, private, "die SEGV")
        after = await world.say(ann, private, "echo after")
        assert await run.exit() == 1
        assert [line["code"] for line in run.of("engine.exit")] == [-signal.SIGSEGV]
        assert run.of("message.dead") == []
    async with here.running() as run:
        assert await run.exit() == 1
        assert [line["attempt"] for line in run.of("turn.sent")] == [2]
        assert [line["message_id"] for line in run.of("message.dead")] == [str(poison)]
    async with here.running() as run:
        await run.ended(after)
        assert (await run.logged("connector.started"))["dead"] == 1
        assert await run.stop() == 0
    told = [(post.content, post.reference) for post in world.posts(private)]
    assert told == [(notices.failed("dead", retry=True), poison), ("echo: after", after)]
    header = f"[discord] private · ann ({ann.id}) · {poison}"
    assert here.prompts()[:2] == [
        f"{header}{here.introduction(private.id)}\n\ndie SEGV",
        f"{header}\n[{notices.repeat_note()}]\n\ndie SEGV",
    ]
    assert here.asked() == ["die SEGV", "die SEGV", "echo after"]


async def test_too_many_failed_starts_in_a_row_refuse_the_next_one_until_an_operator_forgives(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6 and CONTRACT `supervision.max_wedges`: exit 3, and one post where somebody waits."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(supervision={"max_wedges": 1}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        await world.say(ann, private, "exitmid")
        waits = await world.say(ann, private, "echo waits")
        assert await run.exit() == 1
    given = here.child_saw()
    for _ in range(2):
        async with here.running() as run:
            assert await run.exit() == 3
            assert [line["wedges_in_a_row"] for line in run.of("connector.started")] == [1]
            refused = run.of("connector.refused")[0]
            assert "supervision.max_wedges" in refused["reason"]
            assert "reset-wedges" in refused["mend"]
    assert here.child_saw() == given  # no child is started for a start that refuses
    async with here.running(command="reset-wedges") as forgiving:
        assert await forgiving.exit() == 0
    async with here.running() as run:
        await run.ended(waits)
        assert await run.stop() == 0
    told = [post.content for post in world.posts(private)]
    assert told == [notices.not_repeated(retry=True), notices.too_many_failures(1), "echo: waits"]


async def test_a_child_that_exits_idle_is_replaced_and_the_third_in_a_minute_ends_the_program(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT, exit code 1."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home()
    async with here.running() as run:
        await run.ready()
        for number in range(1, 4):
            await run.ended(await world.say(ann, private, "echo"))
            await posts(world, private, number)
            os.kill(here.children()[-1], signal.SIGKILL)
            await run.logged("engine.exit", number)
        assert await run.exit() == 1
        assert [(line["code"], line["expected"]) for line in run.of("engine.exit")] == [(-signal.SIGKILL, False)] * 3
    assert len(here.children()) == 3
    assert len(world.posts(private)) == 3
