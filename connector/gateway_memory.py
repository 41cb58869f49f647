"""What the gateway must know of earlier processes, kept as texts by somebody else; it opens nothing itself."""

from collections.abc import Callable, Mapping

import msgspec

from connector.gateway import Memory

HOUR = 3_600_000_000_000

_IDENTIFIES = "identifies"
_COMMANDS = "commands"


def remembered(kept: Mapping[str, str], keep: Callable[[str, str], None]) -> Memory:
    """The memory as it was `kept`; `keep` is told what is new. A text that cannot be read counts as none.

    `identifies` are instants in nanoseconds since the epoch; what is older than an hour is left out with the next one.
    """
    try:
        made = list(msgspec.json.decode(kept.get(_IDENTIFIES, "[]"), type=list[int]))
    except msgspec.MsgspecError:
        made = []
    registered = [kept.get(_COMMANDS, "")]

    def identified(at: int) -> None:
        made[:] = [*(one for one in made if one > at - HOUR), at]
        keep(_IDENTIFIES, msgspec.json.encode(made).decode())

    def register(digest: str) -> None:
        registered[0] = digest
        keep(_COMMANDS, digest)

    return Memory(tuple(made), identified, lambda: registered[0], register)
