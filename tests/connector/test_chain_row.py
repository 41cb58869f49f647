"""The row of failed starts (BEHAVIOUR §6): a fold over the ledger; only a good turn, a gap or an operator ends it."""

from connector import facts
from connector.chain import in_a_row, last_exit
from connector.facts import AnyFact

GAP = 900


def lives(*falls: int, busy: int = 0) -> list[AnyFact]:
    """One life for each instant at which it fell."""
    return [fact for at in falls for fact in (facts.Up(at - 1), facts.Fell(at, "wedge", busy), facts.Down(at, 1, "w"))]


def test_exits_with_1_in_a_row() -> None:
    assert in_a_row([], GAP) == 0
    assert in_a_row(lives(100, 200, 300), GAP) == 3


def test_neither_starting_nor_a_clean_end_ends_it() -> None:
    assert in_a_row([*lives(100), facts.Up(150), facts.Down(160, 0, "asked"), *lives(200)], GAP) == 2


def test_a_good_turn_and_an_operator_end_it() -> None:
    assert in_a_row([*lives(100, 200), facts.Good(250)], GAP) == 0
    assert in_a_row([*lives(100, 200), facts.Good(250), *lives(300)], GAP) == 1
    assert in_a_row([*lives(100, 200), facts.Forgiven(250)], GAP) == 0


def test_a_gap_ends_it_without_the_time_a_turn_ran() -> None:
    assert in_a_row(lives(100, 100 + GAP), GAP) == 2
    assert in_a_row(lives(100, 101 + GAP), GAP) == 1
    assert in_a_row([*lives(100), *lives(5000, busy=4100)], GAP) == 2


def test_time_alone_does_not() -> None:
    """Until `reset-wedges`: a start that refuses refuses again an hour later, whatever the clock says."""
    assert in_a_row([*lives(100, 200, 300), facts.Up(999_999)], GAP) == 3


def test_what_falls_in_one_life_is_one_exit() -> None:
    """Four children that die of the same cause end one process (CONTRACT: exits with 1 in a row)."""
    many: list[AnyFact] = [facts.Up(1), *(facts.Fell(at, "exit") for at in (10, 11, 12, 13)), facts.Down(14, 1, "exit")]
    assert in_a_row(many, GAP) == 1
    assert in_a_row([*many, *lives(20)], GAP) == 2


def test_a_good_turn_during_the_drain_ends_what_came_before_it() -> None:
    both: list[AnyFact] = [facts.Up(1), facts.Fell(10, "wedge"), facts.Good(11), facts.Fell(12, "wedge")]
    assert in_a_row(both, GAP) == 1


def test_how_the_last_run_ended() -> None:
    assert last_exit([]) == "none"
    assert last_exit([facts.Up(1), facts.Down(2, 0, "asked to stop")]) == "0: asked to stop"
    assert last_exit([facts.Up(1), facts.Down(2, 0, "asked to stop"), facts.Up(3)]) == "killed"
