"""A deaf gateway (healthy socket, REST ahead of it) is noticed by a comparison made twice; it is renewed, once."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from connector import facts
from connector.backfill import Backfill
from connector.logs import Logs
from connector.messages import Author, Message, Place
from connector.ports import Discord, PostLater, PostNever, Said
from connector.settings import LogSettings
from connector.world import World
from fakes.waiting import Changes

A, B = 100, 200

pytestmark = pytest.mark.anyio


class Rest:
    """What REST knows: the newest message of each channel, or how it refuses to tell."""

    def __init__(self) -> None:
        self.known: dict[int, int | Exception] = {}
        self.asked: list[int] = []

    async def newest(self, channel: int) -> int:
        self.asked.append(channel)
        found = self.known.get(channel, 0)
        if isinstance(found, Exception):
            raise found
        return found


class Setting:
    """A watch at work: `look` lets one pause end, and returns when the comparison behind it is made."""

    def __init__(self) -> None:
        self.rest, self.world, self.renewed = Rest(), World(), list[str]()
        self.stream = io.StringIO()
        log = Logs(LogSettings(level="debug", format="console"), self.stream).log
        discord = cast("Discord", self.rest)  # no other call is made here
        self.backfill = Backfill(discord, self.world, lambda _: True, lambda _: None, log, sleep=self.sleep)
        self.pauses, self.slept = 0, list[float]()
        self.mended: dict[int, int] = {}
        self._changes = Changes()
        self._granted = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.rest.known |= self.mended

    async def pause(self) -> None:
        self.pauses += 1
        self._changes.tell()
        await self._granted.acquire()

    async def renew(self, reason: str) -> None:
        self.renewed.append(reason)

    async def look(self, **knows: int | Exception) -> int:
        """One comparison; how often the gateway was renewed so far."""
        self.rest.known |= {{"a": A, "b": B}[name]: known for name, known in knows.items()}
        await self.paused(self.pauses)
        before = self.pauses
        self._granted.release()
        await self.paused(before + 1)
        return len(self.renewed)

    async def paused(self, count: int) -> None:
        await self._changes.until(lambda: self.pauses >= max(1, count))

    def seen(self, channel: int, number: int) -> None:
        self.world.apply(facts.Seen(channel, number))

    def live(self, number: int, channel: int = A) -> None:
        self.backfill.live(Said(Message(number, Place(channel, "here"), Author(5, "ann"), "hello")))


@asynccontextmanager
async def watching() -> AsyncIterator[Setting]:
    found = Setting()
    task = asyncio.create_task(found.backfill.watch(found.renew, found.pause))
    yield found
    task.cancel()
    ends = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(ends[0], asyncio.CancelledError), ends


async def test_a_deaf_gateway_is_noticed_at_the_second_comparison_and_renewed_once() -> None:
    async with watching() as here:
        here.seen(A, 5)
        assert [await here.look(a=6), await here.look(a=8)] == [0, 1]
        assert here.renewed == ["the gateway is deaf: channel history is ahead of it"]
        assert "gateway.deaf" in here.stream.getvalue()
        here.seen(A, 8)  # the fresh session's pass
        assert [await here.look() for _ in range(3)] == [1, 1, 1]


async def test_one_that_stays_deaf_is_renewed_again_and_not_at_each_comparison() -> None:
    async with watching() as here:
        here.seen(A, 5)
        assert [await here.look(a=6) for _ in range(6)] == [0, 1, 1, 2, 2, 3]


async def test_a_gateway_that_hears_is_left_alone() -> None:
    async with watching() as here:
        here.seen(A, 5)
        assert [await here.look(a=5), await here.look(a=5), await here.look(a=3), await here.look(a=3)] == [0] * 4


async def test_a_message_on_its_way_is_no_deafness() -> None:
    async with watching() as here:
        here.seen(A, 5)
        assert await here.look(a=6) == 0
        here.seen(A, 6)
        assert [await here.look(a=6), await here.look(a=7)] == [0, 0]


async def test_nor_is_another_one_each_time_in_a_busy_channel() -> None:
    """What was ahead at the first comparison has come by the second one: the gateway hears."""
    async with watching() as here:
        here.seen(A, 5)
        for number in range(6, 12):
            assert await here.look(a=number) == 0
            here.seen(A, number)


async def test_nor_is_one_that_was_deleted_before_it_came() -> None:
    async with watching() as here:
        here.seen(A, 5)
        assert [await here.look(a=6), await here.look(a=5), await here.look(a=7)] == [0, 0, 0]


async def test_what_was_heard_and_is_not_yet_recorded_is_no_deafness() -> None:
    """It waits for history, or for the disk."""
    async with watching() as here:
        here.seen(A, 5)
        here.backfill.begin()
        here.live(6)
        assert [await here.look(a=6) for _ in range(4)] == [0] * 4


async def test_two_channels_ahead_one_after_the_other_are_no_deafness_of_one() -> None:
    async with watching() as here:
        here.seen(A, 5)
        here.seen(B, 4)
        assert await here.look(a=6, b=9) == 0
        here.seen(B, 8)  # the busiest now
        assert [await here.look(), await here.look()] == [0, 1]
        assert here.rest.asked == [A, B, B]


async def test_a_channel_that_is_gone_does_not_blind_it() -> None:
    async with watching() as here:
        here.seen(A, 9)
        here.seen(B, 4)
        assert [await here.look(a=PostNever("404 Unknown Channel"), b=5) for _ in range(3)] == [0, 0, 1]
        assert here.rest.asked == [A, B, B]


async def test_while_discord_fails_it_is_asked_again_and_nothing_is_concluded() -> None:
    async with watching() as here:
        here.seen(A, 5)
        here.mended = {A: 6}
        assert await here.look(a=PostLater("Discord answered 500", 3.0)) == 0
        assert (here.slept, here.rest.asked) == ([3.0], [A, A])
        here.seen(A, 6)
        assert await here.look() == 0


async def test_where_nothing_was_ever_heard_nothing_is_asked() -> None:
    async with watching() as here:
        assert [await here.look(), await here.look()] == [0, 0]
        assert here.rest.asked == []
