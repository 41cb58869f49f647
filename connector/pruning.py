"""Takes old texts out of the ledger at the start and once a day (CONTRACT, `state.keep`); it decides nothing else."""

from collections.abc import Awaitable, Callable

from connector.clock import Clock
from connector.ledger import Ledger, LedgerBroken
from connector.logs import Log

DAY = 86_400.0
"""Seconds."""


async def prune_daily(
    ledger: Ledger, days: float, clock: Clock, log: Log, sleep: Callable[[float], Awaitable[object]]
) -> None:
    """Until cancelled; with `days` 0 texts are kept for ever. `sleep` takes seconds.

    A disk that refuses is tried again a day later: texts that stay longer do no harm to the lanes.
    """
    while days:
        try:
            await ledger.prune(clock.now() - int(days * DAY * 1e9))
        except LedgerBroken as broken:
            log.warning("ledger.not_pruned", reason=str(broken))
        else:
            log.debug("ledger.pruned")
        await sleep(DAY)
