"""Fetches from channel history what was missed (BEHAVIOUR §6), and notices a gateway that has gone deaf."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from connector.lane_events import Overlooked
from connector.logs import Log
from connector.messages import Place
from connector.ports import Changed, Discord, Gone, PostLater, PostNever, Said
from connector.world import World

T = TypeVar("T")

PAGE = 100

AT_ONCE = 4
"""Requests for history under way at the same time; one channel that fails holds up none of the others."""


class Backfill:
    """One pass at a time; while a pass runs, live messages of its channels wait behind what was missed.

    So do edits: one may be the first that is heard of its message, and once that were claimed, what was said before it
    would count as seen (BEHAVIOUR §6). And so does the deletion of what waits: history does not have that any more.

    A later pass takes over from one that is not done, and from a channel in it that fails: what that pass has not
    given yet is found again. `sleep` takes seconds.
    """

    def __init__(
        self,
        discord: Discord,
        world: World,
        allowed: Callable[[Place], bool],
        give: Callable[[Said | Changed | Gone | Overlooked], None],
        log: Log,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._discord = discord
        self._world = world
        self._allowed = allowed
        self._give = give
        self._log = log
        self._sleep = sleep
        self._held: dict[int, list[Said | Changed | Gone]] = {}
        self._heard: dict[int, int] = {}
        self._pass: asyncio.Task[None] | None = None
        self._few = asyncio.Semaphore(AT_ONCE)

    def live(self, said: Said) -> None:
        """A live message: passed on, or held until its channel's history has been read."""
        channel = said.message.place.channel
        self._heard[channel] = max(said.message.id, self._heard.get(channel, 0))
        self._pass_on(said)

    def changed(self, changed: Changed) -> None:
        """An edit, in its turn among its channel's messages."""
        self._pass_on(changed)

    def gone(self, gone: Gone) -> None:
        """A deletion: behind the message where that waits, and else at once."""
        held = self._held.get(gone.channel, [])
        if any(one.message.id in gone.messages for one in held if not isinstance(one, Gone)):
            held.append(gone)
        else:
            self._give(gone)

    def _pass_on(self, heard: Said | Changed) -> None:
        held = self._held.get(heard.message.place.channel)
        if held is None:
            self._give(heard)
        else:
            held.append(heard)

    def begin(self) -> None:
        """From now on hold what the channels say that we know; `run` is to follow."""
        self._stop()
        for channel in self._world.seen:
            self._held.setdefault(channel, [])

    async def run(self) -> None:
        """Read what was missed; where Discord has just told the newest message of a channel, only if it is a new one.

        A channel never seen before starts at its newest message: no history is taken, none is missed later.
        """
        self._stop()
        self._pass = asyncio.current_task()
        channels = await self._to_read()
        for channel in channels:
            self._held.setdefault(channel, [])
        for channel in [channel for channel in self._held if channel not in channels]:
            self._release(channel)
        count = sum(await asyncio.gather(*map(self._read, channels)))
        if count:
            self._log.info("gateway.backfilled", count=count)

    def _stop(self) -> None:
        """End a pass that is not done; nothing of it runs after this, and what it holds stays held."""
        if self._pass is not None:
            self._pass.cancel()
            self._pass = None

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
        count = await self._channel(channel)
        self._release(channel)
        return count

    def _release(self, channel: int) -> None:
        for heard in self._held.pop(channel, []):
            self._give(heard)

    async def watch(self, renew: Callable[[str], Awaitable[None]], pause: Callable[[], Awaitable[None]]) -> None:
        """Notice a deaf gateway: after each `pause` REST must not know more of the busiest channel than we heard.

        What we have not heard is looked at again a pause later, so that a message on its way is no sign of deafness.
        """
        ahead: dict[int, int] = {}
        gone: set[int] = set()
        while True:
            await pause()
            seen = {channel: last for channel, last in self._world.seen.items() if channel not in gone}
            channel = max(seen, key=seen.__getitem__, default=0)
            newest = await self._patiently(partial(self._discord.newest, channel)) if channel else 0
            heard = max(self._world.seen.get(channel, 0), self._heard.get(channel, 0))
            if newest is None:
                gone.add(channel)  # not to be had any more: the next busiest tells as much
            elif newest <= heard:
                ahead.clear()
            elif heard < ahead.get(channel, 0):
                self._log.warning("gateway.deaf", channel=channel, newest=newest)
                ahead.clear()
                await renew("the gateway is deaf: channel history is ahead of it")
            else:
                ahead = {channel: newest}

    async def _channel(self, channel: int) -> int:
        after = self._world.seen.get(channel)
        if after is None:
            newest = await self._patiently(lambda: self._discord.newest(channel))
            if newest is None:
                return 0  # nothing is known of it: as what it counts is found out once it may be read
            # What was said since we listen is no history: it is given next, and not seen before it is claimed.
            held = [heard.message.id - 1 for heard in self._held[channel] if isinstance(heard, Said)]
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
                await self._sleep(later.after or pause)
                pause = min(60.0, pause * 2)
            except PostNever as never:
                self._log.debug("gateway.backfill_refused", reason=never.reason)
                return None
