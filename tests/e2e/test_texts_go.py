"""CONTRACT, Trust: texts leave the ledger of the running program, when a message is deleted and with `state.keep`."""

from collections.abc import Callable

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home

pytestmark = pytest.mark.anyio


def holding(here: Home, text: str) -> list[str]:
    """The files of the state folder that hold this text."""
    return sorted(file.name for file in here.state.iterdir() if file.is_file() and text.encode() in file.read_bytes())


async def test_a_start_prunes_what_is_older_than_state_keep(world: FakeDiscord, home: Callable[..., Home]) -> None:
    ann, general = world.person("ann"), world.channel("general")
    here = home(discord={"reply_in": "channel"})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "echo the cat is Mia", mention=True)
        await run.ended(asked)
        await run.logged("ledger.pruned")
        assert await run.stop() == 0
    assert holding(here, "the cat is Mia") == ["ledger.sqlite"]
    async with here.running(environ={"PI_CONNECTOR_STATE__KEEP": "0.000001"}) as run:
        await run.logged("ledger.pruned")
        assert holding(here, "the cat is Mia") == []
        assert await run.stop() == 0
