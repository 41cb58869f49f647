"""The watch over tools that are open for very long: when it looks, what it tells, when it ends."""

import asyncio

import pytest

from connector.cards import Cpu
from connector.long_waits import APART, REFRESH, LongWaits, Look, finding
from engine.events import SECOND, Effect, ToolClosed, ToolOpened, Unasked
from engine.processes import Identity

pytestmark = pytest.mark.anyio

ONE, TWO = Identity(11, "a"), Identity(12, "b")
LONG = 60 * SECOND


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({ONE: 1.0}, {ONE: 1.02}, Cpu.USED),
        ({ONE: 1.0}, {ONE: 1.01}, Cpu.UNUSED),
        ({ONE: 1.0}, {ONE: 1.0, TWO: 0.5}, Cpu.USED),  # started in between
        ({ONE: 9.0, TWO: 0.1}, {TWO: 0.1}, Cpu.UNUSED),  # what is gone takes nothing back
        ({ONE: 9.0}, {ONE: 1.0}, Cpu.UNUSED),
        ({ONE: 1.0}, {}, Cpu.NO_PROCESS),
        ({}, {}, Cpu.NO_PROCESS),
        (None, {ONE: 1.0}, Cpu.UNSEEN),
        ({ONE: 1.0}, None, Cpu.UNSEEN),
    ],
)
def test_two_looks_make_a_finding(before: Look, after: Look, found: Cpu) -> None:
    assert finding(before, after) is found


class Clocked:
    """An engine whose oldest tool grows older with the pauses of the watch, until it has been open for `closes`."""

    def __init__(self, closes: float, dialog: bool = False) -> None:
        self.age, self.closes, self.dialog = 0, int(closes * SECOND), dialog
        self.pauses: list[float] = []
        self.told: list[tuple[str, int, Cpu]] = []

    def longest_wait(self) -> int | None:
        return None if self.dialog or self.age >= self.closes else self.age

    def cpu(self) -> Look:
        return {ONE: self.age / SECOND}

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.age += round(seconds * SECOND)


async def watched(engine: Clocked, *effects: Effect) -> None:
    """The whole of a watch, from these effects to its end."""
    waits = LongWaits(LONG, lambda *told: engine.told.append(told), engine.pause)
    before = asyncio.all_tasks()
    waits.hear("7", 3, engine, effects)
    await asyncio.gather(*(asyncio.all_tasks() - before))


OPENED = ToolOpened("1@1", "call", "bash")


async def test_a_tool_is_looked_at_when_it_is_open_for_longer_and_again_while_it_stays_open() -> None:
    engine = Clocked(closes=60 + 2 * (APART + REFRESH))
    await watched(engine, OPENED, OPENED)
    assert engine.told == [("7", 3, Cpu.USED)] * 2
    assert engine.pauses == [60.001, APART, REFRESH, APART, REFRESH]


async def test_one_that_returned_in_time_or_between_the_looks_is_not_told() -> None:
    for closes in (5, 60, 60.5):
        engine = Clocked(closes)
        await watched(engine, OPENED)
        assert engine.told == []


async def test_a_tool_that_waits_for_a_dialog_is_not_hanging() -> None:
    engine = Clocked(closes=1000, dialog=True)
    await watched(engine, OPENED)
    assert (engine.told, engine.pauses) == ([], [])


async def test_a_tool_whose_dialog_is_over_is_watched_again() -> None:
    engine = Clocked(closes=61.5)
    await watched(engine, Unasked("d"))
    assert engine.told == [("7", 3, Cpu.USED)]


async def test_nothing_is_watched_without_an_open_tool() -> None:
    engine = Clocked(closes=1000)
    await watched(engine, ToolClosed("1@1", "call"))
    assert (engine.told, engine.pauses) == ([], [])
