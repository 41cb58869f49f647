"""Text deltas do not each cost a state copy: a batch of them costs what one of them does."""

import pytest

from engine import core
from engine.events import Effect, Progress, Read
from engine.moves import Moves
from engine.state import State
from engine.wire import Line
from tests.engine.play import Play, said

MANY = 1000


class Count:
    """How many states one step made: each is made by setting fields of the one before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        put = Moves.set

        def setting(moves: Moves, **changes: object) -> None:
            self.made += 1
            put(moves, **changes)

        monkeypatch.setattr(Moves, "set", setting)

    def step(self, state: State, lines: tuple[Line, ...]) -> tuple[int, list[Effect]]:
        """States, and what was told."""
        self.made = 0
        after, told = core.step(state, Read(7, lines), state.life + 1)
        assert after.life == state.life + 1  # they are a sign of life all the same
        return self.made, list(told)


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
    assert one[0] == many[0] == 1
    text = "".join(f"word{number} " for number in range(MANY))
    assert many[1] == [Progress("a", text, thinking)]


def test_nor_do_they_where_other_records_stand_between_them(running: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost is that of the other records."""
    count = Count(monkeypatch)
    between = said("queue")
    few = count.step(running, (*deltas("delta", 1), between, *deltas("delta", 1)))
    many = count.step(running, (*deltas("delta", MANY), between, *deltas("delta", MANY)))
    assert few[0] == many[0]
    assert [len(told) for told in (few[1], many[1])] == [2, 2]
