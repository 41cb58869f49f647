"""Framing and decoding, and the whole engine, against `json.loads` over asyncio's `readline` on the same stream."""

import asyncio
import json

from engine import core
from engine.events import Limits, Read
from engine.wire import Framer
from tests.bench.pairs import Figure, compare

DELTAS = 100_000
SLICES = 400
CHUNK = 1 << 16


def stream() -> list[bytes]:
    """100,000 text deltas as pi 1.6.0 writes them, in slices of whole lines."""
    usage = {"input": 1200, "output": 30, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1230}
    each = DELTAS // SLICES
    slices = []
    for start in range(0, DELTAS, each):
        lines = []
        for number in range(start, start + each):
            piece = {"type": "text_delta", "contentIndex": 0, "delta": f"word{number} "}
            record = {"type": "message_update", "usage": usage, "assistantMessageEvent": piece}
            lines.append(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        slices.append(b"".join(lines))
    return slices


def run() -> list[Figure]:
    """Both figures."""
    slices = stream()
    loop = asyncio.new_event_loop()
    framer = Framer(1 << 26)
    state, _ = core.start(1, Limits(), 0)
    state, _ = core.step(state, Read(1, Framer(1 << 20).read(b'{"type":"agent_start"}\n')), 1)

    def chunks(number: int) -> list[bytes]:
        data = slices[number % SLICES]
        return [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]

    def framing(number: int) -> None:
        for chunk in chunks(number):
            framer.read(chunk)

    def engine(number: int) -> None:
        nonlocal state
        for chunk in chunks(number):
            state, _ = core.step(state, Read(1, framer.read(chunk)), number)

    async def plainly(number: int) -> None:
        reader = asyncio.StreamReader(limit=1 << 26)
        for chunk in chunks(number):
            reader.feed_data(chunk)
        reader.feed_eof()
        while line := await reader.readline():
            json.loads(line)

    def theirs(number: int) -> None:
        loop.run_until_complete(plainly(number))

    name = "times faster than asyncio readline + json.loads"
    found = [
        compare(f"framing and decoding, {name}", framing, theirs, bound=4, at_most=False, inverse=True, pairs=SLICES),
        compare(f"the whole engine core, {name}", engine, theirs, bound=2, at_most=False, inverse=True, pairs=SLICES),
    ]
    loop.close()
    return found
