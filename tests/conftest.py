"""What tests of every room share: one event loop, a Discord within its specification, and how Hypothesis tries."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, settings

from fakes.discord import FakeDiscord
from fakes.program import discord

# A slow machine is no fault of what is tested; what failed comes with a blob to replay it.
settings.register_profile("here", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


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
