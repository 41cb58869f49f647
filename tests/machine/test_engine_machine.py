"""The model test of BEHAVIOUR §7 over the engine's core: what hypothesis finds, and walks from fresh seeds."""

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from engine.events import Code, Limits
from tests.machine.engine_machine import REAL, HonestChild, LyingChild
from tests.machine.honest_world import HonestWorld, obey
from tests.machine.reference import Reference
from tests.machine.walks import lie

QUICK = settings(
    deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def test_a_lying_child() -> None:
    run_state_machine_as_test(LyingChild, settings=settings(QUICK, max_examples=60, stateful_step_count=40))


def test_an_honest_child() -> None:
    run_state_machine_as_test(HonestChild, settings=settings(QUICK, max_examples=40, stateful_step_count=30))


def fresh() -> int:
    """A seed that is in the message of whatever fails."""
    return random.SystemRandom().randrange(10**9)


def test_walks_with_a_lying_child() -> None:
    first = fresh()
    for seed in range(first, first + 200):
        try:
            lie(REAL, seed)
        except AssertionError as error:
            raise AssertionError(f"lie(REAL, {seed})") from error


def test_walks_with_an_honest_child() -> None:
    first = fresh()
    for seed in range(first, first + 60):
        try:
            obey(REAL, seed)
        except AssertionError as error:
            raise AssertionError(f"obey(REAL, {seed})") from error


def test_the_walks_reach_every_kind_of_end() -> None:
    """A model that never gets anywhere proves nothing; these seeds are fixed."""
    lies: Counter[Code] = Counter()
    for seed in range(250):
        lies.update(lie(REAL, seed).ends.values())
    assert set(lies) == {
        Code.ANSWERED, Code.EMPTY, Code.HANDLED, Code.JOINED, Code.TIMEOUT, Code.WEDGED, Code.DOWN, Code.REFUSED,
        Code.EXIT, Code.PROVIDER, Code.STOPPED, Code.INTERRUPTED,
    }  # fmt: skip
    served: Counter[Code] = Counter()
    for seed in range(40):
        served.update(obey(REAL, seed).ends.values())
    assert {Code.ANSWERED, Code.EMPTY, Code.HANDLED, Code.JOINED, Code.REFUSED, Code.STOPPED} <= set(served)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_is_the_same_walk(seed: int) -> None:
    assert lie(REAL, seed).state == lie(REAL, seed).state
    assert obey(REAL, seed).state == obey(REAL, seed).state


def test_the_reference_imports_nothing_of_the_core() -> None:
    """Else it would be wrong wherever the core is."""
    assert {module.split(".")[0] + "." + module.split(".")[1] for module in _engine_modules()} == {"engine.events"}
    assert Reference(Limits(), 0).deadline() == Limits().turn_timeout


def _engine_modules() -> set[str]:
    from tests.machine import reference, reference_verbs

    values = [*vars(reference).values(), *vars(reference_verbs).values()]
    found = {getattr(value, "__module__", "") for value in values}
    return {module for module in found if module.startswith("engine.")}


def test_an_honest_world_without_people_is_idle() -> None:
    world = HonestWorld(REAL, random.Random(1))
    world.serve()
    assert not world.state.busy
