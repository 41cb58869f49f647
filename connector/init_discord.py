"""`init` and Discord: whether token and ids are good, and whose the application is; it asks and changes nothing."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from connector import loop
from connector.check_online import intent_findings, refused_finding, unreachable_finding
from connector.discord_asked import Application, Asking, Guild, Refused, Unreachable
from connector.findings import Finding
from connector.token import Secret

T = TypeVar("T")


class NotTold(Exception):  # noqa: N818 - a state of the world
    """Discord did not say; `finding` is why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class Opened:
    """What a good token opens."""

    bot: str
    application: Application
    intent: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """Discord, asked with one token. Every question raises NotTold where it does not answer."""

    api_base: str
    secret: Secret

    def opened(self) -> Opened | None:
        """What the token opens, None where Discord refuses it."""

        async def look(asking: Asking) -> Opened:
            _, name = await asking.me()
            application = await asking.application()
            return Opened(name, application, tuple(intent_findings(application.flags)))

        return self._asked(look, missing=HTTPStatus.UNAUTHORIZED)

    def guilds(self) -> tuple[Guild, ...]:
        """The guilds the bot is in."""
        return self._asked(lambda asking: asking.guilds()) or ()

    def user(self, user: int) -> str | None:
        """The name of a user, None where there is none."""
        return self._asked(lambda asking: asking.user(user), missing=HTTPStatus.NOT_FOUND)

    def channel(self, channel: int) -> dict[str, Any] | None:
        """A channel, None where there is none; one that the bot may not see is {}: `check` tells what is missing."""
        try:
            return self._asked(lambda asking: asking.channel(channel), missing=HTTPStatus.NOT_FOUND)
        except NotTold as silent:
            if isinstance(silent.__cause__, Refused) and silent.__cause__.status == HTTPStatus.FORBIDDEN:
                return {}
            raise

    def _asked(self, question: Callable[[Asking], Awaitable[T]], missing: HTTPStatus | None = None) -> T | None:
        async def ask() -> T:
            async with Asking(self.api_base, self.secret) as asking:
                return await question(asking)

        try:
            return loop.run(ask())
        except Refused as refused:
            if refused.status == missing:
                return None
            raise NotTold(refused_finding(refused, self.api_base, "this step")) from refused
        except Unreachable as silent:
            raise NotTold(unreachable_finding(silent, self.api_base)) from silent


def unknown(ids: Iterable[int], exists: Callable[[int], bool], kind: str) -> None:
    """Raise ValueError naming the first id that Discord does not know."""
    for one in ids:
        if not exists(one):
            raise ValueError(f"Discord knows no {kind} {one}")
