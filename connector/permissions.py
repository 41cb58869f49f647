"""Which of Discord's permissions the bot needs, what it may do in a channel, and its invite link; pure."""

from collections.abc import Collection, Iterable
from urllib.parse import urlencode

from msgspec import Struct

ADMINISTRATOR = 1 << 3
INVITE = "https://discord.com/oauth2/authorize"
SCOPES = "bot applications.commands"
EVERYTHING = (1 << 53) - 1
"""More bits than Discord has given out."""


class Permission(Struct, frozen=True):
    """One permission, by the name Discord's client shows, and what is missing without it, in words."""

    name: str
    bit: int
    loss: str


VIEW = Permission("View Channels", 1 << 10, "nothing is heard there")
SEND = Permission("Send Messages", 1 << 11, "nothing can be answered there")
IN_THREADS = Permission("Send Messages in Threads", 1 << 38, "nothing can be answered in threads")
THREADS = Permission("Create Public Threads", 1 << 35, "answers stay in the channel")
HISTORY = Permission("Read Message History", 1 << 16, "messages sent while the connector is away are missed")
REACTIONS = Permission("Add Reactions", 1 << 6, "an accepted message gets no sign")
FILES = Permission("Attach Files", 1 << 15, "a long answer is cut")
EMBEDS = Permission("Embed Links", 1 << 14, "links in answers show no preview")

NEEDED = (VIEW, SEND, IN_THREADS, THREADS, HISTORY, REACTIONS, FILES, EMBEDS)
VITAL = frozenset({VIEW, SEND, IN_THREADS})
"""Without one of these a place cannot be served; the others cost something there."""

_IN_CHANNEL_ONLY = frozenset({SEND, THREADS})


class Overwrite(Struct, frozen=True):
    """What a channel gives to (`allow`) and takes from (`deny`) a role or a member."""

    id: int
    allow: int
    deny: int


def invite_integer() -> int:
    """Return the permissions of the invite link as the one number Discord takes."""
    return sum(permission.bit for permission in NEEDED)


def invite_link(application: int | str) -> str:
    """Return the address that asks whoever opens it for a server to take the bot to. `application`: its id."""
    query = {"client_id": str(application), "permissions": str(invite_integer()), "scope": SCOPES}
    return f"{INVITE}?{urlencode(query)}"


def in_channel(base: int, overwrites: Iterable[Overwrite], *, guild: int, roles: Collection[int], member: int) -> int:
    """Return what a member may do in a channel: `base` is what his roles give him in the whole guild.

    The channel's word for everyone (whose role has the guild's id) comes first, then that for his roles together, then
    that for himself; each takes before it gives. An administrator may do everything.
    """
    if base & ADMINISTRATOR:
        return EVERYTHING
    by_id = {overwrite.id: overwrite for overwrite in overwrites}
    groups = ([guild], [role for role in roles if role != guild], [member])
    for group in groups:
        words = [by_id[one] for one in group if one in by_id]
        taken = given = 0
        for word in words:
            taken, given = taken | word.deny, given | word.allow
        base = (base & ~taken) | given
    return base


def lacking(
    permissions: int, *, thread: bool = False, opens_threads: bool = True, reacts: bool = True
) -> tuple[Permission, ...]:
    """Return the needed permissions that are not among `permissions`.

    `thread`: the place is a thread itself or holds nothing else (a forum), where Send Messages and Create Public
    Threads do not count. `opens_threads` and `reacts` say whether the settings make use of these two.
    """
    if permissions & ADMINISTRATOR:
        return ()
    unused = set(_IN_CHANNEL_ONLY) if thread else set()
    unused |= set() if opens_threads else {THREADS}
    unused |= set() if reacts else {REACTIONS}
    return tuple(one for one in NEEDED if one not in unused and not permissions & one.bit)
