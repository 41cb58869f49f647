"""A small honest pi for the model tests: concurrent handlers, one run at a time, a queue, dialogs, retries, extensions.

It keeps the promises of PROTOCOL and the odd orders too: responses as their handlers finish, extension runs whenever
it is idle, an abort before the run does nothing, a steer may be queued late. It knows the truth about every word.
"""

import random
from collections.abc import Iterator
from typing import Any

from engine import commands, pi
from tests.engine.play import error_of, said

USAGE = pi.Usage(input=1)
Flow = Iterator[None]


class Pi:
    """``receive`` what was written, ``step`` a handler; ``out`` is what it has said and nobody has read yet."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.out: list[Any] = []
        self.flows: list[Flow] = []
        self.queue: list[str] = []
        self.streaming = self.compacting = self.aborting = False
        self.dialog: str | None = None
        self.out_of_work = False
        self.count = 0
        self.running: str | None = None
        """The prompt whose run is on, "" for an extension's, None while idle."""
        self.words: list[tuple[str, str]] = []
        """Every word of an answer with the text that pi answered by it, "" for an extension's."""
        self.private: list[str] = []
        """Words that are no answer: beside tool calls, of failed tries, of aborted messages."""
        self.echoes: list[tuple[str, str]] = []
        """Every text that ran, with the prompt in whose run it did."""

    @property
    def idle(self) -> bool:
        """Whether nothing more happens by itself."""
        return not self.flows and not self.out

    def receive(self, command: commands.Command) -> None:
        """One line was written."""
        match command:
            case commands.DialogAnswer(id=name):
                if name == self.dialog:
                    self.dialog = None
            case commands.Prompt(id=name, message=text):
                self.flows.append(self.slash(name) if text.startswith("/") else self.prompt(name, text))
            case commands.Steer(id=name, message=text):
                self.flows.append(self.steer(name, text))
            case commands.Abort(id=name):
                self.flows.append(self.abort(name))
            case commands.ClearQueue(id=name):
                self.flows.append(self.clear(name))
            case commands.Compact(id=name):
                self.flows.append(self.compact(name))
            case commands.GetState(id=name):
                self.reply(name)
            case _:
                raise AssertionError(f"this pi does not know {command}")

    def step(self) -> None:
        """Let one handler go on, any of them."""
        if self.flows:
            flow = self.chance.choice(self.flows)
            if next(flow, self) is self:
                self.flows.remove(flow)

    # -- handlers --------------------------------------------------------------------------------------------------

    def reply(self, name: str, *, error: str | None = None, data: Any = None) -> None:
        self.out.append(pi.Response(id=name, success=error is None, error=error, data=data))

    def delay(self) -> Flow:
        """A hook that takes its time."""
        for _ in range(self.chance.choice((0, 0, 1, 4))):
            yield

    def prompt(self, name: str, text: str) -> Flow:
        yield from self.delay()
        if self.chance.randrange(12) == 0:
            yield from self.ask()
        if self.chance.randrange(15) == 0:
            self.reply(name, data={"disposition": "handled"})
            return
        if self.compacting or self.streaming:
            self.reply(name, error=COMPACTING if self.compacting else BUSY)
            return
        self.streaming = True
        if self.chance.randrange(10) == 0:
            self.out += [said("compaction"), said("compaction_end")]
        self.reply(name, data={"disposition": "started"})
        yield
        yield from self.run(text)

    def slash(self, name: str) -> Flow:
        yield from self.delay()
        if self.chance.randrange(4) == 0:
            yield from self.ask()
        self.reply(name, data={"disposition": "handled"})
        if self.chance.randrange(2):
            self.flows.append(self.extension())

    def extension(self) -> Flow:
        yield from self.delay()
        if self.streaming or self.compacting:
            self.out.append(said("extension_error"))
            return
        self.streaming = True
        yield from self.run("")

    def steer(self, name: str, text: str) -> Flow:
        yield from self.delay()
        if self.chance.randrange(15) == 0:
            self.reply(name, error="Unknown command: steer")
            return
        self.queue.append(text)
        self.out.append(said("queue"))
        self.reply(name, data={"disposition": "queued"})

    def clear(self, name: str) -> Flow:
        taken, self.queue = self.queue, []
        self.reply(name, data={"steering": taken, "followUp": []})
        yield from ()

    def compact(self, name: str) -> Flow:
        self.compacting = True
        self.out.append(said("compaction"))
        yield from self.delay()
        self.compacting = False
        self.out.append(said("compaction_end"))
        self.reply(name, error=None if self.chance.randrange(2) else "Nothing to compact (session too small)")

    def abort(self, name: str) -> Flow:
        """Does nothing to a prompt that is not yet running, ends a run, and is answered when pi is idle."""
        run = self.running
        if run is not None:
            self.aborting = True
            while self.running is not None:
                yield
        self.reply(name)

    def open_dialogs(self) -> set[str]:
        """What waits for its answer: one at a time."""
        return {self.dialog} if self.dialog else set()

    def ask(self) -> Flow:
        """A dialog: nothing goes on until it is answered, not even an abort."""
        self.count += 1
        self.dialog = name = f"d{self.count}"
        self.out.append(pi.Dialog(name, "confirm", timeout=None))
        while name in self.open_dialogs():
            yield

    # -- a run -----------------------------------------------------------------------------------------------------

    def run(self, text: str) -> Flow:
        self.running = text
        owner = text
        self.out += [said("agent_start"), said("turn_start")]
        self.echo(text)
        while True:
            yield
            if self.queue and (not self.aborting or self.chance.randrange(2)):
                owner = self.queue.pop(0)
                self.out.append(said("queue"))
                self.echo(owner)
                continue
            if self.aborting:
                self.message("aborted", owner, private=True)
                self.out.append(said("agent_end"))
                break
            yield from self.call(owner)
            if self.done():
                self.out.append(said("agent_end"))
                if self.chance.randrange(8) == 0:
                    self.out += [said("compaction"), said("compaction_end")]
                if self.chance.randrange(8):
                    break
                yield
                self.out.append(said("agent_start"))
        if not self.aborting:
            yield
        self.out.append(said("settled"))
        self.streaming = self.aborting = False
        self.running = None

    def done(self) -> bool:
        """Whether the run ends here: no abort to show, nothing queued, nothing left to do."""
        return self.out_of_work and not self.queue and not self.aborting

    def call(self, owner: str) -> Flow:
        """One call of the provider: a failed try, a fatal error, a tool, a dialog in a tool, or an answer."""
        self.out_of_work = False
        match self.chance.randrange(8):
            case 0:
                self.message("error", owner, private=True)
                self.out += [said("agent_end_retry"), said("retry")]
                yield
                if self.aborting:
                    self.out += [said("retry_over"), said("agent_start")]
                    return
                self.out += [said("agent_start"), said("retry_over")]
            case 1 | 2:
                self.message("toolUse", owner, private=True)
                self.count += 1
                call = f"call{self.count}"
                self.out.append(pi.ToolStart(call, "bash"))
                yield
                if self.chance.randrange(3) == 0:
                    yield from self.ask()
                    if self.aborting and self.chance.randrange(2):
                        yield from self.ask()
                self.out.append(pi.ToolEnd(call))
            case 3:
                self.message(self.chance.choice(("stop", "error")), owner, private=False, empty=True)
                self.out_of_work = True
            case _:
                self.message(self.chance.choice(("stop", "length")), owner, private=False)
                self.out_of_work = self.chance.randrange(3) > 0
        yield

    def echo(self, text: str) -> None:
        self.echoes.append((text, self.running or ""))
        self.out.append(pi.MessageStart(pi.Message("user", [pi.Block("text", text or "EXT RUN")])))

    def message(self, reason: str, owner: str, *, private: bool, empty: bool = False) -> None:
        self.count += 1
        word = "" if empty else f"w{self.count}"
        if private:
            self.private.append(word)
        elif word:
            self.words.append((owner, word))
        self.out.append(pi.MessageEnd(pi.Message("assistant", [pi.Block("text", word)], reason, usage=USAGE)))


BUSY = error_of("busy")
COMPACTING = error_of("compacting")
