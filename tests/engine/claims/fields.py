"""The events of 1.6.0 and their fields, as PROTOCOL §4 lists them: values, and whether a recording keeps to them."""

from __future__ import annotations

from fakes.recordings import Recording
from tests.engine.claims.seen import records, updates

FIELDS: dict[str, tuple[str, str]] = {
    "agent_start": ("", ""),
    "agent_end": ("messages willRetry", ""),
    "agent_settled": ("aborted", ""),
    "turn_start": ("", ""),
    "turn_end": ("message toolResults", ""),
    "message_start": ("message", ""),
    "message_end": ("message", ""),
    "message_update": ("usage assistantMessageEvent", ""),
    "tool_execution_start": ("toolCallId toolName args", ""),
    "tool_execution_update": ("toolCallId toolName args partialResult", ""),
    "tool_execution_end": ("toolCallId toolName result isError", "durationMs"),
    "queue_update": ("steering followUp", ""),
    "auto_retry_start": ("attempt maxAttempts delayMs errorMessage", ""),
    "auto_retry_end": ("success attempt", "finalError"),
    "compaction_start": ("reason", ""),
    "compaction_end": ("reason aborted willRetry", "result errorMessage"),
    "summarization_retry_scheduled": ("attempt maxAttempts delayMs errorMessage", ""),
    "summarization_retry_attempt_start": ("source reason", ""),
    "summarization_retry_finished": ("", ""),
    "entry_appended": ("entry", ""),
    "thinking_level_changed": ("level", ""),
    "session_info_changed": ("name", ""),
    "extension_error": ("extensionPath event error", ""),
    "bash_execution_update": ("id delta", ""),
}
"""Event to the fields that each has, and to those that some have; a dialog's are its method's (§9)."""

PIECES: dict[str, str] = {
    **{f"{kind}_start": "" for kind in ("text", "thinking")},
    **{f"{kind}_delta": "delta" for kind in ("text", "thinking", "toolcall")},
    **{f"{kind}_end": "content" for kind in ("text", "thinking")},
    "toolcall_start": "id toolName",
    "toolcall_end": "toolCall",
}
"""Kind of `assistantMessageEvent` to what it has beside `type` and `contentIndex`."""

STOPS = {"stop", "toolUse", "length", "error", "aborted"}


def as_listed(r: Recording) -> bool:
    """Whether every event is one of the list, with the fields of the list."""
    for record in records(r):
        name = str(record["type"])
        if name in {"response", "extension_ui_request"}:
            continue
        needed, free = (set(part.split()) for part in FIELDS[name])
        if not needed <= record.keys() - {"type"} <= needed | free:
            return False
    return True


def pieces_as_listed(r: Recording) -> bool:
    """Whether every piece of a streaming message is."""
    return all(set(PIECES[each["type"]].split()) | {"type", "contentIndex"} == each.keys() for each in updates(r))


def stops_as_listed(r: Recording) -> bool:
    """Whether an assistant message begins pending, or whole as one that failed, and ends with one of the reasons."""
    for name, allowed in (("message_start", {"pending", "error", "aborted"}), ("message_end", STOPS)):
        said = [record["message"] for record in records(r, name)]
        if not {message["stopReason"] for message in said if message["role"] == "assistant"} <= allowed:
            return False
    return True
