"""Fetches from channel history what was missed (BEHAVIOUR §6), and notices a gateway that has gone deaf."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from connector.lane_events import Overlooked
from connector.logs import Log
from connector.messages import Place
from connector.ports import Discord, PostLater, PostNever, Said
from connector.world import World

T = TypeVar("T")

PAGE = 100

AT_ONCE = 4
"""Requests for history under way at the same time; one channel that fails holds up none of the others."""


class Backfill:
    """One pass at a time; while a pass runs, live messages of its channels wait behind what was missed."""

    def __init__(
        self,
        discord: Discord,
        world: World,
        allowed: Callable[[Place], bool],
        give: Callable[[Said | Overlooked], None],
        log: Log,
    ) -> None:
        self._discord = discord
        self._world = world
        self._allowed = allowed
        self._give = give
        self._log = log
        self._held: dict[int, list[Said]] = {}
        self._passing = asyncio.Lock()
        self._few = asyncio.Semaphore(AT_ONCE)

    def live(self, said: Said) -> None:
        """A live message: passed on, or held until its channel's history has been read."""
        held = self._held.get(said.message.place.channel)
        if held is None:
            self._give(said)
        else:
            held.append(said)

    def begin(self, channels: Iterable[int]) -> None:
        """Hold what these channels say from now on."""
        for channel in channels:
            self._held.setdefault(channel, [])

    async def run(self) -> None:
        """Read what was missed; where Discord has just told the newest message of a channel, only if it is a new one.

        A channel never seen before starts at its newest message: no history is taken, none is missed later.
        """
        async with self._passing:
            channels = await self._to_read()
            self.begin(channels)
            for channel in [channel for channel in self._held if channel not in channels]:
                self._release(channel)
            count = sum(await asyncio.gather(*map(self._read, channels)))
            if count:
                self._log.info("gateway.backfilled", count=count)

    async def _to_read(self) -> list[int]:
        """Channels that may have something new: allowed ones, and private ones, which Discord does not list."""
        places = await self._patiently(self._discord.channels) or []
        latest = await self._patiently(self._discord.latest) or {}
        found = []
        for channel in [place.channel for place in places if self._allowed(place)]:
            seen, newest = self._world.seen.get(channel), latest.get(channel)
            if seen is None and newest is not None:
                self._give(Overlooked(channel, newest))
            elif newest is None or seen is None or newest > seen:
                found.append(channel)
        listed = {place.channel for place in places}
        unlisted = [channel for channel in self._world.seen if channel not in listed]
        return found + [channel for channel in unlisted if not self._world.lane(str(channel)).thread_of]

    async def _read(self, channel: int) -> int:
        """One channel; what it said meanwhile follows behind what was missed, whatever becomes of the others."""
        try:
            return await self._channel(channel)
        finally:
            self._release(channel)

    def _release(self, channel: int) -> None:
        for said in self._held.pop(channel, []):
            self._give(said)

    async def watch(self, renew: Callable[[str], Awaitable[None]], pause: Callable[[], Awaitable[None]]) -> None:
        """Notice a deaf gateway: after each `pause` REST must not know more of the busiest channel than we saw.

        The comparison is made twice, a pause apart, so that a message on its way is no sign of deafness.
        """
        ahead: dict[int, int] = {}
        gone: set[int] = set()
        while True:
            await pause()
            seen = {channel: last for channel, last in self._world.seen.items() if channel not in gone}
            channel = max(seen, key=seen.__getitem__, default=0)
            newest = await self._patiently(partial(self._discord.newest, channel)) if channel else 0
            if newest is None:
                gone.add(channel)  # not to be had any more: the next busiest tells as much
            elif newest <= self._world.seen.get(channel, 0):
                ahead.clear()
            elif channel in ahead:
                self._log.warning("gateway.deaf", channel=channel, newest=newest)
                ahead.clear()
                await renew("the gateway is deaf: channel history is ahead of it")
            else:
                ahead = {channel: newest}

    async def _channel(self, channel: int) -> int:
        after = self._world.seen.get(channel)
        if after is None:
            newest = await self._patiently(lambda: self._discord.newest(channel)) or 0
            # What was said since we listen is no history: it is given next, and not seen before it is claimed.
            held = [said.message.id - 1 for said in self._held[channel]]
            self._give(Overlooked(channel, min([newest, *held])))
            return 0
        count = 0
        while True:
            page = await self._patiently(partial(self._discord.history, channel, after, PAGE)) or []
            for message in page:
                self._give(Said(message, live=False))
            count += len(page)
            if len(page) < PAGE:
                return count
            after = page[-1].id

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        """Ask until Discord answers; None where it says that this channel is not to be had."""
        pause = 1.0
        while True:
            try:
                async with self._few:
                    return await ask()
            except PostLater as later:
                self._log.info("gateway.backfill_delayed", reason=later.reason)
                await asyncio.sleep(later.after or pause)
                pause = min(60.0, pause * 2)
            except PostNever as never:
                self._log.debug("gateway.backfill_refused", reason=never.reason)
                return None
