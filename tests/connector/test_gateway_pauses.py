"""Pauses and budget of the gateway as pure rules, and facts from payloads that tests over the wire do not meet."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector import gateway_facts as read
from connector.gateway_pauses import Budget, Clock, Pauses
from connector.messages import Author, Place

S = 1_000_000_000


def clock(random: Callable[[], float] = lambda: 0.5, wall: list[int] | None = None) -> Clock:
    told = wall or [0]
    return Clock(now_ns=lambda: told[0], wall_ns=lambda: told[0], random=random)


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=30), st.floats(0, 100))
def test_a_pause_is_never_none_never_over_a_minute_and_never_under_its_floor(chance: list[float], floor: float) -> None:
    pauses = Pauses(clock(random=iter([*chance, *chance]).__next__))
    told = [pauses.after_failure() for _ in chance]
    assert all(min(0.25 * 2**n, 30) <= pause <= min(0.5 * 2**n, 60) for n, pause in enumerate(told))
    assert pauses.after_failure(floor=floor) >= floor


@given(st.lists(st.integers(0, 600 * S), min_size=45, max_size=120))
def test_never_more_than_forty_identifies_in_an_hour_or_two_in_five_seconds(gaps: list[int]) -> None:
    wall, made = [10_000 * S], list[int]()
    budget = Budget(clock(wall=wall))
    for gap in gaps:
        wall[0] += gap
        wall[0] += round(budget.wait() * S)
        made.append(budget.spent())
    assert all(later - earlier >= 5 * S - 1 for earlier, later in itertools.pairwise(made))
    assert all(later - earlier >= 3_600 * S - 1 for earlier, later in zip(made, made[40:], strict=False))


def test_a_clock_that_was_set_back_holds_an_identify_for_an_hour_at_most() -> None:
    budget = Budget(clock(wall=[10_000 * S]), past=[90_000 * S + n for n in range(40)])
    assert budget.wait() == 3_600


@pytest.mark.parametrize(
    ("permissions", "kind", "may"),
    [
        (1 << 11, "channel", True),
        (1 << 38, "channel", False),
        (1 << 38, "thread", True),
        (1 << 11, "thread", False),
        (1 << 3, "thread", True),
        (0, "channel", False),
    ],
)
def test_who_may_write_where(permissions: int, kind: str, may: bool) -> None:
    where = Place(1, "x", 2, 3 if kind == "thread" else None, kind="thread" if kind == "thread" else "channel")
    assert read.can_write({"permissions": str(permissions)}, where) is may
    assert read.can_write(None, where)


def test_the_instant_of_a_snowflake() -> None:
    """The example of Discord's reference: 175928847299117063 was made at 2016-04-30 11:18:25.796 UTC."""
    assert read.sent_at_ns(175928847299117063) == 1462015105796 * 1_000_000


def test_our_own_answer_to_an_interaction_is_ours_though_a_webhook_spoke_it() -> None:
    """BEHAVIOUR §3.1: our own messages never enter a lane, whatever the rules say of webhooks."""
    data = {"author": {"id": "7", "username": "pi", "bot": True}, "webhook_id": "99"}
    assert read.author(data, us=7) == Author(7, "pi", bot=True)
    assert read.author(data, us=8) == Author(99, "pi", bot=True, webhook=True)


def test_a_person_goes_by_the_name_the_guild_knows() -> None:
    user = {"id": "1", "username": "ann_1", "global_name": "Ann"}
    assert read.person(user, {"nick": "Annie"}).name == "Annie"
    assert read.person(user, {"nick": None}).name == "Ann"
    assert read.person({"id": "1", "username": "ann_1", "global_name": None}).name == "ann_1"


def test_a_reply_to_a_deleted_message_is_none_and_one_to_a_forward_shows_its_text() -> None:
    base = {"id": "9", "type": 19, "content": "hm", "author": {"id": "1", "username": "ann"}}
    gone = {**base, "message_reference": {"message_id": "5"}, "referenced_message": None}
    assert read.message(gone, Place(1, "x"), us=7).reply is None
    forward = {"message": {"content": "far away", "attachments": []}}
    target = {"id": "5", "content": "", "author": {"id": "7", "username": "pi"}, "message_snapshots": [forward]}
    reply = read.message({**gone, "referenced_message": target}, Place(1, "x"), us=7).reply
    assert reply is not None
    assert (reply.text, reply.to_us) == ("far away", True)
