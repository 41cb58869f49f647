"""One round and what a fact about it makes of it; pure, it knows no lane and decides nothing (BEHAVIOUR §7.30)."""

from enum import Enum, auto
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from connector import facts


class Phase(Enum):
    """Where a round is. WRITTEN to JOINED belong to a child; POSTING has its answer recorded and posts outstanding."""

    WAITING = auto()
    WRITTEN = auto()
    RUNNING = auto()
    STEERED = auto()
    JOINED = auto()
    BACKOFF = auto()
    POSTING = auto()
    ENDED = auto()


AT_CHILD = frozenset({Phase.WRITTEN, Phase.RUNNING, Phase.STEERED, Phase.JOINED})
HEADS = frozenset({Phase.WRITTEN, Phase.RUNNING, Phase.BACKOFF})


class Round(Struct, frozen=True):
    """The work one message caused; instants in nanoseconds.

    `writes`: all prompts and steers written; `attempts`: the charged ones; `charged`: whether the last one is.
    `reask`: whether it is one of `steps`, the waits of `retry.backoff` spent. `hurried`: a person wants that now.
    `child`: the generation that had it last. `into`: the round whose run it joined. `tool`, `posted`: evidence
    against asking again (BEHAVIOUR §6). `first`: it was moved to the front. `owed`: keys of posts outstanding.
    `capped`: scope and day of the spending cap that it was last told of; `caps`: all that it was told of.
    `late`: its author was shown that a change came too late; `unsaid`: its message is deleted.
    `code`: its terminal state, "" while pending. `files` came with it; `fetched`: how often it was told what became
    of them, `lines` for the child and `pictures` in the lane's inbox being the last word.
    """

    id: str
    lane: str
    channel: int
    message: int
    reply_to: int
    author: int
    author_name: str
    text: str
    at: int
    bot: bool = False
    origin: facts.Origin = facts.Origin.MESSAGE
    parent: int = 0
    phase: Phase = Phase.WAITING
    writes: int = 0
    attempts: int = 0
    charged: bool = False
    reask: bool = False
    hurried: bool = False
    first: bool = False
    steps: int = 0
    parked: bool = False
    until: int = 0
    why: str = ""
    tool: bool = False
    posted: bool = False
    stopped: bool = False
    cut: bool = False
    steerable: bool = True
    note: str = ""
    child: int = 0
    into: str = ""
    answers: int = 0
    owed: frozenset[str] = frozenset()
    capped: tuple[str, int] = ("", 0)
    caps: frozenset[tuple[str, int]] = frozenset()
    late: bool = False
    unsaid: bool = False
    code: str = ""
    files: tuple[facts.File, ...] = ()
    fetched: int = 0
    lines: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()

    @property
    def pending(self) -> bool:
        """Whether it has no terminal state yet."""
        return not self.code

    @property
    def turn(self) -> str:
        """The engine's name for the last write of this round."""
        return f"{self.id}@{self.writes}"

    @property
    def unfetched(self) -> bool:
        """Whether nobody knows yet what becomes of its files: it cannot be asked."""
        return bool(self.files) and not self.fetched

    @property
    def slash(self) -> bool:
        """Whether it is a `/command`: no other text starts so (CONTRACT, "What the child sees")."""
        return self.text.startswith("/")


RoundFact = (
    facts.Written
    | facts.Unwritten
    | facts.Started
    | facts.Heard
    | facts.Requeued
    | facts.ToolOpened
    | facts.Backoff
    | facts.Hurried
    | facts.Answered
    | facts.StopMarked
    | facts.Ended
    | facts.Cut
    | facts.Moved
    | facts.Edited
    | facts.Capped
    | facts.Late
    | facts.Unsaid
    | facts.Fetched
)


def told(round_: Round, fact: RoundFact) -> Round:
    """The round after one fact about it."""
    match fact:
        case facts.Written(child=child, kind=kind, reask=reask):
            return replace(
                round_,
                phase=Phase.WRITTEN if kind == "prompt" else Phase.STEERED,
                child=child,
                writes=round_.writes + 1,
                attempts=round_.attempts + (not reask),
                charged=not reask,
                reask=reask,
                hurried=False,
                first=False,
                cut=False,
                into="",
            )
        case facts.Unwritten():
            return replace(uncharged(round_), phase=Phase.BACKOFF if round_.reask else Phase.WAITING)
        case facts.Started():
            return replace(round_, phase=Phase.RUNNING)
        case facts.Heard(head=head):
            return replace(round_, phase=Phase.JOINED, into=head)
        case facts.Requeued(charged=charged, note=note, steerable=steerable):
            back = round_ if charged else uncharged(round_)
            phase = Phase.BACKOFF if round_.reask and not charged else Phase.WAITING
            return replace(back, phase=phase, note=note, steerable=back.steerable and steerable, into="")
        case facts.ToolOpened():
            return replace(round_, tool=True)
        case facts.Backoff(until=until, reason=reason, parked=parked):
            steps = round_.steps + (not parked)
            parked = round_.parked or parked
            return replace(round_, phase=Phase.BACKOFF, until=until, why=reason, steps=steps, parked=parked)
        case facts.Hurried():
            return replace(round_, until=0, hurried=True)
        case facts.Answered(n=n):
            return replace(round_, phase=Phase.POSTING, answers=n)
        case facts.StopMarked():
            return replace(round_, stopped=True)
        case facts.Ended(code=code, into=into):
            return replace(round_, phase=Phase.ENDED, code=code, into=into)
        case facts.Cut():
            return replace(uncharged(round_), cut=True)
        case facts.Moved():
            return replace(round_, first=round_.phase is Phase.WAITING)
        case facts.Edited(text=text):
            return replace(round_, text=text)
        case facts.Capped(scope=scope, day=day):
            return replace(round_, capped=(scope, day), caps=round_.caps | {(scope, day)})
        case facts.Late():
            return replace(round_, late=True)
        case facts.Unsaid():
            return replace(round_, unsaid=True)
        case facts.Fetched(lines=lines, pictures=pictures):
            return replace(round_, fetched=round_.fetched + 1, lines=lines, pictures=pictures)
        case _:
            assert_never(fact)


def uncharged(round_: Round) -> Round:
    """The round with its last write not counted as an attempt."""
    return replace(round_, attempts=round_.attempts - round_.charged, charged=False)
