"""A pi session: its entries and messages, and the lines of its file. Pure; whoever owns it writes the lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fakes.pi_records import Record, encode, text_of

__all__ = ["Session", "load_session", "session_path"]


def _iso(at: int) -> str:
    stamp = datetime.fromtimestamp(at / 1000, UTC)
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"


def session_path(folder: str, session_id: str, at: int) -> str:
    """Where a new session's file goes; `at` in epoch ms."""
    return f"{folder}/{_iso(at).replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


@dataclass(slots=True)
class Session:
    """The session pi is in. `unsaved` are lines that are not in the file yet; none without a `path`."""

    id: str
    path: str | None = None
    cwd: str = "/workspace"
    name: str | None = None
    entries: list[Record] = field(default_factory=list)
    messages: list[Record] = field(default_factory=list)
    unsaved: list[bytes] = field(default_factory=list)
    serial: int = 0
    started: bool = False
    compacted: Record | None = None  # the last message at the last compaction: its usage counts no more

    def add(self, kind: str, at: int, **fields: object) -> str:
        """Appends an entry of this kind; returns its id."""
        self.serial += 1
        entry_id = f"{self.serial:04x}{hash_of(self.id):04x}"
        parent = self.entries[-1]["id"] if self.entries else None
        entry: Record = {"type": kind, "id": entry_id, "parentId": parent, "timestamp": _iso(at), **fields}
        self.entries.append(entry)
        self.unsaved.append(encode(entry))
        return entry_id

    def add_message(self, message: Record, at: int) -> str:
        """Appends a message; returns its entry's id."""
        self.messages.append(message)
        return self.add("message", at, message=message)

    def take_unsaved(self, at: int) -> bytes:
        """The lines to append to the file now; nothing before the first message, a header first of all."""
        if self.path is None or not any(e["type"] == "message" for e in self.entries):
            return b""
        lines, self.unsaved = self.unsaved, []
        if lines and not self.started:
            self.started = True
            header = {"type": "session", "version": 3, "id": self.id, "timestamp": _iso(at), "cwd": self.cwd}
            lines.insert(0, encode(header))
        return b"".join(lines)

    def rewrite(self) -> None:
        """The whole session is not in its file yet (a fork)."""
        self.unsaved = [encode(entry) for entry in self.entries]

    def drop_last(self, at: int) -> Record:
        """Takes the last message out of the context (a failed try): the `context_edit` entry that says so."""
        target = next(e["id"] for e in reversed(self.entries) if e["type"] == "message")
        self.messages.pop()
        self.add("context_edit", at, targetId=target, replacement=None)
        return self.entries[-1]

    def user_entries(self) -> list[tuple[str, str]]:
        """(entry id, text) of every user message, oldest first."""
        said = (e for e in self.entries if e["type"] == "message" and e["message"]["role"] == "user")
        return [(e["id"], text_of(e["message"])) for e in said]

    def before(self, entry_id: str) -> list[Record] | None:
        """The entries before this one, or None if it is no user message's."""
        for at, entry in enumerate(self.entries):
            if entry["id"] == entry_id and entry["type"] == "message" and entry["message"]["role"] == "user":
                return self.entries[:at]
        return None

    def adopt(self, entries: list[Record]) -> None:
        """Takes over the entries of another session (or of a file), as they are."""
        for entry in entries:
            self.entries.append(entry)
            self.serial += 1
            if entry["type"] == "message":
                self.messages.append(entry["message"])
            elif entry["type"] == "context_edit" and self.messages:
                self.messages.pop()
            elif entry["type"] == "session_info":
                self.name = entry.get("name")


def hash_of(text: str) -> int:
    """A small number that differs between sessions; stable over processes."""
    return sum(ord(c) * (n + 1) for n, c in enumerate(text)) & 0xFFFF


def load_session(path: str, content: str, fallback_id: str) -> Session:
    """The session of a file's content; a last line cut by a kill is left out."""
    entries: list[Record] = []
    session_id = fallback_id
    for line in content.split("\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "session":
            session_id = str(entry.get("id"))
        elif isinstance(entry.get("id"), str):
            entries.append(entry)
    session = Session(session_id, path, started=True)
    session.adopt(entries)
    return session
