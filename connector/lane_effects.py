"""What comes out of the lanes: a union of small frozen values; no behaviour."""

from dataclasses import dataclass
from typing import Literal

from connector import facts
from engine import events as engine
from engine import pi


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
class Fetch:
    """Bring the files of a round: `Brought` follows, whatever becomes of them. The message stands in `channel`."""

    round: str
    lane: str
    channel: int
    message: int
    files: tuple[facts.File, ...]


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
class FilesOver:
    """An answer that named files is recorded as posted, or never will be: the copies of its files may go."""

    key: str


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
    """A sign on a person's message; `late` for one that is gone stands on a message of ours."""

    channel: int
    message: int
    sign: Literal["accepted", "waiting", "heard", "answered", "failed", "stopped", "late"]


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
    Spawn
    | Retire
    | Tell
    | Fetch
    | OpenThread
    | Post
    | FilesOver
    | Amend
    | Withdraw
    | React
    | Typing
    | Behind
    | ErrandDone
    | Log
    | Quit
)
