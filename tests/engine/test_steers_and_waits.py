"""The values under the core, whole: open tool waits (BEHAVIOUR §5), steers and `clear_queue` (§4), a queue's entry."""

import pytest
from msgspec.structs import replace

from engine.commands import GetState
from engine.events import Code, Request, Text
from engine.pi import Message, MessageEnd, MessageStart, Origin, ToolEnd
from engine.steering import (
    NOTHING_STEERED,
    Clear,
    Cleared,
    Steer,
    Steering,
    clear_answered,
    clear_written,
)
from engine.turns import ABORTS, ADOPTED, BEGUN, FAILED, Row, Stage, Turn
from engine.waits import Wait, closed, hanging, oldest, opened, paused, result_of

ONE, TWO = Wait("a", "bash", 5), Wait("b", "read", 3)

# -- waits -------------------------------------------------------------------------------------------------------------


def test_a_wait_opens_once_and_only_with_an_id() -> None:
    assert opened((), "a", "bash", 5) == (ONE,)
    assert opened((ONE,), "b", "read", 3) == (ONE, TWO)
    assert opened((ONE,), "a", "read", 9) == (ONE,)
    assert opened((ONE,), "", "read", 9) == (ONE,)


def test_a_wait_is_closed_by_its_own_id() -> None:
    assert closed((ONE, TWO), "a") == (TWO,)
    assert closed((ONE, TWO), "c") == closed((ONE, TWO), "") == closed((ONE, TWO), None) == (ONE, TWO)


def test_a_pause_makes_nobody_older_and_counts_from_its_own_beginning() -> None:
    assert paused((ONE, TWO), 4, 10) == (replace(ONE, since=10), replace(TWO, since=9))
    assert paused((ONE,), 0, 4) == (ONE,)
    assert paused((ONE,), 0, 6) == (replace(ONE, since=6),)


def test_the_oldest_hangs_once_it_is_strictly_older() -> None:
    assert oldest((ONE, TWO)) == TWO
    assert oldest(()) is None
    assert [hanging((ONE, TWO), now, 10) for now in (12, 13, 14)] == [False, False, True]
    assert not hanging((), 99, 0)


def message(**fields: object) -> Message:
    return Message(**fields)  # type: ignore[arg-type]  # the fields' own types


@pytest.mark.parametrize("kind", [MessageStart, MessageEnd])
def test_a_result_names_its_call_in_any_shape(kind: type[MessageStart] | type[MessageEnd]) -> None:
    source = Origin(callId="s")
    assert result_of(ToolEnd(toolCallId="a", callId="b")) == "a"
    assert result_of(ToolEnd(callId="b")) == "b"
    assert not result_of(ToolEnd())
    assert result_of(kind(message=message(toolCallId="a", source=source))) == "a"
    assert result_of(kind(message=message(source=source))) == "s"
    assert result_of(kind(message=message())) is None


# -- steers ------------------------------------------------------------------------------------------------------------

HEARD = Steer("s1", "m1", "text 1", "r1", answered=True)
UNHEARD = Steer("s2", "m2", "text 2", "r2")
UNMARKED = Steer("s3", None, "text 3", "r3", answered=True)
OPEN = Steering((HEARD, UNHEARD, UNMARKED), head="h")


def test_a_steer_is_found_by_name_mark_or_request_and_never_by_nothing() -> None:
    for found in (OPEN.of(turn="s2"), OPEN.of(mark="m2"), OPEN.of(request="r2")):
        assert found is UNHEARD
    assert OPEN.of() is OPEN.of(turn="m2") is OPEN.of(mark="s2") is OPEN.of(request="m2") is None
    assert OPEN.of(mark=None) is None


def test_one_steer_goes_or_changes_and_the_others_stay() -> None:
    assert OPEN.without("s2") == replace(OPEN, open=(HEARD, UNMARKED))
    assert OPEN.without("s9") == OPEN
    stopped = replace(UNHEARD, code=Code.STOPPED)
    assert OPEN.with_(stopped) == replace(OPEN, open=(HEARD, stopped, UNMARKED))


def test_what_is_open_or_asked_holds_the_next_prompt() -> None:
    assert Steering((), (), None, tried=False, head=None) == NOTHING_STEERED
    assert Steer("a", None, "t", "r") == Steer("a", None, "t", "r", answered=False, code=None)
    assert [one.busy for one in (NOTHING_STEERED, OPEN, Steering(clears=(Clear("c", frozenset()),)))] == [0, 1, 1]


def test_when_the_queue_is_to_be_cleared() -> None:
    """Once after the run; again where an answered steer is left; in the run only where an answered one was stopped."""
    stopped, unanswered = replace(HEARD, code=Code.STOPPED), replace(UNHEARD, code=Code.STOPPED)
    wants = {
        "nothing open": Steering(over=1),
        "asked already": replace(OPEN, over=1, clears=(Clear("c", frozenset()),)),
        "in the run": OPEN,
        "in the run, stopped unanswered": Steering((unanswered, HEARD)),
        "in the run, stopped": Steering((unanswered, stopped)),
        "over": Steering((UNHEARD,), over=0),
        "over, tried": Steering((UNHEARD,), over=0, tried=True),
        "over, tried, answered since": Steering((UNHEARD, HEARD), over=0, tried=True),
    }
    assert [name for name, one in wants.items() if one.wants_clear] == [
        "in the run, stopped", "over", "over, tried, answered since",
    ]  # fmt: skip


def test_a_clear_covers_what_was_answered_by_then() -> None:
    asked = clear_written(OPEN, "c1")
    assert asked == replace(OPEN, clears=(Clear("c1", frozenset({"s1", "s3"})),), tried=True)
    assert clear_written(asked, "c2").clears == (*asked.clears, Clear("c2", frozenset({"s1", "s3"})))


ASKED = clear_written(clear_written(OPEN, "c1"), "c2")
LEFT = replace(ASKED, clears=ASKED.clears[1:])


def test_an_answer_that_is_not_ours_or_a_refusal_proves_nothing() -> None:
    assert clear_answered(ASKED, "c9", ["text 1"], good=True) is None
    assert clear_answered(ASKED, "c1", ["text 1"], good=False) == Cleared(ASKED, (), ())


@pytest.mark.parametrize(
    ("texts", "returned", "consumed"),
    [
        ([], (), (HEARD, UNMARKED)),
        (["text 1"], (HEARD,), (UNMARKED,)),
        (["text 3", "text 1"], (UNMARKED, HEARD), ()),
        (["text 2"], (UNHEARD,), (HEARD, UNMARKED)),
        (["rewritten"], (HEARD,), (UNMARKED,)),
        (["rewritten", "text 1"], (HEARD, UNMARKED), ()),
        (["rewritten", "twice", "thrice"], (HEARD, UNMARKED), ()),
        (["text 1", "text 1"], (HEARD, UNMARKED), ()),
    ],
)
def test_what_an_answer_proves(texts: list[str], returned: tuple[Steer, ...], consumed: tuple[Steer, ...]) -> None:
    gone = {*returned, *consumed}
    left = replace(LEFT, open=tuple(steer for steer in OPEN.open if steer not in gone))
    assert clear_answered(ASKED, "c1", texts, good=True) == Cleared(left, returned, consumed)


def test_a_text_is_known_by_its_mark_though_it_was_rewritten() -> None:
    marked = Steer("s4", "1234", "[discord] #a · b (1) · 1234\n\nhello", "r4", answered=True)
    asked = clear_written(Steering((HEARD, marked)), "c")
    rewritten = "[discord] #a · b (1) · 1234\n\nHELLO"
    answered = clear_answered(asked, "c", [rewritten], good=True)
    assert answered == Cleared(Steering((), tried=True), (marked,), (HEARD,))


# -- an entry of the queue ---------------------------------------------------------------------------------------------


def test_an_entry_begins_held_and_unharmed() -> None:
    turn = Turn("a", Text("hello"), 7)
    assert turn == Turn(
        "a", Text("hello"), 7, Stage.HELD, request=None, read=False, settled=False, outcome=None, aborts=0,
        failed_at=0, aborted=0,
    )  # fmt: skip
    assert (turn.written, turn.failed, turn.asks) == (False, False, False)
    assert Turn("a", Request(GetState("")), 7).asks


def test_which_stages_are_which() -> None:
    dead = {Stage.DEAD, Stage.DEAD_ANSWERED, Stage.DEAD_RUNNING}
    assert dead == FAILED
    assert {Stage.RUNNING, Stage.SETTLING, Stage.DEAD_RUNNING} == BEGUN
    assert {stage for stage in Stage if Turn("a", Text(""), 0, stage).failed} == dead
    assert {stage for stage in Stage if not Turn("a", Text(""), 0, stage).written} == {Stage.HELD}
    assert ADOPTED == {
        Stage.WRITTEN: Stage.RUNNING, Stage.ANSWERED: Stage.RUNNING,
        Stage.DEAD: Stage.DEAD_RUNNING, Stage.DEAD_ANSWERED: Stage.DEAD_RUNNING,
    }  # fmt: skip
    assert ABORTS == 2
    assert Row(None) == Row(None, ())
