"""What the tests of the program as a process share: a Discord that must stay within the specification, and homes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home

MakeHome = Callable[..., Home]


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
