"""What the row of failed starts is counted from, and the words of the last exit (BEHAVIOUR §6); see also the fold's
other rules in `test_chain_row`."""

import pytest

from connector.chain import in_a_row, last_exit
from connector.facts import AnyFact, Down, Fell, Forgiven, Good, Up

GAP = 900


def fell(at: int, busy: int = 0) -> list[AnyFact]:
    return [Up(at - 1), Fell(at, "wedge", busy), Down(at, 1, "wedge")]


def test_a_life_that_was_killed_after_it_fell_counts_all_the_same() -> None:
    """Wedges are recorded when they happen, before the drain."""
    killed: list[AnyFact] = [Up(1), Fell(10, "wedge"), Up(20), Fell(30, "wedge"), Up(40)]
    assert in_a_row(killed, GAP) == 2
    assert last_exit(killed) == "killed"


def test_the_gap_runs_from_the_last_fall_of_a_life_to_the_first_of_the_next() -> None:
    long_drain: list[AnyFact] = [Up(1), Fell(10, "wedge"), Fell(500, "exit"), Down(501, 1, "wedge")]
    assert in_a_row([*long_drain, *fell(500 + GAP)], GAP) == 2
    assert in_a_row([*long_drain, *fell(501 + GAP)], GAP) == 1


@pytest.mark.parametrize("end", [Good(50), Forgiven(50)])
def test_a_new_row_begins_behind_what_ended_the_old_one(end: AnyFact) -> None:
    assert in_a_row([*fell(10), *fell(20), end], GAP) == 0
    assert in_a_row([*fell(10), *fell(20), end, *fell(60), *fell(70)], GAP) == 2


def test_only_the_time_of_the_turn_that_fell_is_not_counted() -> None:
    """A turn that ran for an hour and wedged again stands in the row; an hour without one ends it."""
    assert in_a_row([*fell(10), *fell(10 + GAP + 3600, busy=3600)], GAP) == 2
    assert in_a_row([*fell(10), *fell(10 + GAP + 3601, busy=3600)], GAP) == 1
    assert in_a_row([*fell(10, busy=3600), *fell(10 + GAP + 3600)], GAP) == 1


def test_many_starts_without_a_turn_end_nothing() -> None:
    starts: list[AnyFact] = [one for at in range(100, 200, 2) for one in (Up(at), Down(at + 1, 0, "asked to stop"))]
    refused: list[AnyFact] = [Up(300), Down(301, 3, "the agent failed 2 times in a row")]
    assert in_a_row([*fell(10), *fell(20), *starts, *refused], GAP) == 2


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ([], "none"),
        ([Up(1)], "killed"),
        ([Up(1), Down(2, 0, "asked to stop")], "0: asked to stop"),
        ([Up(1), Fell(2, "wedge"), Down(3, 1, "wedge")], "1: wedge"),
        ([Up(1), Good(2)], "killed"),
        ([Up(1), Down(2, 1, "wedge"), Forgiven(3)], "1: wedge"),
        ([Down(2, 3, "too many failed starts")], "3: too many failed starts"),
    ],
)
def test_how_the_last_run_ended_in_words(chain: list[AnyFact], words: str) -> None:
    assert last_exit(chain) == words
