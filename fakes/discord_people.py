"""Who and what there is in the fake Discord, and what people say there; pressing and choosing is next door."""

from __future__ import annotations

from collections.abc import Sequence

from fakes.discord_backend import Mind
from fakes.discord_records import Person, Place, Upload
from fakes.waiting import Changes

Attachment = Upload | tuple[str, bytes] | tuple[str, bytes, str]


class People:
    """Places and people, made when first named; what they do reaches the bot over the gateway."""

    mind: Mind
    changes: Changes
    guild: Place

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}

    # ------------------------------------------------------------------ places and people

    def add_guild(self, name: str) -> Place:
        """Another guild, with the bot in it."""
        return Place(self.mind.sim.create_guild(name).id, name, None)

    def channel(self, name: str, *, guild: Place | None = None) -> Place:
        """The guild channel of this name."""
        guild_id = (guild or self.guild).id
        for channel in self.mind.sim.channels.values():
            if channel.guild_id == guild_id and channel.name == name and not channel.is_thread:
                return Place(channel.id, name, guild_id)
        return Place(self.mind.sim.create_channel(guild_id, name).id, name, guild_id)

    def dm(self, person: Person) -> Place:
        """The private channel between a person and the bot."""
        return Place(self.mind.sim.get_dm_channel(person.id).id, person.name, None)

    def place(self, channel_id: int) -> Place:
        """A channel or thread by its id; KeyError when there is none."""
        channel = self.mind.sim.channels[channel_id]
        parent = channel.parent_id if channel.is_thread else None
        return Place(channel.id, channel.name or "", channel.guild_id, parent)

    def threads(self, channel: Place) -> list[Place]:
        """The threads of a channel, oldest first."""
        found = [c for c in self.mind.sim.channels.values() if c.is_thread and c.parent_id == channel.id]
        return [self.place(thread.id) for thread in found]

    def person(self, name: str, *, roles: Sequence[int] = (), bot: bool = False, member: bool = True) -> Person:
        """The person (or other bot) of this name; `member` of the guild when first named, with these roles."""
        if name not in self._people:
            user = self.mind.sim.make_user(name, bot=bot)
            if member:
                self.mind.sim.add_member(self.guild.id, user.id, roles=roles, announce=True)
            self._people[name] = Person(user.id, name, bot)
        return self._people[name]

    def webhook(self, name: str, channel: Place) -> Person:
        """A webhook that speaks in one channel."""
        if name not in self._people:
            made = self.mind.sim.create_webhook(channel.id, name, self.mind.bot_id)
            self._people[name] = Person(made.id, name, bot=True, webhook_id=made.id)
        return self._people[name]

    def role(self, name: str, *, mentionable: bool = True) -> int:
        """A new role; its id."""
        return self.mind.make_role(self.guild.id, name, mentionable=mentionable)

    def set_roles(self, person: Person, roles: Sequence[int]) -> None:
        """The roles a member holds from now on."""
        self.mind.sim.edit_member(self.guild.id, person.id, {"role_ids": list(roles)})
        self.mind.sim.announce_member_update(self.guild.id, person.id)

    @property
    def bot_role(self) -> int:
        """The bot's own managed role in the guild."""
        return next(int(role) for role in self.mind.bot_role_ids(self.guild.id))

    def forbid(self, channel: Place, *permissions: str, person: Person | None = None) -> None:
        """Take permissions (`send_messages`, …) in a channel from a person, else from the bot."""
        self.mind.deny(channel.id, person.id if person else self.mind.bot_id, permissions)

    def delete_channel(self, channel: Place) -> None:
        """A channel or thread is deleted."""
        self.mind.sim.delete_channel(channel.id)

    def open_thread(self, person: Person, channel: Place, name: str, *, message_id: int | None = None) -> Place:
        """A person opens a thread, on a message (whose id it takes) or beside it."""
        opened = self.mind.open_thread(channel.id, name, person.id, message_id)
        return self.place(int(opened["id"]))

    def archive(self, thread: Place, *, archived: bool = True, locked: bool = False) -> None:
        """A thread is archived (and locked); speaking in one that is not locked opens it again."""
        changes = {"archived": archived, "locked": locked}
        self.mind.sim.edit_channel(thread.id, {}, thread_metadata=changes)

    # ------------------------------------------------------------------ speaking

    async def say(
        self,
        person: Person,
        channel: Place,
        text: str = "",
        *,
        mention: bool = False,
        reply_to: int | None = None,
        ping: bool = True,
        attachments: Sequence[Attachment] = (),
    ) -> int:
        """Say something; the new message's id.

        `mention` puts the bot's name in front; `reply_to` is a message id, whose author is pinged unless `ping`
        is False; an attachment is an `Upload` or `(name, bytes[, content type])`.
        """
        if mention:
            text = f"<@{self.mind.bot_id}> {text}"
        uploads = [item if isinstance(item, Upload) else Upload(*item) for item in attachments]
        stored = [self.mind.cdn.store(self.mind.sim.snowflake(), channel.id, upload) for upload in uploads]
        self.mind.unarchive(channel.id)
        return self.mind.say(
            channel.id,
            person.id,
            text,
            attachments=stored,
            reply_to=reply_to,
            ping=ping,
            webhook_id=person.webhook_id,
        )

    async def forward(self, person: Person, channel: Place, message_id: int) -> int:
        """Forward a message to a channel; the new message's id."""
        source = self.mind.where(message_id)
        reference = {"type": 1, "channel_id": str(source), "message_id": str(message_id)}
        return self.mind.sim.create_message(channel.id, person.id, reference=reference).id

    async def edit(self, message_id: int, text: str) -> None:
        """Its author changes a message's text."""
        self.mind.sim.edit_message(self.mind.where(message_id), message_id, {"content": text})

    async def link_preview(self, message_id: int) -> None:
        """Discord adds a preview to a message: a MESSAGE_UPDATE that is no edit."""
        self.mind.preview_link(self.mind.where(message_id), message_id)

    async def delete(self, message_id: int) -> None:
        """A message is deleted."""
        self.mind.sim.delete_message(self.mind.where(message_id), message_id)

    async def react(self, person: Person, message_id: int, emoji: str) -> None:
        """A person puts a reaction on a message."""
        self.mind.sim.add_reaction(self.mind.where(message_id), message_id, emoji, person.id)

    async def type(self, person: Person, channel: Place) -> None:
        """A person is seen typing."""
        event = {"channel_id": str(channel.id), "user_id": str(person.id), "timestamp": 0}
        if channel.guild_id is not None:
            event["guild_id"] = str(channel.guild_id)
        self.mind.sim.emit("TYPING_START", event)
