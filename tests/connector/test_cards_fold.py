"""The card as a fold: what it says and which buttons it has in every phase of its round, and that every end ends it."""

from collections.abc import Iterator

import pytest

from connector import facts, notices, notices_spend
from connector.cards import Cards, View, quoted, short
from connector.lane_base import LaneRules
from connector.lane_effects import Behind
from connector.outbox_cards import control
from connector.ports import Button, Controls
from connector.spend import DAY
from connector.world import World
from engine import events as engine
from engine import pi
from engine.events import SECOND
from fakes.simulation import Simulation

STOP = Button("stop:7", "Stop", "danger")
NOW = Button("retry:7", "Retry now")
CLAIM = facts.Claimed("7", "1", 1, 7, 7, 5, "ann", "[discord] #x\n\nhello", at=SECOND)
WRITTEN = facts.Written("7", 1)


class Folding:
    """A world and its cards; each step is one second later."""

    def __init__(self, *first: facts.AnyFact) -> None:
        self.world, self.cards, self.now = World(), Cards(), 0
        for fact in first:
            self.step(fact)

    def step(self, *new: facts.AnyFact) -> View | None:
        self.now += SECOND
        for fact in new:
            self.world.apply(fact)
        views = self.cards.learn(new, self.world.rounds, self.now)
        assert len(views) <= 1
        return views[0] if views else None

    def hear(self, *told: engine.Effect) -> View | None:
        self.now += SECOND
        return self.cards.hear("7", told, self.now)


@pytest.fixture
def shown() -> Folding:
    """A round that was written at second 2, and whose card was due."""
    folding = Folding(CLAIM, WRITTEN)
    assert folding.cards.reveal("7") is not None
    return folding


def told(view: View | None) -> tuple[str, Controls, bool]:
    assert view is not None
    return view.content, view.buttons, view.over


def test_a_card_at_work_has_the_control_by_which_a_start_finds_it(shown: Folding) -> None:
    view = shown.hear(engine.Started("7@1"))
    assert view is not None
    assert control(view.key) in [one.custom_id for one in view.buttons]


def test_a_short_turn_has_no_card() -> None:
    folding = Folding(CLAIM, WRITTEN)
    assert folding.step(facts.Started("7")) is None
    assert folding.hear(engine.Started("7@1")) is None
    assert folding.step(facts.Answered("7", 1, "hi")) is None
    assert folding.cards.reveal("7") is None  # due now, but the answer is on its way
    assert folding.step(facts.Ended("7", "answered")) is None
    assert folding.cards.reveal("7") is None


def test_a_card_refers_to_its_message_and_says_what_the_turn_does(shown: Folding) -> None:
    view = shown.hear(engine.Started("7@1"))
    assert view == View("7", 1, "⚙️ thinking · began <t:2:R>", (STOP,), 7, over=False)
    assert view.key == "7/card/1"
    usage = pi.Usage(input=1000, output=234)
    shown.hear(engine.Spent("7@1", "fake", "m", usage))
    view = shown.hear(engine.ToolOpened("7@1", "c1", "bash", {"command": "ls `x`\n@everyone"}))
    assert told(view)[0] == "⚙️ bash `ls ˋxˋ @everyone`, since <t:5:R> · began <t:2:R> · 1,234 tokens"
    shown.hear(engine.ToolOpened("7@1", "c2", "read", {"path": "/a"}))
    view = shown.hear(engine.ToolClosed("7@1", "c1"))
    assert told(view)[0] == "⚙️ read `/a`, since <t:6:R> · began <t:2:R> · 2 tools · 1,234 tokens"
    shown.hear(engine.ToolClosed("7@1", "c2"))
    view = shown.hear(engine.Progress("7@1", "a ```\n# b"))
    assert told(view)[0].splitlines()[1:] == ["> a ˋˋˋ", "> # b"]


def test_the_growing_text_shows_no_line_that_names_a_file(shown: Folding) -> None:
    view = shown.hear(engine.Progress("7@1", "Here it is.\n\nattach: /home/pi/a.txt"))
    assert told(view)[0].splitlines()[1:] == ["> Here it is."]
    view = shown.hear(engine.Progress("7@1", "\n\nAnd so on."))
    assert told(view)[0].splitlines()[1:] == ["> Here it is.", "> ", "> And so on."]


def test_a_backoff_counts_down_with_retry_now_and_the_next_try_goes_on(shown: Folding) -> None:
    """Issue 4: a countdown that Discord itself keeps current, with Stop and Retry now."""
    shown.hear(engine.ToolOpened("7@1", "c1", "bash"))
    view = shown.step(facts.Backoff("7", 90 * SECOND, "status 429"))
    assert told(view) == (f"⏳ {notices.asked_again(90)}", (STOP, NOW), False)
    assert told(shown.step(facts.Hurried("7"))) == (f"⏳ {notices.waits_again()}", (STOP,), False)
    view = shown.step(facts.Written("7", 1, reask=True))
    assert told(view) == ("⚙️ starting · began <t:2:R>", (STOP,), False)
    view = shown.step(facts.Ended("7", "rate-limited"))
    assert told(view) == ("-# rate-limited · 1 tool · 5 s", (), True)


def test_a_wait_for_a_spending_cap_is_shown_until_the_turn_goes_on(shown: Folding) -> None:
    shown.step(facts.Backoff("7", 90 * SECOND, "status 429"))
    waits = f"⏳ {notices_spend.waits_for_day(DAY // SECOND)}"
    assert told(shown.step(facts.Capped("7", "lane", 0))) == (waits, (STOP,), False)
    assert told(shown.step(facts.Written("7", 1, reask=True)))[0].startswith("⚙️ starting")


def test_a_tool_or_a_summary_counts_without_a_models_name_and_what_is_not_the_turns_does_not(shown: Folding) -> None:
    usage = pi.Usage(input=1000, output=234)
    shown.hear(engine.Spent("7@1", "fake", "m", usage))
    shown.hear(engine.Spent("7@1", "", "", usage))
    assert shown.hear(engine.Spent("", "fake", "n", usage)) is None
    assert told(shown.step(facts.Ended("7", "empty")))[0] == "-# empty · 0 tools · 4 s · 2,468 tokens · `m`"


def test_a_backoff_is_shown_at_once() -> None:
    folding = Folding(CLAIM, WRITTEN)
    assert told(folding.step(facts.Backoff("7", 90 * SECOND, "quota", parked=True)))[1] == (STOP, NOW)


def test_who_waits_behind_a_gate_has_a_card_that_says_until_when() -> None:
    """BEHAVIOUR §2.4: uncharged, shown on the lane's card."""
    folding = Folding(CLAIM)
    view = folding.cards.behind(folding.world.rounds["7"], 90 * SECOND)
    assert told(view) == (f"⏳ {notices.behind_gate(90)}", (STOP,), False)
    view = folding.cards.behind(folding.world.rounds["7"], 0)
    assert told(view)[0] == f"⏳ {notices.behind_gate()}"
    assert told(folding.step(WRITTEN)) == ("⚙️ starting · began <t:2:R>", (STOP,), False)
    assert folding.cards.behind(None, 5) is None


def test_a_backoff_behind_a_gate_keeps_retry_now(shown: Folding) -> None:
    shown.step(facts.Backoff("7", 90 * SECOND, "status 429"))
    view = shown.cards.behind(shown.world.rounds["7"], 99 * SECOND)
    assert told(view) == (f"⏳ {notices.asked_again(99)}", (STOP, NOW), False)


@pytest.mark.parametrize("fact", [facts.Requeued("7", "engine-exit"), facts.Unwritten("7")])
def test_what_waits_again_keeps_its_card_without_a_word_of_what_it_did(shown: Folding, fact: facts.AnyFact) -> None:
    shown.hear(engine.ToolOpened("7@1", "c1", "bash"))
    assert told(shown.step(fact)) == (f"⏳ {notices.waits_again()}", (STOP,), False)
    assert told(shown.step(WRITTEN))[0] == "⚙️ starting · began <t:2:R>"


def test_a_turn_that_our_shutdown_cuts_says_so(shown: Folding) -> None:
    assert told(shown.step(facts.Cut("7"))) == (f"⏳ {notices.waits_for_restart()}", (STOP,), False)


@pytest.mark.parametrize("code", [*notices.Code, "answered", "empty", "handled", "joined", "deleted"])
@pytest.mark.parametrize("phase", ["written", "running", "backoff", "again", "gate"])
def test_every_end_in_every_phase_ends_the_card(code: str, phase: str) -> None:
    folding = Folding(CLAIM)
    if phase == "gate":
        folding.cards.behind(folding.world.rounds["7"], 90 * SECOND)
    else:
        folding.step(WRITTEN)
        folding.cards.reveal("7")
        more: dict[str, facts.AnyFact] = {
            "running": facts.Started("7"),
            "backoff": facts.Backoff("7", 90 * SECOND, "status 429"),
            "again": facts.Requeued("7", "engine-exit"),
        }
        if phase in more:
            folding.step(more[phase])
    content, buttons, over = told(folding.step(facts.Ended("7", code)))
    assert (content.split(" · ")[0], buttons, over) == (f"-# {code}", (), True)
    assert folding.hear(engine.Progress("7@1", "late")) is None
    assert folding.step(facts.Ended("7", code)) is None


def test_an_answer_ends_the_card_for_good_only_when_it_stands(shown: Folding) -> None:
    """Stop may still win over an answer that is not posted yet: then the card does not say "answered"."""
    assert told(shown.step(facts.Answered("7", 1, "hi"))) == ("-# answered · 0 tools · 1 s", (), False)
    assert shown.hear(engine.Progress("7@1", "more")) is None
    assert told(shown.step(facts.Ended("7", "stopped"))) == ("-# stopped · 0 tools · 1 s", (), True)


def test_a_card_whose_thread_cannot_be_had_goes_where_its_message_stands() -> None:
    claim = facts.Claimed("7", "7", 7, 7, 7, 5, "ann", "[discord] #x\n\nhello", at=SECOND, parent=1)
    folding = Folding(claim, WRITTEN)
    folding.step(facts.Redirected(7, 1))
    view = folding.cards.reveal("7")
    assert view is not None
    assert (view.channel, view.reply_to) == (1, 7)


def adopting(*new: facts.AnyFact) -> Iterator[tuple[str, str, Controls, bool]]:
    world = World()
    for fact in (CLAIM, *new, facts.CardShown("7", 1, 70)):
        world.apply(fact)
    for view in Cards().adopt(world.cards, world.rounds, 50 * SECOND):
        yield view.key, view.content, view.buttons, view.over


def test_cards_of_an_earlier_process_go_on_or_end() -> None:
    """A card is never left as it was when the process died."""
    assert [*adopting(WRITTEN)] == []  # the start decides about it in the same step
    assert [*adopting(WRITTEN, facts.Backoff("7", 90 * SECOND, "status 429"))] == [
        ("7/card/1", f"⏳ {notices.asked_again(90)}", (STOP, NOW), False)
    ]
    assert [*adopting(WRITTEN, facts.Backoff("7", SECOND, "quota"), facts.Capped("7", "lane", 0))] == [
        ("7/card/1", f"⏳ {notices_spend.waits_for_day(DAY // SECOND)}", (STOP,), False)
    ]
    assert [*adopting()] == [("7/card/1", f"⏳ {notices.waits_again()}", (STOP,), False)]
    assert [*adopting(WRITTEN, facts.Answered("7", 1, "hi"))] == [("7/card/1", "-# answered", (), False)]
    # Its round is over, and forgotten before the card could say so.
    assert [*adopting(WRITTEN, facts.Ended("7", "stopped"))] == [("7/card/1", "-# ended", (), True)]


def test_a_card_that_is_over_is_not_adopted() -> None:
    world = World()
    for fact in (CLAIM, facts.CardShown("7", 1, 70), facts.CardOver("7")):
        world.apply(fact)
    assert world.cards == {}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"command": "ls"}, "`ls`"),
        ({"other": [1]}, '`{"other": [1]}`'),
        ("text", "`text`"),
        (None, ""),
        ({}, ""),
        ({"command": "x" * 500}, f"`{'x' * 80}`"),
    ],
)
def test_arguments_are_short_code(args: object, words: str) -> None:
    assert short(args) == words


def test_growing_text_is_a_quote() -> None:
    assert quoted("```py\n# x\n") == "> ˋˋˋpy\n> # x"


def test_a_lane_behind_a_gate_is_told_once_for_each_instant() -> None:
    """BEHAVIOUR §2.4: two lanes, one provider at its limit; each further instant is told, nothing twice."""
    simulation = Simulation(rules=LaneRules(busy="queue"))
    for channel in (1, 2):
        simulation.say(5, channel, "echo hello")
        simulation.seconds(1)
    simulation.say(5, 1, "err429 8")
    simulation.seconds(30)
    waits = simulation.say(5, 2, "echo and this")
    simulation.say(5, 2, "echo and that")
    simulation.seconds(600)
    told = [effect for effect in simulation.effects if isinstance(effect, Behind)]
    gates = [fact.until for fact in simulation.ledger if isinstance(fact, facts.Gated) and fact.until]
    # While the other lane's turn probes, then until the new instant, then while it probes again.
    assert told == [Behind(waits, 0), Behind(waits, gates[-1]), Behind(waits, 0)]
