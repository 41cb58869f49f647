"""Plain facts about a Discord message, spoken by every other module; it decides nothing and imports no Discord."""

from typing import Literal

from msgspec import Struct

Kind = Literal["channel", "thread", "private"]


class Author(Struct, frozen=True):
    """Who wrote or pressed something.

    `roles` are those held in the message's guild; for a private message those held in the allowed guilds
    (CONTRACT, `access.roles`). A webhook's `id` is the webhook's own.
    """

    id: int
    name: str
    bot: bool = False
    webhook: bool = False
    roles: frozenset[int] = frozenset()


class Place(Struct, frozen=True):
    """Where a message stands: a guild channel, a thread (a forum post is one) or a private channel.

    `parent` is the channel a thread hangs in; `ours` says that the connector opened that thread.
    """

    channel: int
    name: str
    guild: int | None = None
    parent: int | None = None
    kind: Kind = "channel"
    ours: bool = False

    @property
    def lane(self) -> str:
        """The lane's key: the conversation (BEHAVIOUR §0). A second agent would add to this key, not change it."""
        return str(self.channel)


class Attachment(Struct, frozen=True):
    """A file of a message as Discord describes it; `size` in bytes, nothing of it is downloaded or believed yet."""

    id: int
    filename: str
    size: int
    content_type: str | None
    url: str


class Reply(Struct, frozen=True):
    """The message a message replies to; `to_us` when it is one of the bot's own."""

    message: int
    author: int
    author_name: str
    text: str
    to_us: bool


class Forward(Struct, frozen=True):
    """One forwarded message: what it said and the files it had."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class Message(Struct, frozen=True):
    """One Discord message, known for ever by its id; `sent_at_ns` is nanoseconds since the epoch, by Discord's clock.

    `mentions` are the users Discord says are mentioned (a pinged replied-to author included), `role_mentions` the
    roles, `everyone` whether `@everyone` or `@here` is among them.
    """

    id: int
    place: Place
    author: Author
    text: str
    mentions: frozenset[int] = frozenset()
    role_mentions: frozenset[int] = frozenset()
    everyone: bool = False
    reply: Reply | None = None
    forwards: tuple[Forward, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    sent_at_ns: int = 0

    @property
    def all_files(self) -> tuple[Attachment, ...]:
        """Its own files, then those of what was forwarded with it."""
        return (*self.attachments, *(file for forward in self.forwards for file in forward.attachments))
