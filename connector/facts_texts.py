"""Facts of messages that their authors change or take back when it is too late for the turn (CONTRACT, Trust)."""

from connector.facts_base import Fact


class Late(Fact, frozen=True, tag="late"):
    """The one sign was given that a change came too late: the turn goes on with what it was asked."""

    round: str


class Unsaid(Fact, frozen=True, tag="unsaid"):
    """The round's message was deleted when its turn had begun: the turn goes on, its texts go when it is over."""

    round: str


class Erased(Fact, frozen=True, tag="erased"):
    """The message was deleted: the ledger keeps no text of any of its rounds that is over (CONTRACT, Trust)."""

    message: int
