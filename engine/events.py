"""What goes into an engine and what comes out: two unions of small frozen values, and the limits; no behaviour."""

from dataclasses import dataclass, field
from enum import StrEnum

from engine import commands, pi
from engine.marks import mark_of
from engine.wire import Line

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
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


@dataclass(frozen=True, slots=True)
class Outcome:
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


@dataclass(frozen=True, slots=True)
class Text:
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


@dataclass(frozen=True, slots=True)
class Slash:
    """A ``/command`` of pi or of an extension: a turn of its own without a mark."""

    message: str

    @property
    def mark(self) -> None:
        """A command has none."""
        return None


@dataclass(frozen=True, slots=True)
class Request:
    """A session command or query (``commands.Ask``; its id is set when written): waits its turn like a prompt."""

    command: commands.Ask

    @property
    def mark(self) -> None:
        """A command has none."""
        return None


Work = Text | Slash | Request


@dataclass(frozen=True, slots=True)
class Submit:
    """Give one turn; ``turn`` is the caller's name for it, unique in this generation."""

    turn: str
    work: Work


@dataclass(frozen=True, slots=True)
class SteerIn:
    """Add a person's line to the running run; ``turn`` as in ``Submit``."""

    turn: str
    work: Text


@dataclass(frozen=True, slots=True)
class Fail:
    """End this turn (or open steer) with ``code``: Stop, an interrupt, our own shutdown."""

    turn: str
    code: Code


@dataclass(frozen=True, slots=True)
class AbortOrphan:
    """Abort a run that is nobody's (``/stop lane``)."""


@dataclass(frozen=True, slots=True)
class AnswerDialog:
    """A person's answer to an open dialog; exactly one of the fields is set, none means cancelled."""

    dialog: str
    value: str | None = None
    confirmed: bool | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop this child; from now on nothing is written."""


@dataclass(frozen=True, slots=True)
class Read:
    """Records of one generation, in the order they were read."""

    generation: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Exited:
    """The process of one generation is gone: status, or minus the signal."""

    generation: int
    code: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The clock reached a deadline (or not: an early tick changes nothing)."""


Input = Submit | SteerIn | Fail | AbortOrphan | AnswerDialog | Stop | Read | Exited | Tick

# -- effects -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """Write these commands in one write."""

    commands: tuple[commands.Command, ...]


@dataclass(frozen=True, slots=True)
class Kill:
    """Run the stop ladder on the child."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The first answer of the child was read; ``state`` is its data."""

    state: object


@dataclass(frozen=True, slots=True)
class Sent:
    """The turn's prompt is being written."""

    turn: str


@dataclass(frozen=True, slots=True)
class Started:
    """The turn's run has started."""

    turn: str


@dataclass(frozen=True, slots=True)
class ToolOpened:
    """A tool started in the turn's run."""

    turn: str
    call: str
    tool: str
    args: object = None


@dataclass(frozen=True, slots=True)
class ToolClosed:
    """A tool of the turn's run returned, or the run ended around it."""

    turn: str
    call: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Text (or thinking) that streamed in since the last one; for the card only, never an answer."""

    turn: str
    text: str
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What one assistant message, tool or summary cost; ``turn`` "" where it is no turn's, or of one that has failed.

    The sum of these is what ``get_session_stats`` tells of a session (it adds up the same parts), but with a model, a
    moment and a turn. ``provider`` and ``model`` are "" where pi does not name them.
    """

    turn: str
    provider: str
    model: str
    usage: pi.Usage | None


@dataclass(frozen=True, slots=True)
class Retrying:
    """pi itself will ask its provider again."""

    turn: str
    attempt: int
    attempts: int
    delay: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A further answer of a turn that has already ended (BEHAVIOUR §1.16), or of a ``/command`` (§1.12)."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn's one end."""

    turn: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Released:
    """The turn has left the queue."""

    turn: str


@dataclass(frozen=True, slots=True)
class Replied:
    """The response to a ``Request``."""

    turn: str
    response: pi.Response


@dataclass(frozen=True, slots=True)
class Heard:
    """The steer's echo was seen: it joins the run of ``head`` (None: an orphan run)."""

    turn: str
    head: str | None


@dataclass(frozen=True, slots=True)
class Returned:
    """The steer did not reach the model: ``refused`` by pi, declined unwritten (``written`` False), or given back."""

    turn: str
    refused: bool = False
    written: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """An extension dialog of the turn's run waits for a person."""

    turn: str
    dialog: pi.Dialog


@dataclass(frozen=True, slots=True)
class Unasked:
    """The dialog is closed: answered, cancelled, or, with ``timed_out``, nobody answered in time."""

    dialog: str
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A one-way request of an extension (notify, status, title) in the turn's run."""

    turn: str
    dialog: pi.Dialog


@dataclass(frozen=True, slots=True)
class Wedged:
    """The child is given up; it exits next."""

    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the log: counted per ``kind``, the first of a kind is logged."""

    kind: str
    detail: str = ""
    fields: tuple[tuple[str, str], ...] = field(default=())


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
