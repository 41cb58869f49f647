"""The one place that knows simcord's inside: its world, payloads and rules, as the fake Discord needs them."""

from __future__ import annotations

import copy
import functools
import operator
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import discord
from simcord import intents as sim_intents
from simcord import interactions as sim_interactions
from simcord._clock import Clock
from simcord.backend import Backend, serializers
from simcord.backend.access import channel_accessible
from simcord.backend.errors import BackendError
from simcord.backend.models import AllowedMentions, Interaction, Message, Overwrite, Role
from simcord.backend.permissions import flag
from simcord.enums import MessageType, OverwriteType
from simcord.http import RouteNotImplemented, UnsupportedField
from simcord.http import dispatch as sim_dispatch
from simcord.http.router import _ROUTES

from fakes.discord_cdn import LoopbackCdn, UploadedFile
from fakes.discord_payloads import SPOKEN, Facts, application, mend, with_member_mentions
from fakes.discord_records import Json

Record = Interaction
"""One interaction, in which the bot's answer appears."""
Publish = Callable[[str, Json], None]

OWN_ROUTES = {
    ("GET", "/gateway"),
    ("GET", "/gateway/bot"),
    ("GET", "/users/@me"),
    ("GET", "/applications/@me"),
    ("GET", "/oauth2/applications/@me"),
    ("GET", "/users/@me/guilds"),
}
"""Routes simcord has not, or has without what clients read in them."""


def routes() -> list[tuple[str, str]]:
    """Method and template of every route that is served."""
    simcords = [(method, "/" + "/".join(parts)) for method, found in _ROUTES.items() for parts, _ in found]
    return sorted({*OWN_ROUTES, *simcords})


class WallClock(Clock):
    """UTC of this machine, monotonic, and `advance`d by tests that need time to have passed."""

    def __init__(self) -> None:
        super().__init__()
        self._offset = time.time_ns() - time.monotonic_ns()

    def now(self) -> datetime:
        """The instant, aware."""
        return datetime.fromtimestamp(self.ns() / 1e9, UTC)

    def ns(self) -> int:
        """The same in nanoseconds since the epoch."""
        return time.monotonic_ns() + self._offset + int(self.elapsed * 1e9)


NOT_MODELLED = (RouteNotImplemented, UnsupportedField)
"""Raised for a request simcord has no answer to."""
Refused = BackendError
"""Raised for a request Discord refuses: `status`, `code`, `message`, `errors`."""


class Sim:
    """A world of guilds, people and messages, and what each event and object looks like on the wire."""

    def __init__(self, *, base: str, bot_name: str, intents_allowed: bool) -> None:
        self.clock = WallClock()
        self.sim = Backend(clock=self.clock)
        self.cdn = LoopbackCdn(base)
        self.sim.cdn = self.cdn  # type: ignore[assignment]  # the same methods; its own base has another host
        self.sim.bot_user.name = bot_name
        self.intents_allowed = intents_allowed
        self.sent: dict[int, Json] = {}
        """The body each message of the bot was posted with, by message id."""
        self.publish: Publish = lambda _event, _payload: None
        self._posting: Json | None = None
        self._facts = Facts(
            str(self.sim.bot_user.id), self._all_bot_role_ids, self._thread_of, self._pressed, self.cdn.signed
        )
        self.sim.subscribers.append(self._heard)

    @property
    def bot_id(self) -> int:
        """The bot's user id."""
        return self.sim.bot_user.id

    def bot_role_ids(self, guild_id: int) -> set[str]:
        """The bot's own managed role in a guild (none when it is not there)."""
        guild = self.sim.guilds[guild_id]
        member = guild.members.get(self.bot_id)
        return {str(r) for r in (member.role_ids if member else []) if guild.roles[r].managed}

    def _all_bot_role_ids(self) -> set[str]:
        return {role for guild_id in self.sim.guilds for role in self.bot_role_ids(guild_id)}

    def _thread_of(self, message_id: str) -> Json | None:
        thread = self.sim.channels.get(int(message_id))
        if thread is None or not thread.is_thread:
            return None
        return dict(serializers.thread_payload(self.sim, thread))

    def _pressed(self, interaction_id: str) -> str | None:
        record = self.sim.interactions.get(int(interaction_id))
        return str(record.source_message_id) if record and record.source_message_id else None

    # ------------------------------------------------------------------ events

    def _heard(self, event: str, payload: Mapping[str, Any]) -> None:
        self.sim.transcript.clear()
        place = int(payload.get("channel_id") or 0)
        if place in self.sim.channels and event != "INTERACTION_CREATE" and not self.accessible(place):
            return
        out = mend(dict(payload), self._facts)
        if event == "MESSAGE_CREATE":
            out = self._message_event(out)
        elif event == "TYPING_START":
            out["timestamp"] = int(self.clock.now().timestamp())
        self.publish(event, out)

    def _message_event(self, out: Json) -> Json:
        if self._posting is not None and out["author"]["id"] == str(self.bot_id) and out["type"] in SPOKEN:
            self.sent[int(out["id"])] = self._posting
            if self._posting.get("nonce") is not None:
                out["nonce"] = self._posting["nonce"]
        guild = self.sim.guilds.get(int(out.get("guild_id") or 0))

        def member(user_id: str) -> Json | None:
            if guild is None or int(user_id) not in guild.members:
                return None
            found = serializers.member_payload(self.sim, guild, guild.members[int(user_id)], with_user=False)
            return dict(mend(dict(found), self._facts))

        return with_member_mentions(out, member)

    def shape(self, event: str, payload: Json, intents: int) -> Json | None:
        """The event as a session with these intents gets it, or None where it gets none."""
        wanted = discord.Intents.none()
        wanted.value = intents
        gate = sim_intents.required_intent(event, payload)
        if gate is not None and not getattr(wanted, gate):
            return None
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):  # discord.js hears no private message without it
            kind = self.sim.channels[int(payload["channel_id"])].type
            payload = {**payload, "channel_type": int(kind)}
        if wanted.message_content and event != "GUILD_CREATE":
            return payload
        out = copy.deepcopy(payload)
        if event == "GUILD_CREATE":
            sim_intents.prune_guild_create(out, wanted, self.bot_id)
        elif event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            sim_intents.censor_message(out, self.bot_id, backend=self.sim)
        return out

    def guild_creates(self) -> list[Json]:
        """A GUILD_CREATE for each guild, archived threads left out."""
        found: list[Json] = []
        for guild in self.sim.guilds.values():
            payload = dict(serializers.guild_create_payload(self.sim, guild))
            active = self.sim.active_threads(guild.id)
            payload["threads"] = [serializers.thread_payload(self.sim, t) for t in active]
            found.append(mend(payload, self._facts))
        return found

    def members_chunk(self, wanted: Json) -> Json:
        """The GUILD_MEMBERS_CHUNK that answers an op 8 (one chunk; guilds here are small)."""
        guild = self.sim.guilds[int(wanted["guild_id"])]
        ids = wanted.get("user_ids")
        asked = {int(i) for i in (ids if isinstance(ids, list) else [ids])} if ids else None
        query = (wanted.get("query") or "").lower()
        members = [
            serializers.member_payload(self.sim, guild, member)
            for member in guild.members.values()
            if (asked is None or member.user_id in asked)
            and self.sim.users[member.user_id].name.lower().startswith(query)
        ]
        limit = wanted.get("limit") or None
        chunk: Json = {"guild_id": str(guild.id), "members": members[:limit], "chunk_index": 0, "chunk_count": 1}
        if asked is not None:
            chunk["not_found"] = [str(i) for i in asked - set(guild.members)]
        if wanted.get("nonce"):
            chunk["nonce"] = wanted["nonce"]
        out: Json = mend(chunk, self._facts)
        return out

    def user(self, user_id: int) -> Json:
        """A user as others see it."""
        out: Json = mend(dict(serializers.user_payload(self.sim.get_user(user_id))), self._facts)
        return out

    def me(self) -> Json:
        """The bot as it sees itself."""
        private = {"verified": True, "mfa_enabled": True, "locale": "en-US", "email": None}
        return self.user(self.bot_id) | private

    def application(self) -> Json:
        """The bot's application."""
        owner = next((g.owner_id for g in self.sim.guilds.values()), self.bot_id)
        return application(
            self.sim.application_id,
            self.user(self.bot_id),
            intents_allowed=self.intents_allowed,
            owner=self.user(owner),
        )

    def my_guilds(self, after: int, limit: int) -> list[Json]:
        """The guilds the bot is in, by id, with what its roles give it there."""
        found = []
        for guild in sorted(self.sim.guilds.values(), key=lambda one: one.id):
            if guild.id > after and self.bot_id in guild.members:
                bits = self.sim.compute_permissions(guild.id, self.bot_id)
                told = {"id": str(guild.id), "name": guild.name, "owner": guild.owner_id == self.bot_id}
                found.append(told | {"icon": None, "banner": None, "permissions": str(bits), "features": []})
        return found[:limit]

    def message(self, channel_id: int, message_id: int) -> Json:
        """A message as the API shows it now."""
        found = self.sim.get_message(channel_id, message_id)
        out: Json = mend(dict(serializers.message_payload(self.sim, found)), self._facts)
        return out

    def dispatch(
        self, method: str, path: str, *, query: dict[str, str], body: Any, files: list[UploadedFile], posting: Any
    ) -> Any:
        """Hand a request to simcord; `posting` is the body that what it posts is remembered with."""
        self._posting = posting if isinstance(posting, dict) else {}
        try:
            return sim_dispatch(self.sim, method, path, json=body, params=query, files=list(files))
        finally:
            self._posting = None
            self.sim.http_requests.clear()
            self.sim.transcript.clear()

    def accessible(self, channel_id: int) -> bool:
        """Whether the bot may see a channel."""
        return channel_accessible(self.sim, channel_id, self.bot_id)

    def route_of(self, method: str, path: str) -> str | None:
        """The template a request belongs to, or None; the most literal one wins."""
        if (method, path) in OWN_ROUTES:
            return path
        segments = path.strip("/").split("/")
        best: tuple[int, str] | None = None
        for template, _ in _ROUTES.get(method, ()):
            if len(template) != len(segments):
                continue
            pairs = list(zip(template, segments, strict=True))
            if all(part.startswith("{") or part == segment for part, segment in pairs):
                literal = sum(part == segment for part, segment in pairs)
                if best is None or literal > best[0]:
                    best = literal, "/" + "/".join(template)
        return best[1] if best else None

    def open_thread(self, channel_id: int, name: str, owner_id: int, message_id: int | None) -> Json:
        """A thread on a message (whose id it takes) or beside it; announced as Discord does."""
        if message_id is None:
            thread = self.sim.create_thread(channel_id, name, owner_id)
            return dict(serializers.thread_payload(self.sim, thread))
        thread = self.sim.create_thread(channel_id, name, owner_id, message_id=message_id, broadcast=False)
        self.sim.announce_thread_create(thread)
        self.sim.emit("MESSAGE_UPDATE", self.message(channel_id, message_id))
        starter = Message(
            id=self.sim.snowflake(),
            channel_id=thread.id,
            author_id=owner_id,
            timestamp=self.sim.now_iso(),
            type=int(MessageType.THREAD_STARTER_MESSAGE),
            reference={"type": 0, "channel_id": str(channel_id), "message_id": str(message_id)},
        )
        self.sim.commit_message(starter)
        return dict(serializers.thread_payload(self.sim, thread))

    # ------------------------------------------------------------------ what people do

    def where(self, message_id: int) -> int:
        """The channel of a message; LookupError when there is none."""
        for channel_id, messages in self.sim.messages.items():
            if message_id in messages:
                return channel_id
        raise LookupError(f"no message {message_id}")

    def say(
        self,
        channel_id: int,
        author_id: int,
        text: str,
        *,
        attachments: list[Json],
        reply_to: int | None,
        ping: bool,
        webhook_id: int | None,
    ) -> int:
        """Store and announce a message of somebody other than the bot; its id."""
        reference = {"channel_id": str(channel_id), "message_id": str(reply_to)} if reply_to else None
        return self.sim.create_message(
            channel_id,
            author_id,
            text,
            attachments=attachments,
            reference=reference,
            allowed_mentions=AllowedMentions(replied_user=ping),
            webhook_id=webhook_id,
        ).id

    def preview_link(self, channel_id: int, message_id: int) -> None:
        """Add an embed to a message as Discord's own crawler does."""
        found = self.sim.get_message(channel_id, message_id)
        found.embeds.append({"type": "link", "url": "https://example.org/", "title": "Example"})
        self.sim.emit("MESSAGE_UPDATE", dict(serializers.message_payload(self.sim, found)))

    def unarchive(self, channel_id: int) -> None:
        """Speaking in an archived thread that is not locked opens it again."""
        meta = self.sim.channels[channel_id].thread_metadata
        if meta is not None and meta.archived and not meta.locked:
            self.sim.edit_channel(channel_id, {}, thread_metadata={"archived": False})

    def make_role(self, guild_id: int, name: str, *, mentionable: bool) -> int:
        """A new role without permissions; its id."""
        guild = self.sim.guilds[guild_id]
        role = Role(self.sim.snowflake(), name, position=len(guild.roles), mentionable=mentionable)
        guild.roles[role.id] = role
        payload = {"guild_id": str(guild_id), "role": serializers.role_payload(role)}
        self.sim.emit("GUILD_ROLE_CREATE", payload)
        return role.id

    def deny(self, channel_id: int, user_id: int, permissions: Iterable[str]) -> None:
        """Take permissions in a channel from one member."""
        bits = functools.reduce(operator.or_, map(flag, permissions), 0)
        self.sim.set_overwrite(channel_id, Overwrite(user_id, OverwriteType.MEMBER, deny=bits))

    # ------------------------------------------------------------------ interactions

    def interact(
        self, kind: int, channel_id: int, user_id: int, data: Json, *, message_id: int | None = None
    ) -> Record:
        """Dispatch an INTERACTION_CREATE and give its record, in which the bot's answer appears."""
        channel = self.sim.get_channel(channel_id)
        record, payload = sim_interactions.base_payload(
            self.sim, type=kind, channel_id=channel_id, guild_id=channel.guild_id, user_id=user_id, data=data
        )
        if message_id is not None:
            record.source_message_id = message_id
            payload["message"] = self.message(channel_id, message_id)
        self.sim.emit("INTERACTION_CREATE", payload)
        return record

    def command_options(
        self, path: list[str], root: Json, values: Mapping[str, Any], focused: str | None
    ) -> list[Json]:
        """The wire `options` of a command (its subcommands in `path`); LookupError names what is not there."""
        leaf, nesting = sim_interactions.walk_to_subcommand(root, path)
        declared = {option["name"]: option for option in leaf.get("options") or []}
        built: list[Json] = []
        for name, value in values.items():
            if name not in declared:
                raise LookupError(f"/{root['name']} has no option {name!r}, only {sorted(declared)}")
            if name != focused:
                sim_interactions.validate_option_value(root["name"], declared[name], value)
            option: Json = {"name": name, "type": declared[name]["type"], "value": value}
            built.append(option | ({"focused": True} if name == focused else {}))
        missing = [n for n, o in declared.items() if o.get("required") and n not in values]
        if missing and focused is None:
            raise LookupError(f"/{root['name']} requires {missing}")
        return sim_interactions.nest_options(root, nesting, built)

    def ready(self) -> Json:
        """READY, its session left to the gateway."""
        guilds = [{"id": str(guild_id), "unavailable": True} for guild_id in self.sim.guilds]
        app = self.application()
        return {
            "v": 10,
            "user": self.me(),
            "guilds": guilds,
            "application": {"id": app["id"], "flags": app["flags"]},
            "private_channels": [],
            "presences": [],
        }

    def advance(self, seconds: float) -> None:
        """Let time pass: interactions expire and nonces are forgotten."""
        self.clock.advance(seconds)
