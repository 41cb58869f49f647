"""Records as pi 1.6.0 writes them, field for field as recorded. Pure builders: values in, dictionaries out."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import Any

__all__ = [
    "LEVELS",
    "MODELS",
    "NO_USAGE",
    "Record",
    "asked_of",
    "assistant_message",
    "encode",
    "image_content",
    "response",
    "system_message",
    "text_of",
    "tool_result",
    "usage_of",
    "user_message",
]

Record = dict[str, Any]

LEVELS = ("off", "minimal", "low", "medium", "high")


def _model(name: str, title: str, *, reasoning: bool) -> Record:
    return {
        "id": name,
        "name": title,
        "api": "openai-completions",
        "provider": "fake",
        "baseUrl": "http://127.0.0.1:9/v1",
        "reasoning": reasoning,
        "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 128000,
        "maxTokens": 4096,
    }


MODELS: tuple[Record, ...] = (
    _model("scripted", "Scripted", reasoning=True),
    _model("scripted-2", "Scripted 2", reasoning=False),
)
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
NO_USAGE: Record = {
    "input": 0,
    "output": 0,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 0,
    "cost": _NO_COST,
}


def usage_of(tokens_in: int, tokens_out: int) -> Record:
    """What a call used; cost in dollars, by pi's own order of operations: the price of one token, then how many."""
    cost_in, cost_out = 1 / 1e6 * tokens_in, 2 / 1e6 * tokens_out
    cost = {"input": cost_in, "output": cost_out, "cacheRead": 0, "cacheWrite": 0}
    return {
        "input": tokens_in,
        "output": tokens_out,
        "cacheRead": 0,
        "cacheWrite": 0,
        "reasoning": 0,
        "totalTokens": tokens_in + tokens_out,
        "cost": {**cost, "total": cost_in + cost_out, "totalFromProvider": False},
    }


def system_message(cwd: str, at: int) -> Record:
    """The system message of a session's first run; `at` is the epoch in ms, here and below."""
    sections = {
        "preamble": "You are a coding assistant running inside pi, a coding agent harness.",
        "tools": "<tools>\n- read: Read file contents\n- bash: Execute bash commands (ls, grep, find, etc.)\n</tools>",
        "cwd": f"<cwd>\n{cwd}\n</cwd>",
    }
    tools = [
        {
            "name": name,
            "description": title,
            "parameters": {"type": "object", "properties": {}},
            "constrainedSampling": {"type": "json_schema", "strict": "prefer"},
        }
        for name, title in (("read", "Read the contents of a file."), ("bash", "Execute a bash command."))
    ]
    return {"role": "system", "content": "", "sections": sections, "timestamp": at, "toolsAdded": tools}


def user_message(content: list[Record], at: int) -> Record:
    """A user message with these content parts."""
    return {"role": "user", "content": content, "timestamp": at}


def assistant_message(model: Record, content: list[Record], stop: str, usage: Record, at: int, **more: Any) -> Record:
    """An assistant message; `more` in wire order (errorMessage, responseId, …)."""
    return {
        "role": "assistant",
        "content": content,
        "api": model["api"],
        "provider": model["provider"],
        "model": model["id"],
        "usage": usage,
        "stopReason": stop,
        "timestamp": at,
        **more,
    }


def tool_result(call: str, name: str, result: Record, at: int, *, failed: bool, took: int | None) -> Record:
    """The toolResult message that follows a tool's end."""
    message = {"role": "toolResult", "toolCallId": call, "toolName": name, "content": result["content"]}
    if "details" in result:
        message["details"] = result["details"]
    message["isError"] = failed
    if took is not None:
        message["durationMs"] = took
    return {**message, "timestamp": at}


def response(command: Record, *, data: Any = None, error: str | None = None) -> Record:
    """The answer to a command; `id` and `command` only where the command has them (k_malformed)."""
    record: Record = {"id": command["id"]} if "id" in command else {}
    record["type"] = "response"
    if "type" in command:
        record["command"] = command["type"]
    record["success"] = error is None
    if error is not None:
        record["error"] = error
    elif data is not None:
        record["data"] = data
    return record


def text_of(message: Record) -> str:
    """The text parts of a message."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content or () if part.get("type") == "text")


_LONE = re.compile("[\ud800-\udfff]")


def asked_of(content: list[Record]) -> str:
    """The text as the provider gets it: hints of pictures included, lone surrogates taken out (k_unicode)."""
    return _LONE.sub("", text_of({"content": content}))


_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_OMITTED = "[Image omitted: could not be resized below the inline image size limit.]"
_BAD_IMAGE = (
    "The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like"
    " Object. Received undefined"
)


def image_content(text: str, images: Any) -> list[Record]:
    """A prompt's content: its text and pictures, unreadable ones replaced by a hint (k_image).

    Raises ValueError with pi's words where an entry has no data.
    """
    entries = images if isinstance(images, list) else [images] if images else []
    kept: list[Record] = []
    for entry in entries:
        data = entry.get("data") if isinstance(entry, dict) else None
        if not isinstance(data, str):
            raise ValueError(_BAD_IMAGE)  # noqa: TRY004  # a value on the wire, not a type of ours
        try:
            readable = base64.b64decode(data, validate=True).startswith(_SIGNATURES)
        except binascii.Error:
            readable = False
        if readable:
            kept.append({"type": "image", "data": data, "mimeType": entry.get("mimeType")})
        else:
            text = f"{text}\n\n{_OMITTED}"
    return [{"type": "text", "text": text}, *kept]


def seen(content: list[Record]) -> list[str]:
    """What came with a text: its bracketed lines without their brackets, then each picture's type, size and digest."""
    above, _, _ = content[0]["text"].partition("\n\n")
    found = [line[1:-1] for line in above.split("\n")[1:]]
    for part in content[1:]:
        data = base64.b64decode(part["data"])
        found.append(f"{part['mimeType']}, {len(data)} bytes, {hashlib.sha256(data).hexdigest()[:12]}")
    return found


def encode(record: Record) -> bytes:
    """One line: raw UTF-8, U+2028 and NEL included; lone surrogates as `\\udXXX` (k_unicode)."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text).encode() + b"\n"
