"""Starts that are refused with exit 3 and what to do, and starts that wait for a Discord that is not there yet."""

from collections.abc import Callable
from typing import Any

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home, discord

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]


async def refusal(home: Home, **how: Any) -> tuple[str, str]:
    """Start, expect exit 3 with one line that says why: the reason and what to do."""
    async with home.running(**how) as run:
        assert await run.exit() == 3
        (line,) = run.of("connector.refused")
    return line["reason"], line["mend"]


async def test_what_a_person_must_mend_is_named_with_the_mend(world: FakeDiscord, home: MakeHome) -> None:
    """CONTRACT, exit code 3."""
    reason, mend = await refusal(home(), token="another.bot.token")
    assert reason == "Discord does not accept the bot token"
    assert "Reset Token" in mend
    assert "another.bot.token" not in f"{reason} {mend}"

    reason, mend = await refusal(home(access={"users": []}))
    assert "access.users" in reason
    reason, _ = await refusal(home(engine={"turn_timout": 5}))
    assert "engine.turn_timout" in reason
    assert "engine.turn_timeout" in reason
    reason, _ = await refusal(home(), environ={"PI_CONNECTOR_LANES__CAPACTY": "3"})
    assert "PI_CONNECTOR_LANES__CAPACITY" in reason


async def test_a_missing_intent_says_what_to_click(tmp_path: Any) -> None:
    async with discord(intents_allowed=False) as world:
        reason, mend = await refusal(Home(tmp_path, world, access={"users": [world.person("ann").id]}))
    assert "message content intent" in reason
    assert "MESSAGE CONTENT INTENT" in mend


async def test_a_child_that_cannot_be_found_is_refused_by_its_name_before_anybody_asks(
    world: FakeDiscord, home: MakeHome
) -> None:
    private = world.dm(world.person("ann"))
    async with home(agent={"command": ["no-such-pi", "--mode", "rpc"]}).running() as run:
        assert await run.exit() == 3
        (line,) = run.of("connector.refused")
        assert "no-such-pi" in line["reason"]
    assert world.posts(private) == []


async def test_a_second_instance_on_the_same_state_folder_is_refused(world: FakeDiscord, home: MakeHome) -> None:
    here = home()
    async with here.running() as run:
        await run.ready()
        reason, _ = await refusal(here)
        assert str(here.state) in reason
        assert await run.stop() == 0


async def test_a_discord_that_is_down_at_the_start_is_waited_for(world: FakeDiscord, home: MakeHome) -> None:
    """CONTRACT, exit codes: an outage of Discord is none; also 5xx, and a gateway that refuses connections."""
    ann = world.person("ann")
    await world.faults.server_down()
    async with home().running() as run:
        await run.logged("gateway.login_failed")
        world.faults.status("GET", "/users/@me", 503, times=None)
        await world.faults.server_up()
        await run.logged("gateway.login_failed", where=lambda line: "503" in line["reason"])
        world.faults.clear()
        world.faults.refuse_gateway = True
        await run.logged("gateway.down")
        world.faults.clear()
        await run.ready()
        await run.ended(await world.say(ann, world.dm(ann), "echo at last"))
        assert await run.stop() == 0
    assert [post.content for post in world.posts(world.dm(ann))] == ["echo: at last"]
