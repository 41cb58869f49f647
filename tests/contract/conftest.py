"""What the tests against the real pi share: provider, installed pi, a tool's tether, Discord, a connector's home."""

import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home
from fakes.provider import Provider
from fakes.raw_child import RawChild
from fakes.real_pi import QUICK_RETRY, Installation, RealPi, installed
from fakes.tether import Tether

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def installation() -> Installation:
    pinned = re.search(r"^PI_PINNED=(\S+)$", (ROOT / ".ci" / "pins.sh").read_text(), re.MULTILINE)
    assert pinned
    version = os.environ.get("PI_VERSION", pinned[1])
    found = installed(ROOT, version)
    if found is None:
        reason = f"pi {version} is not installed here: run .ci/pi-install"
        if os.environ.get("REQUIRE_PI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider() as provider:
        yield provider


@pytest.fixture
def real_pi(installation: Installation, provider: Provider, tmp_path: Path) -> RealPi:
    return RealPi(installation, tmp_path, provider.base_url)


@pytest.fixture
async def pi(real_pi: RealPi) -> AsyncIterator[RawChild]:
    async with RawChild.started(real_pi.launch()) as pi:
        yield pi


@pytest.fixture
async def tether() -> AsyncIterator[Tether]:
    async with Tether() as tether:
        yield tether


@pytest.fixture
def relay(real_pi: RealPi, world: FakeDiscord) -> Callable[..., Home]:
    """Makes the home of a connector whose children are the real pi, with sessions on disk; Ann and Bob are allowed.

    `pi` is pi's settings.json; the other arguments are sections of the connector's settings.
    """

    def make(*, pi: Mapping[str, Any] = QUICK_RETRY, extension: str = "", **sections: Any) -> Home:
        launch = real_pi.launch(settings=pi, extension=extension, arguments=())
        people = [world.person(name).id for name in ("ann", "bob")]
        base: dict[str, dict[str, Any]] = {
            "access": {"users": people},
            "discord": {"progress": "off", "reply_in": "channel"},
            "agent": {"env": {name: value for name, value in launch.env.items() if name != "HOME"}},
        }
        for section, keys in base.items():
            sections[section] = {**keys, **sections.get(section, {})}
        return Home(real_pi.folder, world, child=launch.command, **sections)

    return make
