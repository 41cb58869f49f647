"""Why the program ends: exit codes, and the exceptions that carry one; nothing here decides when."""

from enum import IntEnum
from typing import ClassVar

from connector.findings import Finding


class ExitCode(IntEnum):
    """Exit codes of CONTRACT; the unit's numbers are held against these."""

    STOPPED = 0
    """Asked to stop, and stopped."""
    FAULT = 1
    """A child's exit or wedge, or a fault of our own: systemd starts again."""
    USAGE = 2
    """The command line was not understood."""
    REFUSED = 3
    """Starting again would not help: systemd leaves it (`RestartPreventExitStatus`)."""


class ProgramEnd(Exception):  # noqa: N818 - not always an error: it says how the program ends
    """Ends the program with `code`; `reason` is what `connector.stopped` or `connector.refused` logs."""

    code: ClassVar[ExitCode]

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Fault(ProgramEnd):
    """Something broke that a new start may mend: exit 1."""

    code = ExitCode.FAULT


class Refusal(ProgramEnd):
    """What only a person can mend: exit 3. `mend` says what to do; `findings` are the details, if any.

    `lines()` is for standard error, one line a finding; `reason` holds the same in one line for the log.
    """

    code = ExitCode.REFUSED

    def __init__(self, reason: str, mend: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(reason)
        self.mend = mend
        self.findings = findings

    @classmethod
    def of(cls, findings: tuple[Finding, ...]) -> "Refusal":
        """One refusal for all of `findings`, of which there must be at least one."""
        reason = " | ".join(finding.line() for finding in findings)
        return cls(reason, findings[0].mend, findings)

    def lines(self) -> tuple[str, ...]:
        """Return what a person reads: `error: what is wrong; what to do`."""
        if self.findings:
            return tuple(finding.line() for finding in self.findings)
        return (f"error: {self.reason}; {self.mend}",)

    def __str__(self) -> str:
        return "\n".join(self.lines())
