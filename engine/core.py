"""``step(state, input, now)``: the engine's decisions as effects (BEHAVIOUR §1); it performs nothing, reads no clock.

What a peer writes is never an exception here; an impossible move of our own is.
"""

from typing import assert_never

import msgspec
from msgspec.structs import replace

from engine import commands, steering
from engine.events import (
    AbortOrphan,
    AnswerDialog,
    Code,
    Effect,
    Ended,
    Exited,
    Fail,
    Input,
    Limits,
    Outcome,
    Read,
    Released,
    Request,
    Returned,
    Sent,
    Slash,
    SteerIn,
    Stop,
    Submit,
    Text,
    Tick,
    Work,
)
from engine.moves import cancelled
from engine.reading import Reading
from engine.state import Condition, State, bound, grace, residue_due, steerable
from engine.turns import Event, Stage, Turn

MARKS = 64
"""So many marks of the past are remembered: pi echoes nothing older than its own queue."""


def start(generation: int, limits: Limits, now: int) -> tuple[State, tuple[Effect, ...]]:
    """A new generation: asks the child's state, whose first answer is "ready"."""
    work = Step(State(generation=generation, limits=limits, born=now, life=now), now, [])
    work.write(commands.GetState(work.name("hello")))
    return work.s, tuple(work.out)


def step(state: State, given: Input, now: int) -> tuple[State, tuple[Effect, ...]]:
    """One input at ``now`` (ns): the next state and the effects, in the order in which they are to be performed."""
    work = Step(state, now, [])
    match given:
        case Submit(turn, task):
            work.submit(turn, task)
        case SteerIn(turn, text):
            work.steer(turn, text)
        case Fail(turn, code):
            work.fail(turn, code)
        case AbortOrphan():
            work.abort_orphan()
        case AnswerDialog():
            work.answer(given)
        case Stop():
            work.stop()
        case Tick():
            work.tick()
        case Read(generation, lines):
            if work.own(generation):
                work.read(lines)
        case Exited(generation, code):
            if work.own(generation):
                work.exited(code)
        case _:
            assert_never(given)
    work.proceed()
    return work.s, tuple(work.out)


class Step(Reading):
    """What the connector asks, what the clock brings, and what is due next."""

    __slots__ = ()

    # -- what people and the connector ask -------------------------------------------------------------------------

    def submit(self, turn: str, task: Work) -> None:
        """Take a turn, or refuse it at once where this child takes none any more."""
        if self.s.condition not in {Condition.STARTING, Condition.LIVE}:
            self.out += [Ended(turn, Outcome(Code.DOWN)), Released(turn)]
        else:
            self.set(queue=(*self.s.queue, Turn(turn, task, self.now)))

    def steer(self, turn: str, text: Text) -> None:
        """Steer into a started, healthy head; anything else goes back unwritten (BEHAVIOUR §4)."""
        head = self.s.head
        if head is None or not steerable(self.s):
            self.out.append(Returned(turn, written=False))
            return
        request = self.name("steer")
        opened = steering.Steer(turn, text.mark, text.message, request)
        before = self.s.steering
        self.set(
            steering=replace(before, open=(*before.open, opened), over=None, tried=False, head=head.name),
            marks=remembered(self.s.marks, text.mark),
        )
        self.write(commands.Steer(request, text.message, text.images))

    def fail(self, turn: str, code: Code) -> None:
        """End a held turn, the head or who joined its run, who is answered by an orphan run, or an open steer."""
        for held in self.s.queue:
            if held.name == turn and not held.written:
                self.leave(held, Outcome(code))
                return
        head, run = self.s.head, self.s.run
        joined = run is not None and run.head is not None and run.owns(turn)
        if head is not None and not head.failed and (head.name == turn or joined):
            self.fail_head(code)
        elif run is not None and run.head is None and run.owns(turn):
            self.fail_orphan(code)
        elif (steer := self.s.steering.of(turn=turn)) is not None and steer.code is None:
            self.set(steering=self.s.steering.with_(replace(steer, code=code)))
            self.clear_queue()

    def answer(self, given: AnswerDialog) -> None:
        """Answer an open dialog; a closed one is over."""
        if not any(dialog.name == given.dialog for dialog in self.s.dialogs):
            return
        if given.value is not None:
            reply = commands.DialogAnswer(given.dialog, value=given.value)
        elif given.confirmed is not None:
            reply = commands.DialogAnswer(given.dialog, confirmed=given.confirmed)
        else:
            reply = cancelled(given.dialog)
        self.close_dialog(given.dialog)
        self.set(life=self.now)
        self.write(reply)

    # -- time ------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Let every bound that has passed act; an early tick changes nothing."""
        s, now = self.s, self.now
        for turn in s.queue:
            if not turn.written and now >= turn.since + s.limits.turn_timeout:
                self.leave(turn, Outcome(Code.TIMEOUT, detail="while waiting for the engine"))
        if s.condition is Condition.STARTING:
            if now >= max(s.born, s.life) + s.limits.turn_timeout:
                self.wedge("no first answer")
            return
        if s.condition is not Condition.LIVE:
            return
        for dialog in s.dialogs:
            if now >= dialog.due:
                self.close_dialog(dialog.name, timed_out=True)
                self.set(life=now)
                if dialog.ours:
                    self.write(cancelled(dialog.name))
        if (due := residue_due(self.s)) is not None and now >= due:
            self.wedge("a steer or clear_queue was not answered after the run's end")
        for bounds in (self.tick_run, self.tick_head):
            if self.s.condition is Condition.LIVE:
                bounds()

    def tick_run(self) -> None:
        """An orphan run's bounds: one abort, then ``run_grace``, then wedge (BEHAVIOUR §1.12)."""
        run = self.s.run
        if run is None or run.head is not None:
            return
        if run.aborted is None and self.now >= bound(self.s, run.since):
            self.abort_orphan()
        elif run.aborted is not None and self.now >= run.aborted + self.s.limits.run_grace:
            self.wedge("an orphan run did not end after its abort")

    def tick_head(self) -> None:
        """The head's silence bound, or its grace."""
        head = self.s.head
        if head is None:
            return
        if head.failed:
            if self.now >= grace(self.s, head):
                self.move(Event.GRACE)
        elif self.now >= bound(self.s, head.since):
            if head.asks:
                self.wedge("a session command was not answered")
            else:
                self.fail_head(Code.TIMEOUT)

    # -- what is due next ------------------------------------------------------------------------------------------

    def proceed(self) -> None:
        """After every input: take residue back, then write the next turn if nothing is in its way."""
        residue = self.s.steering
        if self.s.condition is Condition.LIVE and residue.wants_clear:
            self.write(self.clearing())
        elif not residue.busy and residue.over is not None:
            self.set(steering=steering.NOTHING_STEERED)
        if self.s.queue and not self.s.blocked:
            self.send(self.s.queue[0])

    def send(self, turn: Turn) -> None:
        """Write a held turn: it is the head now."""
        request = self.name("turn")
        self.head_becomes(replace(turn, stage=Stage.WRITTEN, request=request, since=self.now))
        tail = self.s.tail if isinstance(turn.work, Request) else None
        self.set(tail=tail, life=self.now, marks=remembered(self.s.marks, turn.work.mark))
        self.out.append(Sent(turn.name))
        match turn.work:
            case Text(message, images):
                self.write(commands.Prompt(request, message, images))
            case Slash(message):
                self.write(commands.Prompt(request, message))
            case Request(command):
                self.write(msgspec.structs.replace(command, id=request))
            case _:
                assert_never(turn.work)


def remembered(marks: tuple[str, ...], mark: str | None) -> tuple[str, ...]:
    """The marks written lately, with one more."""
    return marks if mark is None or mark in marks else (*marks, mark)[-MARKS:]
