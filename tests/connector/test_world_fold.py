"""The fold (BEHAVIOUR §7.30): what single facts make of a round and its lane, and what changes nothing."""

from typing import Any

import msgspec
import pytest

from connector import facts
from connector.world import Phase, Round, World

CLAIM = facts.Claimed("7", "11", 11, 7, 7, 1, "Ann", "[discord] private · Ann (1) · 7\n\nhi", 100)
OWED = facts.Owed("7/answer/1", "7", 11, "answer", "hello", 7)


def world(*given: facts.AnyFact) -> World:
    made = World()
    for fact in given:
        made.apply(fact)
    return made


def claim(number: int, **changes: Any) -> facts.Claimed:
    named = {"round": str(number), "message": number, "reply_to": number, "at": number}
    return msgspec.structs.replace(CLAIM, **(named | changes))


def the(*given: facts.AnyFact) -> Round:
    return world(CLAIM, *given).rounds["7"]


WRITTEN = facts.Written("7", 3)
REASK = facts.Written("7", 3, reask=True)
STEER = facts.Written("7", 3, kind="steer")
BACKOFF = facts.Backoff("7", 500, "status 429")


@pytest.mark.parametrize(
    ("given", "phase", "attempts", "writes", "steps"),
    [
        ((), Phase.WAITING, 0, 0, 0),
        ((WRITTEN,), Phase.WRITTEN, 1, 1, 0),
        ((STEER,), Phase.STEERED, 1, 1, 0),
        ((STEER, facts.Heard("7", "6")), Phase.JOINED, 1, 1, 0),
        ((WRITTEN, facts.Started("7")), Phase.RUNNING, 1, 1, 0),
        ((WRITTEN, facts.Unwritten("7")), Phase.WAITING, 0, 1, 0),
        ((WRITTEN, facts.Requeued("7", "exit")), Phase.WAITING, 1, 1, 0),
        ((WRITTEN, facts.Cut("7"), facts.Requeued("7", "restart", charged=False)), Phase.WAITING, 0, 1, 0),
        ((WRITTEN, facts.Cut("7"), facts.Cut("7")), Phase.WRITTEN, 0, 1, 0),
        ((WRITTEN, BACKOFF), Phase.BACKOFF, 1, 1, 1),
        ((WRITTEN, facts.Backoff("7", 500, "quota", parked=True)), Phase.BACKOFF, 1, 1, 0),
        ((WRITTEN, BACKOFF, REASK), Phase.WRITTEN, 1, 2, 1),
        ((WRITTEN, BACKOFF, REASK, facts.Unwritten("7")), Phase.BACKOFF, 1, 2, 1),
        ((WRITTEN, BACKOFF, REASK, facts.Requeued("7", "exit")), Phase.WAITING, 1, 2, 1),
        ((WRITTEN, BACKOFF, REASK, facts.Requeued("7", "restart", charged=False)), Phase.BACKOFF, 1, 2, 1),
        ((WRITTEN, facts.Answered("7", 1, "hi"), OWED), Phase.POSTING, 1, 1, 0),
    ],
)
def test_where_a_round_is_and_what_it_has_cost(
    given: tuple[facts.AnyFact, ...], phase: Phase, attempts: int, writes: int, steps: int
) -> None:
    """§3.2: a re-ask is no attempt, and what our own shutdown took away is still due as what it was."""
    made = the(*given)
    assert (made.phase, made.attempts, made.writes, made.steps) == (phase, attempts, writes, steps)
    assert made.turn == f"7@{writes}"


def test_a_round_leaves_when_it_has_ended_and_owes_no_post() -> None:
    ended = world(CLAIM, WRITTEN, OWED, facts.Ended("7", "answered"))
    assert ended.rounds["7"].phase is Phase.ENDED
    ended.apply(facts.Posted(OWED.key, 0, 2, 91))
    assert ended.stands == {OWED.key: (1, 91)}
    ended.apply(facts.Posted(OWED.key, 1, 2, 92))
    assert (ended.rounds, ended.owed, ended.stands) == ({}, {}, {})
    assert ended.lanes["11"].waiting == ()


@pytest.mark.parametrize(
    "late",
    [
        WRITTEN,
        facts.Started("7"),
        BACKOFF,
        facts.Requeued("7", "x"),
        facts.StopMarked("7", 2),
        facts.Ended("7", "dead"),
        facts.Moved("7"),
        facts.Cut("7"),
        facts.Posted("7/answer/9", 0, 1, 5),
        facts.Dropped("7/answer/9", "gone"),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_a_fact_about_a_round_that_is_over_changes_nothing(late: facts.AnyFact) -> None:
    over = (CLAIM, facts.Ended("7", "stopped"))
    assert world(*over, late) == world(*over)
    owing = (CLAIM, OWED, facts.Ended("7", "stopped"))
    assert world(*owing, late) == world(*owing)


def test_twice_is_once() -> None:
    given = (CLAIM, facts.Seen(11, 7), OWED, facts.Gated("a", "b", 5))
    assert world(*given, *given) == world(*given)


def test_the_order_of_a_lane() -> None:
    """Moved ones, then those that were written before, as they came, then the new ones, as they came."""
    made = world(*(claim(number) for number in (1, 2, 3, 4)))
    for fact in (facts.Written("1", 3), facts.Written("2", 3, kind="steer"), facts.Moved("4")):
        made.apply(fact)
    made.apply(facts.Requeued("2", "unheard"))
    made.apply(facts.Requeued("1", "exit"))
    assert made.lanes["11"].waiting == ("4", "1", "2", "3")
    assert made.waiting_by == {1: 4}
    made.apply(facts.Written("4", 3))
    made.apply(facts.Requeued("4", "exit"))
    assert made.lanes["11"].waiting == ("1", "2", "4", "3")  # written once, it has had its turn


def spoken(made: World) -> tuple[set[int], int]:
    return set(made.lanes["11"].people), made.lanes["11"].bots_in_row


def test_only_lanes_with_work_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an operator is shown costs no more where many conversations rest."""
    resting = [facts.LaneKnown(str(lane), lane) for lane in range(20, 30)]
    made = world(*resting, claim(9, lane="13"), claim(8, lane="12"), claim(7), facts.Ended("7", "stopped"))
    looked, look = list[str](), World.open_in

    def looking(self: World, key: str) -> list[Round]:
        looked.append(key)
        return look(self, key)

    monkeypatch.setattr(World, "open_in", looking)
    assert made.at_work() == looked == ["12", "13"]


def test_who_has_spoken_and_how_many_bots_in_a_row() -> None:
    made = world(claim(1), claim(2, author=9, bot=True), claim(3, author=9, bot=True))
    assert spoken(made) == ({1}, 2)
    made.apply(claim(4, author=5, origin=facts.Origin.RETRY))
    assert spoken(made) == ({1}, 2)
    made.apply(claim(5, author=2))
    assert spoken(made) == ({1, 2}, 0)


def test_a_gate_is_its_latest_word_and_0_opens_it() -> None:
    made = world(facts.Gated("a", "b", 9), facts.Gated("a", "b", 5), facts.Gated("a", "c", 7))
    assert made.gates == {("a", "b"): 5, ("a", "c"): 7}
    made.apply(facts.Gated("a", "b", 0))
    assert made.gates == {("a", "c"): 7}


def test_the_last_seen_id_only_grows() -> None:
    assert world(facts.Seen(1, 5), facts.Seen(1, 3), facts.Seen(2, 0)).seen == {1: 5, 2: 0}


def test_a_thread_that_cannot_be_had() -> None:
    """§7.31: what is there, what is owed, what has ended, and what comes later all go to the channel above."""
    threaded = claim(7, lane="7", channel=7, parent=11)
    owed = msgspec.structs.replace(OWED, channel=7, reply_to=0)
    made = world(threaded, owed, facts.Ended("7", "empty"), claim(8, lane="7", channel=7), facts.Redirected(7, 11))
    made.apply(claim(9, lane="7", channel=7, parent=11))
    made.apply(msgspec.structs.replace(owed, key="9/answer/1", round="9"))
    assert {(round_.channel, round_.parent) for round_ in made.rounds.values()} == {(11, 0)}
    assert {(post.channel, post.reply_to) for post in made.owed.values()} == {(11, 7)}
    assert (made.lanes["7"].channel, made.lanes["7"].thread_of) == (11, 0)


def test_children_that_may_still_run() -> None:
    one, two = facts.ChildStarted(1, "11", 71, "a"), facts.ChildStarted(2, "12", 72, "b")
    assert world(one, two, facts.ChildEnded(1, 0, expected=True)).children == {2: two}


@pytest.mark.parametrize(
    ("fact", "name"),
    [
        (WRITTEN, "7"),
        (facts.Posted("7/answer/1", 0, 1, 5), "7"),
        (facts.Dropped("7.1/notice/1", "x"), "7.1"),
        (facts.Redirected(7, 11), "7"),
        (facts.Seen(11, 7), ""),
        (facts.Owed("11/session/1", "", 11, "notice", "x", 0), ""),
    ],
)
def test_the_round_that_a_fact_is_about(fact: facts.AnyFact, name: str) -> None:
    assert facts.round_of(fact) == name
