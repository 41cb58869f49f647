"""The vocabulary of a scripted child: what its provider does, and what goes wrong on the wire. Values only.

A *plan* belongs to one text (a prompt's or a steer's). Its `calls` are what the provider does when that text is the
last one in the session; the rest is what the child does around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = [
    "Act",
    "AskFirst",
    "Call",
    "CompactFirst",
    "Dialog",
    "Drop",
    "Extension",
    "Flood",
    "Grandchild",
    "Hang",
    "Hook",
    "Http",
    "Kill",
    "Lies",
    "MakeFile",
    "Notify",
    "OrphanFirst",
    "Plan",
    "Quit",
    "QuitFirst",
    "Raw",
    "Recount",
    "RefuseConnection",
    "Source",
    "Stall",
    "StopReads",
    "Text",
    "Tool",
    "Tools",
    "Unkillable",
    "WaitFirst",
]


# ---- what the provider does
@dataclass(frozen=True, slots=True)
class Text:
    """An answer in `chunks` pieces, `chunk_ms` apart, the first after `wait_ms`. `deaf`: an abort is not heard."""

    text: str
    chunks: int = 3
    chunk_ms: float = 0
    wait_ms: float = 0
    think: str = ""
    finish: str = "stop"
    usage: tuple[int, int] = (100, 10)
    deaf: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool call. `steps`: (ms since start, output so far); it ends at `ms` with exit status `code`.

    `ask` overrides how many dialogs open before it runs; `quit`: pi itself exits with this status half-way.
    `result`: what it gives at once instead of running (unknown tool, bad arguments). `structured`: bytes of output
    in its result only (one very long line).
    """

    ms: float = 0
    name: str = "bash"
    args: dict[str, Any] = field(default_factory=lambda: {"command": "true"})
    steps: tuple[tuple[float, str], ...] = ()
    code: int = 0
    ask: int | None = None
    quit: int | None = None
    result: str | None = None
    structured: int = 0
    grandchild: bool = False
    deaf: bool = False


@dataclass(frozen=True, slots=True)
class Tools:
    """An answer that calls tools, all at once, after some text."""

    tools: tuple[Tool, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Http:
    """An HTTP error. `times`: so many calls of this text fail, then it answers `then` (counted over the process).

    `reset_s`: fails until this long after its first failure, and says when that is; then it answers `then`.
    """

    status: int
    message: str = ""
    kind: str = ""
    code: str = ""
    wait_ms: float = 0
    times: int | None = None
    reset_s: float | None = None
    then: str = ""

    def text(self, message: str | None = None) -> str:
        """What pi reports as `errorMessage`."""
        parts = {"message": message or self.message, "type": self.kind, "code": self.code}
        inner = ",".join(f'"{k}":"{v}"' for k, v in parts.items() if v)
        return f"{self.status}: {{{inner}}}" if inner else f"{self.status} status code (no body)"


@dataclass(frozen=True, slots=True)
class Hang:
    """The provider reads the request and sends nothing, ever."""

    deaf: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """Headers and text, then nothing."""

    text: str
    chunks: int = 3


@dataclass(frozen=True, slots=True)
class Drop:
    """Headers and text, then the connection is closed."""

    text: str
    chunks: int = 3


@dataclass(frozen=True, slots=True)
class RefuseConnection:
    """The connection is closed without a byte."""


@dataclass(frozen=True, slots=True)
class Recount:
    """An answer made of what the child knows.

    `"dialog"`: what was chosen; `"session"`: its user texts; `"seen"`: pictures and bracketed lines of the newest one.
    """

    what: str


Call = Text | Tools | Http | Hang | Stall | Drop | RefuseConnection | Recount


# ---- what happens before the prompt's response
@dataclass(frozen=True, slots=True)
class WaitFirst:
    """An extension's input hook takes this long."""

    ms: float


@dataclass(frozen=True, slots=True)
class AskFirst:
    """An extension's input hook opens a dialog and swallows the text unless it is confirmed [x_H]."""

    title: str = "hook?"
    message: str = "x"


@dataclass(frozen=True, slots=True)
class OrphanFirst:
    """An extension starts a run of this length, and ours waits for it [x_N_slow]."""

    ms: float


@dataclass(frozen=True, slots=True)
class CompactFirst:
    """pi compacts before it answers [m_compaction_before_prompt]."""

    ms: float


@dataclass(frozen=True, slots=True)
class QuitFirst:
    """pi exits, unclean, before it has said anything."""

    code: int


Hook = WaitFirst | AskFirst | OrphanFirst | CompactFirst | QuitFirst


# ---- what happens right after the text's echo
@dataclass(frozen=True, slots=True)
class Quit:
    """pi exits."""

    code: int


@dataclass(frozen=True, slots=True)
class Kill:
    """pi dies by a signal, named without its `SIG`."""

    signal: str


@dataclass(frozen=True, slots=True)
class Flood:
    """So many bytes on standard error."""

    size: int


@dataclass(frozen=True, slots=True)
class Raw:
    """These lines on standard output, as they are."""

    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog of this method; what is answered can be told by `Recount("dialog")`.

    `choices`: so many of a select, 0 for the recorded ones; `timeout_ms`: pi itself ends it then.
    """

    method: str
    choices: int = 0
    timeout_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Notify:
    """The one-way extension requests."""


@dataclass(frozen=True, slots=True)
class Grandchild:
    """A process that holds our standard output."""

    ms: int


@dataclass(frozen=True, slots=True)
class Unkillable:
    """From now on end of input and SIGTERM change nothing."""


@dataclass(frozen=True, slots=True)
class StopReads:
    """From now on standard input is not read."""


@dataclass(frozen=True, slots=True)
class MakeFile:
    """A small file in the working folder."""

    path: str


Act = Quit | Kill | Flood | Raw | Dialog | Notify | Grandchild | Unkillable | StopReads | MakeFile


@dataclass(frozen=True, slots=True)
class Lies:
    """What is said beside the truth: ends twice, ends again later, a false settle, odd framing."""

    lost: bool = False
    doubled: bool = False
    late: str = ""  # "before" or "after" the next prompt's response
    wire: str = ""  # "half", "two" or "badutf8"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one text makes the child do."""

    calls: tuple[Call, ...] = ()
    acts: tuple[Act, ...] = ()
    hook: Hook | None = None
    refuse: str = ""
    handled: bool = False
    mute: bool = False
    stall_ms: float | None = None
    keep_steers: bool = False
    orphan_ms: float | None = None
    lies: Lies = Lies()


@dataclass(frozen=True, slots=True)
class Extension:
    """The extension that is loaded: the commands it registers and what its hooks do to tools and texts."""

    commands: tuple[tuple[str, str], ...] = ()
    confirms: tuple[tuple[str, str | None], ...] = ()  # (title, message or None for the command) before each bash
    timeout_ms: int | None = None
    signal: bool = False  # its dialogs end with the run's abort
    later_ms: float = 40
    path: str = "/home/user/ext.ts"


class Source(Protocol):
    """Who decides what the provider does."""

    def plan(self, text: str) -> Plan:
        """The plan of one text."""

    def call(self, plan: Plan, index: int) -> Call:
        """What the provider does in the `index`-th call (from 0) since that text was said."""

    def summary(self) -> Call:
        """What it does when pi asks for a summary (compaction)."""
