"""Who goes first where memory runs out: the child and what it starts, never the connector."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from engine import processes
from engine.child import Child, ChildSpec

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="this system has no such score"),
]

WAITS = "import sys; sys.stdin.read()"


def score(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def offered_at(own: int, pid: int) -> int:
    """The score of a process that has given itself `own` before it is offered."""
    Path(f"/proc/{pid}/oom_score_adj").write_text(str(own))
    processes.offer_for_memory(pid)
    return score(pid)


async def test_a_child_is_offered_before_us() -> None:
    before = score(os.getpid())
    child = await Child.spawn(ChildSpec((sys.executable, "-c", WAITS), ".", {}, kill_after=5), 1)
    try:
        assert score(child.pid) == processes.OOM_SCORE
        assert score(os.getpid()) == before
    finally:
        await child.stop()


async def test_one_that_offers_itself_earlier_is_left_as_it_is() -> None:
    """A wrapper may know better; the score is only ever raised."""
    child = await Child.spawn(ChildSpec((sys.executable, "-c", WAITS), ".", {}, kill_after=5), 1)
    try:
        assert offered_at(900, child.pid) == 900
    finally:
        await child.stop()


async def test_the_way_to_a_remote_child_is_no_memory_of_it() -> None:
    before = score(os.getpid())
    child = await Child.spawn(ChildSpec((sys.executable, "-c", WAITS), ".", {}, kill_after=5, remote=True), 1)
    try:
        assert score(child.pid) == before
    finally:
        await child.stop()


def test_what_is_gone_is_no_trouble() -> None:
    assert processes.offer_for_memory(1 << 22)


async def test_a_process_in_the_midst_of_its_exec_is_offered_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen under the shipped unit, where the connector hides itself: until the exec is over the child is hidden too."""
    offers, enough = list[int](), anyio.Event()

    def offer(pid: int) -> bool:
        offers.append(pid)
        if len(offers) == 3:
            enough.set()
        return len(offers) == 3

    monkeypatch.setattr(processes, "offer_for_memory", offer)
    child = await Child.spawn(ChildSpec((sys.executable, "-c", WAITS), ".", {}, kill_after=5), 1)
    try:
        with anyio.fail_after(5):
            await enough.wait()
        assert offers == [child.pid] * 3
    finally:
        await child.stop()
