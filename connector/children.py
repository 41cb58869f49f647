"""The children of the pool as running engines: starts, feeds and stops them as the lanes say; it decides nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from connector import sessions
from connector.cards import Cpu
from connector.gathering import Gathering
from connector.lane_events import ChildDown, ChildSays, ChildUp, Input, SessionGone
from connector.logs import Log
from connector.long_waits import LongWaits
from engine.child import ChildSpec, ChildUnusable, Exit
from engine.events import Effect, Limits, Note
from engine.events import Input as EngineInput
from engine.runner import Engine
from engine.state import Advice


class Nursery(Struct, frozen=True):
    """How children are started: command and bounds, `long_wait` in nanoseconds.

    `prepare` makes what a lane's child is to find before it is started, in a thread.
    """

    spec: ChildSpec
    limits: Limits
    max_line: int
    long_wait: int
    prepare: Callable[[str], None] = lambda _lane: None


class Children:
    """Engines by lane. Everything told goes to `put` as an input of the lanes.

    `linger` hears of tools that have been open for longer than `steering.long_wait`.
    """

    def __init__(
        self,
        nursery: Nursery,
        put: Callable[[Input], None],
        log: Log,
        linger: Callable[[str, int, Cpu], None] = lambda _lane, _child, _cpu: None,
    ) -> None:
        self._nursery = nursery
        self._put = put
        self._log = log
        self._engines: dict[str, tuple[int, Engine]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._notes: dict[tuple[int, str], int] = {}
        self._long_waits = LongWaits(nursery.long_wait, linger)

    def advise(self, lane: str) -> Advice:
        """What the lane's engine would do with a person's line now."""
        found = self._engines.get(lane)
        return found[1].advise(self._nursery.long_wait) if found is not None else Advice.QUEUE

    def left(self, lane: str, child: int) -> tuple[str, ...] | None:
        """What the lane's last turn left running, by name; None where not verifiable; may be asked in a thread."""
        found = self._engines.get(lane)
        return found[1].left_by_turn() if found is not None and found[0] == child else ()

    def overdue(self) -> float:
        """Seconds by which the bound of some engine has passed; 0 where each is in time."""
        return max((engine.overdue() for _, engine in self._engines.values()), default=0.0)

    def spawn(self, lane: str, child: int, session: str) -> None:
        """Start a child for the lane; a session file that cannot be resumed is told first."""
        if not self._too_late(lane, child):
            self._run(self._live(lane, child, session))

    def tell(self, lane: str, child: int, given: EngineInput) -> None:
        """Feed the lane's engine; one that is gone hears nothing, its end was told."""
        found = self._engines.get(lane)
        if found is not None and found[0] == child:
            found[1].give(given)

    def asks(self, lane: str, child: int, dialog: str) -> bool:
        """Whether this child still waits for an answer to this dialog."""
        found = self._engines.get(lane)
        return found is not None and found[0] == child and found[1].asks(dialog)

    def retire(self, lane: str, child: int) -> None:
        """Stop this child; its exit is told when it is gone."""
        found = self._engines.get(lane)
        if found is not None and found[0] == child:
            self._run(_stop(found[1]))

    async def stop_all(self) -> None:
        """Stop all children, also those that are just being started, and wait until they and what they left are gone.

        From now on none is started.
        """
        self._closing = True
        for _, engine in list(self._engines.values()):
            self._run(_stop(engine))
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _run(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _live(self, lane: str, child: int, session: str) -> None:
        here = bool(session) and not self._nursery.spec.remote  # where files are out of reach, none is looked at
        if here and not await asyncio.to_thread(self._session_usable, Path(session)):
            self._put(SessionGone(lane))
        await asyncio.to_thread(self._prepare, lane)
        if self._too_late(lane, child):
            return

        def tell(told: tuple[Effect, ...], busy: bool) -> None:
            self._note(lane, child, told)
            self._put(ChildSays(lane, child, told, busy))
            self._long_waits.hear(lane, child, engine, told)

        gathering = Gathering(tell)
        held: list[tuple[tuple[Effect, ...], bool]] = []
        listening: list[Callable[[tuple[Effect, ...], bool], None]] = [lambda told, busy: held.append((told, busy))]
        try:
            engine = await Engine.start(
                self._nursery.spec,
                self._nursery.limits,
                generation=child,
                max_line=self._nursery.max_line,
                tell=lambda told, busy: listening[0](told, busy),  # noqa: PLW0108 - the listener changes once
            )
        except ChildUnusable as unusable:
            reason = f"agent.command: {unusable.reason}; {unusable.mend}"
            self._put(ChildDown(lane, child, None, expected=False, reason=reason))
            return
        except OSError as error:
            reason = f"could not be started: {error}"
            self._log.error("engine.exit", lane=lane, child=child, code=-1, expected=False, swept=0, reason=reason)
            self._put(ChildDown(lane, child, -1, expected=False))
            return
        self._engines[lane] = (child, engine)
        if self._closing:
            self._run(_stop(engine))
        self._put(ChildUp(lane, child, engine.identity.pid, engine.identity.started))
        listening[0] = gathering.hear
        for told, busy in held:
            gathering.hear(told, busy)
        ended = await engine.wait()
        gathering.flush()
        del self._engines[lane]
        self._long_waits.forget(lane, child)
        self._exited(lane, child, ended, engine)
        self._put(ChildDown(lane, child, ended.code, ended.expected))

    def _too_late(self, lane: str, child: int) -> bool:
        """Whether none is started any more; its lane is told so."""
        if self._closing:
            self._put(ChildDown(lane, child, 0, expected=True))
        return self._closing

    def _session_usable(self, path: Path) -> bool:
        if sessions.usable(path):
            return True
        sessions.keep_aside(path)
        return False

    def _prepare(self, lane: str) -> None:
        """A child without its outbox answers all the same."""
        try:
            self._nursery.prepare(lane)
        except OSError as error:
            self._log.warning("outbox.missing", lane=lane, reason=str(error))

    def _note(self, lane: str, child: int, told: tuple[Effect, ...]) -> None:
        """Log the first note of a kind of each child; count the rest."""
        for effect in told:
            if isinstance(effect, Note):
                key = (child, effect.kind)
                self._notes[key] = self._notes.get(key, 0) + 1
                if self._notes[key] == 1:
                    self._log.info("engine.note", lane=lane, child=child, kind=effect.kind, detail=effect.detail[:500])

    def _exited(self, lane: str, child: int, ended: Exit, engine: Engine) -> None:
        swept = "not verifiable here" if ended.swept is None else ended.swept
        fields = {"lane": lane, "child": child, "code": ended.code, "expected": ended.expected, "swept": swept}
        counts = {kind: count for (number, kind), count in self._notes.items() if number == child and count > 1}
        self._notes = {key: count for key, count in self._notes.items() if key[0] != child}
        if counts:
            fields["notes"] = counts
        if ended.left:
            fields["left"] = list(ended.left)
        if ended.expected:
            self._log.info("engine.exit", **fields)
        else:
            self._log.warning("engine.exit", **fields, stderr=list(engine.stderr_tail()))


async def _stop(engine: Engine) -> None:
    await engine.stop()
