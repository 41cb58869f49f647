"""A model of pi 1.6.0 with a scripted provider inside: bytes and signals in, effects out. It touches nothing itself.

    core = PiCore(Options(), now)
    core.receive(data, now)     # a read of standard input: what came in one write must come in one call
    core.tick(now)              # at core.deadline(), or later
    core.take()                 # what to do about it, in order

Times are integer nanoseconds of the caller's clock. The commands of one call are handled concurrently, step by step,
as pi does; whatever needs no time is done within the call.
"""

from __future__ import annotations

import json

from fakes.effects import Effect, Heard, Stderr
from fakes.loop import Flow
from fakes.pi_commands import command
from fakes.pi_records import Record
from fakes.pi_state import Options, Pi

__all__ = ["Options", "PiCore"]

NULL_CRASH = b"TypeError: Cannot read properties of null (reading 'id')\n    at handleInputLine\n\nNode.js v22\n"


class PiCore:
    """One fake pi process."""

    def __init__(self, options: Options | None = None, now: int = 0) -> None:
        self.pi = Pi(options or Options(), now)
        self._buffer = b""
        self._unread = b""
        self._eof = False

    def receive(self, data: bytes, now: int) -> None:
        """Takes bytes from standard input; kept for later while it does not read."""
        self.tick(now)
        self._unread += data
        self._read()

    def eof(self, now: int) -> None:
        """Takes the end of standard input: a last line without its newline counts, then pi exits (PROTOCOL §10)."""
        self.tick(now)
        self._eof = True
        self._read()

    def signal(self, name: str, now: int) -> None:
        """Takes `"TERM"` or `"HUP"`; while a dialog is open it takes two of them [l_confirm_pending_two_sigterms]."""
        self.tick(now)
        if self.pi.unkillable:
            return
        self.pi.terms += 1
        if self.pi.dialogs and self.pi.terms < 2 and not self._eof:
            if self.pi.active is not None:
                self.pi.active.abort.open()
            return
        self.pi.exit({"TERM": 143, "HUP": 129}[name])

    def deadline(self) -> int | None:
        """When `tick` has something to do next; None: nothing before the next input."""
        return None if self.pi.ended else self.pi.loop.deadline()

    def tick(self, now: int) -> None:
        """Does what is due at `now`."""
        if self.pi.ended:
            return
        self.pi.loop.advance(now)
        self._read()

    def take(self) -> list[Effect]:
        """The effects since the last call, in order."""
        effects = self.pi.effects[:]
        self.pi.effects.clear()
        return effects

    @property
    def ended(self) -> bool:
        """Whether the process is over."""
        return self.pi.ended

    def _read(self) -> None:
        """Handles what is unread, unless reading has stopped."""
        if not self.pi.reading or self.pi.ended:
            return
        self._buffer += self._unread
        self._unread = b""
        *lines, self._buffer = self._buffer.split(b"\n")
        if self._eof and self._buffer:
            lines.append(self._buffer)
            self._buffer = b""
        for line in lines:
            self._line(line.removesuffix(b"\r").decode(errors="replace"))
        if lines:
            self.pi.loop.advance(self.pi.loop.now)
        self._end()

    def _end(self) -> None:
        """Exits at the end of input, once all of it has been read."""
        if self._eof and self.pi.reading and not self.pi.unkillable:
            self.pi.exit(0)

    def _line(self, line: str) -> None:
        try:
            record = json.loads(line)
        except ValueError as bad:
            if not self.pi.muted:
                error = f"Failed to parse command: {bad}"
                self.pi.wire.send({"type": "response", "command": "parse", "success": False, "error": error})
            return
        if record is None:
            self.pi.effects.append(Stderr(NULL_CRASH))
            self.pi.exit(1)
            return
        fields: Record = record if isinstance(record, dict) else {}
        self.pi.effects.append(Heard(fields))
        if not self.pi.muted:
            self.pi.loop.spawn(self._handled(fields))

    def _handled(self, record: Record) -> Flow:
        yield from command(self.pi, record)
