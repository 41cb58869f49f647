"""Keeps the health of the parts, tells systemd of it and feeds its watchdog; it mends nothing and ends nothing.

The watchdog starves when the event loop does not turn, and when a part neither works nor is tried again as it should
be. A gateway or a disk that is down is shown, and never a reason to be killed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from connector.clock import Clock
from connector.health import Health, PartName, Works
from connector.ledger import Ledger
from connector.logs import Log
from connector.service_manager import ServiceManager
from engine.events import SECOND

GATEWAY_TRY = 180.0
"""Seconds that one attempt at Discord may take until something is heard of it: login and connecting are bounded."""

DISK_TRY = 60.0
"""Seconds until the next attempt at the disk, or the next look at one that says nothing."""

SLOW_DISK = 5.0
"""Seconds that a record may take before the disk counts as one that does not answer."""

LANES_LATE = 60.0
"""Seconds that the lanes may take to answer; while the disk fails they wait for it."""

CHILD_LATE = 60.0
"""Seconds that an agent's bound may be late, or that meeting it may take beyond its bounds."""

OVERDUE = 1.0
"""Seconds that a bound may be late without a word: the loop was busy."""

QUESTIONS = 3
"""So many answers of its are waited for when the agent is met."""

MEETINGS = (5.0, 15.0, 45.0)
"""Seconds between the attempts to get the agent's first answer; the last pause again and again."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Where to look at what does not tell of itself.

    `connected`: whether a socket to Discord stands. `overdue`: seconds by which an agent's bound has passed.
    `draining`: why the lanes end the program soon, or nothing. `lanes` asks them what changes nothing.
    """

    ledger: Ledger
    connected: Callable[[], bool]
    overdue: Callable[[], float]
    draining: Callable[[], str]
    lanes: Callable[[], Awaitable[object]]


class Watch:
    """The health of one life. `child_bound`: seconds that the agent may take for one answer."""

    def __init__(
        self,
        manager: ServiceManager,
        clock: Clock,
        log: Log,
        *,
        redact: Callable[[str], str],
        child_bound: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._manager, self._clock, self._log, self._redact, self._sleep = manager, clock, log, redact, sleep
        self._meeting = QUESTIONS * child_bound + CHILD_LATE
        self._met = self._ready = self._relaying = self._ending = False
        self.over = asyncio.Event()
        """Set once the start is over: Discord and the agent have been seen to work."""
        self._told = ""
        self._starved: tuple[str, ...] = ()
        self._asked: tuple[int, asyncio.Future[object]] | None = None
        now = clock.now()
        gateway, child = now + _ns(GATEWAY_TRY), now + _ns(self._meeting)
        self._health = Health.starting(now, gateway_due=gateway, children_due=child)
        self._tell()

    @property
    def health(self) -> Health:
        """How the parts are, as far as it was told and seen."""
        return self._health

    # -- told to us ------------------------------------------------------------------------------------------------

    def connected(self) -> None:
        """READY or RESUMED was read."""
        self._become(self._health.works("gateway"))

    def disconnected(self, reason: str, pause: float) -> None:
        """The gateway is down; the next attempt begins in `pause` seconds."""
        self._fails("gateway", reason, pause + GATEWAY_TRY)

    def recorded(self, broken: str) -> None:
        """The disk took a transaction, or (`broken`: why) refused it."""
        if broken:
            self._fails("ledger", broken, DISK_TRY)
        elif not isinstance(self._health.ledger, Works):
            self._become(self._health.works("ledger"))

    async def meet(self, ask: Callable[[], Awaitable[str]]) -> None:
        """Have the agent asked until it gives its first answer; `ask` returns why it gave none, or nothing."""
        number = 0
        while why := await ask():
            pause = MEETINGS[min(number, len(MEETINGS) - 1)]
            number += 1
            self._log.warning("agent.unanswered", reason=why, pause=pause)
            self._fails("children", why, pause + self._meeting)
            await self._sleep(pause)
        self._met = True
        self._become(self._health.works("children"))

    def relaying(self) -> None:
        """The lanes run: from now on they must answer, and Discord and the agent are tried."""
        self._begin_now()
        self._relaying = True

    def stopping(self, why: str) -> None:
        """The end has begun; what is heard from now on is no news."""
        self._ending = True
        self._manager.stopping(self._redact(f"Stopping: {why}" if why else "Stopping"))

    # -- looked at -------------------------------------------------------------------------------------------------

    async def run(self, sight: Sight) -> None:
        """Look and feed the watchdog until cancelled; returns at once where there is none."""
        if self._manager.period is None:
            return
        while True:
            self.look(sight)
            self._feed()
            await self._sleep(self._manager.period / 3)

    def look(self, sight: Sight) -> None:
        """See how the parts are that do not tell of themselves; also for whoever asks without a watchdog."""
        now = self._clock.now()
        if not self._relaying:
            self._begin_now()
        if sight.connected():  # it may wait for READY as long as it likes: its heartbeats are answered
            self._become(self._health.until("gateway", now + _ns(GATEWAY_TRY)))
        if sight.ledger.lives and sight.ledger.stalled() >= SLOW_DISK:
            self._fails("ledger", "the disk does not answer", DISK_TRY, again=False)
        if self._relaying:
            self._look_at_lanes(sight, now)
        if self._met:
            self._look_at_children(sight, now)

    def _begin_now(self) -> None:
        """The time of Discord and the agent begins with the lanes: not while a start still waits for its disk."""
        now = self._clock.now()
        self._become(self._health.until("gateway", now + _ns(GATEWAY_TRY)))
        self._become(self._health.until("children", now + _ns(self._meeting)))

    def _look_at_lanes(self, sight: Sight, now: int) -> None:
        if self._asked is None or self._asked[1].done():
            self._asked = (now, asyncio.ensure_future(sight.lanes()))
            self._asked[1].add_done_callback(self._answered)
            return
        since = self._asked[0] if isinstance(self._health.ledger, Works) else now
        due = since + _ns(LANES_LATE)
        self._become(self._health.fails("loop", "the lanes do not answer", now, due=due, again=False))

    def _answered(self, answer: "asyncio.Future[object]") -> None:
        if not answer.cancelled() and answer.exception() is None and not isinstance(self._health.loop, Works):
            self._become(self._health.works("loop"))

    def _look_at_children(self, sight: Sight, now: int) -> None:
        late = sight.overdue()
        if late >= OVERDUE:
            due = now + _ns(CHILD_LATE - late)
            self._become(self._health.fails("children", "an agent's bound has passed", now, due=due, again=False))
        elif draining := sight.draining():
            self._fails("children", f"{draining}; a new start follows", CHILD_LATE, again=False)
        elif not isinstance(self._health.children, Works):
            self._become(self._health.works("children"))

    def _feed(self) -> None:
        stopped = self._health.stopped(self._clock.now())
        if not stopped:
            self._manager.alive()
        elif stopped != self._starved:
            self._log.error("watchdog.starved", parts=list(stopped), status=self._words())
        self._starved = stopped
        self._tell()  # also what the manager could not take before

    # -- told by us ------------------------------------------------------------------------------------------------

    def _fails(self, part: PartName, reason: str, within: float, *, again: bool = True) -> None:
        now = self._clock.now()
        self._become(self._health.fails(part, reason, now, due=now + _ns(within), again=again))

    def _become(self, health: Health) -> None:
        self._health = health
        self._tell()
        if health.ready:
            self.over.set()

    def _words(self) -> str:
        return self._redact(self._health.status_line())

    def _tell(self) -> None:
        """READY once, and every change of the words."""
        if self._ending:
            return
        words = self._words()
        if self._health.ready and not self._ready:
            self._ready = self._took(self._manager.ready(words), words)
        elif words != self._told:
            self._took(self._manager.status(words), words)

    def _took(self, taken: bool, words: str) -> bool:
        if taken:
            self._told = words
            self._log.debug("service_manager.told", status=words)
        elif self._manager.trouble:
            self._log.debug("service_manager.trouble", reason=self._manager.trouble)
        return taken


def _ns(seconds: float) -> int:
    return int(seconds * SECOND)
