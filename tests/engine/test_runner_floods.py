"""The shell keeps the core's deadlines whatever the child writes (BEHAVIOUR §7.27)."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from engine.child import ChildSpec
from engine.events import SECOND, Effect, Limits, Wedged
from engine.runner import Engine
from fakes.waiting import BOUND

FLOOD = "import os, sys\nwhile True: os.write(1, sys.argv[1].encode() * 2000)"


async def flooded(line: str, folder: Path) -> str:
    """The reason for which a child that floods its output and never answers is given up."""
    reason: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def tell(told: tuple[Effect, ...], _busy: bool) -> None:
        for effect in told:
            if isinstance(effect, Wedged) and not reason.done():
                reason.set_result(effect.reason)

    spec = ChildSpec((sys.executable, "-c", FLOOD, line), str(folder), dict(os.environ), kill_after=0.1)
    limits = Limits(turn_timeout=SECOND // 5)
    engine = await Engine.start(spec, limits, generation=1, max_line=1 << 20, tell=tell)
    try:
        return await asyncio.wait_for(reason, BOUND)
    finally:
        await engine.stop()


@pytest.mark.parametrize("line", ["y\n", '{"type":"x"}\n'])
def test_a_child_that_floods_its_output_is_still_given_up_at_its_bound(line: str, tmp_path: Path) -> None:
    assert asyncio.run(flooded(line, tmp_path)) == "no first answer"
