"""The ledger's facts about files that came with messages; plain values, no path and no byte of a file among them."""

from msgspec import Struct

from connector.facts_base import Fact


class File(Struct, frozen=True, omit_defaults=True):
    """One file of a message as Discord described it when the message was claimed; `size` in bytes, not believed.

    `forwarded`: it belongs to a message that was forwarded with this one. `url` may have expired since.
    """

    id: int
    name: str
    size: int
    type: str = ""
    url: str = ""
    forwarded: bool = False


class Fetched(Fact, frozen=True, tag="fetched"):
    """What became of a round's files: `lines` tell the child, one each; `pictures` are names in the lane's inbox.

    A later one takes the place of an earlier one: a file may be gone from the inbox, or be there at last.
    """

    round: str
    lines: tuple[str, ...]
    pictures: tuple[str, ...] = ()
