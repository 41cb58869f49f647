"""What goes wrong around the connector in the soak, by chance, each for a bounded time: wire, disk, children."""

import asyncio
import contextlib
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from connector.ledger import FILE
from engine import processes
from fakes.discord import FakeDiscord
from fakes.program import Running, household
from tests.soak.people import People
from tests.system.crash_scenes import MESSAGES, REACTIONS
from tests.system.disks import refusing

ONE = MESSAGES + "/{message_id}"
TYPING = "/channels/{channel_id}/typing"
KEPT = 4
"""Sessions of the gateway that may still be resumed."""

ZOMBIE = 70.0
"""Seconds without an answer to heartbeats, longer than discord.py's patience of 60."""


class Trouble:
    """Everything that can go wrong but the connector's own life; `run` gives its present life, None between two."""

    def __init__(
        self,
        world: FakeDiscord,
        people: People,
        state: Path,
        dice: random.Random,
        counts: Counter[str],
        *,
        zombies: bool,
    ) -> None:
        self._world, self._people, self._ledger = world, people, state / FILE
        self._dice, self._counts, self._zombies = dice, counts, zombies
        self.run: Running | None = None
        self._table: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (8, self._cut),
            (4, self._asked_to_leave),
            (4, self._lost_session),
            (3, self._stalled),
            (2, self._closed_door),
            (2, self._doubled),
            (10, self._limited),
            (3, self._limited_everywhere),
            (8, self._fails),
            (8, self._reset),
            (3, self._hangs),
            (2, self._down),
            (4, self._locked),
            (2, self._disk_refuses),
            (3, self._frozen),
            (2, self._child_killed),
            (2, self._harm),
        ]

    async def go(self, mean: float) -> None:
        """One thing after the other, every `mean` seconds on average; ends by being cancelled."""
        zombie = asyncio.create_task(self._zombie()) if self._zombies else None
        try:
            while True:
                await asyncio.sleep(min(10.0, self._dice.expovariate(1 / mean)))
                self._forget()
                [act] = self._dice.choices([act for _, act in self._table], [weight for weight, _ in self._table])
                await act()
        finally:
            if zombie is not None:
                zombie.cancel()
            for fault in self._world.faults.rest:
                fault.release()
            self._forget()
            self._world.faults.clear()

    def _forget(self) -> None:
        """Count what is over and keep it no longer: a long run would drown in it."""
        faults, gateway = self._world.faults, self._world.gateway
        for fault in faults.rest:
            if fault.left == 0 and fault.hits:
                self._counts[f"REST {fault.name}"] += fault.hits
        faults.rest[:] = [fault for fault in faults.rest if fault.left != 0]
        self._counts["sessions begun"] += gateway.count("identify")
        self._counts["sessions resumed"] += gateway.count("resumed")
        gateway.log.clear()
        self._world.requests.clear()
        for name in list(gateway.sessions)[:-KEPT]:  # Discord forgets them too, after some minutes
            if gateway.sessions[name].line is None:
                del gateway.sessions[name]

    def _for(self, least: float, most: float) -> float:
        return self._dice.uniform(least, most)

    # -- the gateway -----------------------------------------------------------------------------------------------

    async def _cut(self) -> None:
        if self._dice.random() < 0.5:
            self._counts["gateway reset"] += 1
            self._world.faults.drop()
        else:
            self._counts["gateway cut in a frame"] += 1
            self._world.faults.tear()

    async def _asked_to_leave(self) -> None:
        self._counts["gateway asks to reconnect"] += 1
        with contextlib.suppress(TimeoutError):  # nobody listens: the connector is being killed, or is frozen
            match self._dice.randrange(3):
                case 0:
                    await self._world.faults.reconnect()
                case 1:
                    await self._world.faults.close(self._dice.choice((4000, 4001, 4008)))
                case _:
                    await self._world.faults.invalidate(resumable=True)

    async def _lost_session(self) -> None:
        """What happens for a moment is never told, and then the session is over: whoever comes back has to IDENTIFY."""
        self._counts["sessions lost"] += 1
        faults, gateway = self._world.faults, self._world.gateway
        faults.deaf = True
        await asyncio.sleep(self._for(0.0, 0.5))
        faults.deaf = False
        for name in [name for name, session in gateway.sessions.items() if session.line is None]:
            del gateway.sessions[name]
        with contextlib.suppress(TimeoutError):  # as above
            if self._dice.random() < 0.5:
                await faults.invalidate(resumable=False)
            else:
                await faults.close(self._dice.choice((4007, 4009)))

    async def _stalled(self) -> None:
        self._counts["gateway stalled"] += 1
        flowing = self._world.faults.flowing
        flowing.clear()
        await asyncio.sleep(self._for(0.2, 3.0))
        flowing.set()

    async def _closed_door(self) -> None:
        """No connection, or no RESUME, for a while."""
        self._counts["gateway refuses"] += 1
        faults, which = self._world.faults, self._dice.choice(("refuse_gateway", "refuse_resume"))
        setattr(faults, which, True)
        faults.drop()
        await asyncio.sleep(self._for(0.2, 2.0))
        setattr(faults, which, False)

    async def _doubled(self) -> None:
        self._counts["events doubled"] += (times := self._dice.randint(1, 20))
        self._world.faults.double(times)

    async def _zombie(self) -> None:
        """Heartbeats are not answered for longer than anybody waits."""
        while True:
            await asyncio.sleep(self._for(20.0, 120.0))
            self._counts["gateway zombies"] += 1
            self._world.faults.mute_heartbeats = True
            await asyncio.sleep(ZOMBIE)
            self._world.faults.mute_heartbeats = False

    # -- requests --------------------------------------------------------------------------------------------------

    def _route(self) -> tuple[str, str]:
        routes = (
            ("POST", MESSAGES),
            ("POST", MESSAGES),
            ("PATCH", ONE),
            ("PUT", REACTIONS),
            ("GET", MESSAGES),
            ("*", "."),
        )
        return self._dice.choice((*routes, ("POST", TYPING), ("POST", "/callback$")))

    async def _limited(self) -> None:
        times, after = self._dice.randint(1, 20), self._for(0.02, 0.5)
        scope = self._dice.choice(("user", "user", "shared"))
        self._world.faults.rate_limit(*self._route(), times=times, retry_after=after, scope=scope)

    async def _limited_everywhere(self) -> None:
        times, after = self._dice.randint(1, 5), self._for(0.05, 1.0)
        fault = self._world.faults.rate_limit("*", ".", times=times, retry_after=after, scope="global")
        fault.name = "429 global"

    async def _fails(self) -> None:
        times, status = self._dice.randint(1, 5), self._dice.choice((500, 502, 503, 504))
        if self._dice.random() < 0.5:
            self._world.faults.status(*self._route(), status, times=times)
        else:
            self._world.faults.stored_then(*self._route(), status, times=times)

    async def _reset(self) -> None:
        times = self._dice.randint(1, 5)
        cue = self._world.faults.reset if self._dice.random() < 0.5 else self._world.faults.stored_then_reset
        cue(*self._route(), times=times)

    async def _hangs(self) -> None:
        fault = self._world.faults.hang(
            *self._route(), times=self._dice.randint(1, 3), stored=self._dice.random() < 0.5
        )
        await asyncio.sleep(self._for(0.2, 3.0))
        fault.release()

    async def _down(self) -> None:
        self._counts["Discord down"] += 1
        await self._world.faults.server_down()
        await asyncio.sleep(self._for(0.1, 2.0))
        await self._world.faults.server_up()

    # -- disk and processes ----------------------------------------------------------------------------------------

    async def _locked(self) -> None:
        """Somebody else holds the ledger's lock, as a disk that stands still."""
        with contextlib.suppress(sqlite3.OperationalError):  # it is busy, or not there yet
            db = await asyncio.to_thread(_lock, self._ledger)
            self._counts["disk stalls"] += 1
            await asyncio.sleep(self._for(0.2, 3.0))
            await asyncio.to_thread(db.close)

    async def _disk_refuses(self) -> None:
        if self.run is not None:
            with contextlib.suppress(ProcessLookupError), refusing(self.run):
                self._counts["disk refusals"] += 1
                await asyncio.sleep(self._for(0.1, 1.5))

    async def _frozen(self) -> None:
        if self.run is not None:
            async with frozen(self.run.pid):
                self._counts["freezes"] += 1
                await asyncio.sleep(self._for(0.1, 2.0))

    async def _child_killed(self) -> None:
        if self.run is None:
            return
        family = await asyncio.to_thread(household, self.run.pid)
        if len(family) > 1 and processes.send(self._dice.choice(family[1:]), signal.SIGKILL) == "sent":
            self._counts["kills of children"] += 1

    async def _harm(self) -> None:
        await self._people.harm()


def _lock(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        db.close()
        raise
    return db


@contextlib.asynccontextmanager
async def frozen(pid: int) -> AsyncIterator[None]:
    """A process that stands still, and goes on afterwards whatever happens."""
    who = processes.identity(pid)
    if who is None:
        yield
        return
    processes.send(who, signal.SIGSTOP)
    try:
        yield
    finally:
        processes.send(who, signal.SIGCONT)
