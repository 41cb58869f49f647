"""Waiting for a fake's state by being told of each change; never polls and never sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

BOUND = 30.0
"""Seconds that any one wait may take; a wait ends with what it waits for, never with this, also on a slow machine."""


class Changes:
    """Whoever waits is woken at each `tell`; for one event loop."""

    def __init__(self, describe: Callable[[], str] = lambda: "") -> None:
        self._waiting: set[asyncio.Event] = set()
        self._describe = describe
        self._listeners: list[Callable[[], None]] = []

    def tell(self) -> None:
        """Something changed."""
        for event in self._waiting:
            event.set()
        for listener in list(self._listeners):
            listener()

    def also(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Tell a listener too; what is returned ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def until(self, predicate: Callable[[], T], timeout: float = BOUND, what: str = "") -> T:
        """The first truthy value of `predicate`, asked now and after each change.

        AssertionError after `timeout` seconds, with a description of what did happen.
        """
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            async with asyncio.timeout(timeout):
                while not (value := predicate()):
                    await event.wait()
                    event.clear()
                return value
        except TimeoutError:
            raise AssertionError(f"{what or 'the awaited thing'} did not happen; {self._describe()}") from None
        finally:
            self._waiting.discard(event)
