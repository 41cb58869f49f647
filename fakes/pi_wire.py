"""How the fake child's records get into writes: one each, or cut and joined on cue. Pure: it fills a list."""

from __future__ import annotations

from fakes.effects import Effect, Write
from fakes.loop import Flow, Loop
from fakes.pi_records import Record, encode

__all__ = ["Wire"]

_FLUSH = 2_000_000  # ns until a kept-back part goes out by itself: long enough for a reader to see two reads
_BAD_MARK = "\uf8ff".encode()


class Wire:
    """Collects `Write` effects. `mode`: "" (one record a write), "half", "two" or "badutf8"; `closed`: says nothing."""

    def __init__(self, loop: Loop, effects: list[Effect]) -> None:
        self.mode = ""
        self.closed = False
        self._loop = loop
        self._effects = effects
        self._kept = b""
        self._names: tuple[str, ...] = ()
        self._flushing = False

    def send(self, record: Record) -> None:
        """Writes one record."""
        name = record.get("type")
        self.raw(encode(record), (str(name),))

    def raw(self, line: bytes, names: tuple[str, ...] = ()) -> None:
        """Writes a line, its newline included, whatever it is."""
        if self.closed:
            return
        if self.mode == "badutf8":
            line = line.replace(_BAD_MARK, b"\xff\xfe")
        data, names = self._kept + line, self._names + names
        self._kept, self._names = b"", ()
        if self.mode == "half":
            cut = len(data) - len(line) // 2
            data, self._kept = data[:cut], data[cut:]
        elif self.mode == "two" and data == line:
            self._kept, self._names = data, names
            data = b""
        if data:
            self._effects.append(Write(data, names))
        if self._kept and not self._flushing:
            self._flushing = True
            self._loop.spawn(self._later())

    def flush(self) -> None:
        """Writes what is kept back."""
        if self._kept:
            self._effects.append(Write(self._kept, self._names))
            self._kept, self._names = b"", ()

    def _later(self) -> Flow:
        yield self._loop.after(_FLUSH)
        self._flushing = False
        self.flush()
