"""Discord's own payloads as plain facts; pure, it asks nobody: what a payload does not hold comes as an argument.

Payloads are read, not discord.py's objects: one reading serves the gateway and the history, and a key that is missing
where we do not look breaks nothing.
"""

from collections.abc import Mapping
from typing import Any

from connector.gateway_values import count, maybe_snowflake, snowflake, text
from connector.messages import Attachment, Author, Forward, Message, Place, Reply

Json = Mapping[str, Any]

MALFORMED = (KeyError, TypeError, ValueError, AttributeError)
"""What reading a payload raises that is not as Discord says."""

_EPOCH_MS = 1_420_070_400_000
_SPOKEN = frozenset({0, 19, 20, 23})
_FORWARD = 1
_THREADS = frozenset({10, 11, 12})
_PRIVATE = frozenset({1, 3})
_SEND, _SEND_IN_THREADS = 1 << 11, 1 << 38
_ADMINISTRATOR = 1 << 3


def sent_at_ns(snowflake: int) -> int:
    """When a snowflake was made, in nanoseconds since the epoch, by Discord's clock."""
    return ((snowflake >> 22) + _EPOCH_MS) * 1_000_000


def spoken(data: Json) -> bool:
    """Whether somebody said it: Discord's own lines (joins, pins, renamed threads) are no messages to us."""
    return data["type"] in _SPOKEN


def author(data: Json, *, us: int, roles: frozenset[int] = frozenset()) -> Author:
    """Who wrote a message payload; a webhook is known by its own id, our own answers to interactions by ours."""
    user = data["author"]
    webhook = data.get("webhook_id")
    if webhook is not None and snowflake(user["id"]) != us:
        return Author(snowflake(webhook), text(user.get("username") or ""), bot=True, webhook=True)
    return person(user, data.get("member"), roles=roles)


def person(user: Json, member: Json | None = None, *, roles: frozenset[int] = frozenset()) -> Author:
    """A user payload as an author, under the name the guild knows him by."""
    name = (member or {}).get("nick") or user.get("global_name") or user.get("username") or ""
    return Author(snowflake(user["id"]), text(name), bot=bool(user.get("bot", False)), roles=roles)


def member_roles(member: Json, guild: int) -> frozenset[int]:
    """The roles of a member payload; everybody holds the guild's own, whose id is the guild's."""
    return frozenset({guild, *map(snowflake, member.get("roles", ()))})


def message(data: Json, place: Place, *, us: int, roles: frozenset[int] = frozenset()) -> Message:
    """A message payload, of an event or of the history, as a fact. One of `MALFORMED`: the payload is."""
    number = snowflake(data["id"])
    return Message(
        id=number,
        place=place,
        author=author(data, us=us, roles=roles),
        text=text(data["content"]),
        mentions=frozenset(snowflake(user["id"]) for user in data.get("mentions", ())),
        role_mentions=frozenset(map(snowflake, data.get("mention_roles", ()))),
        everyone=bool(data.get("mention_everyone", False)),
        reply=_reply(data, us),
        forwards=_forwards(data),
        attachments=_attachments(data),
        sent_at_ns=sent_at_ns(number),
    )


def referred(data: Json) -> int | None:
    """The id of the message that a message payload replies to."""
    reference = data.get("message_reference") or {}
    found = reference.get("message_id")
    return None if found is None or reference.get("type", 0) == _FORWARD else snowflake(found)


def controls(data: Json) -> list[str]:
    """The `custom_id`s of the controls under a message; what is malformed among them is none."""
    rows = data.get("components")
    found = [row.get("components") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    shown = [one for row in found if isinstance(row, list) for one in row if isinstance(one, Mapping)]
    return [str(one.get("custom_id", "")) for one in shown]


def place(data: Json, *, us: int) -> Place:
    """A channel payload as a place."""
    number, kind = snowflake(data["id"]), data["type"]
    if kind in _PRIVATE:
        return Place(number, "private", kind="private")
    guild, name = maybe_snowflake(data.get("guild_id")), text(data.get("name") or "")
    if kind in _THREADS:
        ours = maybe_snowflake(data.get("owner_id")) == us
        return Place(number, name, guild, maybe_snowflake(data.get("parent_id")), kind="thread", ours=ours)
    return Place(number, name, guild)


def can_write(member: Json | None, place: Place) -> bool:
    """Whether Discord lets a person write in a place, by the permissions that an interaction carries."""
    if member is None or "permissions" not in member:
        return True
    needed = _SEND_IN_THREADS if place.kind == "thread" else _SEND
    return bool(int(text(member["permissions"])) & (needed | _ADMINISTRATOR))


def _reply(data: Json, us: int) -> Reply | None:
    """What is replied to; a deleted message says nothing of its author, so it is none."""
    target = data.get("referenced_message")
    if referred(data) is None or not target:
        return None
    who = author(target, us=us)
    said = text(target.get("content") or "\n".join(forward.text for forward in _forwards(target)))
    return Reply(snowflake(target["id"]), who.id, who.name, said, to_us=who.id == us)


def _forwards(data: Json) -> tuple[Forward, ...]:
    snapshots = (snapshot["message"] for snapshot in data.get("message_snapshots") or ())
    return tuple(Forward(text(inner.get("content") or ""), _attachments(inner)) for inner in snapshots)


def _attachments(data: Json) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            snowflake(one["id"]),
            text(one["filename"]),
            count(one["size"]),
            text(one.get("content_type") or "") or None,
            text(one["url"]),
        )
        for one in data.get("attachments") or ()
    )
