"""Every seeded mutant of the lanes is caught by the model within a few fixed walks; the original passes them all."""

import pytest

from tests.machine.lane_mutants import MUTANTS, Mutant, planted
from tests.machine.lanes_machine import Sim
from tests.machine.lanes_walks import walk

WALKS = 60


def caught(mutant: Mutant) -> str:
    """The first walk that finds something, "" where none does: the one that is known to, then all the others."""
    with planted(mutant):
        for seed in (mutant.seed, *range(WALKS)):
            try:
                walk(seed, sim=Sim(files=mutant.files))
            except Exception as error:  # noqa: BLE001 - a mutant may break in any way at all
                return f"walk {seed}: {type(error).__name__} {error}"
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    assert caught(mutant)


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize("half", [0, 1])
def test_the_unmutated_control_passes(half: int, *, files: bool) -> None:
    for seed in range(half, WALKS, 2):
        walk(seed, sim=Sim(files=files))


def test_there_are_enough_of_them_and_no_two_are_the_same() -> None:
    assert len(MUTANTS) >= 14
    assert len({(mutant.name, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
