"""What goes into the lanes: a union of small frozen values; no behaviour."""

from dataclasses import dataclass
from typing import Literal

from connector import facts
from engine import commands
from engine import events as engine
from engine.commands import Image
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
class Missed:
    """One file that the agent does not get as it was sent: its name, and why (a sentence's middle)."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of a round's files, as `facts.Fetched`; with the pictures themselves, which no ledger keeps.

    `missed` is what a person is told of. `some`: at least one file reaches the agent. `advice` as in `Arrived`.
    """

    round: str
    lane: str
    lines: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    missed: tuple[Missed, ...] = ()
    some: bool = True
    advice: Advice = Advice.QUEUE


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
class Extend:
    """An operator adds to the spending cap that holds this round back."""

    round: str
    by: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """A waiting round is taken back by its author or an operator."""

    round: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A message was deleted. `known`: the ledger has rounds of it."""

    message: int
    known: bool = False


@dataclass(frozen=True, slots=True)
class MoveFirst:
    """A waiting round goes to the front."""

    round: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A round's message was edited: its new text, header included, "" where it is none for us any more."""

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
class PlaceGone:
    """A thread or channel was deleted, as Discord told or as a post found out."""

    channel: int


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
    """What became of a card, or of a question's post; it decides nothing, but a later start must know."""

    fact: facts.CardShown | facts.CardOver | facts.DialogShown | facts.DialogOver


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
    | Brought
    | Overlooked
    | StopAsked
    | Hurry
    | Extend
    | Cancel
    | Deleted
    | MoveFirst
    | Rewrite
    | Forget
    | Resume
    | ChooseModel
    | ChooseThinking
    | Errand
    | ThreadDone
    | PlaceGone
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
