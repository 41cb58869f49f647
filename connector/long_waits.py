"""Watches for tools that are open for longer than `steering.long_wait` and tells whether their processes use CPU.

It ends nothing and decides nothing: what it finds goes to the card, where Stop is. It looks at processes in a thread.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from connector.cards import Cpu
from engine.events import SECOND, Effect, ToolOpened, Unasked
from engine.processes import Identity

APART = 1.0
"""Seconds between the two looks that make one finding."""

REFRESH = 30.0
"""Seconds until it is found out anew, while the tool stays open."""

USING = 0.02
"""CPU seconds between two looks from which on a process tree counts as using CPU: two ticks of the clock."""

Look = Mapping[Identity, float] | None
"""CPU seconds so far of each process below a child; None where that cannot be seen from here."""


class Watched(Protocol):
    """A running engine, as far as its tools go (`engine.runner.Engine`)."""

    def longest_wait(self) -> int | None:
        """Nanoseconds for which the oldest tool is open; None without one, and while a dialog waits."""
        ...

    def cpu(self) -> Look:
        """See `Look`; may be asked in a thread."""
        ...


class LongWaits:
    """One watch for each child with an open tool. `long_wait` in ns; `tell` hears lane, generation and finding."""

    def __init__(
        self,
        long_wait: int,
        tell: Callable[[str, int, Cpu], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._long_wait, self._tell, self._pause = long_wait, tell, pause
        self._watches: dict[tuple[str, int], asyncio.Task[None]] = {}

    def hear(self, lane: str, child: int, engine: Watched, told: Iterable[Effect]) -> None:
        """A tool was opened, or waits for no dialog any more: watch, unless that child is watched already."""
        key = (lane, child)
        if key not in self._watches and any(isinstance(effect, ToolOpened | Unasked) for effect in told):
            task = asyncio.get_running_loop().create_task(self._watch(lane, child, engine))
            self._watches[key] = task
            task.add_done_callback(lambda _: self._watches.pop(key, None))

    def forget(self, lane: str, child: int) -> None:
        """The child is gone."""
        if (task := self._watches.get((lane, child))) is not None:
            task.cancel()

    async def _watch(self, lane: str, child: int, engine: Watched) -> None:
        """Until no tool is open: wait for the oldest to be open for too long, then look, and look again."""
        while (age := engine.longest_wait()) is not None:
            if age <= self._long_wait:
                await self._pause((self._long_wait - age) / SECOND + 0.001)
                continue
            before = await asyncio.to_thread(engine.cpu)
            await self._pause(APART)
            after = await asyncio.to_thread(engine.cpu)
            age = engine.longest_wait()
            if age is not None and age > self._long_wait:
                self._tell(lane, child, finding(before, after))
                await self._pause(REFRESH)


def finding(before: Look, after: Look) -> Cpu:
    """What two looks tell: CPU that was used between them, by processes that are there in the second."""
    if before is None or after is None:
        return Cpu.UNSEEN
    if not after:
        return Cpu.NO_PROCESS
    used = sum(max(0.0, seconds - before.get(who, 0.0)) for who, seconds in after.items())
    return Cpu.USED if used >= USING else Cpu.UNUSED
