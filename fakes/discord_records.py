"""What the fake Discord hands to tests: people, places, posts and recorded requests; plain values that do nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who can speak: a person, another bot, or a webhook (`webhook_id` set). Ids are snowflakes."""

    id: int
    name: str
    bot: bool = False
    webhook_id: int | None = None

    @property
    def mention(self) -> str:
        """The markup that names this person in a message."""
        return f"<@{self.id}>"


@dataclass(frozen=True, slots=True)
class Place:
    """A guild channel, a thread (`parent_id` set) or a private channel (`guild_id` None)."""

    id: int
    name: str
    guild_id: int | None
    parent_id: int | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to attach.

    `size` is what the metadata claims (bytes, default the truth) and `status` what its address answers, so that
    a liar and a vanished file can be played. Of a file that is cut, only `sent` bytes come before the connection ends.
    """

    name: str
    data: bytes
    content_type: str | None = None
    size: int | None = None
    status: int = 200
    sent: int | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """One message of the bot as it stands now; `nonce`, `allowed_mentions` and `reference` as they were sent."""

    id: int
    channel_id: int
    content: str
    nonce: str | int | None
    reference: int | None
    allowed_mentions: Json | None
    components: list[Json]
    files: tuple[str, ...]
    edited: bool
    flags: int
    embeds: list[Json]

    @property
    def ephemeral(self) -> bool:
        """Whether only the person who acted can see it."""
        return bool(self.flags & 64)

    def custom_ids(self) -> list[str]:
        """The `custom_id` of every component, in order."""
        return [c["custom_id"] for c in walk(self.components) if "custom_id" in c]


@dataclass(slots=True)
class Request:
    """One HTTP request as it came in; `status` and `reply` are None until it was answered.

    `path` starts behind `/api/v10`, `route` is its template (None: no such route), `fault` names the fault it
    met. `stored` says whether Discord acted on it, which a fault may hide from the client. The Authorization
    header is recorded as present or absent only (`authorized`).
    """

    method: str
    path: str
    route: str | None
    query: dict[str, str]
    body: Any
    files: tuple[str, ...]
    headers: dict[str, str]
    authorized: bool
    status: int | None = None
    reply: Any = None
    fault: str | None = None
    stored: bool = False

    def __str__(self) -> str:
        fault = f" [{self.fault}]" if self.fault else ""
        return f"{self.method} {self.path} -> {self.status}{fault}"


@dataclass(frozen=True, slots=True)
class InteractionReply:
    """How the bot answered an interaction.

    `kind` is `message`, `deferred`, `deferred_update`, `update`, `modal`, `autocomplete` or `pong`.
    """

    interaction_id: int
    kind: str
    content: str = ""
    ephemeral: bool = False
    message_id: int | None = None
    components: list[Json] = field(default_factory=list)
    modal: Json | None = None
    choices: list[Json] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Violation:
    """A request or reply that Discord's own HTTP specification does not allow, and where in it."""

    side: str
    method: str
    route: str
    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.side} {self.method} {self.route} at {self.where}: {self.problem}"


def walk(components: list[Json]) -> list[Json]:
    """Every component of a tree, in wire order, rows and labels included."""
    found: list[Json] = []
    for component in components:
        found.append(component)
        found += walk(component.get("components") or [])
        for key in ("accessory", "component"):
            if isinstance(child := component.get(key), dict):
                found += walk([child])
    return found
