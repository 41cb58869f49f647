"""What tests of every room share: one event loop, and a Discord that must stay within its specification."""

from collections.abc import AsyncIterator

import pytest

from fakes.discord import FakeDiscord
from fakes.program import discord


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    """A Discord; at the end nothing was asked of it that the real one does not know."""
    async with discord() as world:
        yield world
        assert world.unknown_routes == []
        assert [str(violation) for violation in world.violations] == []
