"""The verbs of one step: what is done to the head, the run, the steers and the child (BEHAVIOUR §1); it reads no clock.

A ``Moves`` holds the state that one step is replacing; outside that step, states are values.
"""

from dataclasses import dataclass
from typing import assert_never

from msgspec.structs import replace

from engine import commands, runs, steering, waits
from engine.events import (
    Code,
    Effect,
    Ended,
    Kill,
    Note,
    Outcome,
    Released,
    Returned,
    Slash,
    Unasked,
    Wedged,
    Write,
)
from engine.state import Condition, OpenDialog, State
from engine.turns import ABORTS, Act, Event, Stage, Turn, look_up


@dataclass(slots=True)
class Moves:
    """One step in the making: the state so far and the effects so far."""

    s: State
    now: int
    out: list[Effect]

    # -- small verbs -----------------------------------------------------------------------------------------------

    def set(self, **changes: object) -> None:
        """Replace fields of the state."""
        self.s = replace(self.s, **changes)

    def name(self, kind: str) -> str:
        """A new request id."""
        self.set(serial=self.s.serial + 1)
        return f"{kind}{self.s.serial}"

    def write(self, *lines: commands.Command) -> None:
        """Write these in one write, unless the child is given up (BEHAVIOUR §1.6)."""
        if lines and self.s.condition in {Condition.STARTING, Condition.LIVE}:
            self.out.append(Write(lines))

    def note(self, kind: str, detail: str = "") -> None:
        """Something for the log."""
        self.out.append(Note(kind, detail))

    def own(self, generation: int) -> bool:
        """Whether an input is of this generation; a foreign one is dropped and counted (BEHAVIOUR §7.32)."""
        if generation == self.s.generation:
            return True
        self.set(foreign=self.s.foreign + 1)
        self.note("foreign-generation", str(generation))
        return False

    def head_becomes(self, head: Turn) -> None:
        """Replace the head."""
        self.set(queue=(head, *self.s.queue[1:]))

    # -- the head --------------------------------------------------------------------------------------------------

    def move(self, event: Event, outcome: Outcome | None = None) -> bool:
        """Apply the table's row to the head; False where nothing changes. ``outcome`` belongs to REFUSED and FAIL."""
        head = self.s.head
        row = look_up(head.stage, event) if head is not None else None
        if head is None or row is None:
            return False
        moved = replace(head, stage=row.to or head.stage, outcome=head.outcome or outcome)
        if event is Event.FAIL:
            moved = replace(moved, failed_at=self.now)
        self.head_becomes(moved)
        if row.to is None:
            self.release(moved, row.acts, outcome)
        else:
            self.act(row.acts)
        return True

    def act(self, acts: tuple[Act, ...]) -> None:
        """What a row asks for while the head stays."""
        for act in acts:
            match act:
                case Act.GIVE:
                    if not self.s.steering.open:
                        self.give_out(settled=False)
                case Act.ABORT:
                    self.abort_head()
                case Act.WEDGE:
                    self.wedge("nothing ended the turn within its grace")
                case Act.REFUSE | Act.EMPTY | Act.SETTLE | Act.NO_RUN | Act.DISOWN:
                    raise AssertionError(f"{act} stands only in rows that release the head")
                case _:
                    assert_never(act)

    def release(self, head: Turn, acts: tuple[Act, ...], outcome: Outcome | None) -> None:
        """The head leaves: end it, hand out what is owed, and free everything armed for it."""
        run = self.s.run
        own = run if run is not None and run.head == head.name else None
        if Act.SETTLE in acts:
            self.give_out(settled=True)
        elif Act.NO_RUN in acts:
            if own is not None:
                self.give_out(settled=True)
            self.end(head, Outcome(Code.PROVIDER))
        elif Act.EMPTY in acts:
            self.end(head, Outcome(Code.HANDLED))
        elif Act.REFUSE in acts:
            self.end(head, outcome or Outcome(Code.REFUSED))
        if own is not None and (Act.DISOWN not in acts or head.settled):
            self.run_over()
        else:
            left = [dialog for dialog in self.s.dialogs if own is not None or dialog.turn == head.name]
            self.write(*self.cancelling(left))
            if own is not None:
                self.set(run=replace(own, head=None, parts=(runs.Part(None),), since=self.now))
        self.set(queue=self.s.queue[1:])
        if isinstance(head.work, Slash) and Act.EMPTY in acts:
            self.set(tail=head.name)
        self.out.append(Released(head.name))

    def end(self, turn: Turn, outcome: Outcome) -> None:
        """The one end of a turn (BEHAVIOUR §7.8) and of whoever joined its run; not again for who has had it."""
        run = self.s.run
        if turn.failed:
            return
        if run is not None and run.head == turn.name:
            run, ends = runs.failed(run, outcome.code, outcome.detail)
            self.set(run=run)
            self.out += ends
        else:
            self.out.append(Ended(turn.name, outcome))

    def give_out(self, *, settled: bool) -> None:
        """Give out what the head's run owes."""
        if self.s.run is not None:
            run, ends = runs.give_out(self.s.run, settled=settled)
            self.set(run=run)
            self.out += ends

    def fail_head(self, code: Code, detail: str = "") -> None:
        """The head fails and stays to catch its late events (BEHAVIOUR §1.3, §1.4)."""
        head = self.s.head
        if head is None or head.failed:
            return
        self.end(head, Outcome(code, detail=detail))
        self.move(Event.FAIL, Outcome(code, detail=detail))

    def abort_head(self) -> None:
        """In one write: take back open steers, cancel open dialogs, abort; then arm the grace. Never a third abort."""
        head = self.s.head
        if head is None or head.aborts >= ABORTS:
            return
        first: list[commands.Command] = []
        if self.s.steering.open and not self.s.steering.clears:
            first.append(self.clearing())
        first += self.cancelling(list(self.s.dialogs))
        if self.s.steering.busy and self.s.steering.over is None:
            self.set(steering=replace(self.s.steering, over=self.now))
        self.head_becomes(replace(head, aborts=head.aborts + 1, aborted=self.now))
        self.abort(*first)

    def abort(self, *before: commands.Command) -> None:
        """Write one abort behind ``before`` and remember that it is unanswered."""
        request = self.name("abort")
        self.set(aborts=(*self.s.aborts, request))
        self.write(*before, commands.Abort(request))

    def abort_orphan(self) -> None:
        """Abort a run that is nobody's, once; an open dialog of it would keep the abort waiting."""
        run = self.s.run
        if run is not None and run.head is None and run.aborted is None:
            self.set(run=replace(run, aborted=self.now))
            self.abort(*self.cancelling(self.orphans_dialogs()))

    def fail_orphan(self, code: Code) -> None:
        """End everybody whom an orphan run answers and abort it: its further text is nobody's."""
        if self.s.run is not None:
            run, ends = runs.failed(self.s.run, code)
            self.set(run=replace(run, parts=(runs.Part(None),)))
            self.out += ends
            self.abort_orphan()

    def leave(self, held: Turn, outcome: Outcome) -> None:
        """A held turn fails and leaves: nothing is written."""
        self.set(queue=tuple(turn for turn in self.s.queue if turn.name != held.name))
        self.out += [Ended(held.name, outcome), Released(held.name)]

    # -- runs and steers -------------------------------------------------------------------------------------------

    def run_over(self) -> None:
        """The run has settled: waits, dialogs and delays of it are over; open steers are residue now.

        A dialog that it left open would block the next abort (PROTOCOL §0.5) and has nobody to answer it any more.
        """
        run = self.s.run
        own = run is not None and run.head is not None
        self.write(*self.cancelling(list(self.s.dialogs) if own else self.orphans_dialogs()))
        residue = self.s.steering
        if residue.busy and residue.over is None:
            residue = replace(residue, over=self.now, tried=False)
        elif residue.busy and run is not None and run.head == residue.head:
            residue = replace(residue, over=self.now)
        self.set(run=None, waits=(), retrying=False, steering=residue)

    def clearing(self) -> commands.ClearQueue:
        """A ``clear_queue`` that is about to be written."""
        request = self.name("clear")
        self.set(steering=steering.clear_written(self.s.steering, request))
        return commands.ClearQueue(request)

    def clear_queue(self) -> None:
        """Take back open steers now, unless that is already asked."""
        if not self.s.steering.clears:
            self.write(self.clearing())

    def steer_back(self, steer: steering.Steer, *, refused: bool = False) -> None:
        """A steer that did not reach the model: an ordinary message again, or ended where it was given up meanwhile."""
        if steer.code is not None:
            self.out.append(Ended(steer.turn, Outcome(steer.code)))
        else:
            self.out.append(Returned(steer.turn, refused=refused))

    def cancelling(self, dialogs: list[OpenDialog]) -> list[commands.Command]:
        """The answers that cancel these dialogs, which are closed."""
        for dialog in dialogs:
            self.close_dialog(dialog.name)
        return [cancelled(dialog.name) for dialog in dialogs]

    def orphans_dialogs(self) -> list[OpenDialog]:
        """The open dialogs that an orphan run opened: those that do not ask for the head."""
        head = self.s.head
        return [dialog for dialog in self.s.dialogs if head is None or dialog.turn != head.name]

    def close_dialog(self, name: str, *, timed_out: bool = False) -> None:
        """Forget an open dialog; the time it was open is no tool's (BEHAVIOUR §5)."""
        for closing in self.s.dialogs:
            if closing.name == name:
                self.set(waits=waits.paused(self.s.waits, closing.since, self.now))
        self.set(dialogs=tuple(dialog for dialog in self.s.dialogs if dialog.name != name))
        self.out.append(Unasked(name, timed_out))

    # -- the end of a child ----------------------------------------------------------------------------------------

    def wedge(self, reason: str) -> None:
        """Give the child up (BEHAVIOUR §1.6): held turns fail, nothing is written any more, the child is stopped."""
        if self.s.condition not in {Condition.STARTING, Condition.LIVE}:
            return
        self.set(condition=Condition.WEDGED)
        self.out.append(Wedged(reason))
        for turn in self.s.queue:
            if not turn.written:
                self.leave(turn, Outcome(Code.WEDGED))
        self.out.append(Kill())

    def lose(self, reason: str) -> None:
        """The position is lost: the head fails too, and the child is given up."""
        if (head := self.s.head) is not None:
            self.end(head, Outcome(Code.WEDGED, detail=reason))
            self.head_becomes(replace(self.s.queue[0], outcome=Outcome(Code.WEDGED), stage=Stage.DEAD_RUNNING))
        self.wedge(f"position lost: {reason}")

    def stop(self) -> None:
        """Stop a child on request: what is held fails, what runs ends with the exit."""
        if self.s.condition not in {Condition.STARTING, Condition.LIVE}:
            return
        self.set(condition=Condition.STOPPING)
        for turn in self.s.queue:
            if not turn.written:
                self.leave(turn, Outcome(Code.DOWN))
        self.out.append(Kill())

    def exited(self, code: int) -> None:
        """The process is gone: what was final stands, the rest fails."""
        if self.s.condition is Condition.EXITED:
            return
        wedged = self.s.condition is Condition.WEDGED
        self.set(condition=Condition.EXITED)
        how = Outcome(Code.WEDGED if wedged else Code.EXIT, detail=f"exit {code}")
        head = self.s.head
        if head is not None and not head.failed:
            if head.stage is Stage.SETTLING:
                self.give_out(settled=False)
            self.end(head, how)
        elif self.s.run is not None and self.s.run.head is None:
            run, ends = runs.failed(self.s.run, how.code, how.detail)
            self.set(run=run)
            self.out += ends
        for steer in self.s.steering.open:
            self.out.append(Ended(steer.turn, Outcome(steer.code or how.code, detail=how.detail)))
        for turn in self.s.queue:
            if turn.written:
                self.out.append(Released(turn.name))
            else:
                self.leave(turn, Outcome(Code.DOWN))
        self.set(queue=(), run=None, waits=(), dialogs=(), steering=steering.NOTHING_STEERED, retrying=False)


def cancelled(dialog: str) -> commands.DialogAnswer:
    """The answer that lets the child go on without one."""
    return commands.DialogAnswer(dialog, cancelled=True)
