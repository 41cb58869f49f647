"""The connector's lives in the soak, as systemd and an operator would give them: killed, stopped, started again."""

import asyncio
import contextlib
import random
import signal
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from connector import facts, ledger_read
from connector.exits import Refusal
from connector.ledger import FILE
from engine.processes import Identity, alive, row_of
from fakes.discord import FakeDiscord
from fakes.program import Home, Running
from tests.soak.trouble import Trouble
from tests.system.crash_scenes import left_over

START = 120.0
"""Seconds that a life may take to listen, or to end."""

FIRST = 10.0
"""Seconds that a life lasts at most until one was killed: every run has a kill -9 in it."""

GAP, SESSION = 400.0, 120.0
"""Seconds that have passed, by the connector's clock, for each life there was and for each session that was begun in
them: it begins no more than 40 an hour, and else would rightly wait for the rest of one."""

POINTS = (
    *("Claimed", "Written", "Started", "ToolOpened", "Answered", "Posted", "Ended", "Owed", "StopMarked", "Requeued"),
    *("ChildStarted", "CardShown", "Spawn", "Submit", "SteerIn", "Post", "React", "post"),
)
"""Records and effects before or behind which a life may end by its own kill -9 (`fakes.crashing`)."""

EVENTS = {
    "engine.wedged": "wedges",
    "engine.exit": "ends of children",
    "gateway.down": "gateway connections lost",
    "message.dead": "dead letters",
    "ledger.broken": "ledger broken",
    "turn.stopped": "turns stopped",
    "turn.retry_scheduled": "provider's limits",
    "steer.consumed": "lines joined",
    "discord.call_failed": "requests that failed unheard of",
}
"""What is counted of the log, and as what."""


def home(folder: Path, world: FakeDiscord, people: list[int], dice: random.Random | None = None) -> Home:
    """The home of all lives; each has settings of chance where they may change between two."""
    pick = dice.choice if dice is not None else lambda options: options[0]
    sections: dict[str, dict[str, Any]] = {
        "discord": {"reply_in": "channel", "progress": pick(("live", "live", "live", "off")), "stop_timeout": 5},
        "access": {"users": people, "operators": people[:1]},
        "lanes": {"busy": pick(("auto", "auto", "queue", "steer")), "per_person": 2000},
        "agent": {
            "env": {"FAKE_PI_LOG": "", "FAKE_PI_SCALE": "1000"},
            "max_children": pick((24, 24, 12, 50)),
            "idle_timeout": pick((900, 2)),
        },
        "engine": {"turn_timeout": 12, "tool_timeout": 15, "abort_grace": 1.5, "run_grace": 2, "kill_after": 0.5},
        "retry": {"backoff": [0.05, 0.1, 0.2, 0.2, 0.2]},
        "supervision": {"drain": pick((2, 0.5, 5))},
        "log": {"level": "info"},
    }
    return Home(folder, world, **sections)  # type: ignore[arg-type]  # sections by name


def recorded_children(state: Path) -> list[Identity]:
    """The children that the ledger takes for living; what no record names ends by the end of its input, in its time."""
    with contextlib.suppress(Refusal), ledger_read.opened(state / FILE) as db:
        rows = db.execute("SELECT body FROM latest WHERE topic = 'ChildStarted'").fetchall()
        found = [msgspec.json.decode(body, type=facts.ChildStarted) for (body,) in rows]
        return [Identity(fact.pid, fact.started) for fact in found]
    return []


class Lives:
    """One life after the other; `found` are the ends that must not be, `left` the processes that outlived theirs."""

    def __init__(
        self,
        folder: Path,
        world: FakeDiscord,
        people: list[int],
        *,
        dice: random.Random,
        counts: Counter[str],
        mean: float,
    ) -> None:
        self._folder, self._world, self._people = folder, world, people
        self._dice, self.counts, self._mean = dice, counts, mean
        self.trouble: Trouble
        self.calm = asyncio.Event()
        """From now on nobody ends a life but the connector itself."""
        self.done = asyncio.Event()
        """The life that is ends for good."""
        self.found: list[str] = []
        self.left: list[str] = []
        self.log = folder / "connector.log"
        self._known: list[Identity] = []
        """Children that the lives so far recorded and did not see end: READY may find none of them (BEHAVIOUR §6)."""
        self.first = asyncio.Event()
        """The first life listens."""
        self.warm = asyncio.Event()
        """Every lane has had an answer: what is said from now on must survive (BEHAVIOUR §6, first ready)."""

    async def go(self) -> None:
        """Live until `done` and a clean stop."""
        while True:
            await asyncio.sleep(0 if self.calm.is_set() else self._dice.choice((0.0, 0.0, 0.3, 1.5)))
            code = await self._live()
            if self.done.is_set() and code == 0:
                break
            if code == 3:
                await self._forgive()
        self.left += await left_over(self._folder, None)

    def _module(self) -> tuple[str, ...]:
        """What runs: some lives end by a point of their own; for each some minutes more have passed (`GAP`)."""
        if not self.first.is_set():
            return ("connector",)
        passed = GAP * self.counts["lives"] + SESSION * (
            self.counts["sessions begun"] + self._world.gateway.count("identify")
        )
        clock = f"clock:{passed:.0f}"
        if self.calm.is_set() or self._dice.random() < 0.6:
            return ("fakes.crashing", clock)
        when, name = self._dice.choice(("before", "after")), self._dice.choice(POINTS)
        return ("fakes.crashing", clock, f"{when}:{name}:{self._dice.randint(1, 80)}")

    async def _live(self) -> int:
        dice = self._dice if self.first.is_set() else None
        async with home(self._folder, self._world, self._people, dice).running(module=self._module()) as run:
            self.counts["lives"] += 1
            over = asyncio.create_task(run.exit(3600))
            try:
                code = await self._lived(run, over)
            finally:
                self.trouble.run = None
                over.cancel()
                await asyncio.gather(over, return_exceptions=True)
                self._keep(run)
        self._judge(code, run)
        self._known = await asyncio.to_thread(recorded_children, self._folder / "state")
        return code

    async def _lived(self, run: Running, over: "asyncio.Task[int]") -> int:
        limit = self._dice.expovariate(1 / self._mean)
        killed = bool(self.counts["kills of the connector"])
        if not killed:
            limit = min(limit, FIRST)
        if not await self._either(over, run.ready(START)):
            return over.result()
        self.trouble.run = run
        self.first.set()
        self.left += [f"{who.pid}, a child of an earlier life, is left at READY" for who in self._known if alive(who)]
        if row_of(run.pid) is not None:  # else it ended at once, and its own children are the next start's to end
            self.left += await left_over(self._folder, run)
        await self._either(over, self._end(limit))
        self.trouble.run = None
        if over.done():
            return over.result()
        if self.done.is_set() or (killed and self._dice.random() < 0.25):
            run.terminate()
            code = await asyncio.wait_for(asyncio.shield(over), START)
            self.counts["stops of the connector"] += code == 0
        else:
            run.signal_kill()
            code = await asyncio.wait_for(asyncio.shield(over), START)
            self.counts["kills of the connector"] += code == -signal.SIGKILL
        return code

    async def _end(self, limit: float) -> None:
        """Until somebody ends it."""
        await self.warm.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self.calm.wait()
        if self.calm.is_set():
            await self.done.wait()

    async def _either(self, over: "asyncio.Task[int]", other: Coroutine[Any, Any, None]) -> bool:
        """Whether this came before the life's end; its error is ours."""
        task = asyncio.create_task(other)
        try:
            await asyncio.wait({over, task}, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not over.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return not over.done()

    def _judge(self, code: int, run: Running) -> None:
        """An exit code that CONTRACT does not name, or an internal fault, is a find of its own."""
        self.counts[f"exit {code}"] += 1
        if code not in (0, 1, 3, -9):
            self.found.append(f"a life ended with {code}: {run.raw[-3:]}")
        for line in run.lines:
            event = str(line.get("event"))
            if event in EVENTS:
                self.counts[EVENTS[event]] += 1
            elif event == "gateway.backfilled":
                self.counts["messages backfilled"] += int(line.get("count", 0))
            elif event == "raw" or "internal fault" in str(line.get("reason", "")):
                self.found.append(f"an internal fault: {str(line)[:2000]}")

    def _keep(self, run: Running) -> None:
        with self.log.open("a") as file:
            file.writelines(f"{line}\n" for line in run.raw)

    async def _forgive(self) -> None:
        """An operator forgets the row of failed starts."""
        self.counts["rows of failed starts forgiven"] += 1
        async with home(self._folder, self._world, self._people).running(command="reset-wedges") as forgiving:
            assert await forgiving.exit() == 0, forgiving.raw
