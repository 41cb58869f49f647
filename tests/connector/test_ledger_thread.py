"""The ledger's thread: the loop waits where it stands for what is quick, and for nothing that is not (DESIGN)."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from connector import ledger_thread
from connector.ledger_thread import LedgerThread

LONG = 5.0


@pytest.fixture
async def thread() -> AsyncIterator[LedgerThread]:
    """One that does what it is given until the test is over."""
    made = LedgerThread(lambda: None)
    yield made
    await made.end()
    assert not made.lives


def patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(ledger_thread, "PATIENCE", seconds)


@pytest.mark.anyio
async def test_what_is_quick_is_over_before_the_loop_goes_round(
    thread: LedgerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience(monkeypatch, LONG)
    ran: list[str] = []
    asyncio.get_running_loop().call_soon(ran.append, "another")
    assert (await thread.do(lambda: 7, at_once=True), ran) == (7, [])
    assert (await thread.do(lambda: 8), ran) == (8, ["another"])


@pytest.mark.anyio
async def test_what_takes_longer_holds_nobody_up(thread: LedgerThread) -> None:
    free = threading.Event()
    asyncio.get_running_loop().call_soon(free.set)
    assert await thread.do(lambda: free.wait(LONG), at_once=True)


@pytest.mark.anyio
async def test_after_something_slow_the_loop_does_not_wait(
    thread: LedgerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a disk that is slow for long, everything goes on."""
    patience(monkeypatch, 0.0)
    await thread.do(lambda: None, at_once=True)
    await thread.do(lambda: None)  # the thread has looked at how long the first took
    patience(monkeypatch, 2 * LONG)
    free = threading.Event()
    asyncio.get_running_loop().call_soon(free.set)
    assert await thread.do(lambda: free.wait(LONG), at_once=True)


@pytest.mark.anyio
async def test_nor_behind_other_work(thread: LedgerThread, monkeypatch: pytest.MonkeyPatch) -> None:
    patience(monkeypatch, 2 * LONG)
    begun, free, waited = threading.Event(), threading.Event(), list[bool]()

    def work() -> None:
        begun.set()
        waited.append(free.wait(LONG))

    thread.put(work)
    assert begun.wait(LONG)
    asyncio.get_running_loop().call_soon(free.set)
    assert (await thread.do(lambda: 7, at_once=True), waited) == (7, [True])


@pytest.mark.anyio
@pytest.mark.parametrize("at_once", [True, False])
async def test_what_it_raises_is_raised_to_whoever_waits(thread: LedgerThread, *, at_once: bool) -> None:
    def fails() -> None:
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        await thread.do(fails, at_once=at_once)
    assert await thread.do(lambda: 7, at_once=at_once) == 7
