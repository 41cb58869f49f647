"""kill -9 around the post of a card, before it is recorded that it stands: the real processes, and Stop afterwards."""

import signal
from collections.abc import Callable

import pytest

from fakes.discord import FakeDiscord
from fakes.program import BOUND, Home, posts

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_kill_around_a_cards_post_leaves_no_card_at_work(world: FakeDiscord, home: MakeHome, when: str) -> None:
    """Nothing of the card's message was recorded: whether it stands there the next start must find out."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(discord={"progress": "live"})
    async with here.running(module=("fakes.crashing", f"{when}:post:1")) as run:
        await run.ready()
        asked = await world.say(ann, private, "slow 600000")
        assert await run.exit() == -signal.SIGKILL
    stood = [post.id for post in world.posts(private)]
    assert len(stood) == (when == "after")
    async with here.running() as run:
        await run.ready()
        await posts(world, private, 1)
        [card] = world.posts(private)
        assert card.id in stood or when == "before"
        await world.click(ann, card.id, f"stop:{asked}")
        await run.ended(asked)
        await world.wait_for(lambda: not world.post(card.id).custom_ids(), BOUND, "the card to end")
        assert await run.stop() == 0
    over, receipt = world.posts(private)
    assert (over.id, over.content.startswith("-# stopped"), over.custom_ids()) == (card.id, True, [])
    assert (receipt.content.startswith(f"Stopped by <@{ann.id}>"), receipt.reference) == (True, asked)
