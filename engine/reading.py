"""What the child's records mean for the state (BEHAVIOUR §1, §4, §5): one method a record; it never raises for them."""

import math

from msgspec.structs import replace

from engine import pi, runs, steering, waits
from engine.events import (
    Asked,
    Code,
    Ended,
    Heard,
    Outcome,
    Progress,
    Ready,
    Replied,
    Retrying,
    Spent,
    Started,
    Told,
    ToolClosed,
    ToolOpened,
)
from engine.marks import mark_of
from engine.moves import Moves, cancelled
from engine.state import Condition, OpenDialog
from engine.turns import ADOPTED, BEGUN, Event, Stage, Turn, look_up
from engine.wire import Line, Malformed, Unknown

MILLISECOND = 1_000_000


def nanoseconds(milliseconds: float) -> int:
    """A duration that the child named; one that is no number (JSON may hold NaN and 1e999) or negative is none."""
    duration = milliseconds * MILLISECOND
    return int(duration) if 0 < duration < math.inf else 0


class Reading(Moves):
    """The verbs of a step that records call for."""

    __slots__ = ()

    def read(self, lines: tuple[Line, ...]) -> None:
        """Take a batch; pieces of streaming text cost no state of their own."""
        pieces: list[pi.Piece] = []
        alive = False
        for line in lines:
            if isinstance(line, pi.MessageUpdate):
                pieces.append(line.assistantMessageEvent)
                continue
            alive = alive or bool(pieces) or isinstance(line, pi.LIFE)
            self.progress(pieces)
            pieces = []
            if not self.listening:
                self.note("after-the-end", type(line).__name__)
                break
            self.record(line)
        self.progress(pieces)
        if self.listening and (alive or pieces):
            self.set(life=self.now)

    @property
    def listening(self) -> bool:
        """Whether what the child says still counts (BEHAVIOUR §1.6)."""
        return self.s.condition in {Condition.STARTING, Condition.LIVE}

    def record(self, line: Line) -> None:
        """One record that is no piece of streaming text."""
        match line:
            case pi.Response():
                self.response(line)
            case pi.AgentStart():
                self.agent_start()
            case pi.AgentEnd():
                self.agent_end(retry=line.willRetry)
            case pi.AgentSettled():
                self.agent_settled()
            case pi.MessageStart() | pi.MessageEnd():
                self.message(line)
            case pi.ToolStart():
                self.tool_start(line)
            case pi.ToolEnd():
                self.close_wait(waits.result_of(line))
            case pi.RetryStart():
                self.set(retrying=True)
                if (owner := self.owner()) is not None:
                    delay = nanoseconds(line.delayMs)
                    self.out.append(Retrying(owner, line.attempt, line.maxAttempts, delay))
            case pi.RetryEnd():
                self.set(retrying=False)
            case pi.CompactionStart():
                self.set(compacting=True)
            case pi.CompactionEnd():
                self.set(compacting=False)
                self.spent("", "", pi.usage_in(pi.plain(line.result, "usage")))
                if self.s.run is not None and self.s.run.summary:
                    self.run_over()
            case pi.Dialog():
                self.dialog(line)
            case pi.ExtensionError():
                self.note("extension-error", f"{line.event}: {line.error}")
            case Unknown(kind):
                self.note("unknown-record", kind)
            case Malformed(reason, size):
                self.note("malformed-record", f"{reason}, {size} bytes")
            case pi.Passing(pi.Entry(type="usage", provider=str(provider), model=str(model), usage=usage)):
                self.spent(provider, model, pi.usage_in(usage))
            case _:
                self.passing(line)

    def passing(self, line: object) -> None:
        """A known record that changes nothing; life was counted by the caller."""

    def owner(self) -> str | None:
        """Who a record inside the present run concerns: nobody in an orphan run or under a failed head."""
        head, run = self.s.head, self.s.run
        if head is not None and head.failed and (run is None or run.head is not None):
            return None
        if run is not None:
            return run.owner
        return head.name if head is not None else None

    def progress(self, pieces: list[pi.Piece]) -> None:
        """Streaming text and thinking, joined; for the card only."""
        if not pieces or not self.listening or self.s.run is None or (owner := self.owner()) is None:
            return
        for kind, thinking in (("thinking_delta", True), ("text_delta", False)):
            text = "".join([piece.delta for piece in pieces if piece.type == kind])
            if text:
                self.out.append(Progress(owner, text, thinking))

    # -- responses -------------------------------------------------------------------------------------------------

    def response(self, response: pi.Response) -> None:
        """Find what it answers by its id alone; order proves nothing (PROTOCOL §2)."""
        name, head = response.id, self.s.head
        if not isinstance(name, str):
            self.note("response-without-id", response.error or str(response.command))
        elif self.s.condition is Condition.STARTING and name.startswith("hello"):
            self.set(condition=Condition.LIVE)
            self.out.append(Ready(response.data))
        elif name in self.s.aborts:
            self.set(aborts=tuple(other for other in self.s.aborts if other != name))
        elif (steer := self.s.steering.of(request=name)) is not None:
            self.steer_answered(steer, good=response.success)
        elif self.clear_answered(response):
            pass
        elif head is not None and head.request == name and not head.read:
            self.head_becomes(replace(head, read=True))
            self.head_answered(head, response)
        else:
            self.note("response-unknown", f"{response.command} {name}")

    def head_answered(self, head: Turn, response: pi.Response) -> None:
        """The head's own response: refused, handled, or started."""
        if head.asks:
            if not head.failed:
                self.out.append(Replied(head.name, response))
            detail = Outcome(Code.REFUSED, detail=response.error or "")
            self.move(Event.HANDLED if response.success else Event.REFUSED, detail)
            return
        if not response.success:
            error = response.error or ""
            busy = error.startswith(pi.BUSY)
            self.move(Event.REFUSED, Outcome(Code.REFUSED, detail=error, busy=busy))
            if busy and self.s.run is None:
                orphan = runs.begun(self.now, None, None)
                summary = error.startswith(pi.BUSY[1])
                self.set(run=replace(orphan, open=False, summary=summary))
        elif pi.plain(response.data, "disposition") == "handled":
            self.move(Event.HANDLED)
        else:
            self.move(Event.STARTED)
        if head.settled and self.s.head is not None and self.s.head.name == head.name:
            self.move(Event.SETTLED)

    def steer_answered(self, steer: steering.Steer, *, good: bool) -> None:
        """A refused steer is an ordinary message again; an accepted one waits for its echo (BEHAVIOUR §4)."""
        if good:
            self.set(steering=self.s.steering.with_(replace(steer, answered=True)))
        else:
            self.set(steering=self.s.steering.without(steer.turn))
            self.steer_back(steer, refused=True)

    def clear_answered(self, response: pi.Response) -> bool:
        """Whether this answers a ``clear_queue``; if so, give back what it names."""
        texts = pi.plain(response.data, "steering", [])
        named = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
        cleared = steering.clear_answered(self.s.steering, str(response.id), named, good=response.success)
        if cleared is None:
            return False
        if not response.success:
            self.note("clear-queue-refused", response.error or "")
        self.set(steering=cleared.steering)
        for steer in cleared.returned:
            self.steer_back(steer)
        for steer in cleared.consumed:
            if self.s.run is not None and self.s.run.head == self.s.steering.head:
                self.hear(steer)
            else:
                outcome = Outcome(steer.code or Code.JOINED, into=None if steer.code else self.s.steering.head)
                self.out.append(Ended(steer.turn, outcome))
        return True

    # -- runs ------------------------------------------------------------------------------------------------------

    def agent_start(self) -> None:
        """A low-level run opens: the head's where the table says so, else an orphan's (BEHAVIOUR §1.8)."""
        self.close_waits()
        self.set(retrying=False)
        head, run = self.s.head, self.s.run
        if run is not None:
            if run.open:
                self.note("agent-start-inside-a-run")
            self.set(run=replace(run, open=True, final=False, summary=False))
            if run.head is not None and head is not None:
                self.head_becomes(replace(head, settled=False))
                self.move(Event.AGENT_START)
        elif head is not None and not head.asks and look_up(head.stage, Event.AGENT_START) is not None:
            self.set(run=runs.begun(self.now, head.name, head.name))
            self.begin_head(head)
            self.move(Event.AGENT_START)
        else:
            tail = self.s.tail
            orphan = runs.begun(self.now, None, tail)
            self.set(run=replace(orphan, ended=frozenset({tail} if tail else ())))
            self.note("orphan-run", "after a /command" if tail else "")

    def begin_head(self, head: Turn) -> None:
        """Tell that the head's run has started; a failed one's start is only noted."""
        if head.failed:
            run, _ = runs.failed(runs.begun(self.now, head.name, head.name), Code.STOPPED)
            self.set(run=run)
            self.note("late-start", head.name)
        else:
            self.out.append(Started(head.name))

    def agent_end(self, *, retry: bool) -> None:
        """A low-level run closes; doubled and late ends change nothing."""
        run, head = self.s.run, self.s.head
        if run is None or not run.open:
            self.note("agent-end-outside-a-run")
            return
        self.close_waits()
        self.set(run=replace(run, open=False, final=not retry))
        if run.head is not None and head is not None and not retry:
            self.move(Event.AGENT_END)

    def agent_settled(self) -> None:
        """pi is idle: the orphan run is over, or the head is released; never both (BEHAVIOUR §1.7)."""
        run, head = self.s.run, self.s.head
        if run is not None and run.open:
            self.lose("agent_settled inside a run")
        elif run is not None and run.head is None:
            self.give_out(settled=True)
            self.run_over()
        elif head is None or head.asks or (not head.read and head.stage not in BEGUN):
            self.note("settled-without-a-run")
        elif not head.read:
            self.head_becomes(replace(head, settled=True))
        else:
            self.move(Event.SETTLED)

    # -- messages --------------------------------------------------------------------------------------------------

    def message(self, record: pi.MessageStart | pi.MessageEnd) -> None:
        """Echoes, assistant texts and tool results."""
        message, run = record.message, self.s.run
        self.close_wait(waits.result_of(record))
        if message.role == "user" and isinstance(record, pi.MessageStart):
            self.echo(mark_of(message.text))
        elif message.role == "assistant" and isinstance(record, pi.MessageEnd):
            if run is None or not run.open:
                self.note("message-outside-a-run")
                return
            self.set(run=runs.spoken(run, message))
            self.spent(message.provider or "", message.model or "", message.usage)
        elif message.role == "toolResult" and isinstance(record, pi.MessageEnd):
            self.spent("", "", message.usage)

    def spent(self, provider: str, model: str, usage: pi.Usage | None) -> None:
        """What the child paid for: also under a failed head and in a run of nobody's."""
        if usage is not None:
            self.out.append(Spent(self.owner() or "", provider, model, usage))

    def echo(self, mark: str | None) -> None:
        """A mark proves the position, or proves it lost; none proves nothing (BEHAVIOUR §1.13)."""
        head, run = self.s.head, self.s.run
        if mark is None or run is None or not run.open:
            return
        steer = self.s.steering.of(mark=mark)
        own = head is not None and head.work.mark == mark
        if steer is not None:
            self.set(steering=self.s.steering.without(steer.turn))
            self.hear(steer)
        elif own and head is not None and run.head is None and head.stage in ADOPTED:
            self.adopt(head)
        elif not own and run.head is not None and mark in self.s.marks and mark not in run.heard:
            self.lose("the echo of another turn")

    def adopt(self, head: Turn) -> None:
        """The head's own echo inside what looked like an orphan run: the run is the head's after all."""
        run = self.s.run
        if run is None:
            return
        self.set(run=replace(run, head=head.name, parts=(runs.Part(head.name),), last="", final=False, aborted=None))
        self.begin_head(head)
        self.head_becomes(replace(head, stage=ADOPTED[head.stage]))
        if head.stage is Stage.DEAD:
            self.abort_head()

    def hear(self, steer: steering.Steer) -> None:
        """The steer joins the run, or ends it where it was stopped meanwhile; a failed head's run takes it along."""
        run, head = self.s.run, self.s.head
        if run is None:
            return
        self.out.append(Heard(steer.turn, run.head))
        self.set(run=replace(runs.joined(run, steer.turn), heard=run.heard | {steer.mark or ""}))
        code = steer.code
        if head is not None and head.failed and run.head is not None and head.outcome is not None:
            code = code or head.outcome.code
        if code is not None and head is not None and run.head is not None and not head.failed:
            self.fail_head(code)
        elif code is not None and run.head is None:
            self.fail_orphan(code)
        elif code is not None and self.s.run is not None:
            ended, ends = runs.failed(self.s.run, code)
            self.set(run=ended)
            self.out += ends

    # -- tools and dialogs -----------------------------------------------------------------------------------------

    def tool_start(self, record: pi.ToolStart) -> None:
        """A wait opens; outside a run it opens nothing."""
        run = self.s.run
        if run is None or not run.open:
            self.note("tool-outside-a-run", record.toolName)
            return
        before = self.s.waits
        self.set(waits=waits.opened(before, record.toolCallId, record.toolName, self.now))
        if self.s.waits != before and (owner := self.owner()) is not None:
            self.out.append(ToolOpened(run.head or owner, record.toolCallId, record.toolName, record.args))

    def close_wait(self, call: str | None) -> None:
        """A wait closes on any result that names its call."""
        before = self.s.waits
        self.set(waits=waits.closed(before, call))
        if self.s.waits != before and call and self.s.run is not None and (owner := self.owner()) is not None:
            self.out.append(ToolClosed(self.s.run.head or owner, call))

    def close_waits(self) -> None:
        """Nothing is open at a run's start and end (BEHAVIOUR §5)."""
        for wait in self.s.waits:
            self.close_wait(wait.call)

    def dialog(self, record: pi.Dialog) -> None:
        """Ask the person whose run it is; cancel at once where nobody can answer or an abort waits (BEHAVIOUR §1.4)."""
        owner, limits, head = self.owner(), self.s.limits, self.s.head
        if not record.asks:
            if owner is not None:
                self.out.append(Told(owner, record))
            return
        if not record.id or any(dialog.name == record.id for dialog in self.s.dialogs):
            self.note("dialog-without-a-new-id", record.method)
        elif owner is None or self.s.aborts or not limits.dialog or (head is not None and head.failed):
            self.write(cancelled(record.id))
        else:
            own = nanoseconds(record.timeout or 0)
            ours = not 0 < own <= limits.dialog
            opened = OpenDialog(record.id, self.now + (limits.dialog if ours else own), ours, owner, self.now)
            self.set(dialogs=(*self.s.dialogs, opened))
            self.out.append(Asked(owner, record))
