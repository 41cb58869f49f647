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
        """Read every known and allowed channel since its last seen message; a new one starts at its newest."""
        async with self._passing:
            known = await self._channels()
            self.begin(known)
            count = 0
            for channel in known:
                try:
                    count += await self._channel(channel)
                finally:
                    for said in self._held.pop(channel, []):
                        self._give(said)
            if count:
                self._log.info("gateway.backfilled", count=count)

    async def watch(self, renew: Callable[[str], Awaitable[None]], pause: Callable[[], Awaitable[None]]) -> None:
        """Notice a deaf gateway: after each `pause` REST must not know more of the busiest channel than we saw.

        The comparison is made twice, a pause apart, so that a message on its way is no sign of deafness.
        """
        ahead = 0
        while True:
            await pause()
            channel = max(self._world.seen, key=self._world.seen.__getitem__, default=0)
            newest = await self._patiently(partial(self._discord.newest, channel)) if channel else None
            if newest is None or newest <= self._world.seen.get(channel, 0):
                ahead = 0
            elif ahead and ahead <= newest:
                self._log.warning("gateway.deaf", channel=channel, newest=newest)
                ahead = 0
                await renew("the gateway is deaf: channel history is ahead of it")
            else:
                ahead = newest

    async def _channels(self) -> list[int]:
        places = await self._patiently(self._discord.channels) or []
        found = [place.channel for place in places if self._allowed(place)]
        return list(dict.fromkeys([*found, *self._world.seen]))

    async def _channel(self, channel: int) -> int:
        after = self._world.seen.get(channel)
        if after is None:
            newest = await self._patiently(lambda: self._discord.newest(channel))
            self._give(Overlooked(channel, newest or 0))
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
                return await ask()
            except PostLater as later:
                self._log.info("gateway.backfill_delayed", reason=later.reason)
                await asyncio.sleep(later.after or pause)
                pause = min(60.0, pause * 2)
            except PostNever as never:
                self._log.debug("gateway.backfill_refused", reason=never.reason)
                return None
