"""What a life of the program leaves behind does not outlive its test."""

from pathlib import Path

import pytest

from engine.processes import Identity
from fakes.program import Home, discord, household, living

pytestmark = pytest.mark.anyio


class TestFailedError(Exception):
    """Stands for whatever ends a test in the middle."""

    __test__ = False


async def test_what_a_killed_life_has_left_ends_with_its_world_also_when_the_test_fails(tmp_path: Path) -> None:
    left: list[Identity] = []

    async def fail() -> None:
        async with discord() as world:
            ann = world.person("ann")
            neighbour, here = (Home(tmp_path / name, world, access={"users": [ann.id]}) for name in ("home", "home-1"))
            async with here.running() as run:
                await run.ready()
                await world.say(ann, world.dm(ann), "ignoreterm tool 600000")
                await run.logged("turn.started")
                left.extend(household(run.pid))
                await run.kill()
                neighbour.end()
                assert set(here.children()) <= set(living(left))
                raise TestFailedError

    with pytest.raises(TestFailedError):
        await fail()
    assert len(left) > 1
    assert living(left) == []
