"""A child that may say anything at all, people and a clock: each act is told to the reference, then done to the core.

Each act takes small numbers for its choices, so that hypothesis or a seeded generator can drive it. Every assistant
text is one word that no other has, and the reference knows whose it is: an answer's every word is traced.
"""

from collections.abc import Callable
from typing import Any

from engine import commands, pi
from engine.events import (
    AbortOrphan,
    AnswerDialog,
    Code,
    Exited,
    Fail,
    Input,
    Limits,
    Read,
    Request,
    Slash,
    SteerIn,
    Stop,
    Submit,
    Text,
    Tick,
)
from engine.wire import Malformed, Unknown
from tests.engine.play import error_of, said
from tests.machine.checked_world import GENERATION, CheckedWorld, Core

LIMITS = Limits(turn_timeout=100, tool_timeout=400, turn_limit=250, abort_grace=30, run_grace=60, dialog=50)
NO_DIALOGS = Limits(turn_timeout=100, tool_timeout=400, turn_limit=0, abort_grace=60, run_grace=30, dialog=0)
REASONS = ("stop", "stop", "stop", "length", "toolUse", "error", "aborted")
DISPOSITIONS = ("started", "started", "started", "handled", "refused", "busy", "compacting", "queued")
USAGE = pi.Usage(input=1)


BUSY = error_of("busy")
COMPACTING = error_of("compacting")


class LyingWorld(CheckedWorld):
    """The same world with all that can happen in it."""

    def __init__(self, core: Core, limits: Limits = LIMITS) -> None:
        super().__init__(core, limits)

    # -- people ----------------------------------------------------------------------------------------------------

    def submit(self, kind: int) -> None:
        """A person's text, now and then a slash command or a session command."""
        name, mark = self.new("t")
        text = f"[discord] x {mark}\n\n{name}"
        match kind:
            case 0:
                self.texts[name] = "/say"
                self.ref.submit(name, "slash", "/say", None)
                self.give(Submit(name, Slash("/say")))
            case 1:
                self.ref.submit(name, "request", name, None)
                self.give(Submit(name, Request(commands.Compact("", name))))
            case _:
                self.texts[name] = text
                self.ref.submit(name, "text", text, mark)
                self.give(Submit(name, Text(text)))

    def steer(self) -> None:
        name, mark = self.new("s")
        text = f"[discord] x {mark}\n\n{name}"
        self.ref.steer(name, text, mark)
        self.give(SteerIn(name, Text(text)))

    def new(self, kind: str) -> tuple[str, str]:
        self.count += 1
        return f"{kind}{self.count}", str(self.count)

    def people(self) -> list[str]:
        """Names, those first that still matter."""
        live = [entry.name for entry in self.ref.queue] + [line.name for line in self.ref.steers]
        if self.ref.run is not None:
            live += [owner for owner, _ in self.ref.run.parts if owner is not None]
        return live + list(self.ends)[-2:]

    def stop_turn(self, which: int) -> None:
        names = self.people()
        if names:
            name = names[which % len(names)]
            self.ref.fail(name, Code.STOPPED)
            self.give(Fail(name, Code.STOPPED))

    def abort_orphan(self) -> None:
        self.ref.abort_orphan()
        self.give(AbortOrphan())

    def answer_dialog(self, which: int) -> None:
        open_ = [*self.ref.dialogs, "closed"]
        dialog = open_[which % len(open_)]
        given = AnswerDialog(dialog, None, True) if which % 2 else AnswerDialog(dialog)
        self.ref.answer(dialog, "confirm" if which % 2 else "cancel")
        self.give(given)

    def stop_child(self) -> None:
        self.ref.stop()
        self.give(Stop())

    def exit(self) -> None:
        self.ref.exited()
        self.give(Exited(GENERATION, 1))
        asked = {name for name in self.ends if name.startswith("t")}
        assert asked == {f"t{n}" for n in range(self.count + 1) if f"t{n}" in self.released}, "each turn ends once"
        assert {f"s{n}" for n in range(self.count + 1)} & (set(self.ends) | self.returned) == {
            name for name in self.ends | dict.fromkeys(self.returned) if name.startswith("s")
        }

    def foreign(self, exits: int) -> None:
        """BEHAVIOUR §7.32: a foreign generation's event changes nothing but a count."""
        before = self.state
        given: Input = Exited(4, 0) if exits else Read(6, (said("settled"), said("agent_start")))
        self.give(given)
        assert self.state.foreign == before.foreign + 1

    # -- the clock -------------------------------------------------------------------------------------------------

    def tick(self, when: int) -> None:
        """Just before the deadline, on it, late, far too late, or at no deadline at all."""
        due = self.ref.deadline()
        after = (0, 1, 7, 40, 150)[when % 5]
        if due is not None and when < 6:
            self.now = max(self.now, due + (-1, 0, 0, 0, 1, 90)[when])
        else:
            self.now += after
        self.ref.now = self.now
        if self.ref.phase != "gone":
            self.ref.tick()
        self.give(Tick())

    def wait(self, after: int) -> None:
        """Time passes, and the tick is late."""
        self.now += after
        self.ref.now = self.now

    # -- the child -------------------------------------------------------------------------------------------------

    def respond(self, which: int, how: int) -> None:
        """To something unanswered, to something answered, or to nothing that was ever asked."""
        ref = self.ref
        waiting = [entry.id for entry in ref.queue if entry.sent and not entry.read]
        waiting += [line.id for line in ref.steers if not line.answered]
        waiting += [asking.id for asking in ref.clears] + ref.aborts
        if ref.phase == "starting":
            waiting = ["hello1", *waiting]
        choices = [*waiting, *waiting, *self.all_ids[-3:], "turn999"]
        self.response(choices[which % len(choices)], DISPOSITIONS[how % len(DISPOSITIONS)], which)

    def response(self, request: str, how: str, which: int = 0) -> None:
        """One response; a ``clear_queue``'s names some of the open steers' texts, or a stranger's."""
        good = how in {"started", "handled", "queued"}
        texts: list[str] = []
        data: dict[str, Any] = {"disposition": how}
        if any(asking.id == request for asking in self.ref.clears):
            texts = [line.text for line in self.ref.steers[: which % 3]] + (["a stranger's"] if which == 5 else [])
            data = {"steering": texts, "followUp": []}
        error = {"busy": BUSY, "compacting": COMPACTING}.get(how, "No API key found")
        record = pi.Response(id=request, success=good, data=data, error=None if good else error)
        if self.ref.alive:
            self.ref.responded(request, good=good, how=how, texts=texts)
        self.say(record)

    def heard(self, record: Any, tell: Callable[[], None]) -> None:
        """A record that the reference hears too, while anybody listens."""
        if self.ref.alive:
            tell()
            if isinstance(record, pi.LIFE) and self.ref.alive:
                self.ref.life = self.now
        self.say(record)

    def agent_start(self) -> None:
        self.heard(said("agent_start"), self.ref.agent_start)

    def agent_end(self, retry: int) -> None:
        record = said("agent_end_retry" if retry else "agent_end")
        self.heard(record, lambda: self.ref.agent_end(retry=bool(retry)))

    def settled(self) -> None:
        self.heard(said("settled"), self.ref.settled)

    def speak(self, reason: int) -> None:
        """An assistant message with a word of its own, or without any."""
        self.count += 1
        why = REASONS[reason % len(REASONS)]
        word = f"w{self.count}" if reason < len(REASONS) else ""
        content = [pi.Block("text", word)] if word else []
        message = pi.Message("assistant", content, stopReason=why, usage=USAGE)
        self.heard(pi.MessageEnd(message), lambda: self.ref.said(why, word))

    def echo(self, which: int) -> None:
        """Of the head, of an open steer, of somebody before, of nobody."""
        ref = self.ref
        texts = [line.text for line in ref.steers] + ([self.texts.get(ref.queue[0].name, "/x")] if ref.queue else [])
        texts += [*list(self.texts.values())[-3:], "rewritten by an extension"]
        text = texts[which % len(texts)]
        mark = text.partition("\n")[0].rpartition(" ")[2] if text.startswith("[discord]") else None
        message = pi.Message("user", [pi.Block("text", text)])
        self.heard(pi.MessageStart(message), lambda: ref.echoed(mark))

    def tool(self, which: int) -> None:
        """A tool starts or ends, by one of three names or by none."""
        call = ("c1", "c2", "")[which % 3]
        if which < 3:
            self.heard(pi.ToolStart(call, "bash"), lambda: self.ref.tool_started(call))
        elif which < 6:
            self.heard(pi.ToolEnd(call), lambda: self.ref.tool_ended(call))
        else:
            result = pi.Message("toolResult", toolCallId=call)
            self.heard(pi.MessageEnd(result), lambda: self.ref.tool_ended(call))

    def pause(self, which: int) -> None:
        """A retry delay or a compaction begins or ends."""
        ref = self.ref
        match which % 4:
            case 0:
                self.heard(said("retry"), lambda: setattr(ref, "retrying", True))
            case 1:
                self.heard(said("retry_over"), lambda: setattr(ref, "retrying", False))
            case 2:
                self.heard(said("compaction"), lambda: ref.compaction(begins=True))
            case _:
                self.heard(said("compaction_end"), lambda: ref.compaction(begins=False))

    def dialog(self, which: int) -> None:
        """An extension asks, with or without a timeout of its own, or tells."""
        if which == 0:
            self.say(said("notify"))
            return
        timeout = (None, 1e-5, 1e6)[which % 3]
        name = f"d{which}"
        record = pi.Dialog(name, "confirm", timeout=timeout)
        self.heard(record, lambda: self.ref.asked(name, int((timeout or 0) * 1_000_000)))

    def nonsense(self, which: int) -> None:
        """Records that are none, and known ones that change nothing."""
        records = (Malformed("no JSON", 3), Unknown("novelty"), said("queue"), said("entry"), said("extension_error"))
        self.say((*records, said("ready", id=7))[which % 6])

    def stream(self) -> None:
        self.heard(said("delta"), lambda: None)

    def answer_a_command(self) -> None:
        """An idle child handles a command and then starts a run, which answers it; there it may ask something."""
        ref = self.ref
        if ref.phase == "live" and ref.run is None and not (ref.queue or ref.steers or ref.clears):
            self.submit(0)
            self.response(ref.queue[0].id, "handled")
            self.agent_start()
            self.dialog(2)

    def prove(self, far: int) -> None:
        """The head's echo proves a run that began before its response; ``far``: how far that run gets meanwhile."""
        head = self.ref.head
        if head is None or head.kind == "request" or head.read or not self.ref.alive:
            return
        if self.ref.run is None or not self.ref.run.open:
            self.agent_start()
        self.echo(len(self.ref.steers))
        if far > 0:
            self.speak(0)
        if far > 1:
            self.agent_end(0)
        if far > 2:
            self.settled()
        if far > 3:
            self.agent_start()
        if far % 2:
            self.response(head.id, "started")

    def obey(self) -> None:
        """What an honest child would say next, if it owes anything."""
        ref, head, run = self.ref, self.ref.head, self.ref.run
        if ref.phase == "starting":
            self.response("hello1", "started")
        elif head is not None and not head.read:
            self.response(head.id, "started")
        elif run is not None and run.open:
            if ref.steers:
                self.echo(0)
            elif run.last:
                self.agent_end(0)
            else:
                self.speak(0)
        elif run is not None:
            self.settled()
        elif head is not None:
            self.agent_start()
        elif any(not line.answered for line in ref.steers):
            self.response(next(line.id for line in ref.steers if not line.answered), "started")
        elif ref.clears:
            self.response(ref.clears[0].id, "started", 2)
