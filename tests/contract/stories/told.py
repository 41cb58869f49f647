"""What a child's records tell the engine: each read by the engine's own vocabulary, what differs by chance masked.

Two children are compared by this: a field that the vocabulary gains is compared from then on without a word here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from engine import pi, wire
from tests.engine.claims.claim import kind as word_of

DATA: dict[str, tuple[str, ...]] = {
    "clear_queue": ("steering", "followUp"),
    "compact": ("summary",),
    "follow_up": ("disposition",),
    "fork": ("cancelled", "text"),
    "get_available_models": ("models",),
    "get_available_thinking_levels": ("levels",),
    "get_commands": ("commands",),
    "get_fork_messages": ("messages",),
    "get_last_assistant_text": ("text",),
    "get_session_stats": ("userMessages", "assistantMessages", "toolCalls", "toolResults", "totalMessages", "tokens"),
    "get_state": (
        *("model", "thinkingLevel", "isStreaming", "isCompacting", "steeringMode", "followUpMode", "sessionFile"),
        *("sessionName", "autoCompactionEnabled", "messageCount", "pendingMessageCount"),
    ),
    "new_session": ("cancelled",),
    "prompt": ("disposition",),
    "set_model": ("provider", "id"),
    "steer": ("disposition",),
    "switch_session": ("cancelled",),
}
"""What of a response's data is read, by command; of any other command nothing is."""

INNER: dict[str, tuple[str, ...]] = {
    "commands": ("name", "description"),
    "messages": ("text",),
    "model": ("provider", "id"),
    "models": ("provider", "id"),
}
"""What of the objects in it."""

BESIDE = ("usage",)
"""What the engine asks by name of other things than a response's data: it is compared with the record it stands in."""

NUMBERED = {"toolCallId": "call", "callId": "call", "sessionFile": "file"}
_LOG = re.compile(r"/\S*pi-bash-[0-9a-f]+\.log")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing told: its word, as in the table of claims, and the fields that are read."""

    word: str
    fields: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join([f"[{self.word}]", *(f"{name}={value}" for name, value in self.fields)])


def told(lines: Iterable[bytes]) -> list[Event]:
    """The story of these lines.

    All pieces of one streaming text are one event, where its message ends; all updates of one tool are one, before its
    end: how many there are is chance, whether there are any is not.
    """
    names = _Names()
    events: list[Event] = []
    pieces: list[pi.Piece] = []
    updated: dict[str, None] = {}
    for line in lines:
        record = wire.decode(line)
        if isinstance(record, pi.MessageUpdate):
            pieces.append(record.assistantMessageEvent)
            continue
        if isinstance(record, pi.LIFE):
            events += _joined(pieces)
            pieces = []
        if isinstance(record, pi.ToolUpdate):
            updated[json.loads(line).get("toolCallId")] = None
            continue
        if isinstance(record, pi.ToolEnd) and record.toolCallId in updated:
            del updated[record.toolCallId]
            events.append(_updates(record.toolCallId, names))
        events.append(_event(line, record, names))
    return [*events, *_joined(pieces), *(_updates(call, names) for call in updated)]


def _updates(call: str, names: _Names) -> Event:
    return Event("tool_execution_update", (("toolCallId", names.of("call", call)),))


def _joined(pieces: list[pi.Piece]) -> list[Event]:
    kinds = ("thinking_delta", "text_delta")
    texts = {kind: "".join(piece.delta for piece in pieces if piece.type == kind) for kind in kinds}
    return [Event(kind.partition("_")[0], (("delta", _short(text)),)) for kind, text in texts.items() if text]


class _Names:
    """Numbers what is named anew in each run."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def of(self, what: str, name: object) -> str:
        """The number of this name among those of its kind."""
        count = sum(known.startswith(what) for known in self._seen.values())
        return self._seen.setdefault(f"{what} {name}", f"{what}-{count}")


def _event(line: bytes, record: wire.Line, names: _Names) -> Event:
    if isinstance(record, wire.Unknown | wire.Malformed):
        return Event(f"unread: {record}")
    raw = json.loads(line.decode("utf-8", "replace"))
    fields = msgspec.to_builtins(record)
    fields.pop("type")
    if isinstance(record, pi.Response):
        fields["data"] = _data(record)
        fields["error"] = _error(record)
    if isinstance(record, pi.Dialog):
        fields["id"] = names.of("dialog", record.id)
    if isinstance(record, pi.MessageStart | pi.MessageEnd) and record.message.role == "system":
        fields["message"]["content"] = ""
    if isinstance(record, pi.CompactionEnd):
        usage = pi.usage_in(pi.plain(record.result, "usage"))
        fields["result"] = {"summary": pi.plain(record.result, "summary"), "usage": msgspec.to_builtins(usage)}
    if isinstance(record, pi.ExtensionError):
        fields["error"] = record.error.partition("\n")[0]
    shown = {name: _masked(name, value, names) for name, value in fields.items()}
    return Event(word_of(raw), tuple((name, _short(value)) for name, value in shown.items()))


def _masked(name: str, value: Any, names: _Names) -> Any:
    """The value without what differs by chance."""
    if value is None:
        return None
    if name in NUMBERED:
        return names.of(NUMBERED[name], value)
    match value:
        case str():
            return _LOG.sub("pi-bash.log", value)
        case dict():
            return {key: _masked(key, item, names) for key, item in value.items()}
        case list():
            return [_masked("", item, names) for item in value]
        case _:
            return value


def _data(response: pi.Response) -> Any:
    wanted = DATA.get(response.command or "", ())
    found = {name: response.data[name] for name in wanted if isinstance(response.data, dict) and name in response.data}
    for name, inner in INNER.items():
        if isinstance(found.get(name), list):
            found[name] = sorted(str({key: one.get(key) for key in inner}) for one in found[name])
        elif name in found:
            found[name] = {key: found[name].get(key) for key in inner}
    return found


def _error(response: pi.Response) -> str | None:
    """The first line; of a parser's the beginning, the rest is V8's."""
    if response.error is None:
        return None
    first = response.error.partition("\n")[0]
    return first.partition(":")[0] if response.command == "parse" else first


def _short(value: Any) -> str:
    """The value as JSON, a long one by its ends, its length and a hash of all of it."""
    text = json.dumps(value, ensure_ascii=True)
    whole = hashlib.sha256(text.encode()).hexdigest()[:16]
    return text if len(text) <= 400 else f"{text[:150]}…{text[-150:]} ({len(text)} characters, {whole})"
