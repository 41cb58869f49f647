"""Engine: one child generation with the core in front of it; it performs what the core decides, and decides nothing.

One inbox, taken on the event loop by one owner: input, step, effects in order, then the one timer is armed again. An
input that comes while a step's effects are being performed waits in the inbox.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from engine import core, processes, waits
from engine.alarm import Alarm
from engine.child import Child, ChildSpec, Exit
from engine.commands import encode
from engine.events import (
    SECOND,
    Code,
    Effect,
    Exited,
    Fail,
    Input,
    Kill,
    Limits,
    Note,
    Read,
    Released,
    Sent,
    Stop,
    Tick,
    ToolClosed,
    Write,
)
from engine.pacing import Pace
from engine.processes import Identity
from engine.state import Advice, Condition, State, advice, deadline
from engine.wire import Framer, Line

Tell = Callable[[tuple[Effect, ...], bool], None]
"""Hears what the core told, in order, and whether the engine is busy after it (BEHAVIOUR §1.1)."""


class Engine:
    """One generation. All methods belong to one event loop; made by `start` only."""

    def __init__(self, child: Child, limits: Limits, max_line: int, tell: Tell, clock: Callable[[], int]) -> None:
        self._child = child
        self._tell = tell
        self._clock = clock
        self._framer = Framer(max_line)
        self._pace = Pace()
        self._inbox: deque[Input] = deque()
        self._performing = False
        self._told_busy = True
        self._turn_began = processes.instant()
        self._alarm = Alarm(clock, lambda: self.give(Tick()))
        self._stopping: asyncio.Task[Exit] | None = None
        self.state: State
        self.state, effects = core.start(child.generation, limits, clock())
        self._perform(effects)
        self._alarm.follow(deadline(self.state))
        self._living = asyncio.create_task(self._live())

    @classmethod
    async def start(
        cls,
        spec: ChildSpec,
        limits: Limits,
        *,
        generation: int,
        max_line: int,
        tell: Tell,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> "Engine":
        """Spawn the child and ask its state. Raises ChildUnusable for what the set-up must mend, OSError otherwise."""
        return cls(await Child.spawn(spec, generation), limits, max_line, tell, clock)

    @property
    def identity(self) -> Identity:
        """Pid and start time of the child."""
        return self._child.identity

    @property
    def busy(self) -> bool:
        """BEHAVIOUR §1.1: whether a turn given now would have to wait."""
        return self.state.busy

    def advise(self, long_wait: int) -> Advice:
        """What a person's line would do now (BEHAVIOUR §4, §5); `long_wait` in nanoseconds."""
        return advice(self.state, self._clock(), long_wait)

    def asks(self, dialog: str) -> bool:
        """Whether an answer to this dialog would be written."""
        live = self.state.condition is Condition.LIVE
        return live and any(one.name == dialog for one in self.state.dialogs)

    def left_by_turn(self) -> tuple[str, ...] | None:
        """What the last turn started and left running, by name; None where that is not verifiable here."""
        return None if self._child.remote else self._child.left_since(self._turn_began)

    def longest_wait(self) -> int | None:
        """Nanoseconds for which the oldest tool is open; None without one, and while a dialog waits (BEHAVIOUR §5)."""
        wait = waits.oldest(self.state.waits)
        return None if wait is None or self.state.dialogs else self._clock() - wait.since

    def overdue(self) -> float:
        """Seconds by which the core's deadline has passed: a moment, unless its timer is lost (BEHAVIOUR §7.27)."""
        due = deadline(self.state)
        return 0.0 if due is None else max(0, self._clock() - due) / SECOND

    def cpu(self) -> Mapping[Identity, float] | None:
        """CPU seconds so far of each process below the child; None where not verifiable; may be asked in a thread."""
        return None if self._child.remote else self._child.cpu()

    def stderr_tail(self) -> tuple[str, ...]:
        """The child's last words on stderr, for the log only."""
        return self._child.stderr_tail()

    def give(self, given: Input) -> None:
        """Post one input; it is taken at once unless effects are being performed."""
        self._inbox.append(given)
        if self._performing:
            return
        self._performing = True
        try:
            self._take()
            # A flood of reads would push an overdue timer ahead of itself for ever (BEHAVIOUR §7.27).
            due = deadline(self.state)
            if due is not None and due <= self._clock():
                self._inbox.append(Tick())
                self._take()
        finally:
            self._performing = False
        self._alarm.follow(deadline(self.state))

    def _take(self) -> None:
        """Step through the inbox, effects in order."""
        while self._inbox:
            given = self._inbox.popleft()
            if isinstance(given, Fail) and given.code is Code.RESTART:
                self._child.hold()
            self.state, effects = core.step(self.state, given, self._clock())
            self._perform(effects)

    async def stop(self) -> Exit:
        """Stop the child (BEHAVIOUR §1.17); nothing is written from now on."""
        self.give(Stop())
        return await self.wait()

    async def wait(self) -> Exit:
        """The child's exit, after the last word it wrote was read and its end was told."""
        return await asyncio.shield(self._living)

    async def _live(self) -> Exit:
        """Read until the process is gone, then tell its end, once (BEHAVIOUR §7.12)."""
        await self._child.pump(self._deliver)
        self._read(self._framer.close())
        ended = await self._child.wait()
        self.give(Exited(self._child.generation, ended.code))
        return ended

    def _deliver(self, chunk: bytes) -> Awaitable[None] | None:
        lines = self._framer.read(chunk)
        self._read(lines)
        rest = self._pace.rest(lines, len(chunk), self._clock())
        return asyncio.sleep(rest) if rest else None

    def _read(self, lines: tuple[Line, ...]) -> None:
        if lines:
            self.give(Read(self._child.generation, lines))

    def _perform(self, effects: tuple[Effect, ...]) -> None:
        """Writes and the stop ladder are done here; the rest is told."""
        told: list[Effect] = []
        for effect in effects:
            match effect:
                case Write(commands):
                    if self._child.write(b"".join(map(encode, commands))) == "closed":
                        told.append(Note("write-after-close"))
                case Sent():
                    self._turn_began = processes.instant()
                    told.append(effect)
                case Kill():
                    self._stopping = self._stopping or asyncio.create_task(self._child.stop())
                case _:
                    if isinstance(effect, ToolClosed | Released):
                        self._child.note_free()
                    told.append(effect)
        if effects or self.state.busy is not self._told_busy:  # also a run that is nobody's ends our waiting
            self._told_busy = self.state.busy
            self._tell(tuple(told), self.state.busy)
