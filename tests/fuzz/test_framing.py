"""Bytes of a child in any pieces: a record or a value of nonsense each, and no more kept than one line may have."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from engine.wire import TOO_LONG, Line, Malformed, decode
from tests.engine.framed import END, START, TEXT, framed
from tests.fuzz.hostile import JSON, TEXTS, tried

ODD_LINES = [
    START, END, TEXT, b"", b"   ", b"\r", b"null", b"42", b"[]", b"{}", b"{", b'{"type":"novelty"}', b"\xff\xfe",
    b'{"type":"agent_start"', START + b"\r", b'{"type":"extension_error","error":"a\xe2\x80\xa8b\xc2\x85c"}',
    b'{"type":"extension_error","error":"a\\ud800b"}', b'{"type":"extension_error","error":"\xf0\x9f"}', b"[" * 3000,
    b'{"type":"agent_end","willRetry":NaN}', b'{"type":"agent_start","type":"agent_end"}', b'{"a":1e999}',
    b'{"type":"response","id":' + b"9" * 5000 + b"}", b'{"type":"agent_end","x":' + b'{"a":' * 2000 + b"}" * 2001,
    b'{"type":"\\ud800"}', b"\x00" * 40, b'{"type":"auto_retry_start","delayMs":-1e400}',
    b'{"type":"response","id":Infinity}',
]  # fmt: skip
ODD_OBJECT = st.dictionaries(TEXTS | st.just("type"), JSON, max_size=4).map(lambda one: json.dumps(one).encode())
LINE = st.one_of(
    st.sampled_from(ODD_LINES),
    st.binary(max_size=60),
    ODD_OBJECT,
    ODD_OBJECT.map(lambda line: line[: len(line) // 2]),
)
CUTS = st.lists(st.integers(0, 9_000), max_size=8)


@given(st.lists(LINE, max_size=6), st.booleans(), CUTS)
@tried(40)
def test_any_split_of_the_bytes_gives_the_same_records(parts: list[bytes], ends: bool, cuts: list[int]) -> None:
    stream = b"\n".join(parts) + (b"\n" if ends and parts else b"")
    assert framed(stream, cuts) == [decode(line) for line in stream.split(b"\n") if line.strip()]


@given(st.lists(LINE, max_size=6), CUTS, st.integers(1, 25))
@tried(40)
def test_any_bytes_at_all_are_records_whatever_the_split_and_the_bound(
    parts: list[bytes], cuts: list[int], max_line: int
) -> None:
    stream = b"\n".join(parts)
    expected = [
        Malformed(TOO_LONG, len(line)) if len(line) > max_line else decode(line)
        for line in stream.split(b"\n")
        if line.strip() or len(line) > max_line
    ]
    found = framed(stream, cuts, max_line)
    assert [line for line in found if not _blank(line)] == [line for line in expected if not _blank(line)]


def _blank(line: Line) -> bool:
    """A line of blanks beyond the bound is told or not, as it was cut; it holds nothing either way."""
    return isinstance(line, Malformed) and line.reason == TOO_LONG


@given(LINE)
@example(b'{"type":"agent_start"')
@tried(80)
def test_a_line_is_a_value_and_holds_nothing_that_cannot_be_written_down(line: bytes) -> None:
    repr(decode(line)).encode("utf-8")
