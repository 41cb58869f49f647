"""What a payload leaves out and Discord is asked for: where a thread hangs, which roles a person holds."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import discord

from connector import gateway_facts as read
from connector.gateway_facts import Json
from connector.gateway_pauses import Clock
from connector.messages import Place
from connector.ports import PostNever
from engine.events import SECOND

_Channel = discord.abc.GuildChannel | discord.Thread

_KEPT = 2_000
_ROLES_NS = 60 * SECOND


class Ask(Protocol):
    """`Wire.ask`."""

    async def __call__(
        self,
        method: str,
        path: str,
        *,
        limit: float | None = None,
        read: Callable[[Any], Any] = lambda reply: reply,
        **wanted: Any,
    ) -> Any:
        """What `read` makes of the reply's JSON; raises PostLater or PostNever."""
        ...


class Lookups:
    """Places and roles: from the client's cache where they stand there, else asked for once and kept a while.

    `roles` are those that give access and `guilds` the allowed ones: for a private message only guilds that are
    allowed and have one of these roles are asked, none where no role gives access (CONTRACT, `access.roles`).
    """

    def __init__(
        self,
        client: Callable[[], discord.Client | None],
        ask: Ask,
        clock: Clock,
        *,
        roles: frozenset[int],
        guilds: frozenset[int],
    ) -> None:
        self._client, self._ask, self._clock = client, ask, clock
        self._roles, self._guilds = roles, guilds
        self._places: OrderedDict[int, Place] = OrderedDict()
        self._held: OrderedDict[tuple[int, int], tuple[int, frozenset[int]]] = OrderedDict()

    # -- places ------------------------------------------------------------------------------------------------

    def known(self, channel: int, guild: int | None) -> Place | None:
        """The place of an event, if no question is needed; `guild` None means a private channel."""
        if guild is None:
            return Place(channel, "private", kind="private")
        return self._cached(channel) or self._places.get(channel)

    async def place(self, channel: int) -> Place:
        """The place of a channel id, asked for where it is not known."""
        return self._cached(channel) or self._places.get(channel) or await self._asked_place(channel)

    async def event_place(self, channel: int, guild: int | None) -> Place:
        """The place of an event; one that Discord will not describe is an unknown channel of its guild."""
        try:
            return self.known(channel, guild) or await self.place(channel)
        except PostNever:
            # Without its parent no list of channels admits it, and without such a list it needs none.
            return Place(channel, "", guild)

    async def _asked_place(self, channel: int) -> Place:
        found: Place = await self._ask("GET", "/channels/{channel_id}", channel_id=channel, read=self.learn)
        return found

    def learn(self, channel: Json) -> Place:
        """Remember a channel payload."""
        place = read.place(channel, us=self._us())
        self._places[place.channel] = place
        while len(self._places) > _KEPT:
            self._places.popitem(last=False)
        return place

    def forget(self) -> None:
        """A new session: names and rights may have changed meanwhile."""
        self._places.clear()
        self._held.clear()

    def all(self) -> Iterator[Place]:
        """Every guild channel with messages that we may read, and every active thread."""
        client = self._client()
        for guild in client.guilds if client is not None else ():
            # The bot is the one member that is always cached, but for a guild that is not available now.
            if guild.get_member(self._us()) is None:
                continue
            spoken: list[_Channel] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels]
            for channel in (*spoken, *guild.threads):
                rights = channel.permissions_for(guild.me)
                if rights.view_channel and rights.read_message_history:
                    yield self._place(channel)

    def managed_role(self, guild: int | None) -> int | None:
        """The role that Discord made for us in a guild."""
        client = self._client()
        found = client.get_guild(guild) if client is not None and guild is not None else None
        role = found.self_role if found is not None else None
        return role.id if role is not None else None

    def _cached(self, channel: int) -> Place | None:
        client = self._client()
        found = client.get_channel(channel) if client is not None else None
        return self._place(found) if isinstance(found, (discord.abc.GuildChannel, discord.Thread)) else None

    def _place(self, channel: _Channel) -> Place:
        if isinstance(channel, discord.Thread):
            ours = channel.owner_id == self._us()
            return Place(channel.id, channel.name, channel.guild.id, channel.parent_id, kind="thread", ours=ours)
        return Place(channel.id, channel.name, channel.guild.id)

    def _us(self) -> int:
        client = self._client()
        return client.user.id if client is not None and client.user is not None else 0

    # -- roles -------------------------------------------------------------------------------------------------

    def roles_known(self, user: int, guild: int | None, member: Json | None) -> frozenset[int] | None:
        """The roles of an event's author, if no question is needed."""
        if guild is not None and member is not None:
            return read.member_roles(member, guild)
        found = [self._fresh(user, one) for one in self._asked(guild)]
        known = [roles for roles in found if roles is not None]
        return frozenset().union(*known) if len(known) == len(found) else None

    async def roles(self, user: int, guild: int | None, member: Json | None = None) -> frozenset[int]:
        """The roles a person holds where he wrote; for a private channel (`guild` None) in the allowed guilds."""
        known = self.roles_known(user, guild, member)
        if known is not None:
            return known
        return frozenset().union(*[await self._member(user, one) for one in self._asked(guild)])

    def _asked(self, guild: int | None) -> list[int]:
        if not self._roles:
            return []
        if guild is not None:
            return [guild]
        client = self._client()
        shared = client.guilds if client is not None else ()
        return [one.id for one in shared if self._may_give(one)]

    def _may_give(self, guild: discord.Guild) -> bool:
        if self._guilds and guild.id not in self._guilds:
            return False
        return any(guild.get_role(role) is not None for role in self._roles)

    def _fresh(self, user: int, guild: int) -> frozenset[int] | None:
        kept = self._held.get((user, guild))
        return kept[1] if kept is not None and self._clock.now_ns() - kept[0] < _ROLES_NS else None

    async def _member(self, user: int, guild: int) -> frozenset[int]:
        known = self._fresh(user, guild)
        if known is not None:
            return known
        try:
            held: frozenset[int] = await self._ask(
                "GET",
                "/guilds/{guild_id}/members/{user_id}",
                guild_id=guild,
                user_id=user,
                read=lambda member: read.member_roles(member, guild),
            )
        except PostNever:
            held = frozenset()  # no member there
        self._held[user, guild] = (self._clock.now_ns(), held)
        while len(self._held) > _KEPT:
            self._held.popitem(last=False)
        return held
