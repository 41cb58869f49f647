"""What goes into an engine and what comes out: two unions of small frozen values, and the limits; no behaviour."""

from enum import StrEnum

from msgspec import Struct

from engine import commands, pi
from engine.marks import mark_of
from engine.wire import Line

SECOND = 1_000_000_000

LONGEST = 1e9
"""Seconds; a longer duration (31 years) is a slip, and as nanoseconds this one still fits in 63 bits."""


class Limits(Struct, frozen=True):
    """Bounds of BEHAVIOUR §1 in nanoseconds; ``turn_limit`` 0 is none, ``dialog`` 0 cancels at once."""

    turn_timeout: int = 180 * SECOND
    tool_timeout: int = 1800 * SECOND
    turn_limit: int = 7200 * SECOND
    abort_grace: int = 30 * SECOND
    run_grace: int = 60 * SECOND
    dialog: int = 0


class Code(StrEnum):
    """How a turn ended: CONTRACT's codes of a failed turn, and the outcomes of one that did not fail."""

    ANSWERED = "answered"
    EMPTY = "empty"
    HANDLED = "handled"
    JOINED = "joined"
    TIMEOUT = "engine-timeout"
    WEDGED = "engine-wedged"
    DOWN = "engine-down"
    REFUSED = "engine-refused"
    EXIT = "engine-exit"
    PROVIDER = "provider-error"
    RATE_LIMITED = "rate-limited"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    RESTART = "restart"
    DEAD = "dead"


class Outcome(Struct, frozen=True):
    """One end of one turn.

    ``text`` is the answer (answered only); ``detail`` is for the log and for classification, never for Discord;
    ``into`` names the turn whose answer serves this one too (joined only); ``busy`` marks a refusal that means later.
    """

    code: Code
    text: str = ""
    detail: str = ""
    into: str | None = None
    busy: bool = False


# -- inputs --------------------------------------------------------------------------------------------------------


class Text(Struct, frozen=True):
    """A person's message under its header line; never starts with ``/`` (CONTRACT, What the child sees)."""

    message: str
    images: tuple[commands.Image, ...] = ()

    def __post_init__(self) -> None:
        if self.message.startswith("/"):
            raise ValueError("a prompt's text never starts with '/': give a Slash for a /command")

    @property
    def mark(self) -> str | None:
        """The message id that pi's echo will carry."""
        return mark_of(self.message)


class Slash(Struct, frozen=True):
    """A ``/command`` of pi or of an extension: a turn of its own without a mark."""

    message: str

    @property
    def mark(self) -> None:
        """A command has none."""
        return None


class Request(Struct, frozen=True):
    """A session command or query (``commands.Ask``; its id is set when written): waits its turn like a prompt."""

    command: commands.Ask

    @property
    def mark(self) -> None:
        """A command has none."""
        return None


Work = Text | Slash | Request


class Submit(Struct, frozen=True):
    """Give one turn; ``turn`` is the caller's name for it, unique in this generation."""

    turn: str
    work: Work


class SteerIn(Struct, frozen=True):
    """Add a person's line to the running run; ``turn`` as in ``Submit``."""

    turn: str
    work: Text


class Fail(Struct, frozen=True):
    """End this turn (or open steer) with ``code``: Stop, an interrupt, our own shutdown."""

    turn: str
    code: Code


class AbortOrphan(Struct, frozen=True):
    """Abort a run that is nobody's (``/stop lane``)."""


class AnswerDialog(Struct, frozen=True):
    """A person's answer to an open dialog; exactly one of the fields is set, none means cancelled."""

    dialog: str
    value: str | None = None
    confirmed: bool | None = None


class Stop(Struct, frozen=True):
    """Stop this child; from now on nothing is written."""


class Read(Struct, frozen=True):
    """Records of one generation, in the order they were read."""

    generation: int
    lines: tuple[Line, ...]


class Exited(Struct, frozen=True):
    """The process of one generation is gone: status, or minus the signal."""

    generation: int
    code: int


class Tick(Struct, frozen=True):
    """The clock reached a deadline (or not: an early tick changes nothing)."""


Input = Submit | SteerIn | Fail | AbortOrphan | AnswerDialog | Stop | Read | Exited | Tick

# -- effects -------------------------------------------------------------------------------------------------------


class Write(Struct, frozen=True):
    """Write these commands in one write."""

    commands: tuple[commands.Command, ...]


class Kill(Struct, frozen=True):
    """Run the stop ladder on the child."""


class Ready(Struct, frozen=True):
    """The first answer of the child was read; ``state`` is its data."""

    state: object


class Sent(Struct, frozen=True):
    """The turn's prompt is being written."""

    turn: str


class Started(Struct, frozen=True):
    """The turn's run has started."""

    turn: str


class ToolOpened(Struct, frozen=True):
    """A tool started in the turn's run."""

    turn: str
    call: str
    tool: str
    args: object = None


class ToolClosed(Struct, frozen=True):
    """A tool of the turn's run returned, or the run ended around it."""

    turn: str
    call: str


class Progress(Struct, frozen=True):
    """Text (or thinking) that streamed in since the last one; for the card only, never an answer."""

    turn: str
    text: str
    thinking: bool = False


class Spent(Struct, frozen=True):
    """What one assistant message, tool or summary cost; ``turn`` "" where it is no turn's, or of one that has failed.

    The sum of these is what ``get_session_stats`` tells of a session (it adds up the same parts), but with a model, a
    moment and a turn. ``provider`` and ``model`` are "" where pi does not name them.
    """

    turn: str
    provider: str
    model: str
    usage: pi.Usage | None


class Retrying(Struct, frozen=True):
    """pi itself will ask its provider again."""

    turn: str
    attempt: int
    attempts: int
    delay: int


class Answered(Struct, frozen=True):
    """A further answer of a turn that has already ended (BEHAVIOUR §1.16), or of a ``/command`` (§1.12)."""

    turn: str
    text: str


class Ended(Struct, frozen=True):
    """The turn's one end."""

    turn: str
    outcome: Outcome


class Released(Struct, frozen=True):
    """The turn has left the queue."""

    turn: str


class Replied(Struct, frozen=True):
    """The response to a ``Request``."""

    turn: str
    response: pi.Response


class Heard(Struct, frozen=True):
    """The steer's echo was seen: it joins the run of ``head`` (None: an orphan run)."""

    turn: str
    head: str | None


class Returned(Struct, frozen=True):
    """The steer did not reach the model: ``refused`` by pi, declined unwritten (``written`` False), or given back."""

    turn: str
    refused: bool = False
    written: bool = True


class Asked(Struct, frozen=True):
    """An extension dialog of the turn's run waits for a person."""

    turn: str
    dialog: pi.Dialog


class Unasked(Struct, frozen=True):
    """The dialog is closed: answered, cancelled, or, with ``timed_out``, nobody answered in time."""

    dialog: str
    timed_out: bool = False


class Told(Struct, frozen=True):
    """A one-way request of an extension (notify, status, title) in the turn's run."""

    turn: str
    dialog: pi.Dialog


class Wedged(Struct, frozen=True):
    """The child is given up; it exits next."""

    reason: str


class Note(Struct, frozen=True):
    """Something for the log: counted per ``kind``, the first of a kind is logged."""

    kind: str
    detail: str = ""
    fields: tuple[tuple[str, str], ...] = ()


Effect = (
    Write
    | Kill
    | Ready
    | Sent
    | Started
    | ToolOpened
    | ToolClosed
    | Progress
    | Spent
    | Retrying
    | Answered
    | Ended
    | Released
    | Replied
    | Heard
    | Returned
    | Asked
    | Unasked
    | Told
    | Wedged
    | Note
)
