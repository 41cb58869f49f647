"""The state and the verbs of the reference: values and lists, no rule of when; it imports no core."""

from dataclasses import dataclass, field
from typing import Any

from engine.events import Code, Limits

Fact = tuple[Any, ...]


@dataclass
class Entry:
    """A turn of the queue; instants are None until they are."""

    name: str
    kind: str
    text: str
    mark: str | None
    since: int
    id: str = ""
    sent: bool = False
    read: bool = False
    begun: bool = False
    early: bool = False
    code: Code | None = None
    failed_at: int = 0
    aborts: int = 0
    aborted_at: int = 0


@dataclass
class Wire:
    """The run that is on the wire; ``parts``: who is answered, and with which words."""

    own: bool
    since: int
    parts: list[tuple[str | None, list[str]]]
    open: bool = True
    last: str = ""
    final: bool = False
    summary: bool = False
    aborted_at: int | None = None
    ended: set[str] = field(default_factory=set)
    heard: set[str] = field(default_factory=set)

    @property
    def good(self) -> bool:
        return self.last in {"stop", "length", "toolUse"}

    @property
    def owner(self) -> str | None:
        return self.parts[-1][0]


@dataclass
class Line:
    """An open steer."""

    name: str
    text: str
    mark: str
    id: str = ""
    answered: bool = False
    code: Code | None = None


@dataclass
class Asking:
    """An unanswered ``clear_queue`` and whom it can prove something of."""

    covers: set[str]
    id: str = ""


class Verbs:
    """The reference's state, what can be asked of it, and the verbs that its rules are made of."""

    def __init__(self, limits: Limits, now: int) -> None:
        self.limits = limits
        self.now = self.born = self.life = now
        self.phase = "starting"
        self.queue: list[Entry] = []
        self.run: Wire | None = None
        self.waits: dict[str, int] = {}
        self.dialogs: dict[str, tuple[int, bool, str, int]] = {}
        self.compacting = self.retrying = False
        self.steers: list[Line] = []
        self.clears: list[Asking] = []
        self.over: int | None = None
        self.tried = False
        self.steered_into: str | None = None
        self.aborts: list[str] = []
        self.marks: list[str] = []
        self.tail: str | None = None
        self.must: list[Fact] = []

    # -- what can be asked -----------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self.phase in {"starting", "live"}

    @property
    def head(self) -> Entry | None:
        return self.queue[0] if self.queue and self.queue[0].sent else None

    @property
    def settling(self) -> bool:
        return self.run is not None and self.run.own and not self.run.open and self.run.final

    @property
    def steerable(self) -> bool:
        head, run = self.head, self.run
        return (
            self.phase == "live"
            and head is not None
            and head.begun
            and head.read
            and head.code is None
            and run is not None
            and run.own
            and run.open
        )

    def seen_by(self) -> str | None:
        """Who may be told of a record that comes now."""
        head, run = self.head, self.run
        if head is not None and head.code is not None and (run is None or run.own):
            return None
        if run is not None:
            return run.owner
        return head.name if head is not None else None

    # -- the clock -------------------------------------------------------------------------------------------------

    def bound(self, since: int) -> int:
        slow = self.waits or self.dialogs or self.compacting or self.retrying
        silence = self.limits.tool_timeout if slow else self.limits.turn_timeout
        due = max(since, self.life) + silence
        return min(due, since + self.limits.turn_limit) if self.limits.turn_limit else due

    def residue_due(self) -> int | None:
        goes_on = self.run is not None and self.run.own and self.steered_into == self.queue[0].name
        if self.over is None or goes_on or not (self.steers or self.clears):
            return None
        return self.over + self.limits.abort_grace

    def head_due(self, head: Entry) -> int:
        if head.code is None:
            return self.bound(head.since)
        if head.begun:
            return head.aborted_at + self.limits.run_grace
        return head.failed_at + self.limits.abort_grace

    def orphan_due(self, run: Wire) -> int:
        return self.bound(run.since) if run.aborted_at is None else run.aborted_at + self.limits.run_grace

    def deadline(self) -> int | None:
        dues = [entry.since + self.limits.turn_timeout for entry in self.queue if not entry.sent]
        if self.phase == "starting":
            dues.append(max(self.born, self.life) + self.limits.turn_timeout)
        elif self.phase == "live":
            dues += [due for due, _, _, _ in self.dialogs.values()]
            if (residue := self.residue_due()) is not None:
                dues.append(residue)
            if self.run is not None and not self.run.own:
                dues.append(self.orphan_due(self.run))
            if self.head is not None:
                dues.append(self.head_due(self.head))
        else:
            return None
        return min(dues, default=None)

    # -- the verbs -------------------------------------------------------------------------------------------------

    def remember(self, mark: str | None) -> None:
        if mark is not None and mark not in self.marks:
            self.marks = [*self.marks, mark][-64:]

    def leave(self, entry: Entry, code: Code) -> None:
        self.queue.remove(entry)
        self.must += [("end", entry.name, code, None), ("release", entry.name)]

    def fail_held(self, code: Code) -> None:
        for entry in [*self.queue]:
            if not entry.sent:
                self.leave(entry, code)

    def wedge(self) -> None:
        if self.alive:
            self.phase = "wedged"
            self.must.append(("wedge",))
            self.fail_held(Code.WEDGED)
            self.must.append(("kill",))

    def lost(self) -> None:
        if self.head is not None:
            self.end_head(Code.WEDGED)
            self.head.code = self.head.code or Code.WEDGED
        self.wedge()

    def end_run(self, code: Code) -> None:
        """Everybody in the run who has not ended does."""
        assert self.run is not None
        for owner in dict.fromkeys(owner for owner, _ in self.run.parts):
            if owner is not None and owner not in self.run.ended:
                self.run.ended.add(owner)
                self.must.append(("end", owner, code, None))
        self.run.parts = [(self.run.owner, [])]

    def end_head(self, code: Code) -> None:
        head = self.head
        if head is None or head.code is not None:
            return
        if self.run is not None and self.run.own:
            self.end_run(code)
        else:
            self.must.append(("end", head.name, code, None))

    def fail_head(self, code: Code) -> None:
        head = self.head
        assert head is not None
        self.end_head(code)
        head.code, head.failed_at = code, self.now
        self.abort_head()

    def abort_head(self) -> None:
        head = self.head
        if head is None or head.aborts >= 2:
            return
        if self.steers:
            self.ask_back()
        self.cancel([*self.dialogs])
        if (self.steers or self.clears) and self.over is None:
            self.over = self.now
        head.aborts, head.aborted_at = head.aborts + 1, self.now
        self.abort()

    def abort(self) -> None:
        if self.alive:
            self.must.append(("write", "abort"))
        self.aborts.append("")

    def abort_orphan(self) -> None:
        if self.run is not None and not self.run.own and self.run.aborted_at is None:
            self.run.aborted_at = self.now
            self.cancel(self.not_of_the_head())
            self.abort()

    def fail_orphan(self, code: Code) -> None:
        assert self.run is not None
        self.end_run(code)
        self.run.parts = [(None, [])]
        self.abort_orphan()

    def not_of_the_head(self) -> list[str]:
        return [name for name, (_, _, turn, _) in self.dialogs.items() if self.head is None or turn != self.head.name]

    def shut(self, dialog: str) -> None:
        asked = self.dialogs.pop(dialog)[3]
        for call, opened in self.waits.items():  # §5: a tool that waits for a dialog is not hanging
            self.waits[call] = opened + self.now - max(opened, asked)
        self.must.append(("unasked", dialog))

    def cancel(self, dialogs: list[str]) -> None:
        for name in dialogs:
            self.shut(name)
            if self.alive:
                self.must.append(("write", "cancel", name))

    def ask_back(self) -> None:
        if not self.clears:
            self.clears.append(Asking({line.name for line in self.steers if line.answered}))
            self.tried = True
            if self.alive:
                self.must.append(("write", "clear"))

    def give_out(self, *, settled: bool) -> None:
        run = self.run
        assert run is not None
        if not settled and not (run.final and run.good):
            return
        waiting: list[str] = []
        for owner, words in run.parts:
            if owner is None:
                continue
            if not words:
                waiting.append(owner)
                continue
            for other in waiting:
                self.end_in_run(("end", other, Code.JOINED, owner))
            waiting = []
            if owner in run.ended:
                self.must.append(("more", owner, tuple(words)))
            else:
                run.ended.add(owner)
                self.must.append(("answer", owner, tuple(words)))
        waiting = [owner for owner in waiting if owner not in run.ended]
        if waiting:
            last = waiting[-1] if run.good else waiting[0]
            for other in waiting:
                if other != last:
                    self.end_in_run(("end", other, Code.JOINED, last))
            code = Code.EMPTY if run.good else Code.INTERRUPTED if run.last == "aborted" else Code.PROVIDER
            self.end_in_run(("end", last, code, None))
        run.parts = [(run.owner, [])]

    def end_in_run(self, fact: Fact) -> None:
        assert self.run is not None
        if fact[1] not in self.run.ended:
            self.run.ended.add(fact[1])
            self.must.append(fact)

    def run_over(self) -> None:
        run = self.run
        assert run is not None
        self.cancel([*self.dialogs] if run.own else self.not_of_the_head())
        if self.steers or self.clears:
            if self.over is None:
                self.over, self.tried = self.now, False
            elif run.own and self.steered_into == self.queue[0].name:
                self.over = self.now
        self.run, self.waits, self.retrying = None, {}, False

    def release(self, *, disown: bool = False) -> None:
        head, run = self.head, self.run
        assert head is not None
        if run is not None and run.own and not (disown and not head.early):
            self.run_over()
        else:
            own = run is not None and run.own
            self.cancel([name for name, (_, _, turn, _) in self.dialogs.items() if own or turn == head.name])
            if run is not None and run.own:
                run.own, run.parts, run.since = False, [(None, [])], self.now
        self.queue.pop(0)
        self.must.append(("release", head.name))

    def settle_head(self) -> None:
        head = self.head
        assert head is not None
        if head.code is None:
            if self.run is not None and self.run.own:
                self.give_out(settled=True)
            else:
                self.must.append(("end", head.name, Code.PROVIDER, None))
        self.release()
