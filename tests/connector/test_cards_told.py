"""What extensions say beside an answer stands on the card: notices, states and titles, as they are and in bounds."""

from connector import facts
from connector.cards import STATES, Card, Cards, View
from connector.literals import LOOKED
from connector.world import World
from engine import events as engine
from engine import pi
from engine.events import SECOND
from fakes.recorded_dialogs import recorded

CLAIM = facts.Claimed("7", "1", 1, 7, 7, 5, "ann", "[discord] #x\n\nhello", at=SECOND)


class Telling:
    """A card at work, at second 2."""

    def __init__(self) -> None:
        self.world, self.cards = World(), Cards()
        self.learn(CLAIM, facts.Written("7", 1))
        assert self.cards.reveal("7") is not None

    def learn(self, *new: facts.AnyFact) -> View | None:
        for fact in new:
            self.world.apply(fact)
        views = self.cards.learn(new, self.world.rounds, 2 * SECOND)
        return views[-1] if views else None

    def hear(self, *told: engine.Effect) -> View | None:
        return self.cards.hear("7", told, 2 * SECOND)

    def lines(self, *dialogs: pi.Dialog) -> list[str]:
        """What stands below the card's first line once an extension has said this."""
        view = self.hear(*(engine.Told("7@1", dialog) for dialog in dialogs))
        assert view is not None
        return view.content.split("\n")[1:]


def test_what_an_extension_said_as_recorded() -> None:
    """l_commands: notify, status, widget, title and editor text, in this order; the later ones take nothing away."""
    said = [recorded(kind) for kind in ("notify", "setStatus", "setWidget", "setTitle", "set_editor_text")]
    notice = "picked green, typed typed text, edited edited"
    assert Telling().lines(*said) == ["title · status text", notice]


def test_what_shows_nowhere_changes_no_card() -> None:
    telling = Telling()
    for kind in ("setWidget", "set_editor_text"):
        assert telling.hear(engine.Told("7@1", recorded(kind))) is None


def test_a_state_is_replaced_by_its_key_and_taken_back() -> None:
    telling = Telling()
    assert telling.lines(recorded("setStatus", statusText="a"), recorded("setStatus", statusKey="l")) == [
        "a · status text"
    ]
    assert telling.lines(recorded("setStatus", statusText="b")) == ["b · status text"]
    assert telling.lines(recorded("setStatus", statusText="")) == ["status text"]


def test_it_is_somebodys_text() -> None:
    telling = Telling()
    assert telling.lines(recorded("notify", message="**hi** <@1>\n# @everyone")) == [
        "\\*\\*hi\\*\\* \\<@1\\> # @\u200beveryone"
    ]


def test_the_next_write_begins_without_it() -> None:
    telling = Telling()
    telling.lines(recorded("notify"), recorded("setTitle"), recorded("setStatus"))
    view = telling.learn(facts.Requeued("7", "a test"), facts.Written("7", 1))
    assert view is not None
    assert view.content.split("\n") == ["⚙️ starting · began <t:2:R>"]


def test_no_card_is_over_discords_limit() -> None:
    telling = Telling()
    states = [recorded("setStatus", statusKey=str(number), statusText="*" * 500) for number in range(9)]
    said = [recorded("notify", message="_" * 500), recorded("setTitle", title="`" * 500), *states]
    tool = engine.ToolOpened("7@1", "c", "<" * 500, {"command": "x" * 500})
    for told in ([tool], [engine.ToolClosed("7@1", "c"), engine.Progress("7@1", "a\n" * 2000)]):
        view = telling.hear(*told, *(engine.Told("7@1", dialog) for dialog in said))
        assert view is not None
        assert 600 < len(view.content) <= 2000


def test_of_texts_without_end_a_card_keeps_what_it_may_show() -> None:
    """It is drawn anew with every word of an answer: what it would leave out must cost nothing."""
    card = Card("7", 1, 7)
    assert card.tell(recorded("notify", message="n" * 100_000))
    assert card.tell(recorded("setTitle", title="t" * 100_000))
    told = [card.tell(recorded("setStatus", statusKey=str(n), statusText="s" * 100_000)) for n in range(STATES + 1)]
    assert told == [True] * STATES + [False]
    assert {len(text) for text in (card.notice, card.title, *card.status.values())} == {LOOKED}
    assert card.tell(recorded("setStatus", statusKey="0", statusText=""))
