"""Puts facts on the disk before anything of them is performed, and waits while it refuses; it decides nothing else.

It waits in the same way where the disk does not tell what is known already.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
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
    """The one way of the lanes' facts into the ledger, and of what they must know before a step out of it."""

    def __init__(self, ledger: Ledger, discord: Discord, clock: Clock, log: Log, spawn: Spawn) -> None:
        self._ledger, self._discord, self._clock, self._log, self._spawn = ledger, discord, clock, log, spawn
        self._told: set[int] = set()

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
        recorded = await self._insist(
            lambda: self._ledger.commit(new, at=self._clock.now(), closed=closed),
            lambda: (*said, *claims()),
            leaving,
        )
        if recorded:
            self._told.clear()
        return recorded

    async def known(
        self, messages: Sequence[int], claims: Callable[[], Iterable[facts.Claimed]], leaving: Callable[[], bool]
    ) -> frozenset[int] | None:
        """Those of these message ids that a round exists of; None where we are `leaving` and the disk does not tell."""
        found: list[frozenset[int]] = []
        failed = False

        async def look() -> None:
            nonlocal failed
            try:
                found.append(await self._ledger.known_messages(messages))
            except LedgerBroken as broken:
                failed = True
                self._ledger.told(str(broken))
                raise
            if failed:
                self._ledger.told("")

        return found[0] if await self._insist(look, claims, leaving) else None

    async def _insist(
        self,
        attempt: Callable[[], Awaitable[None]],
        claims: Callable[[], Iterable[facts.Claimed]],
        leaving: Callable[[], bool],
    ) -> bool:
        """Attempt it until the disk allows it; False where it does not and we are `leaving`."""
        broken = ""
        while True:
            try:
                await attempt()
            except LedgerBroken as error:
                if not broken:
                    self._log.warning("ledger.broken", reason=str(error))
                broken = str(error)
                for claim in claims():
                    if claim.message not in self._told:
                        self._told.add(claim.message)
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
