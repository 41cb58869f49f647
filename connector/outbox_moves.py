"""What the outbox asks for and what came of it: two unions of small frozen values; no behaviour."""

from msgspec import Struct

from connector import facts
from connector.ports import Controls

Told = facts.Posted | facts.Dropped | facts.CardShown | facts.CardOver | facts.DialogShown | facts.DialogOver
"""What the ledger learns."""

# -- what is to be done --------------------------------------------------------------------------------------------


class Send(Struct, frozen=True):
    """Post this part."""

    owed: facts.Owed
    part: int


class Look(Struct, frozen=True):
    """Look whether this part stands in the history behind the message `after` already."""

    owed: facts.Owed
    part: int
    after: int


class Show(Struct, frozen=True):
    """Post a card for the first time."""

    key: str
    channel: int
    content: str
    buttons: Controls
    reply_to: int


class Edit(Struct, frozen=True):
    """Replace the content of a card, or of a post."""

    key: str
    channel: int
    message: int
    content: str
    buttons: Controls


class Find(Struct, frozen=True):
    """Look whether a card stands there that we may not know of: over this control, behind the message `after`."""

    key: str
    channel: int
    control: str
    after: int


Action = Send | Look | Show | Edit | Find

# -- what came of it -----------------------------------------------------------------------------------------------


class Stands(Struct, frozen=True):
    """It stands there as `message`; `parts` is how many the post has in all."""

    message: int
    parts: int = 1


class Missing(Struct, frozen=True):
    """It does not stand in the history."""


class Later(Struct, frozen=True):
    """It may stand there or not; not before `after` nanoseconds from now."""

    after: int = 0


class Other(Struct, frozen=True):
    """Discord gave another message back: the nonce is taken."""


class Never(Struct, frozen=True):
    """Discord will not take it."""

    reason: str


Outcome = Stands | Missing | Later | Other | Never
