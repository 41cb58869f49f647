"""What the tests of the script words share: a child that was given one text, and what it said."""

from __future__ import annotations

from typing import Any

from fakes.memory import MemoryChild

MS = 1_000_000


def said(text: str, mark: str = "4711") -> str:
    return f"[discord] #general · Ada (42) · {mark}\n[in reply to Bob: hi]\n\n{text}"


def prompt(child: MemoryChild, text: str, name: str = "p1") -> None:
    child.send({"id": name, "type": "prompt", "message": text})


def ran(text: str) -> MemoryChild:
    """A child that was given this prompt and left alone."""
    child = MemoryChild()
    prompt(child, text)
    child.settle()
    return child


def names(child: MemoryChild) -> list[str]:
    return [str(r.get("type")) for r in child.records() if isinstance(r, dict)]


def of(child: MemoryChild, kind: str) -> list[dict[str, Any]]:
    return [r for r in child.records() if isinstance(r, dict) and r.get("type") == kind]


def answers(child: MemoryChild) -> list[tuple[str, str]]:
    """(text, stopReason) of the assistant's messages."""
    messages = [r["message"] for r in of(child, "message_end") if r["message"]["role"] == "assistant"]
    return [("".join(p.get("text", "") for p in m["content"]), m["stopReason"]) for m in messages]


def replies(child: MemoryChild) -> dict[str, Any]:
    """Command id → its response without the id."""
    told = {}
    for record in of(child, "response"):
        told[str(record.get("id"))] = record.get("data") or record.get("error") or record["success"]
    return told


STARTED = {"disposition": "started"}
