"""Whether places and roles of the settings are there, and the bot may do its work; asks Discord, changes nothing."""

from http import HTTPStatus
from typing import Any

from connector.discord_asked import Asking, Guild, Refused, number
from connector.findings import Finding
from connector.permissions import (
    VIEW,
    VITAL,
    Overwrite,
    Permission,
    in_channel,
    invite_link,
    lacking,
)
from connector.settings import Settings

PRIVATE = frozenset({1, 3})
"""Channel types of private messages, to which `access.channels` does not apply."""

THREADS = frozenset({10, 11, 12})
FORUMS = frozenset({15, 16})


async def place_findings(asking: Asking, settings: Settings, *, bot: int, application: int) -> list[Finding]:
    """Return what is missing in each allowed channel, else in each allowed guild, else in each the bot is in.

    Raises Refused and Unreachable for what Discord does not tell.
    """
    guilds = {guild.id: guild for guild in await asking.guilds()}
    where = str(settings.source or "")
    access = settings.access
    link = invite_link(application)
    if not guilds and not access.dms:
        return [Finding("error", "access.dms", "the bot is in no server, and private messages are off", f"open {link}")]
    if not guilds and not access.guilds:
        return [Finding("warning", "access.guilds", "the bot is in no server yet", f"open {link} to take it to yours")]
    found = [
        Finding(
            "error", "access.guilds", f"the bot is not in the server {guild}", f"open {link}, or take it out", where
        )
        for guild in sorted(access.guilds - set(guilds))
    ]
    named = [guild for guild in guilds.values() if not access.guilds or guild.id in access.guilds]
    found += await _role_findings(asking, access.roles, named, where)
    if access.channels:
        look = _Look(asking, settings, guilds, bot, where)
        for channel in sorted(access.channels):
            found += await look.channel(channel)
        return found
    for guild in named:
        missing = lacking(guild.permissions, **_uses(settings))
        found += _missing(missing, "access.guilds", f"the server {_named(guild.name, guild.id)}", where)
    return found


async def _role_findings(asking: Asking, roles: frozenset[int], guilds: list[Guild], where: str) -> list[Finding]:
    """Which allowed roles are in no allowed guild, so that nobody can hold them."""
    if not roles or not guilds:
        return []
    there = frozenset[int]().union(*[await asking.guild_roles(guild.id) for guild in guilds])
    return [
        Finding(
            "warning", "access.roles", f"no allowed server has the role {role}", "correct the id, or take it out", where
        )
        for role in sorted(roles - there)
    ]


class _Look:
    """One look at single channels; what the bot holds in a guild is asked once."""

    def __init__(self, asking: Asking, settings: Settings, guilds: dict[int, Guild], bot: int, where: str) -> None:
        self._asking, self._settings, self._guilds = asking, settings, guilds
        self._bot, self._where = bot, where
        self._roles: dict[int, tuple[int, ...]] = {}

    async def channel(self, channel: int) -> list[Finding]:
        """What is missing in one channel."""
        key = "access.channels"
        try:
            told = await self._asking.channel(channel)
            if told.get("type") in PRIVATE:
                text = f"{channel} is a private conversation, to which this list does not apply"
                return [Finding("warning", key, text, "take it out; access.dms allows those", self._where)]
            thread = told.get("type") in THREADS
            ruling = await self._asking.channel(number(told["parent_id"])) if thread and told.get("parent_id") else told
        except Refused as refused:
            return [self._unseen(channel, refused)]
        guild = self._guilds.get(number(told.get("guild_id")))
        if guild is None:
            text = f"the channel {channel} is in no server the bot is in"
            return [Finding("error", key, text, "correct the id, or take it out", self._where)]
        if guild.id not in self._roles:
            self._roles[guild.id] = await self._asking.roles(guild.id, self._bot)
        may = in_channel(
            guild.permissions,
            _overwrites(ruling.get("permission_overwrites")),
            guild=guild.id,
            roles=self._roles[guild.id],
            member=self._bot,
        )
        missing = lacking(may, thread=thread or told.get("type") in FORUMS, **_uses(self._settings))
        return _missing(missing, key, f"the channel {_named(str(told.get('name') or ''), channel)}", self._where)

    def _unseen(self, channel: int, refused: Refused) -> Finding:
        match refused.status:
            case HTTPStatus.NOT_FOUND:
                text, mend = f"there is no channel {channel}", "correct the id, or take it out"
            case HTTPStatus.FORBIDDEN:
                text = f"the bot may not see the channel {channel}: {VIEW.name} is missing"
                mend = "give it to the bot's role in that channel's permissions"
            case _:
                raise refused
        return Finding("error", "access.channels", text, mend, self._where)


def _uses(settings: Settings) -> dict[str, bool]:
    discord = settings.discord
    return {"opens_threads": discord.reply_in == "thread", "reacts": discord.reactions}


def _missing(missing: tuple[Permission, ...], key: str, place: str, where: str) -> list[Finding]:
    """One finding for all that is missing in one place: an error where it cannot be served at all."""
    if not missing:
        return []
    names = ", ".join(permission.name for permission in missing)
    text, mend = f"in {place} the bot lacks {names}: {missing[0].loss}", "give these to the bot's role there"
    if key == "access.channels" and VITAL & set(missing):
        return [Finding("error", key, text, mend, where)]
    return [Finding("warning", key, text, mend, where)]


def _named(name: str, id_: int) -> str:
    return f"{name} ({id_})" if name else str(id_)


def _overwrites(told: Any) -> list[Overwrite]:
    if not isinstance(told, list):
        return []
    return [
        Overwrite(number(one.get("id")), number(one.get("allow")), number(one.get("deny")))
        for one in told
        if isinstance(one, dict)
    ]
