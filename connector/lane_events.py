"""What goes into the lanes: a union of small frozen values; no behaviour."""

from typing import Literal

from msgspec import Struct

from connector import facts
from engine import commands
from engine import events as engine
from engine.commands import Image
from engine.state import Advice


class Arrived(Struct, frozen=True):
    """A person's (or allowed bot's) line for the model. `advice`: what the lane's engine would do with it now.

    `refusal`: the notice with which it is refused at once; it is claimed all the same, so that its id is known.
    """

    claim: facts.Claimed
    advice: Advice = Advice.QUEUE
    refusal: str = ""


class Missed(Struct, frozen=True):
    """One file that the agent does not get as it was sent: its name, and why (a sentence's middle)."""

    name: str
    why: str


class Brought(Struct, frozen=True):
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


class Overlooked(Struct, frozen=True):
    """A message that is no prompt: only its place in the channel is remembered."""

    channel: int
    message: int


class StopAsked(Struct, frozen=True):
    """Stop (BEHAVIOUR §2). `word`: the claim of the message that was the word "stop", where it was one."""

    lane: str
    channel: int
    by: int
    by_name: str
    scope: Literal["round", "turn", "lane"]
    round: str = ""
    word: facts.Claimed | None = None


class Hurry(Struct, frozen=True):
    """A person asks for the retry now."""

    round: str


class Extend(Struct, frozen=True):
    """An operator adds to the spending cap that holds this round back."""

    round: str
    by: int


class Cancel(Struct, frozen=True):
    """A waiting round is taken back by its author or an operator."""

    round: str


class Deleted(Struct, frozen=True):
    """A message was deleted. `known`: the ledger has rounds of it."""

    message: int
    known: bool = False


class MoveFirst(Struct, frozen=True):
    """A waiting round goes to the front."""

    round: str


class Rewrite(Struct, frozen=True):
    """A round's message was edited: its new text, header included, "" where it is none for us any more."""

    round: str
    text: str


class Forget(Struct, frozen=True):
    """`/new`: the lane's next turn begins a new session."""

    lane: str


class Resume(Struct, frozen=True):
    """The lane's next turn goes on in this one of its sessions."""

    lane: str
    path: str


class ChooseModel(Struct, frozen=True):
    """The model that answers in the lane from now on."""

    lane: str
    provider: str
    model: str


class ChooseThinking(Struct, frozen=True):
    """The thinking level in the lane from now on."""

    lane: str
    level: str


class Errand(Struct, frozen=True):
    """A person asks something of the lane's child itself (a list, a compaction, a name): when it is free, since `at`.

    `name` is unique in this process; `ErrandDone` carries it back.
    """

    lane: str
    name: str
    ask: commands.Ask
    at: int


class ThreadDone(Struct, frozen=True):
    """The thread `channel` stands open under `parent`, or cannot be had (`opened` False)."""

    channel: int
    parent: int
    opened: bool


class PlaceGone(Struct, frozen=True):
    """A thread or channel was deleted, as Discord told or as a post found out."""

    channel: int


class SessionGone(Struct, frozen=True):
    """The file of the lane's session, or of this one of its sessions, is missing or damaged."""

    lane: str
    path: str = ""


class ChildUp(Struct, frozen=True):
    """A child was spawned for the lane."""

    lane: str
    child: int
    pid: int
    started: str


class ChildSays(Struct, frozen=True):
    """What an engine told, in order, and whether it is busy after it (BEHAVIOUR §1.1)."""

    lane: str
    child: int
    told: tuple[engine.Effect, ...]
    busy: bool


class ChildDown(Struct, frozen=True):
    """A child is gone. `code`: status or minus the signal, None where it could not be spawned (`reason`)."""

    lane: str
    child: int
    code: int | None
    expected: bool
    reason: str = ""


class PostDone(Struct, frozen=True):
    """What became of a post."""

    fact: facts.Posted | facts.Dropped


class CardDone(Struct, frozen=True):
    """What became of a card, or of a question's post; it decides nothing, but a later start must know."""

    fact: facts.CardShown | facts.CardOver | facts.DialogShown | facts.DialogOver


class Recover(Struct, frozen=True):
    """Once, after a start: decide about everything that was at a child (BEHAVIOUR §6).

    `begun`, `tooled`: rounds whose mark, and a tool call behind it, stand in the lane's session file.
    """

    begun: frozenset[str] = frozenset()
    tooled: frozenset[str] = frozenset()


class Fault(Struct, frozen=True):
    """Something else of ours went wrong beyond repair: drain, then exit 1."""

    reason: str


class Shutdown(Struct, frozen=True):
    """SIGTERM: nothing new is sent, running turns are cut, then exit 0."""


class Tick(Struct, frozen=True):
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
