"""What the fake child wants done: plain values for a shell to perform in order; it may not perform anything itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "Append",
    "Create",
    "Die",
    "Effect",
    "EndTool",
    "Exit",
    "Heard",
    "HoldStdout",
    "ResumeReading",
    "StartTool",
    "Stderr",
    "StopReading",
    "Write",
]


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes for standard output in one write; `names` are the records that begin in it."""

    data: bytes
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stderr:
    """Bytes for standard error."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Exit:
    """End the process with this status; its tools are killed first when `clean` (PROTOCOL §10)."""

    code: int
    clean: bool = True


@dataclass(frozen=True, slots=True)
class Die:
    """Die by this signal (`"KILL"`); tools are left running."""

    signal: str


@dataclass(frozen=True, slots=True)
class StartTool:
    """Start a real process for a tool, in a session of its own, that lives `ms` at most.

    `leaves_ms`: it starts a process itself, in another session of its own, that lives so long; nobody ends that one.
    """

    key: str
    ms: int
    leaves_ms: int = 0


@dataclass(frozen=True, slots=True)
class EndTool:
    """Kill that tool's process group and reap it; unknown keys are nothing."""

    key: str


@dataclass(frozen=True, slots=True)
class HoldStdout:
    """Start a process that holds our standard output for so long; nobody ends it."""

    ms: int


@dataclass(frozen=True, slots=True)
class StopReading:
    """Leave standard input alone until told otherwise."""


@dataclass(frozen=True, slots=True)
class ResumeReading:
    """Read standard input again."""


@dataclass(frozen=True, slots=True)
class Append:
    """Append to a session file, making its folders."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Create:
    """Write a file of the working folder, unless it is there."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Heard:
    """A command was read (for logs and counts; nothing to do)."""

    command: dict[str, Any]


Effect = (
    Append
    | Create
    | Die
    | EndTool
    | Exit
    | Heard
    | ResumeReading
    | HoldStdout
    | StartTool
    | Stderr
    | StopReading
    | Write
)
