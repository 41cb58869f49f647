"""Every seeded mutant of the core is caught by the model within so many fixed walks; the original passes them."""

import pytest

from tests.machine.checked_world import Core
from tests.machine.honest_world import obey
from tests.machine.mutants import MUTANTS, RARE, Mutant, control, load
from tests.machine.walks import lie

LIES = 600
OBEDIENCES = 60


def caught(core: Core, lies: int = LIES, obediences: int = OBEDIENCES, first: int = 0) -> str:
    """The first walk that finds something, "" where none does. Any exception is a finding, the core's own as well."""
    for seed in (first, *range(max(lies, obediences))):
        try:
            if seed < lies:
                lie(core, seed)
            if seed < obediences:
                obey(core, seed)
        except Exception as error:  # noqa: BLE001 - a mutant may break in any way at all
            return f"walk {seed}: {type(error).__name__} {error}"
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.rule} {mutant.name}")
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    assert caught(load(mutant), first=RARE.get(mutant.name, 0))


def test_the_unmutated_control_passes() -> None:
    assert caught(control(), lies=LIES // 3) == ""


def test_there_are_enough_of_them_and_no_two_are_the_same() -> None:
    assert len(MUTANTS) >= 14
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.edits for mutant in MUTANTS}) == len(MUTANTS)


def test_an_edit_that_no_longer_fits_is_told() -> None:
    with pytest.raises(AssertionError, match="0 times, not once"):
        load(Mutant("rotten", "", (("turns", "no such source", ""),)))
