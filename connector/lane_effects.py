"""What comes out of the lanes: a union of small frozen values; no behaviour."""

from typing import Literal

from msgspec import Struct

from connector import facts
from engine import events as engine
from engine import pi


class Spawn(Struct, frozen=True):
    """Start a child for the lane, in its session where it has one."""

    lane: str
    child: int


class Retire(Struct, frozen=True):
    """Stop this child; it is idle, evicted, or the connector goes down."""

    lane: str
    child: int


class Tell(Struct, frozen=True):
    """Give an input to the lane's engine."""

    lane: str
    child: int
    given: engine.Submit | engine.SteerIn | engine.Fail | engine.AbortOrphan | engine.AnswerDialog


class Fetch(Struct, frozen=True):
    """Bring the files of a round: `Brought` follows, whatever becomes of them. The message stands in `channel`."""

    round: str
    lane: str
    channel: int
    message: int
    files: tuple[facts.File, ...]


class OpenThread(Struct, frozen=True):
    """Open (or find) the thread on a message; what is posted to it waits until then."""

    parent: int
    message: int
    name: str


class Post(Struct, frozen=True):
    """Hand a recorded post to the outbox. After a restart (`fresh` False) `posted` parts stand, `last` the newest."""

    owed: facts.Owed
    posted: int = 0
    last: int = 0
    fresh: bool = True


class FilesOver(Struct, frozen=True):
    """An answer that named files is recorded as posted, or never will be: the copies of its files may go."""

    key: str


class Amend(Struct, frozen=True):
    """The stopped run is over: its receipt says so now, and names what its tools left running, if anything."""

    lane: str
    child: int
    key: str
    channel: int
    text: str


class Withdraw(Struct, frozen=True):
    """Post nothing more of this round."""

    round: str


class React(Struct, frozen=True):
    """A sign on a person's message; `late` for one that is gone stands on a message of ours."""

    channel: int
    message: int
    sign: Literal["accepted", "waiting", "heard", "answered", "failed", "stopped", "late"]


class Typing(Struct, frozen=True):
    """The typing line of a channel, on or off."""

    channel: int
    on: bool


class Behind(Struct, frozen=True):
    """This round waits behind a closed gate, until `until` (ns) or, with 0, until another lane has proved it open.

    Told once per lane and instant.
    """

    round: str
    until: int


class MayShow(Struct, frozen=True):
    """The card, or question, of this key is recorded as about to be posted: it may be."""

    key: str


class ErrandDone(Struct, frozen=True):
    """What the child answered to an errand; None: it never will."""

    name: str
    response: pi.Response | None


class Log(Struct, frozen=True):
    """One event of CONTRACT's list, with what is bound to it."""

    event: str
    fields: tuple[tuple[str, object], ...] = ()


class Quit(Struct, frozen=True):
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
    | MayShow
    | ErrandDone
    | Log
    | Quit
)
