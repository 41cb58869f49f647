"""Spending caps in the model world: nothing is written over one, and all that waits is asked when it may be."""

import pytest

from connector import ledger_spend
from connector.lane_events import Extend
from connector.lane_service import Service
from connector.lane_spend import Spending
from connector.spend import DAY, Caps
from tests.machine.lane_mutants import Mutant, planted
from tests.machine.lanes_machine import Sim, rules
from tests.machine.lanes_walks import Moves, walk

WALKS = 24
CAPS = (Caps(person=2.0), Caps(lane=2.0), Caps(total=3.0), Caps(person=2.0, lane=3.0, total=5.0))


def extend(sim: Sim, n: int) -> None:
    """An operator extends what holds some round back, or presses the button of one that nothing holds."""
    names = [name for name, _, _ in sim.audit.held_back] or list(sim.lanes.world.rounds)
    if names:
        sim.step(Extend(sorted(names)[n % len(names)], 2))


def later(sim: Sim, n: int) -> None:
    """Hours pass, perhaps over the end of the day."""
    sim.wait(DAY // (1 + n % 5))


MORE: Moves = ((6, extend), (1, later))

MUTANTS = (
    Mutant("caps at all", Spending, "reached", "if caps else ()", "if not caps else ()"),
    Mutant("a re-ask is a prompt too", Service, "next_round", "None if self.cap_on(head) else head", "head", seed=10),
    Mutant("one notice", Spending, "tell_capped", "if (scope, day) not in round_.caps:", "if True:"),
    Mutant("a new day", Spending, "day_turned", "self.touch_all()", "pass"),
    Mutant("the others pass", Service, "next_round", "if not self.cap_on(round_)", "if True"),
    Mutant("who waits elsewhere is told", Spending, "book_of", "self.touch_all()", "pass", seed=4),
    Mutant("sums outlive a crash", ledger_spend, "newest", "max(day)", "min(day)"),
)


def spends(seed: int) -> Sim:
    return walk(seed, sim=Sim(rules(spend=CAPS[seed % len(CAPS)]), cost=1.0), more=MORE)


def caught(mutant: Mutant) -> str:
    with planted(mutant):
        for seed in (mutant.seed, *range(WALKS)):
            try:
                spends(seed)
            except Exception as error:  # noqa: BLE001 - a mutant may break in any way at all
                return f"walk {seed}: {type(error).__name__} {error}"
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    assert caught(mutant)


def test_the_unmutated_control_passes_and_comes_to_every_cap() -> None:
    reached = {scope for seed in range(WALKS) for _, scope, _ in spends(seed).audit.held_back}
    assert reached == {"person", "lane", "total"}
