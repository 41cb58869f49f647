"""Sums of spending: from a child's word to a day's sums, in the ledger over restarts, and as `/usage` tells them."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from connector import facts
from connector.ledger import Ledger
from connector.ledger_spend import Sum, sums
from connector.spend import DAY, Amount, Caps, Today, day_end, day_of
from connector.usage import all_lines, lane_lines
from connector.world import World
from engine.pi import Cost, Usage

SPENT = facts.Spent("7", "11", 5, 20_000, "fake", "m", 100, 10, 50, 0.25)


def spent(**changes: Any) -> facts.Spent:
    return msgspec.structs.replace(SPENT, **changes)


# -- amounts and days --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        (Usage(100, 10, 110, Cost(0.5)), Amount(100, 10, 0, 0.5)),
        (Usage(100, 10, 400, Cost(0.5)), Amount(100, 10, 290, 0.5)),
        (Usage(100, 10), Amount(100, 10, 0, 0.0)),
        (Usage(-1, 10, 5, Cost(-2.0)), Amount(0, 10, 0, 0.0)),
        (Usage(1 << 62, 1 << 62, 1 << 62, Cost(1e300)), Amount(10**12, 10**12, 0, 1e12)),
    ],
)
def test_a_childs_word_is_brought_into_bounds(usage: Usage, amount: Amount) -> None:
    assert Amount.of(usage) == amount


def test_a_day_is_utcs() -> None:
    assert [day_of(DAY - 1), day_of(DAY), day_end(0)] == [0, 1, DAY]


def test_sums_are_of_the_newest_day_alone() -> None:
    today = Today()
    for fact in (spent(), spent(lane="12"), spent(person=6, cost=0.5)):
        today.learn(fact)
    today.learn(facts.Extended("7", "lane", "11", 20_000, 1, 3.0))
    assert today.of(20_000, "lane", "11") == (0.75, 3.0)
    assert today.of(20_000, "person", "5") == (0.5, 0.0)
    assert today.of(20_000, "total", "") == (1.0, 0.0)
    assert today.of(20_001, "total", "") == (0.0, 0.0)
    assert today.of(19_999, "total", "") == (1.0, 0.0)
    today.learn(spent(day=20_001, lane="13"))
    today.learn(spent(day=20_000))
    today.learn(facts.Extended("7", "total", "", 20_000, 1, 3.0))
    spents = {("person", "5"): 0.25, ("lane", "13"): 0.25, ("total", ""): 0.25}
    assert today == Today(20_001, spents, {})


def test_caps_are_reached_at_their_amount_and_0_is_none() -> None:
    today = Today()
    today.learn(spent(cost=1.0))
    reached = partial(today.reached, day=20_000, lane="11", person=5)
    assert reached(Caps()) == ()
    assert reached(Caps(1.0, 1.0, 1.0)) == ("person", "lane", "total")
    assert reached(Caps(1.01, 1.0, 1.01)) == ("lane",)
    today.learn(facts.Extended("7", "lane", "11", 20_000, 1, 0.5))
    assert reached(Caps(1.01, 1.0, 1.01)) == ()
    assert today.reached(Caps(1.0, 1.0), 20_000, "12", 6) == ()
    assert not Caps()
    assert Caps(total=1.0)


# -- the ledger --------------------------------------------------------------------------------------------------------


def recorded(folder: Path, *new: facts.AnyFact, since: int = 0, lane: str | None = None) -> tuple[World, list[Sum]]:
    """The world that a start makes after these, and what the ledger tells."""

    async def main() -> tuple[World, list[Sum]]:
        ledger = Ledger.open(folder)
        try:
            await ledger.commit(new, at=1)
            world = World()
            for fact in (await ledger.load()).world:
                world.apply(fact)
            return world, await ledger.look(partial(sums, since=since, lane=lane))
        finally:
            await ledger.close()

    return asyncio.run(main())


def test_sums_outlive_a_restart_and_are_counted_once(tmp_path: Path) -> None:
    """Also those of a round that is still open, whose facts a start reads again."""
    claim = facts.Claimed("7", "11", 11, 7, 7, 5, "ann", "text", at=1)
    extended = facts.Extended("7", "lane", "11", 20_001, 1, 3.0)
    days = spent(), spent(day=20_001), spent(day=20_001, model="n"), spent(day=20_001, person=6)
    world, _ = recorded(tmp_path, claim, *days, extended)
    assert world.today == Today(
        20_001,
        {("person", "5"): 0.5, ("person", "6"): 0.25, ("lane", "11"): 0.75, ("total", ""): 0.75},
        {("lane", "11"): 3.0},
    )
    again, _ = recorded(tmp_path)
    assert again.today == world.today
    assert list(again.rounds) == ["7"]


def test_the_ledger_tells_sums_by_day_lane_person_and_model(tmp_path: Path) -> None:
    new = [spent(), spent(input=1), spent(model="n"), spent(lane="12"), spent(day=19_999), spent(person=6)]
    _, found = recorded(tmp_path, *new, since=20_000, lane="11")
    assert found == [
        Sum(20_000, "11", 5, "fake", "m", Amount(101, 20, 100, 0.5)),
        Sum(20_000, "11", 5, "fake", "n", Amount(100, 10, 50, 0.25)),
        Sum(20_000, "11", 6, "fake", "m", Amount(100, 10, 50, 0.25)),
    ]
    assert len(recorded(tmp_path)[1]) == 5


# -- in words ----------------------------------------------------------------------------------------------------------


def a(day: int, lane: str, person: int, model: str, cost: float) -> Sum:
    return Sum(day, lane, person, "fake" if model else "", model, Amount(1000, 100, 0, cost))


def test_a_lane_is_told_by_day_person_and_model_and_what_its_caps_leave() -> None:
    today = Today(9, {("person", "5"): 0.5, ("lane", "11"): 1.5}, {("lane", "11"): 2.0})
    found = [a(9, "11", 5, "m", 0.5), a(9, "11", 6, "", 1.0), a(4, "11", 0, "m`@x", 2.0)]
    assert lane_lines(found, 9, Caps(person=2.0, lane=1.0), today, ("11", 5)) == [
        "**Today here (UTC, until <t:864000:t>)**: 1.50 · 2,200 tokens",
        "- <@6>: 1.00 · 1,100 tokens",
        "- <@5>: 0.5000 · 1,100 tokens",
        "- tools and summaries: 1.00 · 1,100 tokens",
        "- `fake/m`: 0.5000 · 1,100 tokens",
        "**The last 7 days here**: 3.50 · 3,300 tokens",
        "- nobody's turn: 2.00 · 1,100 tokens",
        "- <@6>: 1.00 · 1,100 tokens",
        "- <@5>: 0.5000 · 1,100 tokens",
        "- `fake/m @x`: 2.00 · 1,100 tokens",
        "- tools and summaries: 1.00 · 1,100 tokens",
        "- `fake/m`: 0.5000 · 1,100 tokens",
        "Cap of today for you: 0.5000 of 2.00 are spent.",
        "Cap of today for this conversation: 1.50 of 1.00 are spent, extended by 2.00.",
    ]


def test_nothing_spent_is_said() -> None:
    assert lane_lines([], 9, Caps(), Today(), ("11", 5)) == ["Nothing was spent here in the last 7 days."]
    assert all_lines([], 9) == ["Nothing was spent anywhere in the last 7 days."]


def test_an_operator_is_told_of_every_lane_the_dearest_first_and_of_no_more_than_a_few() -> None:
    found = [a(3, str(100 + number), 5, "m", float(number)) for number in range(13)]
    lines = all_lines(found, 9)
    assert lines[0] == "**Today everywhere (UTC, until <t:864000:t>)**: 0.00 · 0 tokens"
    assert lines[1] == "**The last 7 days everywhere**: 78.00 · 14,300 tokens"
    assert lines[2:4] == ["- <#112>: 12.00 · 1,100 tokens", "- <#111>: 11.00 · 1,100 tokens"]
    assert lines[11:] == ["- <#103>: 3.00 · 1,100 tokens", "- … and 3 more.", *lines[13:]]
    assert lines[13:] == ["- <@5>: 78.00 · 14,300 tokens", "- `fake/m`: 78.00 · 14,300 tokens"]
