"""The fake pi and the real one, the same scenarios, compared event by event by the order that PROTOCOL guarantees."""

import asyncio
from pathlib import Path

import pytest

from fakes.real_pi import Installation
from tests.contract.conftest import PinnedOrNot
from tests.contract.stories.order import differences
from tests.contract.stories.scenarios_more import SCENARIOS
from tests.contract.stories.stage import played_by_the_fake, played_by_the_real

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_fake_and_the_real_pi_tell_the_same_story(
    name: str, installation: Installation, tmp_path: Path, pinned: PinnedOrNot
) -> None:
    """PROTOCOL: names, guaranteed order, and every field that the engine's vocabulary reads."""
    scenario = SCENARIOS[name]
    async with asyncio.TaskGroup() as both:
        real = both.create_task(played_by_the_real(scenario.scene, scenario.home, installation, tmp_path / "real"))
        fake = both.create_task(played_by_the_fake(scenario.scene, scenario.home, tmp_path / "fake"))
    found = differences(fake.result(), real.result())
    pinned.differ(found)
