"""Who may speak, what of it is a prompt, and who may press what; pure, it keeps no counts and knows no settings file.

The rules are CONTRACT's (rows `access.*` and `lanes.respond`, "Who may do what"). Consecutive bot messages are
counted by the lanes: here a listed bot simply has access.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import lru_cache
from typing import Literal, assert_never

from msgspec import Struct

from connector.messages import Author, Message, Place

_NOBODY: frozenset[int] = frozenset()


class Rules(Struct, frozen=True):
    """The access settings as values. Empty `users`, `roles` and `operators` together serve nobody."""

    guilds: frozenset[int] = _NOBODY
    channels: frozenset[int] = _NOBODY
    users: frozenset[int] = _NOBODY
    roles: frozenset[int] = _NOBODY
    operators: frozenset[int] = _NOBODY
    dms: bool = True
    bots: frozenset[int] = _NOBODY
    respond: Literal["mention", "all"] = "mention"


class Us(Struct, frozen=True):
    """The bot itself, and the role Discord made for it in the message's guild, where there is one."""

    id: int
    managed_role: int | None = None


class Why(StrEnum):
    """Why a message was ignored or a person refused; for the log, never for a person (refusals tell no lists)."""

    OWN = "own-message"
    BOT = "bot-not-allowed"
    PERSON = "person-not-allowed"
    GUILD = "guild-not-allowed"
    CHANNEL = "channel-not-allowed"
    PRIVATE = "private-not-allowed"
    NO_MENTION = "not-mentioned"
    SOMEONE_ELSE = "for-someone-else"


@dataclass(frozen=True, slots=True)
class Prompt:
    """To be asked: the message's text with the mentions of the bot removed; may be empty."""

    text: str


@dataclass(frozen=True, slots=True)
class StopWord:
    """The word "stop" alone: Stop of the lane's turn, never sent to the model."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """Not for the bot, or not allowed; `addressed` ones are logged at info (CONTRACT, `message.ignored`)."""

    reason: Why
    addressed: bool


Verdict = Prompt | StopWord | Ignore


class _Aim(Enum):
    """Whom a line is meant for."""

    US = auto()
    ANYONE = auto()
    SOMEONE_ELSE = auto()
    NOBODY = auto()


def admits(rules: Rules, author: Author, place: Place) -> Why | None:
    """Why this author has no access in this place, or None when he has: the one gate of messages and interactions."""
    if author.bot or author.webhook:
        if author.id not in rules.bots:
            return Why.BOT
    elif author.id not in rules.users | rules.operators and not author.roles & rules.roles:
        return Why.PERSON
    if place.kind == "private":
        return None if rules.dms else Why.PRIVATE
    if rules.guilds and place.guild not in rules.guilds:
        return Why.GUILD
    if rules.channels and not {place.channel, place.parent} & rules.channels:
        return Why.CHANNEL
    return None


def judge(rules: Rules, us: Us, message: Message) -> Verdict:
    """What a message is to us (BEHAVIOUR §3.1 first: our own never enter a lane, whatever the rules say)."""
    if message.author.id == us.id:
        return Ignore(Why.OWN, addressed=False)
    aim = _aim(rules, us, message)
    refused = admits(rules, message.author, message.place)
    if refused is not None:
        return Ignore(refused, addressed=aim is _Aim.US)
    match aim:
        case _Aim.SOMEONE_ELSE:
            return Ignore(Why.SOMEONE_ELSE, addressed=False)
        case _Aim.NOBODY:
            return Ignore(Why.NO_MENTION, addressed=False)
        case _Aim.US | _Aim.ANYONE:
            text = without_mentions(us, message)
            return StopWord() if _STOP.fullmatch(text.strip()) else Prompt(text)
        case _:
            assert_never(aim)


def mentions_us(us: Us, message: Message) -> bool:
    """Whether a message names the bot, its own managed role, or replies to it; other roles and @everyone do not."""
    return (
        us.id in message.mentions
        or us.managed_role in message.role_mentions
        or (message.reply is not None and message.reply.to_us)
    )


def without_mentions(us: Us, message: Message) -> str:
    """The text without the mentions of the bot and the blanks they leave; untouched where Discord saw none.

    A line that held nothing else goes with its line break, and a mention within a line takes one neighbouring
    blank with it, so that no double blank and no blank before a comma remains.
    """
    tags = [rf"<@!?{us.id}>"] if us.id in message.mentions else []
    if us.managed_role is not None and us.managed_role in message.role_mentions:
        tags.append(rf"<@&{us.managed_role}>")
    if not tags:
        return message.text
    text, count = _run_of(*tags).subn(_without, message.text)
    return text.strip("\n").rstrip() if count else text


@lru_cache(maxsize=64)
def _run_of(*tags: str) -> re.Pattern[str]:
    """One or more of these in a row, with the blanks around them."""
    tag = f"(?:{'|'.join(tags)})"
    return re.compile(rf"(?P<before>[ \t]*){tag}(?:[ \t]*{tag})*(?P<after>[ \t]*)(?P<end>\n|\Z)?")


def _without(found: re.Match[str]) -> str:
    """What stays of a mention and the blanks around it."""
    before, after, end = found.group("before", "after", "end")
    if found.start() == 0 or found.string[found.start() - 1] == "\n":
        return ""
    if end is not None:
        return end
    follows = found.string[found.end()]
    return after or ("" if follows in ",.!?:;)" else before)


_STOP = re.compile(r"stop[.!]?", re.IGNORECASE | re.ASCII)


def _aim(rules: Rules, us: Us, message: Message) -> _Aim:
    if message.place.kind == "private" or mentions_us(us, message):
        return _Aim.US
    # A person who replies to or names himself speaks to nobody else.
    others = message.mentions | ({message.reply.author} if message.reply else set())
    if others - {message.author.id}:
        return _Aim.SOMEONE_ELSE
    if message.place.ours:
        return _Aim.US
    return _Aim.ANYONE if rules.respond == "all" else _Aim.NOBODY


class Act(Enum):
    """What a person may try to do with a command, button, menu, modal or autocomplete."""

    ASK = auto()
    STOP_TURN = auto()
    RETRY = auto()
    CANCEL = auto()
    MOVE = auto()
    ANSWER_DIALOG = auto()
    STOP_LANE = auto()
    NEW = auto()
    SESSIONS = auto()
    MODEL = auto()
    THINKING = auto()
    COMPACT = auto()
    COMMAND = auto()
    SEE_LANE = auto()
    SEE_ALL = auto()
    SEE_DETAIL = auto()
    EXTEND_SPEND = auto()


class Need(Enum):
    """What an act asks for beyond access; an operator meets every one but `WRITE` by being one."""

    ACCESS = auto()
    WRITE = auto()
    AUTHOR = auto()
    OWN_LANE = auto()
    OPERATOR = auto()


NEEDS: Mapping[Act, Need] = {
    Act.ASK: Need.WRITE,
    Act.STOP_TURN: Need.WRITE,
    Act.RETRY: Need.AUTHOR,
    Act.CANCEL: Need.AUTHOR,
    Act.MOVE: Need.AUTHOR,
    Act.ANSWER_DIALOG: Need.AUTHOR,
    Act.STOP_LANE: Need.OWN_LANE,
    Act.NEW: Need.OWN_LANE,
    Act.SESSIONS: Need.OWN_LANE,
    Act.MODEL: Need.OWN_LANE,
    Act.THINKING: Need.OWN_LANE,
    Act.COMPACT: Need.OWN_LANE,
    Act.COMMAND: Need.OWN_LANE,
    Act.SEE_LANE: Need.ACCESS,
    Act.SEE_ALL: Need.OPERATOR,
    Act.SEE_DETAIL: Need.OPERATOR,
    Act.EXTEND_SPEND: Need.OPERATOR,
}


def may(
    rules: Rules, author: Author, place: Place, act: Act, *, asked: bool, one_person: bool, can_write: bool = True
) -> bool:
    """Whether this person may do this here (CONTRACT, "Who may do what"); access comes first, for everybody.

    `asked`: the message or dialog acted on is his own. `one_person`: only one person has spoken in this lane (a
    private one needs no telling). `can_write`: Discord lets him write in this place.
    """
    if admits(rules, author, place) is not None:
        return False
    need = NEEDS[act]
    operator = author.id in rules.operators
    match need:
        case Need.ACCESS:
            return True
        case Need.WRITE:
            return can_write
        case Need.AUTHOR:
            return asked or operator
        case Need.OWN_LANE:
            return operator or one_person or place.kind == "private"
        case Need.OPERATOR:
            return operator
        case _:
            assert_never(need)
