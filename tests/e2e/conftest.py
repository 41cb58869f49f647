"""What the tests of the program as a process share: a Discord that must stay within the specification, and homes."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home, discord

MakeHome = Callable[..., Home]


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


@pytest.fixture
def home(world: FakeDiscord, tmp_path: Path) -> MakeHome:
    """Makes homes in which Ann and Bob are allowed, and turns get no card: every post is an answer or a notice."""

    def make(**sections: Any) -> Home:
        people = [world.person(name).id for name in ("ann", "bob")]
        quiet: dict[str, dict[str, Any]] = {"access": {"users": people}, "discord": {"progress": "off"}}
        for section, keys in quiet.items():
            sections[section] = {**keys, **sections.get(section, {})}
        folder = tmp_path / f"home-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        return Home(folder, world, **sections)

    return make
