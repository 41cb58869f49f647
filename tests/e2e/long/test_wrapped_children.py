"""Children behind a wrapper that delays, splits and merges bytes and passes no signal on (CONTRACT `agent.remote`)."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connector import notices
from fakes.discord import FakeDiscord
from fakes.far import Far
from fakes.program import BOUND, FAKE_PI, Home, household, living, posts, tool_shown

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]
WRAPPER = (sys.executable, "-P", "-m", "fakes.wrapper")
UNSEEN = "Whether its tools are gone cannot be verified here."


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    """A machine whose session files have names that mean nothing here."""
    with Far(tmp_path / "far", {"PI_CODING_AGENT_DIR": "agent"}) as far:
        yield far


def over(far: Far, how: str) -> dict[str, object]:
    return {
        "command": [*WRAPPER, how, "--far", far.socket, "--cut", "7", "--hold", "2", "--", *FAKE_PI],
        "remote": True,
    }


@pytest.mark.parametrize("how", ["ssh", "unit"])
async def test_a_child_on_another_machine_works_and_nothing_is_told_that_cannot_be_verified(
    world: FakeDiscord, home: MakeHome, far: Far, how: str
) -> None:
    """End of input ends it; sweeping is "not verifiable here"; its session goes on without a look at its file."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(agent=over(far, how), discord={"progress": "live"}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        first = await world.say(ann, private, "u2028")
        stopped = await world.say(ann, private, "tool 60000")
        await tool_shown(world, private)
        await world.say(ann, private, "stop")
        await run.ended(first, stopped)
        await world.wait_for(
            lambda: any(UNSEEN in post.content for post in world.posts(private)), BOUND, "what the receipt says"
        )
        assert await run.stop() == 0
        assert {line["swept"] for line in run.of("engine.exit")} == {"not verifiable here"}
    async with here.running() as run:
        recalled = await world.say(ann, private, "recall")
        await run.ended(recalled)
        assert await run.stop() == 0
    answer, _, receipt, again = world.posts(private)
    assert answer.content == "echo: u2028 one\u2028two\u2029three\x85four"
    assert receipt.content.startswith(f"Stopped by <@{ann.id}>: running turn, 1 open tool.")
    assert "u2028" in again.content
    assert notices.session_lost() not in [post.content for post in world.posts(private)]
    assert set(far.wait(BOUND)) <= {0, 143}
    assert len(far.started) >= 2


async def test_a_run_that_is_stopped_with_the_connector_ends_on_the_other_machine_too(
    world: FakeDiscord, home: MakeHome, far: Far
) -> None:
    ann = world.person("ann")
    here = home(agent=over(far, "ssh"))
    async with here.running() as run:
        await run.ready()
        await world.say(ann, world.dm(ann), "tool 60000")
        await run.logged("turn.started")
        assert await run.stop() == 0
    assert 0 in far.wait(BOUND)


async def test_a_child_behind_a_local_wrapper_that_passes_no_signal_on_is_ended_and_swept(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT `agent.command`: a wrapper; what is here is verified, and none of it is left."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(agent={"command": [*WRAPPER, "local", "--cut", "5", "--hold", "1", "--", *FAKE_PI]})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "md")
        await run.ended(asked)
        stopped = await world.say(ann, private, "tool 60000")
        await run.logged("turn.started", 2)
        family = household(run.pid)
        await world.say(ann, private, "stop")
        await run.ended(stopped)
        assert await run.stop() == 0
        (gone,) = [line for line in run.of("engine.exit") if line.get("child") == 1]
    assert isinstance(gone["swept"], int)
    assert living(family) == []
    assert UNSEEN not in world.posts(private)[-1].content


@pytest.mark.parametrize(("remote", "words"), [(False, "its processes use no CPU"), (True, "not verifiable here")])
async def test_the_card_of_a_long_wait_says_whether_its_processes_use_cpu(
    world: FakeDiscord, home: MakeHome, far: Far, remote: bool, words: str
) -> None:
    """Issue: a tool open for more than `long_wait` while nobody interrupts; the fake's tool sleeps."""
    ann = world.person("ann")
    private = world.dm(ann)
    agent = over(far, "ssh") if remote else {}
    here = home(agent=agent, discord={"progress": "live"}, steering={"long_wait": 1.5})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "tool 60000")
        (card,) = await posts(world, private, 1)
        await world.wait_for(lambda: words in world.post(card.id).content, BOUND, "the card's line about the wait")
        line = next(line for line in world.post(card.id).content.splitlines() if words in line)
        assert line.startswith("⏳ bash `sleep 60.000; echo tool done` has been open since <t:")
        assert world.post(card.id).custom_ids() == [f"stop:{asked}"]
        await world.say(ann, private, "stop")
        await run.ended(asked)
        assert await run.stop() == 0
