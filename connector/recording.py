"""Puts facts on the disk before anything of them is performed, and waits while it refuses; it decides nothing else."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from connector import facts, notices
from connector.clock import Clock
from connector.lanes import Stepped
from connector.ledger import Ledger, LedgerBroken
from connector.logs import Log
from connector.ports import Discord, Part, PostLater, PostNever

Spawn = Callable[[Coroutine[Any, Any, None]], None]

DISK_PAUSE = 1.0
"""Seconds between attempts to write what the disk refused."""


class Recording:
    """The one way of the lanes' facts into the ledger."""

    def __init__(self, ledger: Ledger, discord: Discord, clock: Clock, log: Log, spawn: Spawn) -> None:
        self._ledger, self._discord, self._clock, self._log, self._spawn = ledger, discord, clock, log, spawn

    async def keep(
        self, steps: Sequence[Stepped], claims: Callable[[], Iterable[facts.Claimed]], leaving: Callable[[], bool]
    ) -> bool:
        """Record everything of these steps in one transaction; False where we are `leaving` and the disk refuses.

        While it refuses nothing goes on, and whoever writes is told: `claims` are what was said meanwhile.
        """
        new = [fact for step in steps for fact in step.facts]
        if not new:
            return True
        closed = [name for step in steps for name in step.closed]
        said = [fact for fact in new if isinstance(fact, facts.Claimed)]
        told: set[int] = set()
        broken = ""
        while True:
            try:
                await self._ledger.commit(new, at=self._clock.now(), closed=closed)
            except LedgerBroken as error:
                if not broken:
                    self._log.warning("ledger.broken", reason=str(error))
                broken = str(error)
                for claim in (*said, *claims()):
                    if claim.message not in told:
                        told.add(claim.message)
                        self._spawn(self._tell(claim))
                if leaving():
                    return False
                await asyncio.sleep(DISK_PAUSE)
            else:
                if broken:
                    self._log.info("ledger.mended")
                return True

    async def _tell(self, claim: facts.Claimed) -> None:
        """A notice that needs no record: it is not the end of the message, which is taken when the disk is mended."""
        channel = claim.parent or claim.channel
        part = Part(channel, notices.disk_trouble(), nonce=f"disk-{claim.message}", reply_to=claim.message)
        try:
            await self._discord.post(part)
        except (PostLater, PostNever) as trouble:
            self._log.warning("post.failed", reason=trouble.reason, message_id=claim.message)
