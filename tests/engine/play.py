"""Plays one engine in memory: records come from recordings, the clock is given; it decides nothing.

A record here is a line of a transcript with ids and texts put in, decoded by ``engine.wire`` as the real one would be.
"""

import copy
import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from engine import core, wire
from engine.commands import Command, Prompt, Steer
from engine.events import (
    SECOND,
    Code,
    Effect,
    Ended,
    Exited,
    Fail,
    Input,
    Limits,
    Read,
    Sent,
    SteerIn,
    Submit,
    Text,
    Tick,
    Wedged,
    Work,
    Write,
)
from engine.state import State
from engine.wire import Line

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"

LIMITS = Limits()
MS = SECOND // 1000

_SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "ready": ("a_plain", {"type": "response", "command": "get_state"}),
    "started": ("a_plain", {"type": "response", "data": {"disposition": "started"}}),
    "handled": ("l_commands", {"type": "response", "data": {"disposition": "handled"}}),
    "busy": ("d_busy_refusal", {"type": "response", "command": "prompt", "success": False}),
    "compacting": ("m_compact", {"type": "response", "command": "prompt", "success": False}),
    "refused": ("r_no_key", {"type": "response", "command": "prompt", "success": False}),
    "queued": ("e_steer_during_tool", {"type": "response", "command": "steer"}),
    "not_queued": ("k_malformed", {"type": "response", "success": False, "command": "no_such_command"}),
    "cleared": ("f_clear_queue", {"type": "response", "command": "clear_queue"}),
    "cleared_refused": ("f_clear_queue@0.73.1", {"type": "response", "success": False}),
    "abort_done": ("f_abort_stream", {"type": "response", "command": "abort"}),
    "compacted_response": ("m_compact", {"type": "response", "command": "compact", "success": True}),
    "compact_refused": ("m_compact", {"type": "response", "command": "compact", "success": False}),
    "agent_start": ("a_plain", {"type": "agent_start"}),
    "agent_end": ("a_plain", {"type": "agent_end", "willRetry": False}),
    "agent_end_retry": ("g_retry_then_success", {"type": "agent_end", "willRetry": True}),
    "settled": ("a_plain", {"type": "agent_settled"}),
    "turn_start": ("a_plain", {"type": "turn_start"}),
    "turn_end": ("a_plain", {"type": "turn_end"}),
    "echo": ("a_plain", {"type": "message_start", "message": {"role": "user"}}),
    "answer": ("a_plain", {"type": "message_end", "message": {"role": "assistant", "stopReason": "stop"}}),
    "cut": ("a_empty_and_length", {"type": "message_end", "message": {"stopReason": "length"}}),
    "tool_use": ("b_bash_tool", {"type": "message_end", "message": {"stopReason": "toolUse"}}),
    "error": ("g_retry_then_success", {"type": "message_end", "message": {"stopReason": "error"}}),
    "cut_off": ("i_drop_midstream", {"type": "message_end", "message": {"stopReason": "error"}}),
    "aborted": ("f_abort_stream", {"type": "message_end", "message": {"stopReason": "aborted"}}),
    "delta": ("a_plain", {"type": "message_update", "assistantMessageEvent": {"type": "text_delta"}}),
    "thought": ("a_thinking", {"type": "message_update", "assistantMessageEvent": {"type": "thinking_delta"}}),
    "tool_start": ("b_bash_tool", {"type": "tool_execution_start"}),
    "tool_update": ("b_bash_tool", {"type": "tool_execution_update"}),
    "tool_end": ("b_bash_tool", {"type": "tool_execution_end"}),
    "result_start": ("b_bash_tool", {"type": "message_start", "message": {"role": "toolResult"}}),
    "result_end": ("b_bash_tool", {"type": "message_end", "message": {"role": "toolResult"}}),
    "queue": ("e_steer_during_tool", {"type": "queue_update"}),
    "retry": ("g_retry_default_delays", {"type": "auto_retry_start"}),
    "retry_over": ("g_retry_then_success", {"type": "auto_retry_end"}),
    "compaction": ("m_auto_compaction", {"type": "compaction_start"}),
    "compaction_end": ("m_auto_compaction", {"type": "compaction_end"}),
    "select": ("l_commands", {"type": "extension_ui_request", "method": "select"}),
    "confirm": ("l_confirm_yes", {"type": "extension_ui_request", "method": "confirm"}),
    "timed": ("l_confirm_timeout", {"type": "extension_ui_request", "method": "confirm"}),
    "notify": ("l_commands", {"type": "extension_ui_request", "method": "notify"}),
    "extension_error": ("l_commands", {"type": "extension_error"}),
    "entry": ("g_retry_then_success", {"type": "entry_appended"}),
}
"""Each kind of record: the transcript it is taken from and what its first match there holds."""


def error_of(kind: str) -> str:
    """The error text of a recorded response, or of a recorded assistant message."""
    record = _recorded(kind)
    return str(record.get("error") or record.get("message", {}).get("errorMessage"))


def lines_of(name: str, direction: str = "out") -> list[str]:
    """The recorded lines of a transcript in one direction."""
    records = map(json.loads, (TRANSCRIPTS / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [record["line"] for record in records if record["dir"] == direction]


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(_holds(value.get(key), part) for key, part in wanted.items())
    return bool(value == wanted)


@cache
def _recorded(kind: str) -> dict[str, Any]:
    name, wanted = _SOURCES[kind]
    for line in lines_of(name):
        value = json.loads(line)
        if _holds(value, wanted):
            return dict(value)
    raise AssertionError(f"{name} holds no {wanted}")


def _put(value: dict[str, Any], changes: dict[str, Any]) -> None:
    for key, change in changes.items():
        if isinstance(change, dict) and isinstance(value.get(key), dict):
            _put(value[key], change)
        else:
            value[key] = change


def raw(kind: str, **changes: Any) -> dict[str, Any]:
    """A recorded record of this kind with these fields changed, as JSON."""
    value = copy.deepcopy(_recorded(kind))
    _put(value, changes)
    return value


def said(kind: str, **changes: Any) -> Line:
    """The same as the engine reads it."""
    return wire.decode(json.dumps(raw(kind, **changes)).encode()) if changes else _unchanged(kind)


@cache
def _unchanged(kind: str) -> Line:
    return wire.decode(json.dumps(_recorded(kind)).encode())


def spoke(kind: str, text: str) -> Line:
    """An assistant message (or an echo) of this kind with this text."""
    return said(kind, message={"content": [{"type": "text", "text": text}]})


def echo(turn: str) -> Line:
    """pi's echo of this turn's text."""
    return spoke("echo", text_of(turn))


def mark(turn: str) -> str:
    """The mark of a turn's text."""
    return str(1000 + int.from_bytes(turn.encode()))


def text_of(turn: str) -> str:
    """What is written for this turn, header and all."""
    return f"[discord] Ann · #general · {mark(turn)}\n\nask {turn}"


class Play:
    """One engine: ``give`` inputs and what the child ``says``; see ``state``, ``out`` (effects) and ``written``."""

    def __init__(self, limits: Limits = LIMITS, *, ready: bool = True) -> None:
        self.now = SECOND
        self.out: list[Effect] = []
        self.ids: dict[str, str] = {}
        self.state, effects = core.start(7, limits, self.now)
        self._keep(effects)
        if ready:
            self.says(said("ready", id="hello1"))

    def give(self, given: Input, *, at: int | None = None) -> list[Effect]:
        """One input; ``at`` moves the clock first."""
        self.now = self.now if at is None else at
        self.state, effects = core.step(self.state, given, self.now)
        self._keep(effects)
        return list(effects)

    def _keep(self, effects: tuple[Effect, ...]) -> None:
        for before, after in pairwise(effects):
            if isinstance(before, Sent) and isinstance(after, Write):
                self.ids[before.turn] = getattr(after.commands[0], "id", "")
        self.out += effects

    def says(self, *records: Line, at: int | None = None) -> list[Effect]:
        """The child says these, in one read."""
        return self.give(Read(7, records), at=at)

    def ask(self, turn: str, work: Work | None = None) -> list[Effect]:
        """Submit a turn; without ``work`` a person's text with its mark."""
        return self.give(Submit(turn, work or Text(text_of(turn))))

    def steer(self, turn: str) -> list[Effect]:
        """Steer a line; its request id is kept under its name."""
        effects = self.give(SteerIn(turn, Text(text_of(turn))))
        for command in lines(effects):
            if isinstance(command, Steer):
                self.ids[turn] = command.id
        return effects

    def fail(self, turn: str, code: Code = Code.STOPPED) -> list[Effect]:
        """Stop a turn."""
        return self.give(Fail(turn, code))

    def tick(self, after: int = 0) -> list[Effect]:
        """The clock goes on by ``after`` ns, then ticks."""
        return self.give(Tick(), at=self.now + after)

    def exit(self, code: int = 0) -> list[Effect]:
        """The process is gone."""
        return self.give(Exited(7, code))

    def started(self, turn: str) -> list[Effect]:
        """pi accepts this turn's prompt."""
        return self.says(said("started", id=self.ids[turn]))

    def runs(self, turn: str) -> list[Effect]:
        """pi accepts it, starts its run and echoes it."""
        return self.says(said("started", id=self.ids[turn]), said("agent_start"), said("turn_start"), echo(turn))

    def answers(self, *texts: str) -> list[Effect]:
        """The run answers, ends and settles."""
        return self.says(*(spoke("answer", text) for text in texts), said("agent_end"), said("settled"))

    @property
    def written(self) -> list[Command]:
        """All lines written so far, the first ``get_state`` apart."""
        return lines(self.out)[1:]

    @property
    def ends(self) -> dict[str, Code]:
        """How each turn ended that has."""
        assert len({e.turn for e in self.out if isinstance(e, Ended)}) == sum(isinstance(e, Ended) for e in self.out)
        return {effect.turn: effect.outcome.code for effect in self.out if isinstance(effect, Ended)}

    @property
    def wedged(self) -> bool:
        """Whether the child was given up."""
        return any(isinstance(effect, Wedged) for effect in self.out)

    def change(self, **changes: Any) -> State:
        """The state with these fields changed, for comparison."""
        return replace(self.state, **changes)


def lines(effects: list[Effect]) -> list[Command]:
    """All commands in these effects."""
    return [command for effect in effects if isinstance(effect, Write) for command in effect.commands]


def prompts(effects: list[Effect]) -> list[str]:
    """The texts of all prompts in these effects."""
    return [command.message for command in lines(effects) if isinstance(command, Prompt)]


def only(effects: list[Effect], *kinds: type[Effect]) -> list[Effect]:
    """The effects of these kinds."""
    return [effect for effect in effects if isinstance(effect, kinds)]
