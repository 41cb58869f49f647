"""A fake pi in memory, on a simulated clock, for fast tests. It starts no process, reads no file, looks at no clock."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from fakes.effects import Append, Create, Die, Effect, Exit, Heard, Stderr, Write
from fakes.pi_core import Options, PiCore

__all__ = ["MemoryChild"]

SIGNALS = {"HUP": 1, "INT": 2, "KILL": 9, "TERM": 15}


class MemoryChild:
    """One child. Times are integer ns; `files` (path → content) may be shared between children, as a disk is.

    `written` are the writes of its standard output in order, `heard` the commands it read, `others` the effects that
    a process would have to perform (tools, grandchildren, reading stopped). `code` is None while it lives, then the
    status, or minus the signal.
    """

    def __init__(self, options: Options | None = None, *, now: int = 0, files: dict[str, bytes] | None = None) -> None:
        self.files = {} if files is None else files
        self.core = PiCore(replace(options or Options(), read=self._file), now)
        self.now = now
        self.written: list[bytes] = []
        self.times: list[int] = []
        self.heard: list[dict[str, Any]] = []
        self.stderr = b""
        self.others: list[Effect] = []
        self.code: int | None = None
        self._read = 0

    # ---- what is done to it
    def write(self, data: bytes) -> None:
        """Writes to its standard input: one write, read at once unless it has stopped reading."""
        if self.code is None:
            self.core.receive(data, self.now)
            self._perform()

    def send(self, *commands: dict[str, Any]) -> None:
        """Writes these commands in one write."""
        self.write(b"".join(json.dumps(c).encode() + b"\n" for c in commands))

    def close_stdin(self) -> None:
        """Ends its standard input."""
        if self.code is None:
            self.core.eof(self.now)
            self._perform()

    def signal(self, name: str) -> None:
        """Sends `"TERM"`, `"HUP"`, `"INT"` or `"KILL"`; the last two end it at once (PROTOCOL §10)."""
        if self.code is not None:
            return
        if name in {"INT", "KILL"}:
            self.code = -SIGNALS[name]
            return
        self.core.signal(name, self.now)
        self._perform()

    # ---- time
    def deadline(self) -> int | None:
        """When it will do something by itself; None: not before it is written to."""
        return None if self.code is not None else self.core.deadline()

    def advance(self, to: int) -> None:
        """Lets the time pass, up to `to` and including it."""
        while (due := self.deadline()) is not None and due <= to:
            self._tick(due)
        self.now = max(self.now, to)

    def step(self) -> bool:
        """Goes on to its next deadline; False if there is none."""
        due = self.deadline()
        if due is None:
            return False
        self._tick(due)
        return True

    def settle(self, limit: int = 3_600_000_000_000) -> None:
        """Goes on until it has nothing more to do by itself, for `limit` ns at most."""
        end = self.now + limit
        while (due := self.deadline()) is not None and due <= end:
            self._tick(due)

    # ---- what it did
    def read(self) -> bytes:
        """What it wrote since the last read."""
        new, self._read = self.written[self._read :], len(self.written)
        return b"".join(new)

    def records(self) -> list[Any]:
        """All records it has written so far; lines that are no JSON are left out."""
        records: list[Any] = []
        for line in b"".join(self.written).split(b"\n"):
            try:
                records.append(json.loads(line.decode(errors="replace")))
            except ValueError:
                continue
        return records

    def _tick(self, due: int) -> None:
        self.now = max(self.now, due)
        self.core.tick(self.now)
        self._perform()

    def _file(self, path: str) -> str | None:
        content = self.files.get(path)
        return None if content is None else content.decode()

    def _perform(self) -> None:
        for effect in self.core.take():
            match effect:
                case Write(data):
                    self.written.append(data)
                    self.times.append(self.now)
                case Heard(command):
                    self.heard.append(command)
                case Stderr(data):
                    self.stderr += data
                case Append(path, data):
                    self.files[path] = self.files.get(path, b"") + data
                case Create(path, data):
                    self.files.setdefault(path, data)
                case Exit(code):
                    self.code = code
                case Die(name):
                    self.code = -SIGNALS.get(name, 9)
                case _:
                    self.others.append(effect)
