"""What one person sees of the fake Discord, as JSON for the page; it changes nothing."""

from __future__ import annotations

import mimetypes

from fakes.discord import FakeDiscord
from fakes.discord_payloads import SPOKEN
from fakes.discord_records import Json, Person

LIMIT = 100
"""So many messages of a place are shown, the newest ones."""

FILES = "/files"
"""Where the page has what Discord's CDN has at the root."""

_LOADING = 1 << 7
_THREAD_CREATED, _THREAD_STARTER = 18, 21
_SLASH = 2
_CALLED = {1: "/{}", 2: "{}", 3: "{}"}


def places(world: FakeDiscord, person: Person) -> list[Json]:
    """Channels with their threads, then the person's private channel with the bot; `last` is the newest message."""
    found: list[Json] = []
    channels = [c for c in world.mind.sim.channels.values() if c.guild_id is not None]
    for channel in channels:
        if channel.is_thread:
            continue
        found.append({"id": str(channel.id), "name": channel.name, "kind": "channel"})
        for thread in channels:
            if thread.is_thread and thread.parent_id == channel.id:
                closed = bool(thread.thread_metadata and thread.thread_metadata.archived)
                found.append({"id": str(thread.id), "name": thread.name, "kind": "thread", "archived": closed})
    found.append({"id": str(world.dm(person).id), "name": world.bot.name, "kind": "dm"})
    return [place | {"last": _last(world, int(place["id"]), person)} for place in found]


def _last(world: FakeDiscord, place: int, person: Person) -> str:
    for number in reversed(sorted(world.mind.sim.messages.get(place, {}))[-LIMIT:]):
        if world.mind.sim.messages[place][number].visible_to(person.id):
            return str(number)
    return "0"


def names(world: FakeDiscord) -> Json:
    """Users, channels and roles by id, for what a message mentions."""
    sim = world.mind.sim
    return {
        "users": {str(user.id): user.name for user in sim.users.values()},
        "channels": {str(c.id): c.name or world.bot.name for c in sim.channels.values()},
        "roles": {str(role.id): role.name for guild in sim.guilds.values() for role in guild.roles.values()},
    }


def commands(world: FakeDiscord) -> list[Json]:
    """Slash commands and entries of menus as they are registered; subcommands in a row, by their whole name."""
    found: list[Json] = []
    for command in world.commands:
        found += _leaves(command, command["name"], command.get("type", 1))
    return found


def _leaves(node: Json, name: str, kind: int) -> list[Json]:
    below = [option for option in node.get("options") or [] if option["type"] in {1, 2}]
    if below:
        return [leaf for one in below for leaf in _leaves(one, f"{name} {one['name']}", kind)]
    about = node.get("description") or ""
    return [{"name": name, "about": about, "kind": kind, "options": node.get("options") or []}]


def messages(world: FakeDiscord, person: Person, place: int) -> list[Json]:
    """The last messages of a place that the person may see, oldest first."""
    stored = world.mind.sim.messages.get(place, {})
    seen = [number for number in sorted(stored) if stored[number].visible_to(person.id)]
    return [message(world, person, place, number) for number in seen[-LIMIT:]]


def message(world: FakeDiscord, person: Person, place: int, number: int) -> Json:
    """One message; `mine` says what its reader may do with it."""
    payload = world.mind.message(place, number)
    stored = world.mind.sim.messages[place][number]
    author = payload["author"]
    shown: Json = {
        "id": payload["id"],
        "author": {"id": author["id"], "name": author["username"], "bot": bool(author.get("bot"))},
        "text": payload["content"],
        "at": payload["timestamp"],
        "edited": payload["edited_timestamp"] is not None,
        "mine": author["id"] == str(person.id),
        "spoken": payload["type"] in SPOKEN,
        "ephemeral": stored.is_ephemeral,
        "loading": bool(payload["flags"] & _LOADING),
        "mentioned": any(user["id"] == str(person.id) for user in payload["mentions"]),
        "components": payload["components"],
        "embeds": [{key: embed.get(key) for key in ("title", "description", "url")} for embed in payload["embeds"]],
        "files": [_file(world, file) for file in payload["attachments"]],
        "reactions": [
            {"emoji": one.emoji, "count": len(one.user_ids), "mine": person.id in one.user_ids}
            for one in stored.reactions
            if one.user_ids
        ],
    }
    if payload["type"] in {_THREAD_CREATED, _THREAD_STARTER}:
        shown["text"] = "started this thread"
    if (reference := payload.get("message_reference")) is not None:
        shown["reply"] = _reply(payload.get("referenced_message"), reference)
    if (thread := payload.get("thread")) is not None:
        shown["thread"] = {"id": thread["id"], "name": thread["name"]}
    if (metadata := stored.interaction_metadata) is not None and metadata.get("type") == _SLASH:
        name = _CALLED[metadata.get("command_type") or 1].format(metadata.get("name", ""))
        shown["used"] = {"by": metadata["user"]["username"], "name": name}
    return shown


def kind_of(name: str) -> str:
    """The type of a file by its name."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _file(world: FakeDiscord, file: Json) -> Json:
    known = {key: file.get(key) for key in ("size", "content_type", "width", "height")}
    return known | {"name": file["filename"], "url": FILES + file["url"].removeprefix(world.mind.cdn.base)}


def _reply(target: Json | None, reference: Json) -> Json:
    if target is None:
        return {"id": reference.get("message_id"), "author": "", "text": "a message that is gone"}
    text = target["content"] or ("a file" if target["attachments"] else "")
    return {"id": target["id"], "author": target["author"]["username"], "text": text[:200]}
