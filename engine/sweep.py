"""Whose process is it, and ending what a child left; signals nothing that is not proved a child's.

The laws of this file (BEHAVIOUR §1.17, invariants 13 and 14):

* What was set free while its child lived (its parent ended, the child did not) is nobody's any more and is
  let be, with all that it starts.
* What a child leaves is ended, whatever session or group it moved to; another child's processes never are.
* Orphans come to us (`become_subreaper`), and only those are reaped, each by its pid: `waitpid(-1)` would
  steal the status asyncio waits for. asyncio's own watchers (pidfd, thread) wait for single pids too.
"""

import contextlib
import os
import secrets
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import anyio

from engine import processes
from engine.processes import Identity, Row, Table, alive, send, with_descendants

_ROUNDS = 48  # of a sweep, 1 to 50 ms apart: about 2 s for what SIGKILL does not end at once
UNKILLABLE = 5.0
"""Seconds from SIGKILL until a process counts as one that the system does not let us end."""

Patience = Callable[[float], Awaitable[None]]
"""Waits that many seconds; `anyio.sleep` but in tests."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: how many processes it ended, and the pids of those it could not end."""

    ended: int
    left: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class Lineage:
    """One generation's processes, as far as seen; `mark` is the value of `processes.MARK` in its environment."""

    root: Identity
    mark: str
    began: float  # as `Row.began`
    below: set[Identity] = field(default_factory=set)
    closing: bool = False

    def living(self) -> bool:
        """True while its child runs and nobody has begun to stop it."""
        return not self.closing and alive(self.root)

    def descendants(self, rows: Table) -> set[Identity]:
        """What hangs below its child in this table."""
        root = rows.get(self.root.pid)
        if root is None or root.identity != self.root:
            return set()
        return set(with_descendants([root], rows)) - {self.root}


class Household:
    """Everything this process has started or adopted: one per process, as a process has one set of children."""

    def __init__(self) -> None:
        self._lines: list[Lineage] = []
        self._own: set[Identity] = set()
        self._free: set[Identity] = set()
        self._starting = 0
        self._hint: bytes | None = None

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Hold around a start until its pid is registered: meanwhile no stranger is taken for an orphan."""
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1

    def own(self, pid: int) -> None:
        """Name a subprocess of ours that is no child generation: never swept, never reaped here.

        Only one in a session of its own needs this; what shares our session is never touched anyway.
        """
        who = processes.identity(pid)
        if who is not None:
            self._own.add(who)

    def register(self, pid: int, mark: str) -> Lineage:
        """Enter a generation just started; a pid already gone makes a lineage that matches no process."""
        row = processes.row_of(pid)
        line = Lineage(row.identity, mark, row.began) if row else Lineage(Identity(pid, ""), mark, float("inf"))
        self._lines.append(line)
        return line

    def forget(self, line: Lineage) -> None:
        """Drop a generation that has exited and was swept."""
        self._lines.remove(line)
        self._hint = None  # what could not be told apart while it was here can be now

    def note_free(self) -> None:
        """Look, if our direct children have changed since the last look: cheap when they have not."""
        hint = processes.direct_children()
        if hint is None or hint != self._hint:
            self.look()
            self._hint = hint

    def look(self) -> None:
        """See what hangs below each living child, and what has been set free."""
        rows = processes.table()
        # Asked after the table was read: what is adopted in it was orphaned while these still lived.
        living = [line for line in self._lines if line.living()]
        for line in living:
            line.below = line.descendants(rows)  # no longer what it has let go of
        for row in self._adopted(rows):
            owner = self._owner(row)
            if owner in living or (owner is None and living == self._lines):
                self._free |= set(with_descendants([row], rows))
        present = {row.identity for row in rows.values()}
        self._free &= present
        self._own &= present
        self._reap(rows)

    def close(self, line: Lineage) -> None:
        """A stop begins or goes on: what is below now belongs to it, and from here on nothing is set free."""
        if not line.closing:
            self.look()
            line.closing = True
        below = line.descendants(processes.table())
        line.below |= below
        self._free -= below

    def since(self, line: Lineage, began: float) -> list[Identity]:
        """What of this generation's runs that was started at or after `began`, adopted orphans included."""
        rows = processes.table()
        below = line.descendants(rows)
        late = [row for row in rows.values() if row.began >= began and not row.dead and row.identity != line.root]
        return [row.identity for row in late if row.identity in below or self._is_of(line, row)]

    def _is_of(self, line: Lineage, row: Row) -> bool:
        """Whether an orphan that came to us carries this generation's mark."""
        return row.parent == os.getpid() and processes.mark_of(row.identity.pid) == line.mark

    async def sweep(self, line: Lineage) -> Swept:
        """End what the child, now gone, left: SIGKILL until a look finds none. Bounded, about 2 s."""
        line.closing = True
        ended: set[Identity] = set()
        refused: set[Identity] = set()
        living: set[Identity] = set()
        pause = 0.001
        for _ in range(_ROUNDS):
            rows = processes.table()
            remains = self._remains(line, rows)
            line.below |= set(remains)
            self._reap(rows)
            living = {who for who, row in remains.items() if not row.dead}
            dead = {who.pid for who in remains} - {who.pid for who in living}
            if living <= refused and not any(row.parent in dead for row in remains.values()):
                break
            for who in living - refused:
                match send(who, signal.SIGKILL):
                    case "sent":
                        ended.add(who)
                    case "refused":
                        refused.add(who)
                    case "gone":
                        pass
            await anyio.sleep(pause)
            pause = min(pause * 2, 0.05)
        return Swept(len(ended - living), tuple(sorted(who.pid for who in living)))

    def _remains(self, line: Lineage, rows: Table) -> dict[Identity, Row]:
        start = [row for row in rows.values() if row.identity in line.below]
        start += [row for row in self._adopted(rows) if self._left_by(line, row)]
        return with_descendants([row for row in start if row.identity not in self._free], rows)

    def _left_by(self, line: Lineage, row: Row) -> bool:
        owner = self._owner(row)
        if owner is not None:
            return owner is line
        # It threw its mark away and nobody saw it below its parent. With one generation it can be nobody
        # else's, unless we are pid 1, to whom strangers come as well.
        alone = self._lines == [line] and not self._starting and os.getpid() != 1
        return alone and row.began >= line.began

    def _adopted(self, rows: Table) -> list[Row]:
        # A generation begins with a session of its own, and from there none can come back to ours: what
        # shares our session we started ourselves.
        me, session = os.getpid(), os.getsid(0)
        ours = [row for row in rows.values() if row.parent == me and row.session != session]
        return [row for row in ours if not self._is_known(row.identity)]

    def _is_known(self, who: Identity) -> bool:
        return who in self._own or any(line.root == who for line in self._lines)

    def _owner(self, row: Row) -> Lineage | None:
        for line in self._lines:
            if row.identity in line.below or row.session == line.root.pid:
                return line
        mark = processes.mark_of(row.identity.pid)
        return next((line for line in self._lines if line.mark == mark), None)

    def _reap(self, rows: Table) -> None:
        if self._starting:  # a zombie may be a start that failed, whose status somebody waits for
            return
        for row in self._adopted(rows):
            if row.dead:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(row.identity.pid, os.WNOHANG)


HOUSEHOLD = Household()


async def ladder(
    who: Identity,
    gone: Callable[[], Awaitable[object]],
    before_kill: Callable[[], object],
    *,
    kill_after: float,
    patience: Patience,
) -> bool:
    """SIGTERM, and SIGKILL `kill_after` seconds later if it still lives (invariant 13).

    `gone` returns when the process has ended. False if it has not 5 s after SIGKILL: one the system does not
    let us end must not hold up those who wait.
    """

    async def insist() -> None:
        await patience(kill_after)
        before_kill()
        send(who, signal.SIGKILL)
        await patience(UNKILLABLE)
        group.cancel_scope.cancel()

    ended = False
    send(who, signal.SIGTERM)
    async with anyio.create_task_group() as group:
        group.start_soon(insist)
        await gone()
        ended = True
        group.cancel_scope.cancel()
    return ended


async def end_tree(who: Identity, *, kill_after: float, patience: Patience = anyio.sleep) -> Swept:
    """End a child that an earlier run recorded, with its descendants; nothing if only the pid is the same.

    The ladder of any stop (BEHAVIOUR §6). The count includes the child itself; `kill_after` in seconds.
    """
    if not alive(who):
        return Swept(0)
    line = Lineage(who, secrets.token_hex(8), float("inf"))

    def see() -> None:
        HOUSEHOLD.close(line)

    async def gone() -> None:
        while alive(who):  # noqa: ASYNC110 - nobody tells us of the end of a process that is not our child
            await anyio.sleep(0.01)

    see()
    ended = await ladder(who, gone, see, kill_after=kill_after, patience=patience)
    swept = await HOUSEHOLD.sweep(line)
    return Swept(swept.ended + ended, swept.left if ended else (who.pid, *swept.left))
