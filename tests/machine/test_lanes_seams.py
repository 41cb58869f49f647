"""Everything at once in the model world: files, caps, deletions, places that go, doubled Stops, crashes in between."""

import pytest

from connector.lane_events import Deleted, PlaceGone, Rewrite
from connector.spend import Caps
from tests.machine.lanes_machine import Sim, rules
from tests.machine.lanes_walks import Moves, stop, walk
from tests.machine.test_lanes_spend import MORE


def delete(sim: Sim, n: int) -> None:
    """A message is deleted, of a round that is open or long over."""
    claims = [story.claim for name, story in sim.audit.stories.items() if n % 4 == 0 or name in sim.lanes.world.rounds]
    if claims:
        sim.step(Deleted(claims[n % len(claims)].message, known=n % 3 == 0))


def take_back(sim: Sim, n: int) -> None:
    """An edit leaves nothing to ask."""
    if names := list(sim.lanes.world.rounds):
        sim.step(Rewrite(names[n % len(names)], ""))


def lose_place(sim: Sim, n: int) -> None:
    """A channel goes, whatever is there."""
    if lanes := sorted(sim.lanes.world.lanes):
        sim.step(PlaceGone(sim.lanes.world.lanes[lanes[n % len(lanes)]].channel))


def stop_twice(sim: Sim, n: int) -> None:
    """Two people press the same button."""
    for _ in range(2):
        stop(sim, n)


SEAMS: Moves = ((4, delete), (2, take_back), (1, lose_place), (2, stop_twice), *MORE)


@pytest.mark.parametrize("seed", range(12))
def test_everything_at_once_keeps_every_invariant(seed: int) -> None:
    """`Sim` audits each step, and the end: BEHAVIOUR §7 and what caps, files and deletions add to it."""
    caps = Caps(person=2.0, lane=3.0, total=5.0)
    walk(seed, sim=Sim(rules(spend=caps), cost=1.0, files=True), more=SEAMS)
