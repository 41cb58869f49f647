"""What a start cannot go on without, waited for while the disk does not give it; it decides nothing."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from connector.ledger import Ledger, LedgerBroken
from connector.lock import StateLock
from connector.logs import Log

T = TypeVar("T")

OPENING_PAUSE = 5.0
"""Seconds between attempts to open or read a ledger that the disk does not let us open or read."""


async def locked(held: contextlib.ExitStack, folder: Path, log: Log, status: Callable[[str], object]) -> None:
    """Hold the state folder's lock in `held`, once the disk allows it. Raises Refusal as `StateLock` does."""

    async def take() -> None:
        held.enter_context(StateLock(folder))

    await patiently(take, log, status)


async def opened(folder: Path, log: Log, status: Callable[[str], object]) -> Ledger:
    """The ledger, once the disk allows that it is opened. Raises Refusal for one that cannot be used."""
    return await patiently(lambda: asyncio.to_thread(Ledger.open, folder), log, status)


async def patiently(look: Callable[[], Awaitable[T]], log: Log, status: Callable[[str], object]) -> T:
    """What a start cannot go on without, once the disk lets us read it; `status` is told what is waited for."""
    while True:
        try:
            return await look()
        except LedgerBroken as broken:
            log.warning("ledger.broken", reason=str(broken))
            status(f"Starting: waiting for the disk: {broken}")
            await asyncio.sleep(OPENING_PAUSE)
