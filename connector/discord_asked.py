"""Questions of `check` and `init` to Discord, over REST; nothing is changed there, and no gateway opened."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from importlib import metadata
from types import TracebackType
from typing import Any, Self

import aiohttp

from connector.distribution import DISTRIBUTION
from connector.token import Secret

BOUND = 30.0
"""Seconds for one question."""

GUILDS = 200
"""The most that one question for the bot's guilds answers with."""


class Refused(Exception):  # noqa: N818 - a state of the world
    """Discord answered with another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Unreachable(Exception):  # noqa: N818 - a state of the world
    """Discord did not answer, or not as an API does; `str()` names the kind of failure, never an address."""


@dataclass(frozen=True, slots=True)
class Application:
    """The bot's application: its ids and name, its owner first among `owners`, and its flags."""

    id: int
    name: str
    flags: int
    owners: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Guild:
    """A guild the bot is in, and what its roles let it do there."""

    id: int
    name: str
    permissions: int


@dataclass(slots=True)
class Asking:
    """A way to ask, as an async context. `ahead` is how many seconds this machine's clock is before Discord's."""

    api_base: str
    secret: Secret
    ahead: float | None = None
    _session: aiohttp.ClientSession = field(init=False, repr=False)

    async def __aenter__(self) -> Self:
        headers = {
            "Authorization": f"Bot {self.secret.reveal()}",
            "User-Agent": f"DiscordBot ({DISTRIBUTION}, {metadata.version(DISTRIBUTION)})",
        }
        self._session = aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=BOUND))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def me(self) -> tuple[int, str]:
        """The bot's user id and name."""
        return _id(told := await self._object("/users/@me")), str(told.get("username", ""))

    async def application(self) -> Application:
        """The bot's application; of a team the team's owner comes first, then its other members."""
        told = await self._object("/applications/@me")
        flags = told.get("flags")
        return Application(_id(told), str(told.get("name", "")), flags if isinstance(flags, int) else 0, _owners(told))

    async def guilds(self) -> tuple[Guild, ...]:
        """Every guild the bot is in."""
        found: list[Guild] = []
        while True:
            after = found[-1].id if found else 0
            page = await self._get(f"/users/@me/guilds?limit={GUILDS}&after={after}")
            if not isinstance(page, list):
                raise Unreachable("no list of guilds")
            found += [Guild(_id(one), str(one.get("name", "")), number(one.get("permissions"))) for one in page]
            if len(page) < GUILDS:
                return tuple(found)

    async def channel(self, channel: int) -> dict[str, Any]:
        """One channel as Discord describes it; Refused: 403 where the bot may not see it, 404 where there is none."""
        return await self._object(f"/channels/{channel}")

    async def roles(self, guild: int, member: int) -> tuple[int, ...]:
        """The ids of the roles a member holds."""
        told = (await self._object(f"/guilds/{guild}/members/{member}")).get("roles")
        return tuple(number(role) for role in told) if isinstance(told, list) else ()

    async def guild_roles(self, guild: int) -> frozenset[int]:
        """The ids of the roles there are in a guild."""
        told = await self._get(f"/guilds/{guild}/roles")
        return frozenset(number(role.get("id")) for role in told) if isinstance(told, list) else frozenset()

    async def user(self, user: int) -> str:
        """The name of a user; Refused (404) where there is none."""
        return str((await self._object(f"/users/{user}")).get("username", ""))

    async def _object(self, path: str) -> dict[str, Any]:
        told = await self._get(path)
        if not isinstance(told, dict):
            raise Unreachable("no JSON object")
        return told

    async def _get(self, path: str) -> Any:
        try:
            async with self._session.get(f"{self.api_base}{path}", allow_redirects=False) as response:
                self._compare(response.headers.get("Date", ""))
                if response.status != HTTPStatus.OK:
                    raise Refused(response.status)
                return await response.json(content_type=None)
        except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
            raise Unreachable(type(error).__name__) from None

    def _compare(self, date: str) -> None:
        try:
            theirs = parsedate_to_datetime(date)
        except ValueError:
            return  # no date, no judgement
        if theirs.tzinfo is not None:
            self.ahead = (datetime.now(UTC) - theirs).total_seconds()


def _owners(application: dict[str, Any]) -> tuple[tuple[int, str], ...]:
    team = application.get("team")
    if not isinstance(team, dict):
        owner = application.get("owner")
        return ((_id(owner), str(owner.get("username", ""))),) if isinstance(owner, dict) else ()
    first = number(team.get("owner_user_id"))
    users = [member.get("user") for member in team.get("members") or [] if isinstance(member, dict)]
    named = {_id(user): str(user.get("username", "")) for user in users if isinstance(user, dict)}
    return ((first, named.pop(first, "")), *named.items())


def _id(told: dict[str, Any]) -> int:
    return number(told.get("id"))


def number(text: object) -> int:
    """A snowflake or a set of permissions; 0 for what is none."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else 0
