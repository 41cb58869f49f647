"""The lanes in a model world (BEHAVIOUR §7): people, honest and lying engines, Discord, clock, crash at any point."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from connector import facts
from connector.lane_events import Recover
from connector.world import World
from tests.machine.lanes_machine import Sim
from tests.machine.lanes_walks import MOVES, move, onward, walk

NUMBERS = st.integers(0, (1 << 16) - 1)


class LanesMachine(RuleBasedStateMachine):
    """One move after another, with the numbers that choose among what is possible drawn and shrunk by Hypothesis.

    `Sim` audits every step: invariants 15-26, 28-33, one end and one visible word for each accepted message, facts
    before their effects. The rest at the end is 27.
    """

    sim: Sim

    @initialize(taste=st.tuples(*(st.integers(0, 6) for _ in range(4))), files=st.booleans())
    def begin(self, taste: tuple[int, int, int, int], *, files: bool) -> None:
        self.sim = Sim(files=files)
        self.sim.taste = taste

    @rule(act=st.sampled_from([act for weight, act in MOVES for _ in range(weight)]), n=NUMBERS)
    def moves(self, act, n: int) -> None:  # type: ignore[no-untyped-def]
        move(self.sim, act, n)

    @rule(n=NUMBERS)
    def onward(self, n: int) -> None:
        move(self.sim, onward, n)

    @precondition(lambda self: self.sim.kill_at is None)
    @rule()
    def crash(self) -> None:
        self.sim.crash()

    @invariant()
    def the_deadline_is_kept(self) -> None:
        """27: whoever waits has an alarm, a child, a want, or something on its way."""
        sim = getattr(self, "sim", None)
        if sim is None or sim.inbox or sim.quit is not None or not sim.audit.pending:
            return
        lanes = sim.lanes
        assert lanes.deadline() is not None or lanes.kids or lanes.wants or sim.posts

    def teardown(self) -> None:
        if hasattr(self, "sim"):
            try:
                self.sim.kill_at = None
                self.sim.settle()
            finally:
                self.sim.db.close()


LanesMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=60, derandomize=True)
TestLanes = LanesMachine.TestCase


@pytest.mark.parametrize("seed", range(4))
def test_every_prefix_of_the_ledger_is_a_legal_state_and_replays_to_the_same(seed: int) -> None:
    """§7.30: any prefix of facts may be what a crash left; it can be recovered from, and the fold is one."""
    recorded = walk(seed, 120, Sim(files=seed == 3)).recorded
    world, twice = World(), World()
    for number, fact in enumerate(recorded):
        world.apply(fact)
        twice.apply(fact)
        legal(world)
        if number % 7 == 0:
            assert world == twice
    for fact in recorded:  # all of them once more: what is over stays over
        if not isinstance(fact, facts.Claimed):
            twice.apply(fact)
    legal(twice)


def legal(world: World) -> None:
    """Lists and phases agree, and nothing points at what is not there."""
    for lane in world.lanes.values():
        names = (*lane.waiting, *lane.held, *lane.posting)
        assert len(set(names)) == len(names)
        assert {world.rounds[name].lane for name in names} <= {lane.key}
    listed = {name for lane in world.lanes.values() for name in (*lane.waiting, *lane.held, *lane.posting)}
    assert listed == {name for name, round_ in world.rounds.items() if round_.pending}
    assert all(round_.pending or round_.owed for round_ in world.rounds.values())
    assert all(round_.attempts >= 0 for round_ in world.rounds.values())


@pytest.mark.parametrize("kill_at", [0, 1, 2, None])
def test_recovery_may_be_cut_anywhere_and_is_the_same(kill_at: int | None) -> None:
    """A second start after a crash in the first one's recovery decides nothing twice."""
    for seed in range(4):
        sim = Sim()
        for act, n in ((onward, 3), (onward, 4), (onward, 8)):
            sim.arrive("11", author=1 + seed)
            move(sim, act, n + seed)
        sim.kill_at = kill_at
        sim.crash()
        once = {name: (round_.phase, round_.attempts) for name, round_ in sim.lanes.world.rounds.items()}
        sim.crash()
        assert {name: (r.phase, r.attempts) for name, r in sim.lanes.world.rounds.items()} == once
        sim.lanes.step(Recover(), sim.now)
        sim.crash()
        sim.settle()
        sim.db.close()
