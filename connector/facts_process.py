"""Facts of processes, ours and the children's: starts, ends, and the row of failed ones (BEHAVIOUR §6)."""

from connector.facts_base import Fact


class ChildStarted(Fact, frozen=True, tag="child-started"):
    """A child process: a start ends what of it still runs (same pid and start time, BEHAVIOUR §6)."""

    child: int
    lane: str
    pid: int
    started: str


class ChildEnded(Fact, frozen=True, tag="child-ended"):
    """The child is gone: status, or minus the signal."""

    child: int
    code: int
    expected: bool


class Up(Fact, frozen=True, tag="up"):
    """The connector started."""

    at: int
    version: str = ""


class Fell(Fact, frozen=True, tag="fell"):
    """A reason to exit with 1, recorded when it happened: wedge, exit in a turn, internal fault (BEHAVIOUR §6)."""

    at: int
    reason: str
    busy: int = 0


class Good(Fact, frozen=True, tag="good"):
    """A turn settled well: the row of failed starts is over. Recorded only when there is such a row."""

    at: int


class Down(Fact, frozen=True, tag="down"):
    """The connector ended with this code."""

    at: int
    code: int
    reason: str


class Forgiven(Fact, frozen=True, tag="forgiven"):
    """An operator forgot the row of failed starts (`reset-wedges`)."""

    at: int
