"""Rounds whose thread is still being opened: Stop finds them, and a deleted one leaves no notice (BEHAVIOUR §2)."""

from connector import facts
from connector.lane_base import LaneRules
from connector.lane_effects import OpenThread, Post, Spawn
from connector.lane_events import Arrived, ChildUp, Deleted, StopAsked, ThreadDone
from connector.lanes import Lanes

CHANNEL, MESSAGE = 5, 70


def asked(message: int = MESSAGE) -> facts.Claimed:
    text = f"[discord] #general · ann (1) · {message}\n\nhello"
    return facts.Claimed(str(message), str(message), message, message, message, 1, "ann", text, at=1, parent=CHANNEL)


def test_stop_in_the_channel_reaches_a_round_whose_thread_is_not_to_be_had_yet() -> None:
    lanes = Lanes(rules=LaneRules())
    first = lanes.step(Arrived(asked()), 1)
    assert [type(effect) for effect in first.effects if isinstance(effect, OpenThread | Spawn)] == [OpenThread, Spawn]
    stopped = lanes.step(StopAsked(str(CHANNEL), CHANNEL, 1, "ann", "turn"), 2)
    assert facts.Ended(str(MESSAGE), "stopped") in stopped.facts
    assert [effect.owed.kind for effect in stopped.effects if isinstance(effect, Post)] == ["receipt"]


def test_stop_of_a_channel_leaves_rounds_alone_whose_thread_stands() -> None:
    lanes = Lanes(rules=LaneRules())
    lanes.step(Arrived(asked()), 1)
    lanes.step(ThreadDone(MESSAGE, CHANNEL, opened=True), 2)
    stopped = lanes.step(StopAsked(str(CHANNEL), CHANNEL, 1, "ann", "lane"), 3)
    assert not [fact for fact in stopped.facts if isinstance(fact, facts.Ended)]


def test_one_turn_is_stopped_and_not_its_neighbours() -> None:
    lanes = Lanes(rules=LaneRules())
    lanes.step(Arrived(asked(70)), 1)
    lanes.step(Arrived(asked(71)), 1)
    stopped = lanes.step(StopAsked(str(CHANNEL), CHANNEL, 1, "ann", "turn"), 2)
    assert [fact.round for fact in stopped.facts if isinstance(fact, facts.Ended)] == ["70"]


def test_a_message_deleted_while_its_thread_was_refused_leaves_no_notice() -> None:
    lanes = Lanes(rules=LaneRules())
    lanes.step(Arrived(asked()), 1)
    lanes.step(ChildUp(str(MESSAGE), 1, 100, "then"), 2)
    lanes.step(Deleted(MESSAGE), 3)
    done = lanes.step(ThreadDone(MESSAGE, CHANNEL, opened=False), 4)
    assert not [effect for effect in done.effects if isinstance(effect, Post)]
