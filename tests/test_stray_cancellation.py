"""A test that waits for what is cancelled fails alone: its fixtures are taken down, and the next one finds a loop."""

import asyncio
from collections.abc import AsyncIterator

import pytest

pytestmark = pytest.mark.anyio

TAKEN_DOWN: list[str] = []


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[str]:
    """Keeps the loop of all tests here."""
    yield "shared"
    assert TAKEN_DOWN == ["own", "own"]


@pytest.fixture
async def own(shared: str) -> AsyncIterator[str]:
    yield shared
    await asyncio.sleep(0)
    TAKEN_DOWN.append("own")


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.xfail(raises=AssertionError, strict=True)
async def test_a_cancellation_that_gets_out(own: str, number: int) -> None:
    lost = asyncio.create_task(asyncio.sleep(3600))
    lost.cancel()
    await lost
