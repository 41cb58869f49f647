"""A backfill on a hand-made past: what each channel has said, and how it answers; it judges nothing."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

from connector import facts
from connector.backfill import Backfill
from connector.lane_events import Overlooked
from connector.logs import Logs
from connector.messages import Author, Message, Place
from connector.ports import Changed, Discord, Gone, Said
from connector.settings import LogSettings
from connector.world import World
from fakes.waiting import Changes

A, B = 100, 200
HIDDEN = 600
"""A channel that is not allowed."""


def message(number: int, channel: int = A) -> Message:
    return Message(number, Place(channel, "here"), Author(5, "ann"), "hello")


class Past:
    """The four questions of `ports.Discord` that are asked here, with what each channel has and how it answers."""

    def __init__(self, changes: Changes) -> None:
        self.listed = [A, B]
        self.said: dict[int, list[int]] = {}
        self.told: dict[int, int] = {}
        self.fates: dict[int, Exception] = {}
        self.gates: dict[int, asyncio.Event] = {}
        self.calls: list[tuple[Any, ...]] = []
        self._changes = changes

    async def _meet(self, *call: Any) -> None:
        self.calls.append(call)
        self._changes.tell()
        if call[1] in self.fates:
            raise self.fates[call[1]]

    async def _answer(self, channel: int, found: Any) -> Any:
        """What Discord knew when it was asked; it may take long until we read it."""
        if channel in self.gates:
            await self.gates[channel].wait()
        return found

    async def history(self, channel: int, after: int, limit: int = 100) -> list[Message]:
        await self._meet("history", channel, after)
        found = [message(number, channel) for number in self.said.get(channel, ()) if number > after][:limit]
        return cast("list[Message]", await self._answer(channel, found))

    async def newest(self, channel: int) -> int:
        await self._meet("newest", channel)
        return cast("int", await self._answer(channel, max(self.said.get(channel, ()), default=0)))

    async def latest(self) -> dict[int, int]:
        told, self.told = self.told, {}
        return told

    async def channels(self) -> list[Place]:
        return [Place(channel, "here") for channel in self.listed]


class Setting:
    """A backfill, a world that takes what it gives as the lanes do, and sleeps that end when the test says so."""

    def __init__(self) -> None:
        self.changes = Changes(lambda: f"asked: {self.past.calls}; given: {self.given}")
        self.past = Past(self.changes)
        self.world = World()
        self.given: list[Said | Changed | Gone | Overlooked] = []
        self.slept: list[float] = []
        self.rested = asyncio.Semaphore(0)
        self.stream = io.StringIO()
        log = Logs(LogSettings(level="debug", format="console"), self.stream).log
        discord = cast("Discord", self.past)  # no other call is made here
        self.backfill = Backfill(
            discord, self.world, lambda place: place.channel != HIDDEN, self.give, log, sleep=self.sleep
        )
        self.passes: set[asyncio.Task[None]] = set()

    def give(self, given: Said | Changed | Gone | Overlooked) -> None:
        self.given.append(given)
        match given:
            case Said(found) | Changed(found):
                self.see(found.place.channel, found.id)
            case Overlooked(channel, number):
                self.see(channel, number)
            case Gone():
                pass
        self.changes.tell()

    def see(self, channel: int, number: int) -> None:
        self.world.apply(facts.Seen(channel, number))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.changes.tell()
        await self.rested.acquire()

    def connect(self) -> asyncio.Task[None]:
        """A fresh session, as the app answers it."""
        self.backfill.begin()
        task = asyncio.create_task(self.backfill.run())
        self.passes.add(task)
        return task

    def live(self, number: int, channel: int = A) -> None:
        self.backfill.live(Said(message(number, channel)))

    def edited(self, number: int, channel: int = A) -> None:
        self.backfill.changed(Changed(message(number, channel)))

    def of(self, channel: int) -> list[Said | Changed | Gone | Overlooked]:
        return [one for one in self.given if channel in _where(one)]

    async def until(self, predicate: Callable[[], Any]) -> None:
        await self.changes.until(predicate)

    async def comes(self, channel: int) -> None:
        await self.until(lambda: self.of(channel))

    async def sleeps(self, count: int) -> None:
        await self.until(lambda: len(self.slept) == count)

    def histories(self) -> list[tuple[int, int]]:
        return [(call[1], call[2]) for call in self.past.calls if call[0] == "history"]


def _where(given: Said | Changed | Gone | Overlooked) -> tuple[int]:
    return (given.channel if isinstance(given, Overlooked | Gone) else given.message.place.channel,)


def missed(numbers: Iterable[int], channel: int = A) -> list[Said]:
    return [Said(message(number, channel), live=False) for number in numbers]


@asynccontextmanager
async def setting() -> AsyncIterator[Setting]:
    found = Setting()
    yield found
    for task in found.passes:
        task.cancel()
    for end in await asyncio.gather(*found.passes, return_exceptions=True):
        assert end is None or isinstance(end, asyncio.CancelledError), end
