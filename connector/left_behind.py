"""Children of an earlier life that still run, ended before this life starts any; it starts none itself."""

from msgspec.structs import replace

from connector import facts
from connector.clock import Clock
from connector.ledger import Known, Ledger, LedgerBroken
from connector.logs import Log
from engine import processes, sweep
from engine.processes import Identity


async def sweep_left(known: Known, ledger: Ledger, clock: Clock, log: Log, *, kill_after: float) -> Known:
    """End every child of an earlier life that still runs, with its descendants (BEHAVIOUR §6); what is known then."""
    for child in [fact for fact in known.world if isinstance(fact, facts.ChildStarted)]:
        who = Identity(child.pid, child.started)
        swept = 0
        if processes.alive(who):
            swept = (await sweep.end_tree(who, kill_after=kill_after)).ended
            log.warning(
                "engine.exit",
                child=child.child,
                lane=child.lane,
                code=-9,
                expected=False,
                swept=swept,
                reason="left behind by an earlier start",
            )
        ended = facts.ChildEnded(child.child, 0, expected=False)
        known = replace(known, world=(*known.world, ended))
        try:
            await ledger.commit([ended], at=clock.now())
        except LedgerBroken as broken:  # the next start looks for it again, and finds nobody
            log.warning("ledger.broken", reason=str(broken))
    return known
