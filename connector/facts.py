"""What the ledger remembers: facts, each written once and never changed; no streams, no decisions.

Everything that must survive a crash is one of these. `connector.world` folds them into state, `trace` and `status`
read them. Ids of Discord are integers, instants are nanoseconds of the connector's steady wall clock.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from connector.facts_base import Fact as Fact
from connector.facts_dialog import DialogOver as DialogOver
from connector.facts_dialog import DialogShown as DialogShown
from connector.facts_files import Fetched as Fetched
from connector.facts_files import File as File
from connector.facts_process import ChildEnded as ChildEnded
from connector.facts_process import ChildStarted as ChildStarted
from connector.facts_process import Down as Down
from connector.facts_process import Fell as Fell
from connector.facts_process import Forgiven as Forgiven
from connector.facts_process import Good as Good
from connector.facts_process import Up as Up
from connector.facts_spend import Capped as Capped
from connector.facts_spend import Extended as Extended
from connector.facts_spend import Spent as Spent
from connector.facts_texts import Erased as Erased
from connector.facts_texts import Late as Late
from connector.facts_texts import Unsaid as Unsaid


class Origin(StrEnum):
    """What caused a round."""

    MESSAGE = "message"
    RETRY = "retry"
    ASK = "ask"
    COMMAND = "command"


class Claimed(Fact, frozen=True, tag="claimed"):
    """A message was accepted: from now on it is pending until it ends (BEHAVIOUR §7.20).

    `text` is what the child will be given, header included; `reply_to` is the message that answers refer to.
    `parent`: the channel in which a thread on this message is to be opened, 0 for none; `channel` is then that
    thread, whose id Discord makes equal to the message's. `files` came with it; what became of them tells `Fetched`.
    """

    round: str
    lane: str
    channel: int
    message: int
    reply_to: int
    author: int
    author_name: str
    text: str
    at: int
    bot: bool = False
    origin: Origin = Origin.MESSAGE
    parent: int = 0
    files: tuple[File, ...] = ()


class Seen(Fact, frozen=True, tag="seen"):
    """The newest message of a channel that was looked at, accepted or not; backfill starts behind it."""

    channel: int
    message: int


class Written(Fact, frozen=True, tag="written"):
    """Recorded before a prompt or steer is written to a child (BEHAVIOUR §3.2); a re-ask is not an attempt."""

    round: str
    child: int
    kind: Literal["prompt", "steer"] = "prompt"
    reask: bool = False


class Unwritten(Fact, frozen=True, tag="unwritten"):
    """The write just recorded did not happen: not a byte of it went out, so it counts for nothing (BEHAVIOUR §6)."""

    round: str


class Started(Fact, frozen=True, tag="started"):
    """The run of the round's prompt began in the child."""

    round: str


class Heard(Fact, frozen=True, tag="heard"):
    """A steered message was consumed by the run of `head`."""

    round: str
    head: str


class Requeued(Fact, frozen=True, tag="requeued"):
    """The round waits again. `charged`: its write counts; `note` tells the child why it is asked again.

    Where the write was a re-ask that is not charged, that re-ask is still due.
    """

    round: str
    reason: str
    charged: bool = True
    note: str = ""
    steerable: bool = True


class ToolOpened(Fact, frozen=True, tag="tool"):
    """A tool started in the round's run: it is never run again by itself after a crash (BEHAVIOUR §7.22)."""

    round: str
    call: str
    tool: str


class Backoff(Fact, frozen=True, tag="backoff"):
    """The round is asked again at `until`; `parked` for a quota that names its reset, which spends no step."""

    round: str
    until: int
    reason: str
    parked: bool = False


class Hurried(Fact, frozen=True, tag="hurried"):
    """A person asked for the retry now: the wait is over."""

    round: str


class Gated(Fact, frozen=True, tag="gated"):
    """Nothing is sent to this provider and model before `until` (BEHAVIOUR §2.4); 0: it answers again."""

    provider: str
    model: str
    until: int


class Answered(Fact, frozen=True, tag="answered"):
    """An answer (the `n`-th of the round) was recorded, before any of it is posted."""

    round: str
    n: int
    text: str


class StopMarked(Fact, frozen=True, tag="stopped"):
    """Stop's mark: nothing of the round is written or posted after it; durable before its receipt."""

    round: str
    by: int
    said: str = ""


class Ended(Fact, frozen=True, tag="ended"):
    """The round's one terminal state (CONTRACT, codes and outcomes). `detail` is for the log and an operator."""

    round: str
    code: str
    detail: str = ""
    into: str = ""


class Owed(Fact, frozen=True, tag="owed"):
    """A post that must reach Discord, recorded before it is tried.

    `key` is round, kind and number, and the source of every part's nonce. `text` is Markdown, split when posted.
    `lane`: that of an answer, whose outbox its files may lie in; "" where it has none.
    """

    key: str
    round: str
    channel: int
    kind: Literal["answer", "notice", "receipt"]
    text: str
    reply_to: int
    retry: bool = False
    extend: bool = False
    lane: str = ""


class Posted(Fact, frozen=True, tag="posted"):
    """One part of a post stands in Discord as `message`."""

    key: str
    part: int
    parts: int
    message: int


class Dropped(Fact, frozen=True, tag="dropped"):
    """A post will not be made (any more): stopped, or a permanent error of Discord."""

    key: str
    reason: str


class CardShown(Fact, frozen=True, tag="card"):
    """The round's card stands in Discord as `message`: a later start goes on with it, or shows its end.

    Recorded with `message` 0 before it is posted: then a start looks for it, by its round's controls.
    """

    round: str
    channel: int
    message: int


class CardOver(Fact, frozen=True, tag="card-over"):
    """The round's card shows its end, or is gone from Discord: nobody edits it any more."""

    round: str


class Cut(Fact, frozen=True, tag="cut"):
    """Our own drain or shutdown ended the round's run: its write is not charged (BEHAVIOUR §3.2)."""

    round: str


class Moved(Fact, frozen=True, tag="moved"):
    """A waiting round was moved to the front of its lane."""

    round: str


class Edited(Fact, frozen=True, tag="edited"):
    """A waiting round's text was changed by its author."""

    round: str
    text: str


class SessionSet(Fact, frozen=True, tag="session"):
    """The lane's pi session file; empty: the next child starts a new one."""

    lane: str
    path: str


class SessionKnown(Fact, frozen=True, tag="session-known"):
    """A session of the lane that has something in it, since `at`, and its name; `at` 0: it cannot be had any more."""

    lane: str
    path: str
    at: int
    name: str = ""


class ModelSet(Fact, frozen=True, tag="model"):
    """The lane's model, remembered across restarts."""

    lane: str
    provider: str
    model: str


class ThinkingSet(Fact, frozen=True, tag="thinking"):
    """The lane's thinking level, remembered across restarts."""

    lane: str
    level: str


class ThreadOpened(Fact, frozen=True, tag="thread"):
    """A thread the connector opened: lines in it need no mention."""

    channel: int
    parent: int


class Redirected(Fact, frozen=True, tag="redirected"):
    """No thread could be opened: what belongs to it is posted in `parent` instead."""

    channel: int
    parent: int


def moved(owed: Owed, parent: int) -> Owed:
    """The post of a thread that could not be opened, for the channel above it: there it may refer to the message."""
    return msgspec.structs.replace(owed, channel=parent, reply_to=owed.channel)


class LaneKnown(Fact, frozen=True, tag="lane"):
    """What the ledger knows of a lane as a whole; made when it is read, never written."""

    lane: str
    channel: int
    people: tuple[int, ...] = ()
    bots_in_row: int = 0
    thread_of: int = 0


AnyFact = (
    Claimed
    | Seen
    | Written
    | Unwritten
    | Started
    | Heard
    | Requeued
    | ToolOpened
    | Backoff
    | Hurried
    | Gated
    | Answered
    | StopMarked
    | Ended
    | Owed
    | Posted
    | Dropped
    | CardShown
    | CardOver
    | DialogShown
    | DialogOver
    | Cut
    | Moved
    | Edited
    | Late
    | Unsaid
    | Erased
    | Fetched
    | SessionSet
    | SessionKnown
    | ModelSet
    | ThinkingSet
    | ThreadOpened
    | Redirected
    | LaneKnown
    | ChildStarted
    | ChildEnded
    | Up
    | Fell
    | Good
    | Down
    | Forgiven
    | Spent
    | Capped
    | Extended
)

FULL = (
    *(Claimed, Written, StopMarked, Answered, Owed, Ended, Backoff, Requeued, Fell, Seen, Cut, Edited, ChildStarted),
    *(Extended, Unsaid, Erased),
)
"""Facts that must be on the disk before their effect; the others may be lost by a power cut, never by a kill."""


def round_of(fact: AnyFact) -> str:
    """The round that a fact is about, "" where it is about none; a post's is the first part of its key."""
    match fact:
        case Posted(key=key) | Dropped(key=key) | DialogShown(key=key) | DialogOver(key=key):
            return key.rsplit("/", 2)[0]
        case Redirected(channel=channel):  # the message that was to open the thread has its id
            return str(channel)
        case Erased(message=message):
            return str(message)
        case _:
            return str(getattr(fact, "round", ""))
