"""What tests of every room share: one event loop, a Discord within its specification, and how Hypothesis tries."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from fakes.discord import FakeDiscord
from fakes.program import discord

# A slow machine is no fault of what is tested; what failed comes with a blob to replay it.
settings.register_profile("here", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """A cancellation that gets out of a test fails that test: anyio would end the task that its fixtures need, too."""
    if inspect.iscoroutinefunction(pyfuncitem.obj) and not hasattr(pyfuncitem.obj, "hypothesis"):
        pyfuncitem.obj = _for_itself(pyfuncitem.obj)


def _for_itself(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def alone(**given: Any) -> None:
        try:
            await test(**given)
        except asyncio.CancelledError as stray:
            raise AssertionError("it waited for something that was cancelled") from stray

    return alone


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
