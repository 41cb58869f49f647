"""What goes wrong around the connector in the soak, each for a bounded time: every kind once, then by chance.

It counts what took place, not what was asked for: connections that were hit, requests that met a fault, processes that
are gone.
"""

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
from fakes.program import Running, ends, household
from tests.soak import kinds
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
        """Each kind once, then one after the other, every `mean` seconds on average; ends by being cancelled."""
        zombie = asyncio.create_task(self._zombie()) if self._zombies else None
        try:
            await self._each_once()
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

    async def _each_once(self) -> None:
        """Whatever must take place in a run, in an order of chance, each when there is a connector for it to meet."""
        acts = self.acts()
        todo = self._dice.sample(list(acts), len(acts))
        while todo:
            kind = todo.pop(0)
            if self.run is not None and self._connected():
                await acts[kind]()
            await asyncio.sleep(self._for(0.2, 0.5))
            self._forget()
            if not kinds.happened(kind, self._counts):
                todo.append(kind)

    def acts(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """What brings each kind (`kinds.LEAST`); the lives see to their own end."""
        return {
            "gateway connection cut": self._cut,
            "connection asked to leave": self._asked_to_leave,
            "lost session": self._lost_session,
            "gateway that stalls": self._stalled,
            "gateway that refuses": self._closed_door,
            "429": self._limited,
            "request that fails": self._fails,
            "request whose connection is reset": self._reset,
            "request that hangs": self._hangs,
            "Discord that is down": self._down,
            "disk that stalls": self._locked,
            "disk that refuses": self._disk_refuses,
            "freeze of the connector": self._frozen,
            "kill -9 of a child": self._child_killed,
        }

    def _connected(self) -> bool:
        """Whether the connector is on the gateway, so that there is something to be hit."""
        return any(session.line is not None for session in self._world.gateway.sessions.values())

    def _forget(self) -> None:
        """Count what is over and keep it no longer: a long run would drown in it."""
        faults, gateway = self._world.faults, self._world.gateway
        for fault in faults.rest:
            if fault.hits:
                self._counts[f"REST {fault.name}"] += fault.hits
                fault.hits = 0
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
        reset = self._dice.random() < 0.5
        self._counts["gateway reset" if reset else "gateway cut in a frame"] += self._connected()
        (self._world.faults.drop if reset else self._world.faults.tear)()

    async def _asked_to_leave(self) -> None:
        self._counts["gateway asks to reconnect"] += self._connected()
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
        faults, gateway = self._world.faults, self._world.gateway
        faults.deaf = True
        await asyncio.sleep(self._for(0.0, 0.5))
        faults.deaf = False
        for name in [name for name, session in gateway.sessions.items() if session.line is None]:
            del gateway.sessions[name]
        self._counts["sessions lost"] += self._connected()
        with contextlib.suppress(TimeoutError):  # as above
            if self._dice.random() < 0.5:
                await faults.invalidate(resumable=False)
            else:
                await faults.close(self._dice.choice((4007, 4009)))

    async def _stalled(self) -> None:
        self._counts["gateway stalled"] += self._connected()
        flowing = self._world.faults.flowing
        flowing.clear()
        await asyncio.sleep(self._for(0.2, 3.0))
        flowing.set()

    async def _closed_door(self) -> None:
        """No connection, or no RESUME, for a while."""
        self._counts["gateway refuses"] += self._connected()
        faults, which = self._world.faults, self._dice.choice(("refuse_gateway", "refuse_resume"))
        setattr(faults, which, True)
        faults.drop()
        await asyncio.sleep(self._for(0.2, 2.0))
        setattr(faults, which, False)

    async def _doubled(self) -> None:
        self._counts["events to be doubled"] += (times := self._dice.randint(1, 20))
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
        self._counts["Discord down"] += self._connected()
        await self._world.faults.server_down()
        try:
            await asyncio.sleep(self._for(0.1, 2.0))
        finally:  # of a run too that ends right now
            await self._world.faults.server_up()

    # -- disk and processes ----------------------------------------------------------------------------------------

    async def _locked(self) -> None:
        """Somebody else holds the ledger's lock, as a disk that stands still."""
        with contextlib.suppress(sqlite3.OperationalError):  # it is busy, or not there yet
            db = await asyncio.to_thread(_lock, self._ledger)
            try:
                run = self.run
                await asyncio.sleep(self._for(0.2, 3.0))
                self._counts["disk stalls"] += run is not None and run is self.run
            finally:
                db.close()

    async def _disk_refuses(self) -> None:
        if (run := self.run) is not None:
            with contextlib.suppress(ProcessLookupError), refusing(run):
                await asyncio.sleep(self._for(0.1, 1.5))
                self._counts["disk refusals"] += 1

    async def _frozen(self) -> None:
        if self.run is not None:
            async with frozen(self.run.pid) as stands:
                self._counts["freezes"] += stands
                await asyncio.sleep(self._for(0.1, 2.0))

    async def _child_killed(self) -> None:
        if self.run is None:
            return
        family = await asyncio.to_thread(household, self.run.pid)
        if len(family) > 1 and processes.send(child := self._dice.choice(family[1:]), signal.SIGKILL) == "sent":
            self._counts["kills of children"] += await asyncio.to_thread(ends, child.pid)

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
async def frozen(pid: int) -> AsyncIterator[bool]:
    """A process that stands still (False: there is none), and goes on afterwards whatever happens."""
    who = processes.identity(pid)
    if who is None:
        yield False
        return
    stands = processes.send(who, signal.SIGSTOP) == "sent"
    try:
        yield stands
    finally:
        processes.send(who, signal.SIGCONT)
