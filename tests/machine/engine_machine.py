"""Hypothesis state machines over the engine's core: a lying child held against the reference, and an honest pi.

They only choose; what is done and checked stands in ``lying_world`` and ``honest_world`` (BEHAVIOUR §7).
"""

import random
from types import SimpleNamespace
from typing import cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import engine.core
import engine.state
from tests.machine.checked_world import Core
from tests.machine.honest_world import HonestWorld
from tests.machine.lying_world import LIMITS, NO_DIALOGS, LyingWorld

REAL = cast(
    "Core",
    SimpleNamespace(start=engine.core.start, step=engine.core.step, deadline=engine.state.deadline),
)
"""The core as it is."""


def upto(last: int) -> st.SearchStrategy[int]:
    """A small choice."""
    return st.integers(0, last)


class LyingChild(RuleBasedStateMachine):
    """Invariants 1 to 12, 15, 27, 29, 32 and 33 whatever the child says, people ask and the clock brings."""

    core: Core = REAL
    world: LyingWorld

    @initialize(asks=st.booleans(), ready=st.booleans())
    def born(self, asks: bool, ready: bool) -> None:
        self.world = LyingWorld(self.core, LIMITS if asks else NO_DIALOGS)
        if ready:
            self.world.obey()

    @property
    def alive(self) -> bool:
        return self.world.ref.alive

    @rule(kind=upto(7))
    def submit(self, kind: int) -> None:
        self.world.submit(kind)

    @precondition(lambda self: self.alive)
    @rule(times=st.integers(1, 5))
    def obey(self, times: int) -> None:
        for _ in range(times):
            self.world.obey()

    @precondition(lambda self: self.alive)
    @rule()
    def answer_a_command(self) -> None:
        self.world.answer_a_command()

    @precondition(lambda self: self.alive)
    @rule(far=upto(5))
    def prove(self, far: int) -> None:
        self.world.prove(far)

    @rule()
    def steer(self) -> None:
        self.world.steer()

    @rule(which=upto(4))
    def stop_turn(self, which: int) -> None:
        self.world.stop_turn(which)

    @precondition(lambda self: self.world.ref.run is not None)
    @rule()
    def abort_orphan(self) -> None:
        self.world.abort_orphan()

    @rule(which=upto(3))
    def answer_dialog(self, which: int) -> None:
        self.world.answer_dialog(which)

    @rule(which=upto(7), how=upto(7))
    def respond(self, which: int, how: int) -> None:
        self.world.respond(which, how)

    @rule()
    def agent_start(self) -> None:
        self.world.agent_start()

    @rule(retry=upto(1))
    def agent_end(self, retry: int) -> None:
        self.world.agent_end(retry)

    @rule()
    def settled(self) -> None:
        self.world.settled()

    @rule(reason=upto(13))
    def speak(self, reason: int) -> None:
        self.world.speak(reason)

    @rule(which=upto(5))
    def echo(self, which: int) -> None:
        self.world.echo(which)

    @rule(which=upto(8))
    def tool(self, which: int) -> None:
        self.world.tool(which)

    @rule(which=upto(3))
    def pause(self, which: int) -> None:
        self.world.pause(which)

    @rule(which=upto(4))
    def dialog(self, which: int) -> None:
        self.world.dialog(which)

    @rule(which=upto(5))
    def nonsense(self, which: int) -> None:
        self.world.nonsense(which)

    @rule()
    def stream(self) -> None:
        self.world.stream()

    @rule(exits=upto(1))
    def foreign(self, exits: int) -> None:
        self.world.foreign(exits)

    @rule(after=st.integers(1, 120))
    def wait(self, after: int) -> None:
        self.world.wait(after)

    @rule(when=upto(10))
    def tick(self, when: int) -> None:
        self.world.tick(when)

    @precondition(lambda self: not self.alive)
    @rule()
    def exit_when_given_up(self) -> None:
        self.world.exit()

    @rule(which=upto(9))
    def stop_child_or_exit(self, which: int) -> None:
        if which == 0:
            self.world.stop_child()
        elif which == 1:
            self.world.exit()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.exit()


class HonestChild(RuleBasedStateMachine):
    """Invariants 1, 7, 9, 11, 27 and 33 with a child that obeys: no wedge, every word where it belongs, all served."""

    core: Core = REAL
    world: HonestWorld

    @initialize(chance=st.randoms(use_true_random=False))
    def born(self, chance: random.Random) -> None:
        self.world = HonestWorld(self.core, chance)

    @rule()
    def submit(self) -> None:
        self.world.submit()

    @rule()
    def steer(self) -> None:
        self.world.steer()

    @rule()
    def stop(self) -> None:
        self.world.stop()

    @rule()
    def answer(self) -> None:
        self.world.answer()

    @rule()
    def tick(self) -> None:
        self.world.tick()

    @rule(times=st.integers(1, 8))
    def child(self, times: int) -> None:
        for _ in range(times):
            self.world.pi.step()
            self.world.read()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.chance = self.world.pi.chance = random.Random(0)
            self.world.serve()
