"""Edits and deletions of messages whose turn waits, runs or is over (CONTRACT, Trust): what follows, what is left."""

import pytest

from connector import facts
from connector.lane_effects import MayShow, Post, React
from connector.lane_events import CardDone, Deleted, Rewrite
from connector.world import Phase
from engine.events import Code, Outcome
from tests.connector.lanes_setting import Make, at, state
from tests.machine.lanes_machine import Sim


def step(sim: Sim, given: Rewrite | Deleted | CardDone) -> tuple[list[facts.AnyFact], list[React | Post]]:
    """What it records, and the signs and posts that it makes."""
    done = sim.step(given)
    assert done is not None
    return list(done.facts), [effect for effect in done.effects if isinstance(effect, React | Post)]


def edited(sim: Sim, name: str, more: str = ", no, that") -> Rewrite:
    return Rewrite(name, sim.audit.stories[name].claim.text + more)


def card_of(name: str) -> facts.CardShown:
    return facts.CardShown(name, 11, 9_000)


# -- edits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["held", "written", "running", "tool"])
def test_an_edit_during_the_turn_leaves_it_alone_with_one_sign_for_all_of_them(make: Make, phase: str) -> None:
    sim = make()
    name, _ = at(sim, phase)
    sign = React(11, int(name), "late")
    assert step(sim, edited(sim, name)) == ([facts.Late(name)], [sign])
    assert step(sim, edited(sim, name, " and more")) == ([], [])
    assert step(sim, Rewrite(name, "")) == ([], [])


def test_the_sign_is_given_once_over_a_restart(make: Make) -> None:
    sim = make()
    name, _ = at(sim, "running")
    step(sim, edited(sim, name))
    sim.crash()
    assert sim.lanes.world.rounds[name].late


def test_an_update_that_changes_no_text_is_none(make: Make) -> None:
    """A link preview of a message that the gateway has forgotten, and a new name in the header."""
    sim = make()
    name, _ = at(sim, "running")
    text = sim.audit.stories[name].claim.text
    assert step(sim, Rewrite(name, text)) == ([], [])
    assert step(sim, Rewrite(name, text.replace("person 1", "Ann"))) == ([], [])
    waits = sim.arrive("11")
    assert step(sim, edited(sim, waits, "")) == ([], [])


def test_an_edit_after_the_end_changes_nothing(make: Make) -> None:
    sim = make()
    name, kid = at(sim, "running")
    kid.answer()
    sim.do(kid)
    sim.post_all()
    assert step(sim, edited(sim, name)) == ([], [])


def test_what_waits_and_is_no_message_for_us_any_more_is_taken_back_with_its_receipt(make: Make) -> None:
    sim = make(busy="queue")
    at(sim, "running")
    waits = sim.arrive("11")
    new, shown = step(sim, Rewrite(waits, ""))
    assert [fact for fact in new if isinstance(fact, facts.Ended)] == [facts.Ended(waits, "stopped")]
    assert [effect.owed.kind for effect in shown if isinstance(effect, Post)] == ["receipt"]


# -- deletions -----------------------------------------------------------------------------------------------------


def test_what_waits_is_cancelled_without_a_word_and_its_text_goes_at_once(make: Make) -> None:
    sim = make(busy="queue")
    at(sim, "running")
    waits = sim.arrive("11")
    assert step(sim, Deleted(int(waits))) == ([facts.Ended(waits, "deleted"), facts.Erased(int(waits))], [])


def test_so_is_what_waits_for_the_provider(make: Make) -> None:
    sim = make()
    name, kid = at(sim, "running")
    kid.fails(Outcome(Code.RATE_LIMITED, detail="429 too many requests"))
    sim.do(kid)
    assert state(sim, name)[0] is Phase.BACKOFF
    assert step(sim, Deleted(int(name))) == ([facts.Ended(name, "deleted"), facts.Erased(int(name))], [])


def test_a_turn_goes_on_with_one_sign_on_its_card_and_its_text_goes_with_its_last_post(make: Make) -> None:
    sim = make()
    name, kid = at(sim, "running")
    sim.step(CardDone(card_of(name)))
    assert step(sim, Deleted(int(name))) == ([facts.Unsaid(name), facts.Late(name)], [React(11, 9_000, "late")])
    assert step(sim, Deleted(int(name))) == ([], [])
    kid.answer()
    sim.do(kid)
    assert facts.Erased(int(name)) not in sim.recorded
    sim.crash()
    sim.post_all()
    assert sim.recorded[-1] == facts.Erased(int(name))
    assert [end.code for end in sim.audit.stories[name].ends] == ["answered"]


def test_without_a_card_the_sign_waits_for_one(make: Make) -> None:
    sim = make()
    name, _ = at(sim, "running")
    assert step(sim, Deleted(int(name))) == ([facts.Unsaid(name)], [])
    shown = [card_of(name), facts.Late(name)]
    assert step(sim, CardDone(card_of(name))) == (shown, [React(11, 9_000, "late")])
    assert step(sim, CardDone(card_of(name))) == ([card_of(name)], [])


def test_a_card_that_is_only_recorded_may_be_posted_and_has_no_sign_before_it_stands(make: Make) -> None:
    sim = make()
    name, _ = at(sim, "running")
    soon = facts.CardShown(name, 11, 0)
    done = sim.step(CardDone(soon))
    assert done is not None
    assert (done.facts, done.effects) == ((soon,), (MayShow(f"{name}/card/1"),))
    assert step(sim, Deleted(int(name))) == ([facts.Unsaid(name)], [])
    assert step(sim, CardDone(card_of(name))) == ([card_of(name), facts.Late(name)], [React(11, 9_000, "late")])


def test_so_may_a_question(make: Make) -> None:
    sim = make()
    name, _ = at(sim, "running")
    asked = facts.DialogShown(f"{name}/dialog/2.d", 11, 0)
    done = sim.step(CardDone(asked))
    assert done is not None
    assert (done.facts, done.effects) == ((asked,), (MayShow(asked.key),))


def test_without_any_card_it_stands_on_the_answer(make: Make) -> None:
    sim = make()
    name, kid = at(sim, "running")
    step(sim, Deleted(int(name)))
    kid.answer()
    sim.do(kid)
    sim.post_all()
    assert sim.recorded.count(facts.Late(name)) == 1


def test_what_was_edited_and_then_deleted_has_had_its_sign(make: Make) -> None:
    sim = make()
    name, _ = at(sim, "running")
    sim.step(CardDone(card_of(name)))
    step(sim, edited(sim, name))
    assert step(sim, Deleted(int(name))) == ([facts.Unsaid(name)], [])


def test_a_turn_that_would_begin_anew_is_not_asked_again(make: Make) -> None:
    """It waits again, and what waits is cancelled by its deletion."""
    sim = make()
    name, kid = at(sim, "running")
    step(sim, Deleted(int(name)))
    sim.exits(kid, 1)
    sim.pump()
    assert [end.code for end in sim.audit.stories[name].ends] == ["deleted"]
    assert facts.Erased(int(name)) in sim.recorded


def test_a_message_whose_rounds_are_over_loses_its_text_at_once(make: Make) -> None:
    sim = make()
    assert step(sim, Deleted(77, known=True)) == ([facts.Erased(77)], [])
    assert step(sim, Deleted(78)) == ([], [])


def test_as_long_as_one_of_its_rounds_runs_the_message_keeps_its_text(make: Make) -> None:
    """Retry made a second round of it; the first ended long ago."""
    sim = make(busy="queue")
    name, _ = at(sim, "answered")
    sim.post_all()
    again = sim.retry(name)
    sim.up("11")
    assert step(sim, Deleted(int(name), known=True)) == ([facts.Unsaid(again)], [])
