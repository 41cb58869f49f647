"""Questions without number and without end: what nobody could answer is not asked, what nobody sees costs nothing."""

import pytest

from connector import dialog_texts, facts, literals, notices_dialogs
from connector.dialogs import MOST, Dialogs
from connector.world import World
from engine.events import SECOND
from fakes.recorded_dialogs import recorded


def test_more_questions_at_once_than_anybody_answers_have_nobody_to_answer_them() -> None:
    """Each child has its own; one that is over makes room for another."""
    claim = facts.Claimed("7", "1", 1, 7, 7, 5, "ann", "[discord] #x\n\nhello", at=SECOND)
    world, dialogs = World(), Dialogs(300 * SECOND)
    for fact in (claim, facts.Written("7", 2)):
        world.apply(fact)
        dialogs.learn([fact], world.rounds)

    def asked(name: str, child: int = 2) -> bool:
        return dialogs.ask("1", child, "7@1", recorded("confirm", id=name), 0) is not None

    assert [asked(f"d{number}") for number in range(MOST + 2)] == [True] * MOST + [False] * 2
    assert asked("d", child=3)
    dialogs.unask("1", 2, "d0", 0, timed_out=False)
    assert (asked("e"), asked("f")) == (True, False)


def test_of_a_question_without_end_no_more_is_looked_at_than_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each character costs, and nobody else is served meanwhile."""
    looked: list[int] = []
    literal = literals.literal

    def counted(text: str) -> str:
        looked.append(len(text))
        return literal(text)

    monkeypatch.setattr(dialog_texts, "literal", counted)
    dialog = recorded("confirm", title="t" * 500_000, message="m" * 500_000)
    assert dialog_texts.parts(dialog)[1:] == (notices_dialogs.too_long(500_000),)
    assert max(looked) < 50_000
    assert len(literals.plain("x" * 500_000)) == literals.LOOKED
