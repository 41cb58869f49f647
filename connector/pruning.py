"""Takes old texts out of the ledger at the start and once a day, and the files that came and went with them; no more.

CONTRACT, `state.keep`. What decides about a file of the inbox is whether its message's text still stands: so files that
an end of the program left behind go at the next start, those of a deleted message too.
"""

import asyncio
import contextlib
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from connector.clock import Clock
from connector.inbox import Inbox
from connector.ledger import Ledger, LedgerBroken
from connector.ledger_texts import with_text
from connector.logs import Log
from engine.events import SECOND

DAY = 86_400.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What holds texts of people and of the agent; `outboxes`: the folder that has one for each lane."""

    ledger: Ledger
    inbox: Inbox
    outboxes: Path


async def prune_daily(
    kept: Kept, days: float, clock: Clock, log: Log, sleep: Callable[[float], Awaitable[object]]
) -> None:
    """Until cancelled; with `days` 0 texts are kept for ever. `sleep` takes seconds.

    A disk that refuses is tried again a day later: texts that stay longer do no harm to the lanes.
    """
    while True:
        before = clock.now() - int(days * DAY * SECOND)
        try:
            if days:
                await kept.ledger.prune(before)
                await asyncio.to_thread(prune_outboxes, kept.outboxes, before)
            await prune_inboxes(kept.ledger, kept.inbox)
        except (LedgerBroken, OSError) as broken:
            log.warning("ledger.not_pruned", reason=str(broken))
        else:
            log.debug("ledger.pruned")
        await sleep(DAY)


async def prune_inboxes(ledger: Ledger, inbox: Inbox) -> None:
    """Remove the files of messages whose texts are gone. A claim is recorded before its files are brought.

    Raises LedgerBroken.
    """
    found = await asyncio.to_thread(inbox.messages)
    for message in found - await ledger.look(partial(with_text, messages=found)):
        await asyncio.to_thread(inbox.forget, message)


def prune_outboxes(root: Path, before: int) -> None:
    """Remove what the agent put into an outbox and has not touched since before this instant (ns).

    What was sent of it stands in Discord. A file that was copied with an old date is as new as its copying. Blocks.
    """
    if not root.is_dir():
        return
    for _, _, names, folder in os.fwalk(root):
        for name in names:
            with contextlib.suppress(OSError):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode) and max(found.st_mtime_ns, found.st_ctime_ns) < before:
                    os.unlink(name, dir_fd=folder)
