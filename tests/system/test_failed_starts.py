"""Starts after exits with 1: what takes its child down each time, and faults of our own; the others are served."""

import signal
from pathlib import Path

import pytest

from connector import notices
from fakes.program import Home, discord


@pytest.mark.anyio
@pytest.mark.timeout(150)
async def test_a_poison_message_is_buried_within_its_bound_and_keeps_nobody_waiting_for_ever(tmp_path: Path) -> None:
    """BEHAVIOUR §3.2, §6: three attempts over five starts; the refused one says so once where somebody waits."""
    async with discord() as world:
        ann, bob = world.person("ann"), world.person("bob")
        here = Home(
            tmp_path,
            world,
            access={"users": [ann.id, bob.id]},
            discord={"progress": "off"},
            lanes={"busy": "queue"},
            agent={"max_children": 1},
            supervision={"max_wedges": 2},
        )
        attempts = []
        async with here.running() as run:
            await run.ready()
            first = await world.say(ann, world.dm(ann), "slow 1500")
            poison = await world.say(ann, world.dm(ann), "die SEGV")
            after = await world.say(ann, world.dm(ann), "echo after")
            other = await world.say(bob, world.dm(bob), "echo other")
            await run.logged("message.accepted", 4)
            assert await run.exit() == 1
            attempts += [line["attempt"] for line in run.of("turn.sent") if line["message_id"] == str(poison)]
        async with here.running() as run:
            assert await run.exit() == 1
            attempts += [line["attempt"] for line in run.of("turn.sent")]
        async with here.running() as run:
            assert await run.exit() == 3
            assert run.of("turn.sent") == []
        refused = notices.too_many_failures(2)
        told = [[post.content for post in world.posts(world.dm(person))] for person in (ann, bob)]
        assert told == [["echo: slow 1500", refused], [refused]]
        async with here.running(command="reset-wedges") as forgiving:
            assert await forgiving.exit() == 0
        async with here.running() as run:
            assert await run.exit() == 1
            assert [line["code"] for line in run.of("engine.exit")] == [-signal.SIGSEGV]
            assert [line["message_id"] for line in run.of("message.dead")] == [str(poison)]
            attempts += [line["attempt"] for line in run.of("turn.sent")]
        assert attempts == [1, 2, 3]
        async with here.running() as run:
            await run.ended(after, other)
            assert await run.stop() == 0
        shown = [[(post.content, post.reference) for post in world.posts(world.dm(person))] for person in (ann, bob)]
        dead = notices.failed("dead", retry=True)
        assert shown == [
            [("echo: slow 1500", first), (refused, None), (dead, poison), ("echo: after", after)],
            [(refused, None), ("echo: other", other)],
        ]


@pytest.mark.anyio
@pytest.mark.parametrize("point", ["fault:Post:1", "fault:Answered:1", "fault:post:1"])
async def test_a_fault_of_our_own_ends_with_1_and_the_next_start_goes_on(tmp_path: Path, point: str) -> None:
    """CONTRACT, exit code 1, whichever part fails: the lanes' own task, the ledger's, or the one that posts."""
    async with discord(nonce_window=0.0) as world:
        ann = world.person("ann")
        place = world.dm(ann)
        here = Home(tmp_path, world, access={"users": [ann.id]}, discord={"progress": "off", "stop_timeout": 0.2})
        async with here.running(module=("fakes.crashing", point)) as run:
            await run.ready()
            asked = await world.say(ann, place, "echo once")
            assert await run.exit() == 1
            assert "the fault asked for" in run.of("connector.stopped")[0]["reason"]
        async with here.running() as run:
            await run.ended(asked)
            started = await run.logged("connector.started")
            assert started["wedges_in_a_row"] == 1
            assert started["last_exit"].startswith("1: internal fault")
            assert await run.stop() == 0
        assert [(post.content, post.reference) for post in world.posts(place)] == [("echo: once", asked)]
