"""`discord.reactions` reaches the program: off, no message gets one, and everything else is as it was (CONTRACT)."""

from collections.abc import Callable

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home

pytestmark = pytest.mark.anyio
REACTION = "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me"


@pytest.mark.parametrize("on", [True, False])
async def test_signs_may_be_switched_off(world: FakeDiscord, home: Callable[..., Home], *, on: bool) -> None:
    ann, general = world.person("ann"), world.channel("general")
    here = home(discord={"reply_in": "channel", "reactions": on})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "echo hello", mention=True)
        await run.ended(asked)
        if on:
            await world.wait_for(lambda: len(world.reactions(asked)) == 2, 30, "both signs")
        assert await run.stop() == 0
    assert bool(world.sent("PUT", REACTION)) is on
    assert [post.content for post in world.posts(general)] == ["echo: hello"]
