"""What the tests against the real pi share: the scripted provider, the installed pi, a tool's tether."""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fakes.provider import Provider
from fakes.raw_child import RawChild
from fakes.real_pi import Installation, RealPi, installed
from fakes.tether import Tether

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


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
