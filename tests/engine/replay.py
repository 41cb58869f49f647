"""Plays a recording through the core: what was written becomes our inputs, what pi said is read; judges nothing.

Each person's text gets a header with a mark of its own, and so does its echo: that is how the connector writes. A
prompt that the engine holds back is written when the engine thinks fit; its recorded response then answers nothing.
"""

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from engine import commands, core, wire
from engine.commands import Prompt, Steer
from engine.events import (
    SECOND,
    AnswerDialog,
    Answered,
    Code,
    Effect,
    Ended,
    Exited,
    Fail,
    Heard,
    Input,
    Limits,
    Read,
    Request,
    Returned,
    Sent,
    Slash,
    SteerIn,
    Submit,
    Text,
    Tick,
    Wedged,
    Write,
)
from engine.state import Condition, State, deadline, steerable
from tests.engine.play import TRANSCRIPTS, said

GENERATION = 1
NOBODYS = ("message from the extension", "EXT RUN", "/")
"""How texts begin that pi echoes and no header can be put to: an extension's, and an unknown command's."""
SESSION_COMMANDS: dict[str, commands.Ask] = {"compact": commands.Compact(""), "new_session": commands.NewSession("")}


def names(version: str) -> list[str]:
    """All recordings of a version, without their suffix."""
    old = {path.stem for path in TRANSCRIPTS.glob("*@0.73.1.jsonl")}
    new = {path.stem for path in TRANSCRIPTS.glob("*.jsonl")} - old
    return sorted(new if version == "1.6.0" else old)


def text_in(message: dict[str, Any]) -> str:
    """The text blocks of a recorded message."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)]
    return "".join(block.get("text", "") for block in blocks if block.get("type") == "text")


@dataclass
class Replay:
    """One recording played.

    ``exit``: its process's end is given too. ``echoes``: pi echoes the header with its mark. ``stop_after``: whoever is
    at the head or steered is stopped after so many of pi's records.
    """

    name: str
    exit: bool = True
    echoes: bool = True
    stop_after: int = -1
    limits: Limits = field(default_factory=lambda: Limits(dialog=60 * SECOND))
    out: list[Effect] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """Turn to the person's own text, as recorded."""
    said: list[tuple[str, str]] = field(default_factory=list)
    """Every good assistant text, with the text whose echo came last before it of those that the engine had written or
    that an extension sent: told apart from the core. A text that pi has from elsewhere is part of the run it joins."""
    _ids: dict[str, str] = field(default_factory=dict)
    _recorded: dict[str, str] = field(default_factory=dict)
    _unheard: dict[str, list[str]] = field(default_factory=dict)
    _echoed: str = ""
    _count: int = 0
    _records: int = 0
    _framer: wire.Framer = field(default_factory=lambda: wire.Framer(1 << 24))

    def __post_init__(self) -> None:
        self.state: State
        self.state, effects = core.start(GENERATION, self.limits, 0)
        self.out += effects
        path = TRANSCRIPTS / f"{self.name}.jsonl"
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            now = int(record["t"] * SECOND)
            while (due := deadline(self.state)) is not None and due <= now:
                self._give(Tick(), due)
            match record["dir"]:
                case "in":
                    self._written(record["line"], now)
                case "out":
                    self._read(record["line"], now)
                case "proc" if self.exit and isinstance(record["data"], dict) and "exit" in record["data"]:
                    self._give(Exited(GENERATION, record["data"]["exit"] or 0), now)
                case _:
                    pass

    def _give(self, given: Input, now: int) -> list[Effect]:
        self.state, effects = core.step(self.state, given, now)
        self.out += effects
        for before, after in pairwise(effects):
            if isinstance(before, Sent) and isinstance(after, Write) and before.turn in self._recorded:
                self._ids[self._recorded[before.turn]] = getattr(after.commands[0], "id", "")
        return list(effects)

    # -- what was written ------------------------------------------------------------------------------------------

    def _written(self, line: str, now: int) -> None:
        try:
            command = json.loads(line)
        except ValueError:
            return
        if not isinstance(command, dict):
            return
        kind, text = command.get("type"), command.get("message")
        if kind != "get_state" and self.state.condition is Condition.STARTING:
            self._give(Read(GENERATION, (said("ready", id="hello1"),)), now)
        if kind in {"prompt", "steer", "follow_up"} and isinstance(text, str):
            joins = "streamingBehavior" in command and steerable(self.state)
            self._person(text, command.get("id"), now, steer=kind != "prompt" or joins)
        elif kind in SESSION_COMMANDS:
            self._submit(Request(SESSION_COMMANDS[kind]), command.get("id"), now)
        elif kind == "abort":
            if self.state.head is not None:
                self._give(Fail(self.state.head.name, Code.STOPPED), now)
        elif kind == "extension_ui_response":
            answer = AnswerDialog(str(command.get("id")), command.get("value"), command.get("confirmed"))
            self._give(answer, now)

    def _person(self, text: str, recorded: Any, now: int, *, steer: bool) -> None:
        if text.startswith("/"):
            self._submit(Slash(text), recorded, now)
            return
        mark = str(9000 + self._count)
        marked = Text(f"[discord] Ann · #general · {mark}\n\n{text}")
        self._unheard.setdefault(text, []).append(marked.message)
        if steer:
            self._count += 1
            turn = f"s{self._count}"
            self.texts[turn] = text
            for effect in self._give(SteerIn(turn, marked), now):
                if isinstance(effect, Write) and isinstance(recorded, str):
                    self._ids[recorded] = getattr(effect.commands[0], "id", "")
        else:
            self._submit(marked, recorded, now)

    def _submit(self, work: Text | Slash | Request, recorded: Any, now: int) -> None:
        self._count += 1
        turn = f"t{self._count}"
        if not isinstance(work, Request):
            self.texts[turn] = work.message.partition("\n\n")[2] if isinstance(work, Text) else work.message
        if isinstance(recorded, str):
            self._recorded[turn] = recorded
        self._give(Submit(turn, work), now)

    # -- what pi said ----------------------------------------------------------------------------------------------

    def _read(self, line: str, now: int) -> None:
        value = json.loads(line)
        if value.get("type") == "response" and isinstance(value.get("id"), str):
            value["id"] = self._ours(value.get("command"), value["id"])
        message = value.get("message")
        if value.get("type") in {"message_start", "message_end"} and isinstance(message, dict):
            self._message(value["type"], message)
        framed = json.dumps(value).encode() + b"\n"
        assert self._framer.read(framed[: len(framed) // 2]) == ()
        self._give(Read(GENERATION, self._framer.read(framed[len(framed) // 2 :])), now)
        if self._records == self.stop_after:
            for turn in [*self.texts]:
                self._give(Fail(turn, Code.STOPPED), now)
        self._records += 1

    def _ours(self, command: Any, recorded: str) -> str:
        """The id of what the engine wrote in place of what was recorded."""
        if command == "get_state" and self.state.condition is Condition.STARTING:
            return "hello1"
        if command == "abort" and self.state.aborts:
            return self.state.aborts[0]
        if command == "clear_queue" and self.state.steering.clears:
            return self.state.steering.clears[0].request
        return self._ids.get(recorded, recorded)

    def _message(self, kind: str, message: dict[str, Any]) -> None:
        text = text_in(message)
        if message.get("role") == "user" and kind == "message_start":
            known = next((own for own in self._unheard if own == text or (own and text.startswith(own))), None)
            waiting = self._unheard.get(known, []) if known is not None else []
            if known is not None and waiting:
                if self.echoes:
                    message["content"] = [{"type": "text", "text": waiting[0]}]
                self._echoed = known if waiting.pop(0) in self.asked else self._echoed
            elif text.startswith(NOBODYS):
                self._echoed = text
        good = kind == "message_end" and message.get("stopReason") in {"stop", "length"}
        if text and good and message.get("role") == "assistant":
            self.said.append((self._echoed, text))

    # -- what became of it -----------------------------------------------------------------------------------------

    @property
    def story(self) -> list[str]:
        """One line for each end, further answer, wedge, heard and returned steer, with the person's text."""
        return [line for effect in self.out if (line := self._line(effect))]

    def _line(self, effect: Effect) -> str:
        match effect:
            case Ended(turn, outcome) if turn in self.texts:
                told = outcome.text[:40] or (self.texts[outcome.into][:20] if outcome.into else "")
                later = " later" if outcome.busy else ""
                return f"{self.texts[turn][:20]}: {outcome.code}{later} {told}".rstrip()
            case Answered(turn, text):
                return f"{self.texts[turn][:20]}: also {text[:40]}"
            case Heard(turn, _):
                return f"{self.texts[turn][:20]}: heard"
            case Returned(turn, refused, written):
                return (
                    f"{self.texts[turn][:20]}: returned{' refused' if refused else ''}{'' if written else ' unwritten'}"
                )
            case Wedged(reason):
                return f"wedged: {reason}"
            case _:
                return ""

    @property
    def wedged(self) -> str:
        """Why the child was given up, "" if it was not."""
        return next((effect.reason for effect in self.out if isinstance(effect, Wedged)), "")

    @property
    def answers(self) -> list[tuple[str, str]]:
        """Every answer with the turn it was given to."""
        found = [(e.turn, e.outcome.text) for e in self.out if isinstance(e, Ended) and e.outcome.text]
        return found + [(e.turn, e.text) for e in self.out if isinstance(e, Answered)]

    @property
    def asked(self) -> list[str]:
        """Every text written, prompts and steers."""
        lines = [line for effect in self.out if isinstance(effect, Write) for line in effect.commands]
        return [line.message for line in lines if isinstance(line, Prompt | Steer)]
