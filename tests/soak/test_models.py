"""What the walks of the soak find is a seed, and the command that walks it again."""

import itertools

import pytest

from tests.soak import models
from tests.soak.models import CHUNK, KINDS, Walked


def test_a_find_is_told_with_the_command_that_replays_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seed: int, _steps: int) -> None:
        assert seed != 43, "27: still not at rest"

    monkeypatch.setitem(KINDS, "broken", (5, 1, broken))
    kind, steps, found = models.some("broken", 40)
    assert (kind, steps, found) == ("broken", 5 * CHUNK, [("broken", 43, "AssertionError: 27: still not at rest")])
    walked = Walked(finds=found, seconds=1.0)
    walked.steps[kind] += steps
    told = list(walked.lines())
    assert told[0] == "models: 50 steps in 1 s (50/s): broken 50"
    assert told[2:] == [
        "  FOUND AssertionError: 27: still not at rest",
        "    again: python -m tests.soak.models broken 43",
    ]


def test_each_walk_has_a_seed_of_its_own_and_every_kind_its_share() -> None:
    planned = list(itertools.islice(models.chunks(7), 500))
    seeds = [seed + n for _, seed in planned for n in range(CHUNK)]
    assert len(set(seeds)) == len(seeds)
    assert {kind for kind, _ in planned} == set(KINDS)
    assert planned == list(itertools.islice(models.chunks(7), 500))


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_of_every_kind_can_be_made_again(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    models.main([kind, "11"])
    assert capsys.readouterr().out == f"{kind} 11: {KINDS[kind][0]} steps, nothing found\n"
