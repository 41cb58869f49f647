"""Readings of a list of pi's records, for tests to compare whole; they change no record and judge none."""

from collections.abc import Iterable
from typing import Any

Record = dict[str, Any]
"""One JSON object of the wire, whatever is in it."""


def outline(records: Iterable[Record]) -> list[str]:
    """Return the records as words to compare whole; streamed pieces, whose number is chance, are left out."""
    return [word for word in map(_word, records) if word]


def _word(record: Record) -> str:
    match record:
        case {"type": "message_update" | "tool_execution_update" | "entry_appended"}:
            return ""
        case {"type": "response", "success": False}:
            return f"response {record.get('command')} refused"
        case {"type": "response", "command": command}:
            disposition = (record.get("data") or {}).get("disposition")
            return f"response {command} {disposition}" if disposition else f"response {command}"
        case {"type": "message_end", "message": {"role": "assistant", "stopReason": reason}}:
            return f"message_end assistant {reason}"
        case {"type": "message_start" | "message_end" as kind, "message": {"role": role}}:
            return f"{kind} {role}"
        case {"type": "tool_execution_start" | "tool_execution_end" as kind, "toolCallId": call}:
            return f"{kind} {call}" + (" error" if record.get("isError") else "")
        case {"type": "agent_end", "willRetry": retry}:
            return "agent_end retry" if retry else "agent_end"
        case {"type": "agent_settled", "aborted": aborted}:
            return "agent_settled aborted" if aborted else "agent_settled"
        case {"type": "auto_retry_start", "attempt": attempt}:
            return f"auto_retry_start {attempt}"
        case {"type": "auto_retry_end", "success": success}:
            return "auto_retry_end success" if success else "auto_retry_end failure"
        case {"type": "extension_ui_request", "method": method}:
            return f"dialog {method}"
        case {"type": kind}:
            return str(kind)
        case _:
            return "no type"


def spoken(records: Iterable[Record]) -> list[tuple[str, str]]:
    """Return stop reason and text of each finished assistant message."""
    return [(str(message["stopReason"]), _text(message)) for message in _finished(records, "assistant")]


def echoed(records: Iterable[Record]) -> list[str]:
    """Return the text of each user message as pi echoed it."""
    return [_text(message) for message in _finished(records, "user")]


def tool_results(records: Iterable[Record]) -> list[tuple[str, str]]:
    """Return call id and text of each tool result, in the order in which the model gets them."""
    return [(str(message["toolCallId"]), _text(message)) for message in _finished(records, "toolResult")]


def prompt(text: str, mark: str = "p1") -> Record:
    """Return the command that asks pi this text, under an id of our own."""
    return {"id": mark, "type": "prompt", "message": text}


def _finished(records: Iterable[Record], role: str) -> list[Record]:
    ends = [record["message"] for record in records if record.get("type") == "message_end"]
    return [message for message in ends if message["role"] == role]


def _text(message: Record) -> str:
    return "".join(part["text"] for part in message["content"] if part["type"] == "text")
