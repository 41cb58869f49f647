"""The bounds of the targets: what hangs or gathers without end is told, what does neither is let alone."""

import resource
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.bounds import HangsError, bounded
from tests.fuzz.hostile import tried


def loops() -> None:
    while True:
        pass


def test_what_hangs_is_told() -> None:
    with pytest.raises(HangsError):
        bounded(loops, seconds=0.05)()
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_what_gathers_without_end_is_told() -> None:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError):
        bounded(bytearray, memory=64 << 20)(1 << 30)
    assert resource.getrlimit(resource.RLIMIT_AS) == limits


def test_what_does_neither_is_let_alone() -> None:
    assert bounded(sorted, memory=64 << 20)([2, 1], reverse=True) == [2, 1]


@given(st.just(1))
@tried(1)
def test_a_target_is_within_its_bounds(one: int) -> None:
    assert signal.getitimer(signal.ITIMER_PROF)[0] > one


def test_every_target_has_its_bounds(request: pytest.FixtureRequest) -> None:
    items = [item for item in request.session.items if item.path.parent.name == "fuzz"]
    made = [getattr(item.obj, "hypothesis", None) for item in items if isinstance(item, pytest.Function)]
    names = {target.inner_test.__code__.co_name for target in made if target is not None}
    assert names <= {"within"}
