"""An `Engine` on a real child, and everything it told; it waits for what is told and judges nothing."""

import contextlib
import time
from collections.abc import AsyncIterator
from typing import TypeVar

from engine import processes
from engine.child import ChildSpec
from engine.events import SECOND, Effect, Ended, Input, Limits, Outcome, SteerIn, Submit, Text, Tick
from engine.events import Ready as IsReady
from engine.runner import Engine
from fakes.real_pi import Launch
from fakes.waiting import Changes

E = TypeVar("E")

BOUND = 30.0
"""Seconds that a wait on a real child may take."""

LIMITS = Limits(turn_timeout=60 * SECOND, abort_grace=20 * SECOND, run_grace=20 * SECOND)
KILL_AFTER = 5.0
MAX_LINE = 1 << 26


def headed(words: str, mark: int) -> Text:
    """A person's words as the connector writes them."""
    return Text(f"[discord] #general · Ada (1001) · {mark}\n\n{words}")


class Watched(Engine):
    """An engine of which each input is told after its step, whether it had effects or not."""

    changes: Changes

    def give(self, given: Input) -> None:
        super().give(given)
        self.changes.tell()


class LiveEngine:
    """One generation. Turns are named by their mark, which is also the message id in their header."""

    def __init__(self) -> None:
        self.told: list[Effect] = []
        self.busy = True
        self._ahead = 0
        self.engine: Engine
        self._changes = Changes(lambda: f"told: {self.told[-12:]}")

    def _tell(self, told: tuple[Effect, ...], busy: bool) -> None:
        self.told += told
        self.busy = busy
        self._changes.tell()

    async def start(self, launch: Launch, limits: Limits) -> None:
        """Spawn the child and wait until it has told its state."""
        spec = ChildSpec(launch.command, str(launch.cwd), launch.env, KILL_AFTER)
        Watched.changes = self._changes
        self.engine = await Watched.start(
            spec, limits, generation=1, max_line=MAX_LINE, tell=self._tell, clock=self._now
        )
        await self.until(IsReady)

    def _now(self) -> int:
        return time.monotonic_ns() + self._ahead

    def advance(self, ns: int) -> None:
        """Let the engine's clock jump ahead, when the child has said what it had to say."""
        self._ahead += ns
        self.engine.give(Tick())

    def of(self, kind: type[E]) -> list[E]:
        """What it told of one kind, in order."""
        return [effect for effect in self.told if isinstance(effect, kind)]

    async def until(self, kind: type[E], count: int = 1) -> E:
        """The `count`-th effect of a kind."""
        await self._changes.until(lambda: len(self.of(kind)) >= count, BOUND, f"{kind.__name__} no. {count}")
        return self.of(kind)[count - 1]

    def submit(self, words: str, mark: int) -> None:
        """Give a turn."""
        self.engine.give(Submit(str(mark), headed(words, mark)))

    async def steer(self, words: str, mark: int) -> None:
        """Give a line to the running turn, and wait until pi has queued it."""
        self.engine.give(SteerIn(str(mark), headed(words, mark)))

        def queued() -> bool:
            steer = self.engine.state.steering.of(turn=str(mark))
            return steer is not None and steer.answered

        await self._changes.until(queued, BOUND, f"the answer to the steer {mark}")

    def outcome(self, mark: int) -> Outcome | None:
        """How a turn ended, None while it has not; AssertionError if it ended twice (BEHAVIOUR §7.8)."""
        found = [ended.outcome for ended in self.of(Ended) if ended.turn == str(mark)]
        assert len(found) <= 1
        return found[0] if found else None

    async def ended(self, mark: int) -> Outcome:
        """How a turn ended, once it has."""
        outcome = await self._changes.until(lambda: self.outcome(mark), BOUND, f"the end of {mark}")
        assert outcome is not None
        return outcome

    async def idle(self) -> None:
        """Wait until a turn given now would be written at once."""
        await self._changes.until(lambda: not self.busy, BOUND, "idleness")

    async def ask(self, words: str, mark: int) -> Outcome:
        """Give a turn, and wait for its end and for idleness after it."""
        self.submit(words, mark)
        outcome = await self.ended(mark)
        await self.idle()
        return outcome


@contextlib.asynccontextmanager
async def living(launch: Launch, limits: Limits = LIMITS) -> AsyncIterator[LiveEngine]:
    """An engine whose child has answered, stopped at the end; orphans of its child come to this process."""
    processes.become_subreaper()
    live = LiveEngine()
    await live.start(launch, limits)
    try:
        yield live
    finally:
        await live.engine.stop()
