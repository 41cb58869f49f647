"""How a start goes: what systemd hears, and in which order the log tells it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home, Line, of_home
from tests.bench.lives import manager

MakeHome = Callable[..., Home]

pytestmark = pytest.mark.anyio


def over(line: Line) -> bool:
    return str(line["status"]).startswith("Running: ")


async def test_what_started_is_asked_once_the_start_is_over_and_told_before_it_is_called_ready(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT, What is logged: `connector.started`, `connector.ready`; READY waits for neither."""
    with manager() as listening:
        async with home().running(environ=listening.environ) as run:
            await listening.ready()
            await run.ready()
            told = await run.logged("service_manager.told", where=over)
            [started], [ready] = run.of("connector.started"), run.of("connector.ready")
            assert [line for line in run.lines if line in (told, started, ready)] == [told, started, ready]
            assert started["child_version"] == "1.6.0"
            assert await run.stop() == 0


async def test_a_stop_while_the_child_is_being_asked_leaves_nothing_of_it(
    world: FakeDiscord, home: MakeHome, tmp_path: Path
) -> None:
    """BEHAVIOUR §7.14. The child itself stops the connector, in its first instant, and hears no signal but the last."""
    deaf = 'trap "" TERM; sleep 3600 & kill -TERM "$PPID"; wait'
    async with home(child=("sh", "-c", deaf), engine={"kill_after": 0.2}).running() as run:
        assert await run.exit() == 0
        assert of_home(tmp_path) == []
        [stopped] = run.of("connector.stopped")
        assert stopped["reason"] == "asked to stop before it was up"
