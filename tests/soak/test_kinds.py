"""A soak that did not meet a kind of trouble names it; and nothing is counted that met nobody."""

import random
from collections import Counter
from pathlib import Path

import pytest

from fakes.program import discord
from tests.soak import kinds
from tests.soak.people import People
from tests.soak.trouble import Trouble

SEEN = {
    "messages": 300,
    "kills of the connector": 1,
    "kills of children": 1,
    "gateway cut in a frame": 1,
    "gateway asks to reconnect": 1,
    "gateway stalled": 1,
    "gateway refuses": 1,
    "sessions lost": 1,
    "REST 429": 1,
    "REST stored-then-502": 1,
    "REST reset": 1,
    "REST hang": 1,
    "Discord down": 1,
    "disk stalls": 1,
    "disk refusals": 1,
    "freezes": 1,
}


def test_a_run_that_met_everything_may_be_judged() -> None:
    assert kinds.missing(SEEN, 20_000) == []


@pytest.mark.parametrize("name", [name for name in SEEN if name != "messages"])
def test_a_kind_that_did_not_take_place_is_named(name: str) -> None:
    [what] = kinds.missing({**SEEN, name: 0}, 20_000)
    [kind] = [kind for kind in kinds.LEAST if what == f"no {kind} took place"]
    assert not kinds.happened(kind, {**SEEN, name: 0})


def test_too_few_messages_are_told_unless_fewer_were_asked_for() -> None:
    assert kinds.missing({**SEEN, "messages": 299}, 20_000) == ["299 messages are fewer than 300"]
    assert kinds.missing({**SEEN, "messages": 20}, 20) == []


@pytest.mark.anyio
async def test_what_meets_nobody_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a connector nothing is on the wire, no request is made and no process is there."""
    counts: Counter[str] = Counter()
    async with discord() as world:
        trouble = Trouble(world, _nobody(), tmp_path, random.Random(1), counts, zombies=False)
        monkeypatch.setattr(trouble, "_for", lambda *_: 0.0)
        for act in trouble.acts().values():
            await act()
    assert [kind for kind in kinds.LEAST if kinds.happened(kind, counts)] == []


def _nobody() -> People:
    return None  # type: ignore[return-value]  # nobody speaks here
