"""The outbox: order, nonces, retries, what is looked for first, drops and cards; with a clock that the test holds."""

from typing import Any

import pytest

from connector import facts
from connector.outbox import EDIT_PACE, FORGOTTEN, Outbox, nonce
from connector.outbox_cards import NONCE_WINDOW
from connector.outbox_moves import Action, Edit, Later, Look, Missing, Never, Other, Send, Show, Stands
from connector.ports import Button

S = 1_000_000_000
STOP = (Button("stop:r1", "Stop", "danger"),)


def owed(key: str = "r1:answer:0", channel: int = 1, **wanted: Any) -> facts.Owed:
    given = {"round": "r1", "kind": "answer", "text": "text", "reply_to": 77}
    return facts.Owed(key=key, channel=channel, **{**given, **wanted})


def the(actions: list[Action]) -> Action:
    """The one action of a list."""
    (action,) = actions
    return action


# -- nonces --------------------------------------------------------------------------------------------------------


def test_a_nonce_is_stable_short_and_of_one_part_alone() -> None:
    """CONTRACT: at most 25 characters, tries of one post share it, two different posts never do."""
    keys = [f"{n}:{kind}:{k}" for n in range(200) for kind in ("answer", "notice", "card") for k in range(3)]
    made = {(key, part): nonce(key, part) for key in keys for part in range(5)}
    assert len(set(made.values())) == len(made)
    assert max(map(len, made.values())) <= 25
    assert nonce("r1:answer:0", 1) == "c6mJ-135uc7DkEwFzzmdPQ"


# -- order ---------------------------------------------------------------------------------------------------------


def test_posts_of_a_channel_leave_in_order_one_at_a_time_and_channels_do_not_wait_for_each_other() -> None:
    box = Outbox()
    first, second, elsewhere = owed("a"), owed("b"), owed("c", channel=2)
    for post in (first, second, elsewhere):
        box.owe(post)
    assert box.ready(0) == [Send(first, 0), Send(elsewhere, 0)]
    assert box.ready(0) == []
    assert box.done(Send(first, 0), Stands(101), 0) == [facts.Posted("a", 0, 1, 101)]
    assert box.ready(0) == [Send(second, 0)]


def test_parts_leave_in_order_before_the_next_post() -> None:
    box = Outbox()
    long, next_ = owed("a"), owed("b")
    box.owe(long)
    box.owe(next_)
    told = []
    for part in range(3):
        assert the(box.ready(0)) == Send(long, part)
        told += box.done(Send(long, part), Stands(100 + part, 3), 0)
    assert told == [facts.Posted("a", 0, 3, 100), facts.Posted("a", 1, 3, 101), facts.Posted("a", 2, 3, 102)]
    assert the(box.ready(0)) == Send(next_, 0)
    assert box.owed() == ["b"]


def test_what_is_owed_already_or_stands_already_is_not_owed_again() -> None:
    box = Outbox()
    box.owe(owed("a"))
    box.owe(owed("a"))
    box.done(the(box.ready(0)), Stands(1), 0)
    box.owe(owed("a"))
    assert box.idle
    assert box.ready(0) == []


# -- retries -------------------------------------------------------------------------------------------------------


def test_a_retry_waits_longer_each_time_up_to_a_minute_and_holds_its_channel() -> None:
    box = Outbox()
    post = owed("a")
    box.owe(post)
    box.owe(owed("b"))
    now, waits = 0, []
    for _ in range(9):
        box.done(the(box.ready(now)), Later(), now)
        due = box.deadline()
        assert due is not None
        assert box.ready(due - 1) == []
        waits.append((due - now) // S)
        now = due
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_wait_that_discord_names_is_honoured() -> None:
    box = Outbox()
    box.owe(owed("a"))
    box.done(the(box.ready(0)), Later(after=45 * S), 0)
    assert box.deadline() == 45 * S


def test_a_permanent_error_ends_the_post_and_the_next_one_goes_on() -> None:
    box = Outbox()
    box.owe(owed("a"))
    box.owe(owed("b"))
    assert box.done(the(box.ready(0)), Never("unknown channel"), 0) == [facts.Dropped("a", "unknown channel")]
    assert the(box.ready(0)) == Send(owed("b"), 0)


def test_what_discord_may_have_forgotten_is_looked_for_first_and_then_sent_with_a_fresh_window() -> None:
    """Issue 3: older than Discord's nonce window, history is read first."""
    box = Outbox()
    post = owed("a")
    box.owe(post)
    box.done(the(box.ready(0)), Later(after=NONCE_WINDOW - 1), 0)
    assert the(box.ready(NONCE_WINDOW - 1)) == Send(post, 0)
    box.done(Send(post, 0), Later(), NONCE_WINDOW - 1)
    now = NONCE_WINDOW + 2 * S
    assert the(box.ready(now)) == Look(post, 0, after=77)
    assert box.done(Look(post, 0, 77), Missing(), now) == []
    assert the(box.ready(now)) == Send(post, 0)
    box.done(Send(post, 0), Later(), now)
    assert the(box.ready(now + S)) == Send(post, 0)


def test_what_is_found_in_the_history_stands_and_the_next_part_may_stand_there_too() -> None:
    """No post twice: an earlier process may have sent a part whose one before it was not recorded yet."""
    box = Outbox()
    post = owed("a")
    box.owe(post, fresh=False)
    assert box.done(the(box.ready(0)), Stands(55, 3), 0) == [facts.Posted("a", 0, 3, 55)]
    assert the(box.ready(0)) == Look(post, 1, after=55)
    assert box.done(Look(post, 1, 55), Stands(56, 3), 0) == [facts.Posted("a", 1, 3, 56)]
    assert box.done(the(box.ready(0)), Missing(), 0) == []
    assert the(box.ready(0)) == Send(post, 2)


def test_after_a_restart_the_part_that_may_have_been_sent_is_looked_for_behind_the_last_that_stands() -> None:
    box = Outbox()
    post = owed("a")
    box.owe(post, posted=2, last=99, fresh=False)
    assert the(box.ready(0)) == Look(post, 2, after=99)
    box.done(Look(post, 2, 99), Later(), 0)
    assert the(box.ready(S)) == Look(post, 2, after=99)
    box.done(Look(post, 2, 99), Missing(), S)
    assert the(box.ready(S)) == Send(post, 2)


def test_another_message_for_our_nonce_waits_until_it_is_forgotten_and_ends_at_the_second() -> None:
    """CONTRACT: a reply that comes back with other content counts as not posted."""
    box = Outbox()
    post = owed("a")
    box.owe(post)
    box.done(the(box.ready(0)), Other(), 0)
    assert box.deadline() == FORGOTTEN
    assert the(box.ready(FORGOTTEN)) == Look(post, 0, after=77)
    box.done(Look(post, 0, 77), Missing(), FORGOTTEN)
    told = box.done(the(box.ready(FORGOTTEN)), Other(), FORGOTTEN)
    assert told == [facts.Dropped("a", "Discord gave another message back, twice")]


# -- drops ---------------------------------------------------------------------------------------------------------


def test_a_drop_takes_back_what_waits_and_spares_receipts_and_other_rounds() -> None:
    """BEHAVIOUR §2: Stop suppresses the round's answer and unsent parts, then comes its receipt."""
    box = Outbox()
    receipt, other = owed("r1:receipt", kind="receipt"), owed("r2:answer:0", round="r2")
    for post in (owed("r1:answer:0"), owed("r1:notice", kind="notice"), receipt, other):
        box.owe(post)
    assert box.drop("r1") == [facts.Dropped("r1:answer:0", "stopped"), facts.Dropped("r1:notice", "stopped")]
    assert box.drop("r1") == []
    assert the(box.ready(0)) == Send(receipt, 0)
    box.done(Send(receipt, 0), Stands(1), 0)
    assert the(box.ready(0)) == Send(other, 0)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Stands(5, 1), [facts.Posted("a", 0, 1, 5)]),
        (Stands(5, 3), [facts.Posted("a", 0, 3, 5), facts.Dropped("a", "stopped")]),
        (Later(), [facts.Dropped("a", "stopped")]),
        (Other(), [facts.Dropped("a", "stopped")]),
        (Never("no"), [facts.Dropped("a", "no")]),
    ],
)
def test_what_is_on_its_way_at_a_drop_is_never_tried_again(outcome: Any, told: list[Any]) -> None:
    box = Outbox()
    box.owe(owed("a"))
    action = the(box.ready(0))
    assert box.drop("r1") == []
    assert box.done(action, outcome, 0) == told
    assert box.idle
    assert box.deadline() is None


# -- cards ---------------------------------------------------------------------------------------------------------


def test_a_card_is_posted_once_and_then_edited_with_its_latest_content_at_its_pace() -> None:
    box = Outbox()
    stop = (Button("stop:r1", "Stop"),)
    box.show("card", 1, "one", stop, reply_to=77)
    assert the(box.ready(0)) == Show("card", 1, "one", stop, 77)
    box.show("card", 1, "two")
    box.show("card", 1, "three")
    assert box.ready(0) == []
    box.done(Show("card", 1, "one", stop, 77), Stands(9), 0)
    assert box.ready(EDIT_PACE - 1) == []
    assert box.deadline() == EDIT_PACE
    assert the(box.ready(EDIT_PACE)) == Edit("card", 1, 9, "three", ())
    box.done(Edit("card", 1, 9, "three", ()), Stands(9), EDIT_PACE)
    assert box.idle
    assert box.deadline() is None


def test_edits_of_one_channel_share_the_pace_and_take_turns() -> None:
    box = Outbox()
    for name, message in (("a", 8), ("b", 9)):
        box.adopt(name, 1, message)
        box.show(name, 1, "x")
    edited, now = [], 0
    for number in range(4):
        edit = the(box.ready(now))
        assert isinstance(edit, Edit)
        edited.append(edit.key)
        box.done(edit, Stands(edit.message), now)
        box.show("a", 1, f"y{number}")
        box.show("b", 1, f"y{number}")
        assert box.ready(now + EDIT_PACE - 1) == []
        now += EDIT_PACE
    assert edited == ["a", "b", "a", "b"]


def test_a_post_goes_before_a_cards_edit_and_a_waiting_retry_does_not_hold_the_card() -> None:
    box = Outbox()
    box.adopt("card", 1, 9)
    box.show("card", 1, "x")
    box.owe(owed("a"))
    send = the(box.ready(0))
    assert send == Send(owed("a"), 0)
    box.done(send, Later(), 0)
    assert the(box.ready(0)) == Edit("card", 1, 9, "x", ())


def test_a_failed_edit_is_tried_again_with_what_is_latest_then() -> None:
    box = Outbox()
    box.adopt("card", 1, 9)
    box.show("card", 1, "one")
    box.done(the(box.ready(0)), Later(after=5 * S), 0)
    box.show("card", 1, "two")
    assert box.deadline() == 5 * S
    assert the(box.ready(5 * S)) == Edit("card", 1, 9, "two", ())


def test_a_card_that_discord_refuses_or_that_never_got_there_is_given_up() -> None:
    box = Outbox()
    box.show("card", 1, "x")
    box.done(the(box.ready(0)), Never("missing access"), 0)
    assert box.idle
    box.show("late", 1, "x")
    box.done(the(box.ready(0)), Later(after=NONCE_WINDOW), 0)
    assert box.idle


def test_a_finished_card_gets_its_last_content_and_one_that_never_stood_there_is_not_posted() -> None:
    box = Outbox()
    box.show("never", 2, "x")
    box.finish("never")
    assert box.idle
    box.show("card", 1, "one")
    show = the(box.ready(0))
    box.show("card", 1, "done")
    box.finish("card")
    box.done(show, Stands(9), 0)
    edit = the(box.ready(EDIT_PACE))
    assert edit == Edit("card", 1, 9, "done", ())
    box.done(edit, Stands(9), EDIT_PACE)
    assert box.idle


@pytest.mark.parametrize("ends", [False, True])
def test_a_card_whose_reply_was_lost_is_found_by_the_same_content_and_then_edited(*, ends: bool) -> None:
    """Another content would come back as another message, and the card would stand there at work for ever."""
    box = Outbox()
    box.show("card", 1, "one", STOP, reply_to=77)
    box.done(the(box.ready(0)), Later(), 0)
    box.show("card", 1, "two")
    if ends:
        box.finish("card")
    again = the(box.ready(S))
    assert again == Show("card", 1, "one", STOP, 77)
    assert box.done(again, Stands(9), S) == []
    edit = the(box.ready(S + EDIT_PACE))
    assert edit == Edit("card", 1, 9, "two", ())
    box.done(edit, Stands(9), S + EDIT_PACE)
    assert box.idle


def test_a_card_that_a_limit_kept_back_is_posted_as_it_is_now_or_not_at_all() -> None:
    """What Discord answers with a wait it has not taken."""
    box = Outbox()
    for key, channel in (("goes on", 1), ("ends", 2)):
        box.show(key, channel, "one")
        box.done(the(box.ready(0)), Later(3 * S), 0)
        box.show(key, channel, "two")
    box.finish("ends")
    assert box.ready(3 * S) == [Show("goes on", 1, "two", (), 0)]


def test_a_posts_edit_waits_until_the_post_stands() -> None:
    """BEHAVIOUR §2: the receipt is edited when the stopped run has settled, also if that is sooner than its post."""
    box = Outbox()
    receipt = owed("receipt", kind="receipt")
    box.owe(receipt)
    box.show("receipt", 1, "Stopped.")
    send = the(box.ready(0))
    assert send == Send(receipt, 0)
    assert box.done(send, Later(), 0) == []
    assert box.ready(0) == []
    assert box.done(the(box.ready(S)), Stands(9), S) == [facts.Posted("receipt", 0, 1, 9)]
    assert the(box.ready(S)) == Edit("receipt", 1, 9, "Stopped.", ())


def test_the_edit_of_a_post_that_is_dropped_goes_with_it() -> None:
    box = Outbox()
    box.owe(owed("a"))
    box.show("a", 1, "x")
    assert box.drop("r1") == [facts.Dropped("a", "stopped")]
    assert box.idle
    assert box.ready(0) == []


# -- questions ------------------------------------------------------------------------------------------------------

QUESTION = "7/dialog/2.d"


def test_a_question_is_told_when_it_stands_and_when_it_shows_its_end() -> None:
    box = Outbox()
    box.show("7/dialogtext/2.d.1", 1, "the beginning")
    assert box.show(QUESTION, 1, "the rest") == [facts.DialogShown(QUESTION, 1, 0)]
    assert box.done(the(box.ready(0)), Stands(69), 0) == []
    assert box.ready(0) == []
    box.recorded(QUESTION)
    assert box.done(the(box.ready(0)), Stands(70), 0) == [facts.DialogShown(QUESTION, 1, 70)]
    box.show(QUESTION, 1, "answered")
    assert box.finish("7/dialogtext/2.d.1") == []
    assert box.finish(QUESTION) == []
    assert box.done(the(box.ready(2 * S)), Stands(70), 2 * S) == [facts.DialogOver(QUESTION)]
    assert box.idle


def test_a_question_that_discord_refuses_is_told_so_that_nobody_waits_for_its_answer() -> None:
    box = Outbox()
    box.show(QUESTION, 1, "yes or no")
    box.recorded(QUESTION)
    assert box.done(the(box.ready(0)), Never("missing access"), 0) == [facts.DialogOver(QUESTION)]
    assert box.finish(QUESTION) == []
    box.adopt(QUESTION, 1, 70)
    box.show(QUESTION, 1, "over")
    assert box.done(the(box.ready(2 * S)), Never("unknown message"), 2 * S) == [facts.DialogOver(QUESTION)]
