"""What the outbox asks for and what came of it: two unions of small frozen values; no behaviour."""

from dataclasses import dataclass

from connector import facts
from connector.ports import Controls

Told = facts.Posted | facts.Dropped | facts.CardShown | facts.CardOver | facts.DialogShown | facts.DialogOver
"""What the ledger learns."""

# -- what is to be done --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Post this part."""

    owed: facts.Owed
    part: int


@dataclass(frozen=True, slots=True)
class Look:
    """Look whether this part stands in the history behind the message `after` already."""

    owed: facts.Owed
    part: int
    after: int


@dataclass(frozen=True, slots=True)
class Show:
    """Post a card for the first time."""

    key: str
    channel: int
    content: str
    buttons: Controls
    reply_to: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the content of a card, or of a post."""

    key: str
    channel: int
    message: int
    content: str
    buttons: Controls


Action = Send | Look | Show | Edit

# -- what came of it -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stands:
    """It stands there as `message`; `parts` is how many the post has in all."""

    message: int
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Missing:
    """It does not stand in the history."""


@dataclass(frozen=True, slots=True)
class Later:
    """It may stand there or not; not before `after` nanoseconds from now."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Other:
    """Discord gave another message back: the nonce is taken."""


@dataclass(frozen=True, slots=True)
class Never:
    """Discord will not take it."""

    reason: str


Outcome = Stands | Missing | Later | Other | Never
