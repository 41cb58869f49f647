"""A quick stream of text gathers in the pipe; nothing else is kept waiting."""

import pytest

from engine import pi
from engine.pacing import ENOUGH, MANY, NEAR, REST, Pace
from engine.wire import Line

PIECE, END = pi.MessageUpdate(), pi.AgentEnd()
RESTED = int(REST * 1e9)


def rests(reads: list[tuple[tuple[Line, ...], int, int]]) -> list[float]:
    """The rest after each read: its records, its bytes, and nanoseconds since the one before (a rest apart)."""
    pace, now, told = Pace(), 10 * NEAR, list[float]()
    for lines, size, gap in reads:
        now += gap
        told.append(pace.rest(lines, size, now))
        now += int(told[-1] * 1e9)
    return told


def test_a_quick_stream_rests_from_its_first_many_reads_on() -> None:
    first = [((PIECE,), 300, NEAR + 1)]
    assert rests([*first, *[((END, PIECE), 300, NEAR)] * (MANY + 2)]) == [0.0] * MANY + [REST] * 3


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(((PIECE,), 300, NEAR + 1), id="a slow stream"),
        pytest.param(((PIECE, END), 300, NEAR), id="something else came last"),
        pytest.param(((), 300, NEAR), id="no whole record"),
        pytest.param(((PIECE,), ENOUGH, NEAR), id="large pieces"),
    ],
)
def test_anything_else_is_read_at_once_and_begins_the_count_anew(read: tuple[tuple[Line, ...], int, int]) -> None:
    quick = [((PIECE,), 300, 0)]
    assert rests([*quick * (MANY + 1), read, *quick * MANY])[MANY:] == [REST, 0.0, *[0.0] * (MANY - 1), REST]
