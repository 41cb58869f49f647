"""What CPU the processes below a child have used: they alone, by process."""

import asyncio
import sys

import pytest

from engine.child import Child, ChildSpec

pytestmark = pytest.mark.anyio

SCRIPT = """
import subprocess, sys, time
burning = "sum(i * i for i in range(2_000_000)); print('burnt', flush=True); input()"
subprocess.Popen([sys.executable, "-c", burning])
time.sleep(60)
"""


async def test_the_cpu_of_descendants_counts_and_that_of_the_child_itself_does_not() -> None:
    child = await Child.spawn(ChildSpec((sys.executable, "-c", SCRIPT), ".", {}, kill_after=5), 1)
    burnt = asyncio.Event()
    pumping = asyncio.create_task(child.pump(lambda chunk: burnt.set() if b"burnt" in chunk else None))
    async with asyncio.timeout(30):
        await burnt.wait()
    used = await asyncio.to_thread(child.cpu)
    assert child.identity not in used
    assert [seconds >= 0.02 for seconds in used.values()] == [True]
    await child.stop()
    await pumping
    assert child.cpu() == {}
