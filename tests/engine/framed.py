"""A stream of bytes through the framing in pieces, and lines of recordings for it; it judges only what is kept."""

import json
from itertools import pairwise

from engine.wire import Framer, Line
from tests.engine.play import raw

BIG = 1 << 20

START = b'{"type":"agent_start"}'
END = b'{"type":"agent_end","willRetry":true}'
TEXT = json.dumps(raw("answer"), ensure_ascii=False).encode()


def framed(stream: bytes, cuts: list[int], max_line: int = BIG) -> list[Line]:
    """The records of a stream cut at these places, its end included; what is kept between them is bounded."""
    framer = Framer(max_line)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    found: list[Line] = []
    for start, end in pairwise(edges):
        found += framer.read(stream[start:end])
        assert held(framer) <= max_line
    return [*found, *framer.close()]


def held(framer: Framer) -> int:
    """Bytes of an unfinished line that are kept."""
    return len(framer._begun)
