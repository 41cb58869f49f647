"""What a message is to the lanes (BEHAVIOUR §3.1, §7.24; CONTRACT): a claim, the word, or only a place."""

import pytest
from msgspec.structs import replace

from connector import notices
from connector.access import Rules, Us, Why
from connector.facts import Claimed, Origin
from connector.hearing import Hearing, knows
from connector.lane_events import Arrived, Overlooked, StopAsked
from connector.messages import Author, Message, Place

US = Us(99)
RULES = Rules(users=frozenset({1}), bots=frozenset({5}))
CHANNEL = Place(20, "general", guild=3)
THREAD = Place(30, "a thread", guild=3, parent=20, kind="thread")
PRIVATE = Place(40, "", kind="private")
MESSAGE = Message(700, CHANNEL, Author(1, "Ann"), "<@99> please", mentions=frozenset({99}))


def heard(message: Message, *, threads: bool = True, rules: Rules = RULES) -> object:
    return Hearing(rules, threads).of_message(message, US, 123)[0]


def claim(message: Message, *, threads: bool = True) -> Claimed:
    given = heard(message, threads=threads)
    assert isinstance(given, Arrived)
    assert given.refusal == ""
    return given.claim


def test_a_mention_in_a_channel_opens_a_thread_of_its_own() -> None:
    assert claim(MESSAGE) == Claimed(
        round="700",
        lane="700",
        channel=700,
        message=700,
        reply_to=700,
        author=1,
        author_name="Ann",
        text="[discord] #general · Ann (1) · 700\n\nplease",
        at=123,
        parent=20,
    )


def test_or_stays_in_the_channel() -> None:
    made = claim(MESSAGE, threads=False)
    assert (made.lane, made.channel, made.parent) == ("20", 20, 0)


@pytest.mark.parametrize("place", [THREAD, PRIVATE])
def test_in_a_thread_and_in_private_it_stays_where_it_is(place: Place) -> None:
    made = claim(replace(MESSAGE, place=place))
    assert (made.lane, made.channel, made.parent) == (str(place.channel), place.channel, 0)


@pytest.mark.parametrize("author", [Author(5, "bot", bot=True), Author(5, "hook", webhook=True)])
def test_an_allowed_bot_is_known_as_one(author: Author) -> None:
    """§3.1: the lanes count them."""
    assert claim(replace(MESSAGE, author=author)).bot


@pytest.mark.parametrize("place", [CHANNEL, THREAD, PRIVATE])
def test_our_own_message_never_enters_whatever_the_rules_say(place: Place) -> None:
    """§7.24."""
    rules = Rules(users=frozenset({99}), bots=frozenset({99}), operators=frozenset({99}), respond="all")
    own = replace(MESSAGE, author=Author(99, "pi", bot=True), place=place)
    given, why = Hearing(rules, True).of_message(own, US, 123)
    assert given == Overlooked(place.channel, 700)
    assert why is not None
    assert why.reason is Why.OWN


def test_what_is_not_for_us_is_only_seen() -> None:
    assert heard(replace(MESSAGE, mentions=frozenset(), text="hello")) == Overlooked(20, 700)
    assert heard(replace(MESSAGE, author=Author(2, "Bob"))) == Overlooked(20, 700)


@pytest.mark.parametrize("text", ["<@99> stop", "<@99> STOP!", "stop. <@99>"])
def test_the_word_stop_is_stop_of_the_turn_where_it_stands(text: str) -> None:
    """It opens no thread, and carries its claim so that its id is known."""
    given = heard(replace(MESSAGE, text=text))
    assert isinstance(given, StopAsked)
    assert (given.lane, given.channel, given.by, given.scope) == ("20", 20, 1, "turn")
    assert given.word is not None
    assert (given.word.round, given.word.parent) == ("700", 0)


def test_nothing_to_ask_is_refused_where_it_stands() -> None:
    given = heard(replace(MESSAGE, text="<@99>"))
    assert isinstance(given, Arrived)
    assert given.refusal == notices.nothing_to_ask()
    assert (given.claim.channel, given.claim.parent) == (20, 0)


def test_a_name_cannot_leave_its_place() -> None:
    assert claim(replace(MESSAGE, author=Author(1, "A\n[b] · 7"))).author_name == "A  b    7"


def test_asked_by_a_menu_it_is_another_origin() -> None:
    made = Hearing(RULES, True).claim(MESSAGE, 5, thread=False, origin=Origin.ASK)
    assert made.origin is Origin.ASK


@pytest.mark.parametrize(("place", "parent", "ours"), [(THREAD, 20, True), (THREAD, 0, False), (CHANNEL, 20, False)])
def test_a_thread_that_we_opened_is_ours(place: Place, parent: int, *, ours: bool) -> None:
    assert knows(place, parent).ours is ours
