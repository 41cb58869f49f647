"""Events of one channel in their order, also where one of them needs a question first; it reads none of them."""

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from connector.gateway_pauses import Clock
from connector.ports import PostLater

_FIRST, _CAP = 0.5, 60.0

Need = Callable[[], Awaitable[Callable[[], None]]]
"""A question whose reply is what is to be told; PostLater: it is asked again."""


class Order:
    """What needs no question is told at once, unless something of its channel waits before it.

    `failed` is told of what could not be read when its turn came.
    """

    def __init__(
        self, clock: Clock, spawn: Callable[[Coroutine[Any, Any, None], str], None], failed: Callable[[Exception], None]
    ) -> None:
        self._clock, self._spawn, self._failed = clock, spawn, failed
        self._waiting: dict[int, deque[Need]] = {}

    def tell(self, channel: int, now: Callable[[], None] | None, need: Need) -> None:
        """Call `now` at once where that keeps the order and it is given, else what `need` comes to."""
        queue = self._waiting.get(channel)
        if queue is not None:
            queue.append(need)
        elif now is not None:
            now()
        else:
            self._waiting[channel] = deque([need])
            self._spawn(self._work(channel), f"events of {channel}")

    async def _work(self, channel: int) -> None:
        queue = self._waiting[channel]
        try:
            while queue:
                tell = await self._asked(queue[0])
                queue.popleft()
                try:
                    tell()
                except Exception as error:  # noqa: BLE001 - as in the parsers: one bad payload ends nothing but itself
                    self._failed(error)
        finally:
            del self._waiting[channel]

    async def _asked(self, need: Need) -> Callable[[], None]:
        pause = _FIRST
        while True:
            try:
                return await need()
            except PostLater as error:
                # The event is kept until Discord can be asked: told wrongly it would be ignored for good.
                await self._clock.sleep(max(error.after, pause * (0.5 + self._clock.random() / 2)))
                pause = min(_CAP, pause * 2)
