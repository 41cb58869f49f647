"""Whom the questions of an extension are for, and every end they have: facts in, views and answers out."""

import pytest
from msgspec.structs import replace

from connector import facts, notices_dialogs
from connector.cards import View
from connector.dialogs import Answer, Asker, Dialogs, Question, meaning
from connector.ports import Button
from connector.world import World
from engine import pi
from engine.events import SECOND, AnswerDialog
from fakes.recorded_dialogs import recorded

ASKER, WAITS = Asker("7", 1, 7, 5), notices_dialogs.waits(5, 300)
CLAIM = facts.Claimed("7", "1", 1, 7, 7, 5, "ann", "[discord] #x\n\nhello", at=SECOND)


class Folding:
    """A world and its questions, with a bound of 300 s, at second 0."""

    def __init__(self, *first: facts.AnyFact) -> None:
        self.world, self.dialogs = World(), Dialogs(300 * SECOND)
        self.step(*first)

    def step(self, *new: facts.AnyFact) -> tuple[list[View], list[Question]]:
        for fact in new:
            self.world.apply(fact)
        return self.dialogs.learn(new, self.world.rounds)

    def ask(self, dialog: pi.Dialog, turn: str = "7@1", lane: str = "1") -> list[View] | None:
        return self.dialogs.ask(lane, 2, turn, dialog, 0)


@pytest.fixture
def folding() -> Folding:
    return Folding(CLAIM, facts.Written("7", 2))


def ends(views: list[View]) -> list[str]:
    assert all(view.over and view.buttons == () for view in views)
    return [view.content.rpartition("\n")[2] for view in views]


def test_a_question_is_for_the_author_of_the_prompt_that_was_written_last(folding: Folding) -> None:
    (view,) = folding.ask(recorded("confirm", id="d")) or []
    assert (view.content.rpartition("\n")[2], view.reply_to) == (WAITS, 7)
    found = folding.dialogs.find("d", 1)
    assert found == Question("d", "1", 2, ASKER, recorded("confirm", id="d"), 300)
    assert folding.dialogs.find("d", 2) is None
    assert folding.dialogs.find("e", 1) is None


def test_a_question_of_nobodys_turn_has_nobody_to_answer_it(folding: Folding) -> None:
    assert folding.ask(recorded("confirm", id="d"), turn="errand-1") is None
    assert folding.ask(recorded("confirm", id="d"), turn="8@1") is None
    assert folding.ask(recorded("confirm", id="d"), lane="2") is None


def test_a_question_after_its_round_is_over_is_still_its_authors(folding: Folding) -> None:
    """BEHAVIOUR §1.12: a run that a handled `/command` has started answers that command."""
    folding.step(facts.Ended("7", "handled"))
    assert "7" not in folding.world.rounds
    assert folding.ask(recorded("confirm", id="d")) is not None


def test_the_extensions_own_shorter_timeout_is_told(folding: Folding) -> None:
    timed = recorded("timed", id="d")
    assert timed.timeout == 1000
    (view,) = folding.ask(timed) or []
    assert view.content.endswith(notices_dialogs.waits(5, 1))
    (view,) = folding.ask(recorded("timed", id="e", timeout=600_000)) or []
    assert view.content.endswith(WAITS)


@pytest.mark.parametrize("name", ["a:b", "a/b", "x" * 65, "", "\N{SNOWMAN}"])
def test_a_name_that_no_custom_id_holds_is_replaced(folding: Folding, name: str) -> None:
    (view,) = folding.ask(recorded("confirm", id=name)) or []
    button = view.buttons[0]
    assert isinstance(button, Button)
    head, ours, verb = button.custom_id.split(":")
    assert (head, verb, len(ours)) == ("dialog", "yes", 32)
    found = folding.dialogs.find(ours, 1)
    assert found is not None
    assert meaning(found, "yes", ()) == Answer(AnswerDialog(name, confirmed=True), "yes")


def test_a_name_that_is_given_again_is_another_question(folding: Folding) -> None:
    folding.ask(recorded("confirm", id="d"))
    folding.dialogs.unask("1", 2, "d", 0, timed_out=False)
    (again,) = folding.ask(recorded("confirm", id="d")) or []
    assert again.name != "dialog/2.d"
    folding.step(replaced(CLAIM, "8"), facts.Written("8", 2))
    (fresh,) = folding.ask(recorded("confirm", id="d"), turn="8@1") or []
    assert (fresh.round, fresh.name) == ("8", "dialog/2." + fresh.name.rpartition(".")[2])


def replaced(claim: facts.Claimed, round_: str) -> facts.Claimed:
    return facts.Claimed(round_, claim.lane, claim.channel, 8, 8, 5, "ann", claim.text, at=2 * SECOND)


def test_every_end_ends_it(folding: Folding) -> None:
    for name in ("late", "over", "stop", "gone"):
        folding.ask(recorded("confirm", id=name))
    dialogs = folding.dialogs
    assert ends(dialogs.unask("1", 2, "late", 0, timed_out=True)) == [notices_dialogs.timed_out()]
    assert ends(dialogs.unask("1", 2, "over", 0, timed_out=False)) == [notices_dialogs.turn_over()]
    assert dialogs.unask("1", 2, "over", 0, timed_out=False) == []
    assert dialogs.unask("1", 3, "stop", 0, timed_out=False) == []  # another generation's
    assert ends(folding.step(facts.StopMarked("7", 5))[0]) == [notices_dialogs.stopped()] * 2
    folding.ask(recorded("confirm", id="last"))
    assert dialogs.end("1", 3) == []
    assert ends(dialogs.end("1", 2)) == [notices_dialogs.turn_over()]
    assert [dialogs.find(name, 1) for name in ("late", "over", "stop", "gone", "last")] == [None] * 5


@pytest.mark.parametrize(
    ("now", "line"), [(4 * SECOND - 1, notices_dialogs.turn_over()), (4 * SECOND, notices_dialogs.timed_out())]
)
def test_what_the_extension_ended_by_its_own_clock_has_timed_out(folding: Folding, now: int, line: str) -> None:
    folding.ask(recorded("timed", id="d", timeout=5000))
    assert ends(folding.dialogs.unask("1", 2, "d", now, timed_out=False)) == [line]


def test_stop_of_another_round_ends_nothing(folding: Folding) -> None:
    folding.ask(recorded("confirm", id="d"))
    assert folding.step(replaced(CLAIM, "8"), facts.StopMarked("8", 5)) == ([], [])


def test_a_turn_that_is_cut_for_a_restart_says_so_at_its_questions(folding: Folding) -> None:
    folding.ask(recorded("confirm", id="d"))
    assert ends(folding.step(facts.Cut("7"))[0]) == [notices_dialogs.restarting()]
    assert folding.dialogs.end("1", 2) == []


def test_a_question_that_nobody_can_see_is_cancelled(folding: Folding) -> None:
    folding.ask(recorded("confirm", id="d"))
    found = folding.dialogs.find("d", 1)
    assert found is not None
    views, unseen = folding.step(facts.DialogOver("7/dialog/2.d"))
    assert (ends(views), unseen) == ([notices_dialogs.turn_over()], [found])
    assert folding.step(facts.DialogOver("7/dialog/2.d")) == ([], [])


def test_a_thread_that_could_not_be_had_moves_its_questions(folding: Folding) -> None:
    folding.ask(recorded("confirm", id="d"))
    folding.step(facts.Redirected(1, 9))
    assert folding.dialogs.find("d", 1) is None
    moved = folding.dialogs.find("d", 9)
    assert moved is not None
    assert moved.asker == replace(ASKER, channel=9, reply_to=1)
    (view,) = folding.ask(recorded("confirm", id="e")) or []
    assert (view.channel, view.reply_to) == (9, 1)
