"""What a client can read out of pi's records, as a story that two children can be compared by. Pure.

Records are reduced to their type and the fields a client reads; names that differ from run to run (dialogs, tool
calls, entries) are numbered in the order they appear; updates are left out, but the last partial output of a tool is
told with its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fakes.recordings import THINNED, TRIM

__all__ = ["same", "story"]

_KEPT = {
    "agent_settled": ("aborted",),
    "queue_update": ("steering", "followUp"),
    "auto_retry_start": ("attempt", "maxAttempts", "delayMs", "errorMessage"),
    "auto_retry_end": ("success", "attempt", "finalError"),
    "compaction_start": ("reason",),
    "compaction_end": ("reason", "aborted", "willRetry", "errorMessage"),
    "summarization_retry_scheduled": ("attempt", "maxAttempts", "delayMs", "errorMessage"),
    "summarization_retry_attempt_start": ("source", "reason"),
    "thinking_level_changed": ("level",),
    "session_info_changed": ("name",),
    "extension_error": ("event", "error"),
    "bash_execution_update": ("id", "delta"),
}
_DATA = (
    "disposition",
    "cancelled",
    "steering",
    "followUp",
    "text",
    "isStreaming",
    "isCompacting",
    "messageCount",
    "pendingMessageCount",
    "thinkingLevel",
    "steeringMode",
    "followUpMode",
    "sessionName",
    "autoCompactionEnabled",
    "level",
    "levels",
    "output",
    "exitCode",
    "truncated",
    "userMessages",
    "assistantMessages",
    "toolCalls",
    "toolResults",
    "totalMessages",
    "tokens",
    "summary",
)
_LOG = re.compile(r"pi-bash-[0-9a-f]{16}\.log")


class _Names:
    """Numbers the names of one run."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self.partial: dict[str, str] = {}

    def of(self, kind: str, name: object) -> str:
        """The number of this name, with its kind."""
        return self._seen.setdefault(str(name), f"{kind}-{len(self._seen)}")


def story(records: Iterable[Any]) -> list[dict[str, Any]]:
    """The story of these records, in order; what is no object is left out."""
    names = _Names()
    told: list[dict[str, Any]] = []
    for record in records:
        if not isinstance(record, dict):
            continue
        kind = record.get("type")
        if kind == "tool_execution_update":
            names.partial[str(record["toolCallId"])] = _text(record["partialResult"].get("content"))
        if kind not in THINNED:
            told.append({"type": kind, **_fields(record, names)})
    return told


def _fields(record: dict[str, Any], names: _Names) -> dict[str, Any]:
    match kind := record.get("type"):
        case "response":
            return _response(record, names)
        case "agent_end":
            return {"willRetry": record["willRetry"], "messages": [_message(m, names) for m in record["messages"]]}
        case "message_start" | "message_end":
            return _message(record["message"], names)
        case "turn_end":
            results = [_message(m, names) for m in record["toolResults"]]
            return {**_message(record["message"], names), "toolResults": results}
        case "tool_execution_start":
            return {"call": names.of("call", record["toolCallId"]), "tool": record["toolName"], "args": record["args"]}
        case "tool_execution_end":
            call = record["toolCallId"]
            text = _text(record["result"]["content"])
            told = {"call": names.of("call", call), "isError": record["isError"], "text": text}
            return {**told, "partial": names.partial.pop(str(call), None)}
        case "extension_ui_request":
            rest = {k: v for k, v in record.items() if k not in {"type", "id"}}
            return {"id": names.of("dialog", record["id"]), **rest}
        case "entry_appended":
            return {"entry": record["entry"]["type"]}
        case _:
            return {key: record[key] for key in _KEPT.get(str(kind), ()) if key in record}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    text = "".join(part.get("text", "") for part in content or () if isinstance(part, dict))
    return _LOG.sub("pi-bash-0000000000000000.log", text)


def _message(message: dict[str, Any], names: _Names) -> dict[str, Any]:
    role = message["role"]
    told: dict[str, Any] = {"role": role}
    if role == "system":
        return told
    told["text"] = _text(message.get("content"))
    for part in message.get("content") or ():
        if part["type"] == "toolCall":
            call = {"call": names.of("call", part["id"]), "tool": part["name"], "args": part["arguments"]}
            told.setdefault("calls", []).append(call)
        elif part["type"] != "text":
            told.setdefault("other", []).append({k: v for k, v in part.items() if k != "thinkingSignature"})
    told |= {key: message[key] for key in ("stopReason", "errorMessage", "isError") if key in message}
    if "toolCallId" in message:
        told["call"] = names.of("call", message["toolCallId"])
    return told


def _response(record: dict[str, Any], names: _Names) -> dict[str, Any]:
    told: dict[str, Any] = {k: record[k] for k in ("id", "command", "success", "error") if k in record}
    if told.get("command") == "parse":
        told["error"] = str(told["error"]).partition(":")[0]  # the rest is V8's
    data = record.get("data")
    if not isinstance(data, dict):
        return told
    told["data"] = kept = {key: data[key] for key in _DATA if key in data}
    if "model" in data:
        kept["model"] = data["model"]["id"]
    if "provider" in data:
        kept["model"] = data["id"]
    if "sessionFile" in data:
        kept["sessionFile"] = names.of("file", data["sessionFile"])
    for key, inner in (("models", "id"), ("commands", "name"), ("entries", "type"), ("messages", "role")):
        if key in data:
            kept[key] = [item.get(inner, item.get("text")) for item in data[key] if isinstance(item, dict)]
    return told


def same(recorded: Any, played: Any) -> bool:
    """Whether a played value is the recorded one; of a string cut when saved, what was kept must fit."""
    if isinstance(recorded, str) and isinstance(played, str):
        cut = TRIM.search(recorded)
        if cut is None or recorded == played:
            return recorded == played
        head, tail = recorded[: cut.start()], recorded[cut.end() :]
        return played.startswith(head) and played.endswith(tail) and len(played) == len(head) + len(tail) + int(cut[1])
    if isinstance(recorded, dict) and isinstance(played, dict):
        return recorded.keys() == played.keys() and all(same(v, played[k]) for k, v in recorded.items())
    if isinstance(recorded, list) and isinstance(played, list):
        return len(recorded) == len(played) and all(same(a, b) for a, b in zip(recorded, played, strict=True))
    return type(recorded) is type(played) and bool(recorded == played)
