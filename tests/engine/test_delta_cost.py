"""Text deltas do not each cost a state copy: a batch of them costs what one of them does."""

from typing import Any

import pytest

from engine import core
from engine.events import Effect, Progress, Read
from engine.moves import Moves
from engine.state import State
from engine.wire import Line
from tests.engine.play import Play, said

MANY = 1000


class Count:
    """How many states one step made, and how often it set fields of one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = self.sets = 0
        make, put = State.__init__, Moves.set

        def making(state: State, *args: Any, **fields: Any) -> None:
            self.made += 1
            make(state, *args, **fields)

        def setting(moves: Moves, **changes: object) -> None:
            self.sets += 1
            put(moves, **changes)

        monkeypatch.setattr(State, "__init__", making)
        monkeypatch.setattr(Moves, "set", setting)

    def step(self, state: State, lines: tuple[Line, ...]) -> tuple[int, int, list[Effect]]:
        """States, sets, and what was told."""
        self.made = self.sets = 0
        after, told = core.step(state, Read(7, lines), state.life + 1)
        assert after.life == state.life + 1  # they are a sign of life all the same
        return self.made, self.sets, list(told)


@pytest.fixture
def running() -> State:
    """A head whose run is open."""
    play = Play()
    play.ask("a")
    play.runs("a")
    return play.state


def deltas(kind: str, count: int) -> tuple[Line, ...]:
    return tuple(said(kind, assistantMessageEvent={"delta": f"word{number} "}) for number in range(count))


@pytest.mark.parametrize(("kind", "thinking"), [("delta", False), ("thought", True)])
def test_a_thousand_deltas_cost_what_one_costs(
    running: State, monkeypatch: pytest.MonkeyPatch, kind: str, *, thinking: bool
) -> None:
    count = Count(monkeypatch)
    one = count.step(running, deltas(kind, 1))
    many = count.step(running, deltas(kind, MANY))
    assert one[:2] == many[:2] == (1, 1)
    text = "".join(f"word{number} " for number in range(MANY))
    assert many[2] == [Progress("a", text, thinking)]


def test_nor_do_they_where_other_records_stand_between_them(running: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is that of the other records."""
    count = Count(monkeypatch)
    between = said("queue")
    few = count.step(running, (*deltas("delta", 1), between, *deltas("delta", 1)))
    many = count.step(running, (*deltas("delta", MANY), between, *deltas("delta", MANY)))
    assert few[:2] == many[:2]
    assert [len(told) for told in (few[2], many[2])] == [2, 2]
