"""Bytes to records and no further: framing, decoding, and nonsense as values; it never raises for what a peer wrote.

Lines end in LF alone, since pi writes U+2028 and U+0085 raw (PROTOCOL §2). msgspec reads a line; what it refuses is
read once more by the standard library with bad bytes and lone surrogates replaced, and only what is no JSON object
then is malformed. Nothing behind this module holds a surrogate.
"""

import json
from typing import Any

import msgspec
from msgspec import Struct

from engine.pi import Block, Known, Message, without_surrogates


class Unknown(Struct, frozen=True):
    """A JSON object whose ``type`` is not in the vocabulary."""

    kind: str


class Malformed(Struct, frozen=True):
    """A line that is no record: why, and how many bytes it had."""

    reason: str
    size: int


Line = Known | Unknown | Malformed

_decoder = msgspec.json.Decoder(Known)
_fields: dict[str, type[msgspec.Struct]] = {str(kind.__struct_config__.tag): kind for kind in Known.__args__}


class Framer:
    """Splits a byte stream into lines of at most ``max_line`` bytes; keeps an unfinished line between calls.

    A longer line is dropped as it arrives, so that memory stays bounded, and told once as ``Malformed``.
    """

    def __init__(self, max_line: int) -> None:
        self._max = max_line
        self._begun = bytearray()
        self._size = 0

    def read(self, chunk: bytes) -> tuple[Line, ...]:
        """The records that ``chunk`` completes, in order; blank lines are none."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._keep(chunk)
            return ()
        whole: bytes | bytearray = chunk[:end]
        if self._size > self._max:
            return self._after_long(chunk[:end]) + self.read(chunk[end:])
        if self._size:
            self._begun += whole
            whole = self._begun
        self._begun = bytearray()
        self._size = 0
        self._keep(chunk[end:])
        return _decoded(whole, self._max)

    def close(self) -> tuple[Line, ...]:
        """The last record where the stream ended without LF."""
        return self.read(b"\n") if self._size else ()

    def _keep(self, part: bytes) -> None:
        """One block grows: its chunks are free again at once, and a long line is not copied anew when it ends."""
        self._size += len(part)
        if self._size > self._max:
            self._begun = bytearray()
        else:
            self._begun += part

    def _after_long(self, whole: bytes) -> tuple[Line, ...]:
        """The rest of a line that was too long, then what follows it."""
        first = whole.find(b"\n")
        size = self._size + first
        self._size = 0
        return (Malformed(TOO_LONG, size), *_decoded(whole[first + 1 :], self._max))


TOO_LONG = "longer than engine.max_line"


def _decoded(whole: bytes | bytearray, max_line: int) -> tuple[Line, ...]:
    """All lines of ``whole``, which ends in LF; in one call where nothing is odd, which is nearly always."""
    if len(whole) <= max_line:
        try:
            return tuple(_decoder.decode_lines(whole))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return tuple(
        Malformed(TOO_LONG, len(line)) if len(line) > max_line else decode(line)
        for line in whole.split(b"\n")
        if line.strip()
    )


def decode(line: bytes | bytearray) -> Line:
    """One line to one value; never raises."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _mended(line)


def _mended(line: bytes | bytearray) -> Line:
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except RecursionError:
        return Malformed("nested too deep", len(line))
    except ValueError:
        return Malformed("no JSON", len(line))
    if not isinstance(value, dict):
        return Malformed("no JSON object", len(line))
    try:
        value = without_surrogates(value)
    except RecursionError:
        return Malformed("nested too deep", len(line))
    kind = value.get("type")
    known = _fields.get(kind) if isinstance(kind, str) else None
    return Unknown(str(kind)[:80]) if known is None else _lenient(known, value)


def _lenient(shape: type[msgspec.Struct], value: dict[str, Any]) -> Any:
    """The record with those fields that fit; one of another shape counts as absent, its name still counts."""
    fitting = {}
    for field in msgspec.structs.fields(shape):
        if field.encode_name in value:
            try:
                fitting[field.name] = _fit(field.type, value[field.encode_name])
            except msgspec.ValidationError:
                continue
    return shape(**fitting)


def _fit(shape: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        if isinstance(value, dict) and isinstance(shape, type) and issubclass(shape, msgspec.Struct):
            return _lenient(shape, value)
        if isinstance(value, list) and shape == Message.__annotations__["content"]:
            return [_lenient(Block, item) for item in value if isinstance(item, dict)]
        raise
