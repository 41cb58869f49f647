"""What lanes and their children are before anything has happened, whole; and the rules where nobody sets any."""

from connector.lane_base import SECOND, Base, Kid, LaneRules, Stand, Tail
from connector.spend import Caps
from connector.world import World


def test_the_rules_are_contracts_defaults() -> None:
    """CONTRACT's table of settings, in nanoseconds where it has seconds."""
    assert LaneRules() == LaneRules(
        busy="auto",
        capacity=500,
        per_person=20,
        bot_turns=5,
        max_children=4,
        idle_timeout=900 * SECOND,
        backoff=(5 * SECOND, 15 * SECOND, 45 * SECOND),
        max_attempts=3,
        quota_hold=21600 * SECOND,
        drain=120 * SECOND,
        kill_after=5 * SECOND,
        run_grace=60 * SECOND,
        abort_grace=30 * SECOND,
        spend=Caps(person=0.0, lane=0.0, total=0.0),
        outboxes="",
    )


def test_a_child_begins_busy_and_with_nothing() -> None:
    assert Kid("11", 3) == Kid(
        lane="11",
        child=3,
        stand=Stand.SPAWNING,
        busy=True,
        idle_since=0,
        streak=0,
        tools={},
        model=None,
        fell=False,
        died=False,
        outdated=False,
        session=None,
        fresh=True,
        chosen=None,
        level="",
        asked="",
        asking=None,
        tail=None,
        receipts=[],
        turn="",
        sent="",
        since=0,
        interrupted="",
        payer=("", 0),
        unbooked={},
        introduced=False,
        homeless=False,
    )
    assert Tail("1@1", "1", 11) == Tail("1@1", "1", 11, answers=0)


def test_lanes_begin_empty_and_willing() -> None:
    rules = LaneRules()
    assert Base(rules) == Base(
        rules=rules,
        world=World(),
        generation=0,
        kids={},
        wants=[],
        timers=[],
        probes={},
        delays={},
        shown={},
        behind={},
        idle_exits=[],
        in_row=0,
        newest=0,
        draining="",
        stopping=False,
        due=0,
        over=False,
        now=0,
        dice=0.0,
        kept=[],
        out=[],
        touched={},
        errands={},
        day_over=0,
        fetching=set(),
        at_hand=None,
    )
