"""What a start does before the lanes go on: gathers evidence, or refuses aloud."""

import asyncio
import contextlib
from pathlib import Path

from connector import facts, notices, sessions
from connector.clock import Clock
from connector.dispatch import Dispatcher
from connector.exits import Refusal
from connector.gateway import Gateway
from connector.lane_events import Recover
from connector.ledger import Ledger, LedgerBroken
from connector.logs import Log
from connector.outbox import nonce
from connector.ports import Part, PostLater, PostNever
from connector.recording import DISK_PAUSE
from connector.world import AT_CHILD, World

REFUSAL_BOUND = 30.0
"""Seconds for telling the lanes that this start refuses."""


async def record(ledger: Ledger, fact: facts.AnyFact, clock: Clock, log: Log) -> None:
    """Record what nothing goes on without, once the disk takes it."""
    refused = 0
    while True:
        try:
            await ledger.commit([fact], at=clock.now())
        except LedgerBroken as broken:
            refused += 1
            if refused == 1:
                log.warning("ledger.broken", reason=str(broken))
            await asyncio.sleep(DISK_PAUSE)
        else:
            break
    if refused:
        log.info("ledger.mended")


async def refuse_start(gateway: Gateway, dispatcher: Dispatcher, in_row: int, most: int) -> None:
    """Too many failed starts in a row: say so where somebody waits, and refuse (BEHAVIOUR §6)."""
    await _say_refused(gateway, dispatcher, in_row)
    raise Refusal(
        f"the agent failed {in_row} times in a row (supervision.max_wedges = {most})",
        "see the log for why, mend it, then run pi-connector reset-wedges",
    )


async def _say_refused(gateway: Gateway, dispatcher: Dispatcher, in_row: int) -> None:
    """One post in each lane that has a message waiting; a Discord that cannot be reached is left alone."""
    world = dispatcher.lanes.world
    waiting = [lane for lane in world.lanes.values() if lane.waiting]
    if not waiting:
        return
    up = asyncio.Event()
    dispatcher.on_connected = lambda _: up.set()
    running = asyncio.create_task(gateway.run())
    with contextlib.suppress(TimeoutError, Refusal):
        async with asyncio.timeout(REFUSAL_BOUND):
            await asyncio.wait({running, asyncio.create_task(up.wait())}, return_when=asyncio.FIRST_COMPLETED)
            for lane in waiting:
                first = world.rounds[lane.waiting[0]]
                part = Part(lane.channel, notices.too_many_failures(in_row), nonce(f"{first.id}/refused", in_row))
                with contextlib.suppress(PostLater, PostNever):
                    await gateway.post(part)
    await gateway.close()
    await asyncio.gather(running, return_exceptions=True)


def recovery(world: World) -> Recover:
    """What the session files tell of the rounds that were at a child."""
    begun: set[str] = set()
    tooled: set[str] = set()
    for lane in world.lanes.values():
        rounds = {str(r.message): r.id for name in lane.held if (r := world.rounds[name]).phase in AT_CHILD}
        if rounds and lane.session:
            told = sessions.evidence(Path(lane.session), rounds.keys())
            begun |= {rounds[mark] for mark in told.begun}
            tooled |= {rounds[mark] for mark in told.tooled}
    return Recover(frozenset(begun), frozenset(tooled))
