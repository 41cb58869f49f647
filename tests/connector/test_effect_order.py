"""The order in which one batch's effects are performed: what is done, first sign, other signs, what is written down."""

from connector.lane_effects import Behind, Effect, Log, MayShow, React, Retire, Typing, Withdraw
from connector.performing import rank


def test_what_is_done_then_the_first_sign_of_life_then_other_signs_then_the_log_each_in_its_own_order() -> None:
    effects: list[Effect] = [
        Log("message.accepted"),
        React(5, 70, "accepted"),
        Retire("5", 1),
        Log("turn.sent"),
        React(5, 69, "stopped"),
        MayShow("70/card/1"),
        Behind("70", 9),
        Typing(5, on=True),
        Withdraw("70"),
    ]
    assert sorted(effects, key=rank) == [
        Retire("5", 1),
        Withdraw("70"),
        React(5, 70, "accepted"),
        React(5, 69, "stopped"),
        MayShow("70/card/1"),
        Behind("70", 9),
        Typing(5, on=True),
        Log("message.accepted"),
        Log("turn.sent"),
    ]
