"""Who may speak, what is a prompt, who may press what (CONTRACT: `access.*`, `lanes.respond`, "Who may do what")."""

import pytest
from msgspec.structs import replace

from connector.access import NEEDS, Act, Ignore, Need, Prompt, Rules, StopWord, Us, Verdict, Why, admits, judge, may
from connector.messages import Author, Message, Place, Reply

US = Us(id=1, managed_role=11)
ANN = Author(7, "Ann")
BOB = Author(8, "Bob")
STRANGER = Author(9, "Eve")
BOT = Author(50, "CI", bot=True)
HOOK = Author(51, "hook", webhook=True)

CHANNEL = Place(100, "general", guild=10)
THREAD = Place(200, "a thread", guild=10, parent=100, kind="thread")
OURS = replace(THREAD, ours=True)
PRIVATE = Place(300, "Ann", kind="private")

RULES = Rules(users=frozenset({7, 8}))


def say(text: str = "<@1> hi", *, author: Author = ANN, place: Place = CHANNEL, at: tuple[int, ...] = ()) -> Message:
    mentions = frozenset(at) or frozenset({1} if "<@1>" in text or "<@!1>" in text else ())
    return Message(id=5, place=place, author=author, text=text, mentions=mentions)


def reply_to(author: int, *, us: bool = False) -> Reply:
    return Reply(message=4, author=author, author_name="x", text="earlier", to_us=us)


HI = Prompt("hi")


def ignored(reason: Why, *, addressed: bool = False) -> Ignore:
    return Ignore(reason, addressed)


@pytest.mark.parametrize("rules", [RULES, Rules(users=frozenset({1}), bots=frozenset({1}), respond="all")])
@pytest.mark.parametrize("place", [CHANNEL, OURS, PRIVATE])
def test_our_own_messages_never_enter_a_lane(rules: Rules, place: Place) -> None:
    """BEHAVIOUR §3.1, invariant 24."""
    for author in (Author(1, "us", bot=True), Author(1, "us")):
        assert judge(rules, US, say(author=author, place=place)) == ignored(Why.OWN)


@pytest.mark.parametrize("other", [BOT, HOOK])
def test_bots_and_webhooks_speak_only_by_their_own_list(other: Author) -> None:
    person_lists = Rules(users=frozenset({other.id}), operators=frozenset({other.id}), roles=frozenset({3}))
    speaker = replace(other, roles=frozenset({3}))
    assert judge(person_lists, US, say(author=speaker)) == ignored(Why.BOT, addressed=True)
    assert judge(Rules(bots=frozenset({other.id})), US, say(author=other)) == HI


def test_a_bots_list_admits_no_person() -> None:
    assert judge(Rules(bots=frozenset({7})), US, say()) == ignored(Why.PERSON, addressed=True)


@pytest.mark.parametrize(
    ("rules", "author", "verdict"),
    [
        (Rules(), ANN, ignored(Why.PERSON, addressed=True)),
        (RULES, ANN, HI),
        (RULES, STRANGER, ignored(Why.PERSON, addressed=True)),
        (Rules(roles=frozenset({3})), ANN, ignored(Why.PERSON, addressed=True)),
        (Rules(roles=frozenset({3})), replace(ANN, roles=frozenset({3, 4})), HI),
        (Rules(operators=frozenset({7})), ANN, HI),
        (replace(RULES, roles=frozenset({3})), ANN, HI),
    ],
)
def test_a_person_is_listed_holds_a_role_or_is_an_operator(rules: Rules, author: Author, verdict: Verdict) -> None:
    assert judge(rules, US, say(author=author)) == verdict


@pytest.mark.parametrize(
    ("rules", "place", "verdict"),
    [
        (replace(RULES, guilds=frozenset({10})), CHANNEL, HI),
        (replace(RULES, guilds=frozenset({12})), CHANNEL, ignored(Why.GUILD, addressed=True)),
        (replace(RULES, guilds=frozenset({12})), PRIVATE, HI),
        (replace(RULES, channels=frozenset({100})), CHANNEL, HI),
        (replace(RULES, channels=frozenset({100})), THREAD, HI),
        (replace(RULES, channels=frozenset({200})), THREAD, HI),
        (replace(RULES, channels=frozenset({200})), CHANNEL, ignored(Why.CHANNEL, addressed=True)),
        (replace(RULES, channels=frozenset({101})), OURS, ignored(Why.CHANNEL, addressed=True)),
        (replace(RULES, channels=frozenset({101})), PRIVATE, HI),
        (
            replace(RULES, guilds=frozenset({12}), channels=frozenset({100})),
            CHANNEL,
            ignored(Why.GUILD, addressed=True),
        ),
        (replace(RULES, dms=False), PRIVATE, ignored(Why.PRIVATE, addressed=True)),
        (replace(RULES, dms=False), CHANNEL, HI),
    ],
)
def test_guilds_channels_and_private_messages(rules: Rules, place: Place, verdict: Verdict) -> None:
    assert judge(rules, US, say(place=place)) == verdict


def test_in_private_the_roles_of_the_allowed_guilds_count() -> None:
    held = replace(STRANGER, roles=frozenset({3}))
    assert judge(Rules(roles=frozenset({3})), US, say("hi", author=held, place=PRIVATE)) == HI
    assert admits(Rules(roles=frozenset({3})), STRANGER, PRIVATE) is Why.PERSON


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (say("hi"), ignored(Why.NO_MENTION)),
        (say("hi", place=THREAD), ignored(Why.NO_MENTION)),
        (say("<@1> hi"), HI),
        (replace(say("<@&11> hi"), role_mentions=frozenset({11})), HI),
        (replace(say("<@&12> hi"), role_mentions=frozenset({12})), ignored(Why.NO_MENTION)),
        (replace(say("@everyone hi"), everyone=True), ignored(Why.NO_MENTION)),
        (replace(say("hi"), reply=reply_to(1, us=True)), HI),
        (replace(say("hi"), reply=reply_to(8)), ignored(Why.SOMEONE_ELSE)),
        (say("<@8> hi", at=(8,)), ignored(Why.SOMEONE_ELSE)),
        (replace(say("<@1> hi"), reply=reply_to(8)), HI),
        (say("<@1> <@8> hi", at=(1, 8)), Prompt("<@8> hi")),
        (replace(say("<@8> hi", at=(8,)), reply=reply_to(1, us=True)), Prompt("<@8> hi")),
        (say("hi", place=OURS), HI),
        (say("hi <@8>", place=OURS, at=(8,)), ignored(Why.SOMEONE_ELSE)),
        (replace(say("hi", place=OURS), reply=reply_to(8)), ignored(Why.SOMEONE_ELSE)),
        (replace(say("hi", place=OURS), reply=reply_to(7)), HI),
        (replace(say("hi", place=OURS), reply=reply_to(1, us=True)), HI),
        (say("hi", place=PRIVATE), HI),
        (say("hi <@8>", place=PRIVATE, at=(8,)), Prompt("hi <@8>")),
        (replace(say("hi", place=PRIVATE), reply=reply_to(7)), HI),
    ],
)
def test_whom_a_line_is_for(message: Message, verdict: Verdict) -> None:
    assert judge(RULES, US, message) == verdict


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (say("hi"), HI),
        (say("hi", place=THREAD), HI),
        (say("<@8> hi", at=(8,)), ignored(Why.SOMEONE_ELSE)),
        (replace(say("hi"), reply=reply_to(8)), ignored(Why.SOMEONE_ELSE)),
        (say("hi", author=STRANGER), ignored(Why.PERSON)),
    ],
)
def test_where_every_line_is_answered(message: Message, verdict: Verdict) -> None:
    assert judge(replace(RULES, respond="all"), US, message) == verdict


def test_a_guild_without_a_role_of_ours_has_no_role_mention() -> None:
    message = replace(say("hi"), role_mentions=frozenset({11}))
    assert judge(RULES, Us(1), message) == ignored(Why.NO_MENTION)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<@1> hi", "hi"),
        ("<@!1>   hi", "hi"),
        ("<@1>hi", "hi"),
        ("hi <@1>", "hi"),
        ("hey <@1> you", "hey you"),
        ("hey <@1>, you", "hey, you"),
        ("hey <@1>", "hey"),
        ("a\n<@1>\nb", "a\nb"),
        ("a <@1>\nb", "a\nb"),
        ("a\n<@1> b", "a\nb"),
        ("<@1>\n    indented\n  code", "    indented\n  code"),
        ("<@1> <@!1> hi", "hi"),
        ("<@1><@1>", ""),
        ("<@1>", ""),
        ("<@1> what does <@12> or <@&1> say", "what does <@12> or <@&1> say"),
        ("<@1> two  blanks\tstay ", "two  blanks\tstay"),
    ],
)
def test_mentions_of_the_bot_are_removed_with_their_blanks(text: str, left: str) -> None:
    assert judge(RULES, US, say(text)) == Prompt(left)


def test_a_tag_that_discord_does_not_count_as_a_mention_stays() -> None:
    """In code, for one: the person's text is unchanged (CONTRACT)."""
    assert judge(RULES, US, say("  `<@1>` ", place=PRIVATE, at=(8,))) == Prompt("  `<@1>` ")


@pytest.mark.parametrize("text", ["stop", "Stop", "STOP.", "stop!", " sToP\n"])
def test_the_word_stop_alone_is_stop(text: str) -> None:
    assert judge(RULES, US, say(text, place=PRIVATE)) == StopWord()
    assert judge(RULES, US, say(f"<@1> {text}")) == StopWord()
    assert judge(RULES, US, replace(say(text), reply=reply_to(1, us=True))) == StopWord()


@pytest.mark.parametrize("text", ["stop it", "stop!!", "stop?", "please stop", "\u017ftop", "stop.!", "stopp", "/stop"])
def test_other_words_are_not_stop(text: str) -> None:
    assert judge(RULES, US, say(text, place=PRIVATE)) == Prompt(text)


def test_stop_must_be_addressed_and_allowed_like_any_line() -> None:
    assert judge(RULES, US, say("stop")) == ignored(Why.NO_MENTION)
    assert judge(RULES, US, replace(say("stop", place=OURS), reply=reply_to(8))) == ignored(Why.SOMEONE_ELSE)
    assert judge(RULES, US, say("<@1> stop", author=STRANGER)) == ignored(Why.PERSON, addressed=True)


OPERATOR = Author(6, "Op")
STAFF = replace(RULES, operators=frozenset({6}))


def allowed(author: Author, place: Place, *, asked: bool, one_person: bool, can_write: bool = True) -> set[Act]:
    return {
        act for act in Act if may(STAFF, author, place, act, asked=asked, one_person=one_person, can_write=can_write)
    }


ANYONE = {Act.ASK, Act.STOP_TURN, Act.SEE_LANE}
AUTHORS = {Act.RETRY, Act.CANCEL, Act.MOVE, Act.ANSWER_DIALOG}
LANES = {Act.STOP_LANE, Act.NEW, Act.SESSIONS, Act.MODEL, Act.THINKING, Act.COMPACT, Act.COMMAND}


def test_who_may_do_what() -> None:
    assert allowed(ANN, CHANNEL, asked=False, one_person=False) == ANYONE
    assert allowed(ANN, CHANNEL, asked=True, one_person=False) == ANYONE | AUTHORS
    assert allowed(ANN, CHANNEL, asked=False, one_person=True) == ANYONE | LANES
    assert allowed(ANN, PRIVATE, asked=False, one_person=False) == ANYONE | LANES
    assert allowed(ANN, CHANNEL, asked=False, one_person=False, can_write=False) == {Act.SEE_LANE}
    assert allowed(OPERATOR, CHANNEL, asked=False, one_person=False) == set(Act)
    assert set(NEEDS) == set(Act)
    assert set(NEEDS.values()) == set(Need)


@pytest.mark.parametrize("author", [STRANGER, BOT, replace(OPERATOR, bot=True)])
def test_without_access_every_door_is_closed(author: Author) -> None:
    assert allowed(author, CHANNEL, asked=True, one_person=True) == set()
    assert allowed(author, PRIVATE, asked=True, one_person=True) == set()


def test_access_is_asked_for_the_place_too() -> None:
    elsewhere = replace(STAFF, channels=frozenset({101}))
    assert not may(elsewhere, OPERATOR, CHANNEL, Act.STOP_TURN, asked=True, one_person=True)


def test_a_lane_is_a_conversation() -> None:
    assert [place.lane for place in (CHANNEL, THREAD, PRIVATE)] == ["100", "200", "300"]
