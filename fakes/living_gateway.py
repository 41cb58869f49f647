"""A gateway that runs against the fake Discord, for the tests of `connector.gateway*`; it judges nothing."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from discord.http import Route

from connector.gateway import Gateway, Memory, Options
from connector.gateway_pauses import Clock
from connector.interactions import Hooks
from connector.logs import Log, Logs
from connector.ports import Connected, Heard
from connector.settings import LogSettings
from fakes.discord import FakeDiscord
from fakes.waiting import BOUND, Changes

T = TypeVar("T")
H = TypeVar("H", bound=Heard)


@dataclass
class Pacing:
    """A clock whose sleeps end at once and are written down; `hold` keeps them until it is set again."""

    slept: list[float] = field(default_factory=list)
    now: int = 1_000_000_000_000
    wall: int = 1_700_000_000_000_000_000
    go: asyncio.Event = field(default_factory=asyncio.Event)
    changes: Changes = field(default_factory=Changes)

    def clock(self) -> Clock:
        """As the gateway takes it; chance is always 0.5."""
        self.go.set()
        return Clock(now_ns=lambda: self.now, wall_ns=lambda: self.wall, sleep=self._sleep, random=lambda: 0.5)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.changes.tell()
        await self.go.wait()
        await asyncio.sleep(0)
        self.now += int(seconds * 1e9)
        self.wall += int(seconds * 1e9)


class _Told(io.StringIO):
    """A stream that tells of each line."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    def write(self, text: str, /) -> int:
        """Write, and tell."""
        count = super().write(text)
        self._changes.tell()
        return count


class Living:
    """The gateway, what it told, and its log."""

    def __init__(self, world: FakeDiscord, **wanted: Any) -> None:
        self.world = world
        self.facts: list[Heard] = []
        self.break_with: Exception | None = None
        self.also: Callable[[Heard], None] = lambda _fact: None
        self.task: asyncio.Task[None] | None = None
        self.looked_at = False
        self.changes = Changes(lambda: f"heard: {self.facts[-8:]}; log: {self.lines()[-8:]}")
        self.pacing = Pacing(changes=self.changes)
        self._stream = _Told(self.changes)
        self.logs = Logs(LogSettings(level="debug", format="console"), self._stream)
        log: Log = self.logs.log
        hooks: Hooks | None = wanted.pop("hooks", None)
        memory: Memory | None = wanted.pop("memory", None)
        given = {"token": world.token, "api_base": world.rest_base, "gateway_url": world.gateway_url}
        options = Options(**{**given, "ready_wait": 0.01, **wanted})
        self.gateway = Gateway(options, self.hear, log, hooks=hooks, memory=memory, clock=self.pacing.clock())

    async def ended_with(self) -> BaseException | None:
        """What `run()` ends with by itself."""
        assert self.task is not None
        await asyncio.wait({self.task}, timeout=BOUND)
        self.looked_at = True
        return self.task.exception()

    async def logged(self, event: str) -> str:
        """The first line of the log with this event, once it is there."""
        return await self.changes.until(lambda: next((line for line in self.lines() if event in line), ""))

    def lines(self) -> list[str]:
        """What was logged."""
        return self._stream.getvalue().splitlines()

    def hear(self, fact: Heard) -> None:
        """Take a fact, or break."""
        if self.break_with is not None:
            raise self.break_with
        self.facts.append(fact)
        self.also(fact)
        self.changes.tell()

    def of(self, kind: type[H]) -> list[H]:
        """The facts of one kind, in order."""
        return [fact for fact in self.facts if isinstance(fact, kind)]

    async def heard(self, kind: type[H], count: int = 1) -> H:
        """The `count`th fact of a kind, once it came."""
        await self.changes.until(lambda: len(self.of(kind)) >= count, what=f"{kind.__name__} no. {count}")
        return self.of(kind)[count - 1]


@asynccontextmanager
async def running(world: FakeDiscord, *, ready: bool = True, **wanted: Any) -> AsyncIterator[Living]:
    """A gateway that is connected (`ready`), closed at the end; what ended it early is raised."""
    base = Route.BASE
    living = Living(world, **wanted)
    living.task = task = asyncio.create_task(living.gateway.run())
    try:
        if ready:
            first = asyncio.create_task(living.heard(Connected))
            await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                first.cancel()
                await task
                raise AssertionError("the gateway ended by itself before it was connected")
            await first
        yield living
        if not living.looked_at:
            await living.gateway.close()
            await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        Route.BASE = base
