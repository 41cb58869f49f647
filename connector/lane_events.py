"""What goes into the lanes and what comes out: two unions of small frozen values; no behaviour."""

from dataclasses import dataclass
from typing import Literal

from connector import facts
from engine import commands, pi
from engine import events as engine
from engine.state import Advice


@dataclass(frozen=True, slots=True)
class Arrived:
    """A person's (or allowed bot's) line for the model. `advice`: what the lane's engine would do with it now.

    `refusal`: the notice with which it is refused at once; it is claimed all the same, so that its id is known.
    """

    claim: facts.Claimed
    advice: Advice = Advice.QUEUE
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Overlooked:
    """A message that is no prompt: only its place in the channel is remembered."""

    channel: int
    message: int


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Stop (BEHAVIOUR §2). `word`: the claim of the message that was the word "stop", where it was one."""

    lane: str
    channel: int
    by: int
    by_name: str
    scope: Literal["round", "turn", "lane"]
    round: str = ""
    word: facts.Claimed | None = None


@dataclass(frozen=True, slots=True)
class Hurry:
    """A person asks for the retry now."""

    round: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """A waiting round is taken back by its author or an operator, or its message was deleted (`silent`)."""

    round: str
    silent: bool = False


@dataclass(frozen=True, slots=True)
class MoveFirst:
    """A waiting round goes to the front."""

    round: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A waiting round's message was edited: its new text, header included."""

    round: str
    text: str


@dataclass(frozen=True, slots=True)
class Forget:
    """`/new`: the lane's next turn begins a new session."""

    lane: str


@dataclass(frozen=True, slots=True)
class Resume:
    """The lane's next turn goes on in this one of its sessions."""

    lane: str
    path: str


@dataclass(frozen=True, slots=True)
class ChooseModel:
    """The model that answers in the lane from now on."""

    lane: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class ChooseThinking:
    """The thinking level in the lane from now on."""

    lane: str
    level: str


@dataclass(frozen=True, slots=True)
class Errand:
    """A person asks something of the lane's child itself (a list, a compaction, a name): when it is free, since `at`.

    `name` is unique in this process; `ErrandDone` carries it back.
    """

    lane: str
    name: str
    ask: commands.Ask
    at: int


@dataclass(frozen=True, slots=True)
class ThreadDone:
    """The thread `channel` stands open under `parent`, or cannot be had (`opened` False)."""

    channel: int
    parent: int
    opened: bool


@dataclass(frozen=True, slots=True)
class SessionGone:
    """The file of the lane's session, or of this one of its sessions, is missing or damaged."""

    lane: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class ChildUp:
    """A child was spawned for the lane."""

    lane: str
    child: int
    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class ChildSays:
    """What an engine told, in order, and whether it is busy after it (BEHAVIOUR §1.1)."""

    lane: str
    child: int
    told: tuple[engine.Effect, ...]
    busy: bool


@dataclass(frozen=True, slots=True)
class ChildDown:
    """A child is gone. `code`: status or minus the signal, None where it could not be spawned (`reason`)."""

    lane: str
    child: int
    code: int | None
    expected: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PostDone:
    """What became of a post."""

    fact: facts.Posted | facts.Dropped


@dataclass(frozen=True, slots=True)
class CardDone:
    """What became of a card; it decides nothing, but a later start must know."""

    fact: facts.CardShown | facts.CardOver


@dataclass(frozen=True, slots=True)
class Recover:
    """Once, after a start: decide about everything that was at a child (BEHAVIOUR §6).

    `begun`, `tooled`: rounds whose mark, and a tool call behind it, stand in the lane's session file.
    """

    begun: frozenset[str] = frozenset()
    tooled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something else of ours went wrong beyond repair: drain, then exit 1."""

    reason: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    """SIGTERM: nothing new is sent, running turns are cut, then exit 0."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The clock reached a deadline (or not)."""


Input = (
    Arrived
    | Overlooked
    | StopAsked
    | Hurry
    | Cancel
    | MoveFirst
    | Rewrite
    | Forget
    | Resume
    | ChooseModel
    | ChooseThinking
    | Errand
    | ThreadDone
    | SessionGone
    | ChildUp
    | ChildSays
    | ChildDown
    | PostDone
    | CardDone
    | Recover
    | Fault
    | Shutdown
    | Tick
)

# -- effects -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start a child for the lane, in its session where it has one."""

    lane: str
    child: int


@dataclass(frozen=True, slots=True)
class Retire:
    """Stop this child; it is idle, evicted, or the connector goes down."""

    lane: str
    child: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Give an input to the lane's engine."""

    lane: str
    child: int
    given: engine.Submit | engine.SteerIn | engine.Fail | engine.AbortOrphan | engine.AnswerDialog


@dataclass(frozen=True, slots=True)
class OpenThread:
    """Open (or find) the thread on a message; what is posted to it waits until then."""

    parent: int
    message: int
    name: str


@dataclass(frozen=True, slots=True)
class Post:
    """Hand a recorded post to the outbox. After a restart (`fresh` False) `posted` parts stand, `last` the newest."""

    owed: facts.Owed
    posted: int = 0
    last: int = 0
    fresh: bool = True


@dataclass(frozen=True, slots=True)
class Amend:
    """The stopped run is over: its receipt says so now, and names what its tools left running, if anything."""

    lane: str
    child: int
    key: str
    channel: int
    text: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Post nothing more of this round."""

    round: str


@dataclass(frozen=True, slots=True)
class React:
    """A sign on a person's message."""

    channel: int
    message: int
    sign: Literal["accepted", "waiting", "heard", "answered", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Typing:
    """The typing line of a channel, on or off."""

    channel: int
    on: bool


@dataclass(frozen=True, slots=True)
class Behind:
    """This round waits behind a closed gate, until `until` (ns) or, with 0, until another lane has proved it open.

    Told once per lane and instant.
    """

    round: str
    until: int


@dataclass(frozen=True, slots=True)
class ErrandDone:
    """What the child answered to an errand; None: it never will."""

    name: str
    response: pi.Response | None


@dataclass(frozen=True, slots=True)
class Log:
    """One event of CONTRACT's list, with what is bound to it."""

    event: str
    fields: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Quit:
    """End the process with this code once everything recorded is performed."""

    code: int
    reason: str


Effect = (
    Spawn | Retire | Tell | OpenThread | Post | Amend | Withdraw | React | Typing | Behind | ErrandDone | Log | Quit
)
