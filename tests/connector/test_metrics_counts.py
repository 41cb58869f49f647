"""What is counted and what of the lanes is shown, by hand-made events: CONTRACT's Metrics."""

from collections import Counter

import pytest

from connector import facts
from connector.lane_base import Kid, LaneRules
from connector.lane_effects import Effect, Log
from connector.lane_events import Arrived
from connector.lanes import Lanes, Stepped
from connector.metrics import Meter, Spread, State
from connector.outbox_moves import Action, Edit, Find, Later, Look, Missing, Never, Other, Outcome, Send, Show, Stands
from connector.ports import Connected, Disconnected, Gone
from engine.events import SECOND

OWED = facts.Owed("7/answer/1", "7", 1, "answer", "text", 7)
SEND, LOOK, SHOW = Send(OWED, 0), Look(OWED, 0, 7), Show("7/card/1", 1, "text", (), 0)
FIND = Find("7/card/1", 1, "stop:7", 7)
MODEL = ("fake", "scripted")


def stepped(*effects: Effect) -> Stepped:
    return Stepped((), effects, ())


def ended(outcome: str, seconds: float) -> Log:
    fields = {"lane": "1", "message_id": 7, "child": 1, "attempt": 1, "outcome": outcome, "seconds": seconds}
    return Log("turn.ended", tuple(fields.items()))


def some(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def test_a_value_is_in_the_first_bucket_whose_bound_it_does_not_exceed_and_in_all_behind_it() -> None:
    spread = Spread((1.0, 5.0))
    for value in (0.5, 1.0, 1.5, 5.0, 9.0):
        spread.add(value)
    assert spread.buckets() == [("1.0", 2), ("5.0", 4), ("+Inf", 5)]
    assert spread.total == 17.0


def test_ends_of_turns_are_counted_by_outcome_and_those_refused_at_the_door_take_no_time() -> None:
    meter = Meter()
    meter.stepped(stepped(ended("answered", 2.0), Log("turn.sent"), ended("refused", 0.0)))
    meter.stepped(stepped(ended("answered", 3.0), ended("stopped", 4.0)))
    assert some(meter.turns) == {"answered": 2, "refused": 1, "stopped": 1}
    assert meter.seconds.total == 9.0
    assert meter.seconds.buckets()[-1] == ("+Inf", 3)


def test_every_outcome_and_result_is_told_from_the_beginning() -> None:
    """A counter that appears with its first event shows no increase to who watches it."""
    assert {"answered", "joined", "engine-wedged", "dead", "refused"} <= set(Meter().turns)
    assert set(Meter().turns.values()) | set(Meter().posts.values()) == {0}


def test_wedges_are_counted() -> None:
    meter = Meter()
    meter.stepped(stepped(Log("engine.wedged", (("lane", "1"),)), Log("engine.exit")))
    assert meter.wedges == 1


def test_the_first_connection_is_no_reconnect() -> None:
    meter = Meter()
    states = []
    for event in (Disconnected("no"), Connected(1, True), Gone(1, (2,)), Disconnected("off"), Connected(1, False)):
        meter.heard(event)
        states.append((meter.connected, meter.reconnects))
    assert states == [(False, 0), (True, 0), (True, 0), (False, 0), (True, 1)]


@pytest.mark.parametrize(
    ("action", "outcome", "result"),
    [
        (SEND, Stands(8), {"posted": 1}),
        (LOOK, Stands(8), {"posted": 1}),
        (SHOW, Stands(8), {"posted": 1}),
        (LOOK, Missing(), {}),
        (FIND, Stands(8), {"posted": 1}),
        (FIND, Missing(), {}),
        (SEND, Later(3), {"later": 1}),
        (SEND, Other(), {"later": 1}),
        (SEND, Never("gone"), {"refused": 1}),
        (Edit("7/card/1", 1, 8, "text", ()), Stands(8), {}),
    ],
)
def test_tries_of_posts_are_counted_by_what_came_of_them(
    action: Action, outcome: Outcome, result: dict[str, int]
) -> None:
    meter = Meter()
    meter.tried(action, outcome)
    assert some(meter.posts) == result


def test_the_lanes_at_one_instant() -> None:
    lanes = Lanes(rules=LaneRules(busy="queue"))
    for number in (7, 8, 9):
        claim = facts.Claimed(str(number), "1", 1, number, number, 5, "ann", "text", at=number * SECOND)
        lanes.step(Arrived(claim), number * SECOND)
    for fact in (
        facts.Written("7", 1),
        facts.Backoff("7", 30 * SECOND, "status 429"),
        facts.Gated(*MODEL, 20 * SECOND),
    ):
        lanes.world.apply(fact)
    assert State.of(lanes, 10 * SECOND) == State(waiting=2, oldest=2.0, children=1, backoff=1, gates=1)
    assert State.of(lanes, 20 * SECOND) == State(waiting=2, oldest=12.0, children=1, backoff=1, gates=0)
    lanes.probes[MODEL] = "1"
    lanes.kids["2"] = Kid("2", 2)
    assert State.of(lanes, 20 * SECOND) == State(waiting=2, oldest=12.0, children=2, backoff=1, gates=1)
    assert State.of(Lanes(rules=LaneRules()), 5) == State(waiting=0, oldest=0.0, children=0, backoff=0, gates=0)
