"""Opens threads; until one stands, what is to be posted in it is held; it decides nothing."""

import asyncio
from collections.abc import Callable

from connector import facts
from connector.lane_effects import OpenThread
from connector.lane_events import ThreadDone
from connector.logs import Log
from connector.ports import Discord, PostLater, PostNever
from connector.posting import Posting

LONGEST_PAUSE = 60.0


class Threads:
    """The threads that are being opened. `posting` takes what was held, once it is known where it goes."""

    def __init__(self, discord: Discord, log: Log, posting: Callable[[], Posting]) -> None:
        self._discord, self._log, self._posting = discord, log, posting
        self.opening: dict[int, list[facts.Owed]] = {}

    def expect(self, effect: OpenThread) -> None:
        """From now on hold what is owed there."""
        self.opening.setdefault(effect.message, [])

    def holds(self, owed: facts.Owed) -> bool:
        """Keep a post of a thread that does not stand yet; whether it is one."""
        if owed.channel not in self.opening:
            return False
        self.opening[owed.channel].append(owed)
        return True

    def withdraw(self, round_: str) -> None:
        """Nothing of this round is posted any more."""
        for held in self.opening.values():
            held[:] = [owed for owed in held if owed.round != round_]

    async def open(self, effect: OpenThread) -> ThreadDone:
        """Open it, or after a lost reply find it by its id; what is owed there is held until `release`."""
        pause = 1.0
        while True:
            try:
                await self._discord.open_thread(effect.parent, effect.message, effect.name)
            except PostLater as later:
                self._log.warning("thread.delayed", message_id=effect.message, reason=later.reason)
                await asyncio.sleep(later.after or pause)
                pause = min(LONGEST_PAUSE, pause * 2)
            except PostNever as never:
                self._log.warning("thread.refused", message_id=effect.message, reason=never.reason)
                return ThreadDone(effect.message, effect.parent, opened=False)
            else:
                return ThreadDone(effect.message, effect.parent, opened=True)

    def release(self, done: ThreadDone) -> None:
        """Post what was held, now that it is recorded where it goes."""
        for owed in self.opening.pop(done.channel, []):
            self._posting().owe(owed if done.opened else facts.moved(owed, done.parent))
