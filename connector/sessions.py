"""Reads pi's session files as evidence and never writes one: is it usable, and what became of a message in it."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from engine.marks import mark_of

ASIDE = ".damaged"


class Evidence(Struct, frozen=True):
    """Marks (message ids) that stand in a session, and those behind which the model called a tool (BEHAVIOUR §6)."""

    begun: frozenset[str] = frozenset()
    tooled: frozenset[str] = frozenset()


def usable(path: Path) -> bool:
    """Whether pi could resume this file: it is there and its first line is a JSON object."""
    try:
        with path.open("rb") as lines:
            return isinstance(json.loads(lines.readline()), dict)
    except (OSError, ValueError, RecursionError):
        return False


def keep_aside(path: Path) -> Path | None:
    """Move a damaged file out of pi's way, under a name beside it; None where there is none, or it cannot be moved."""
    if not path.is_file():
        return None
    number = 1
    while (aside := path.with_name(f"{path.name}{ASIDE}-{number}")).exists():
        number += 1
    try:
        return path.rename(aside)
    except OSError:
        return None


def evidence(path: Path, marks: Collection[str]) -> Evidence:
    """What the session file tells of these messages; an unreadable file or line tells nothing."""
    begun: set[str] = set()
    tooled: set[str] = set()
    for message in _messages(path):
        if message.get("role") == "user":
            mark = mark_of(_text(message))
            if mark is not None and mark in marks:
                begun.add(mark)
        elif message.get("role") == "assistant" and _calls(message):
            tooled |= begun  # one run may have been steered by several
    return Evidence(frozenset(begun), frozenset(tooled))


def _messages(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.open("rb")
    except OSError:
        return
    with lines:
        for line in lines:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            message = entry.get("message") if isinstance(entry, dict) else None
            if isinstance(message, dict):
                yield message


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def _calls(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "toolCall" for block in blocks)
