"""What the connector's core asks of Discord and hears from it, as plain values; no Discord object passes here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from msgspec import Struct

from connector.messages import Attachment, Author, Message, Place

UNKNOWN_CHANNEL = 10003
"""Discord's code for a channel or thread that is not there any more."""

Style = Literal["primary", "secondary", "success", "danger"]


class Button(Struct, frozen=True):
    """One button under a post; `custom_id` as in CONTRACT (What Discord sees)."""

    custom_id: str
    label: str
    style: Style = "secondary"


class Menu(Struct, frozen=True):
    """A menu of which one is chosen, in a row of its own: `choices` as (label, value), 1 to 25 of them."""

    custom_id: str
    choices: tuple[tuple[str, str], ...]
    placeholder: str = ""


Control = Button | Menu
Controls = tuple[Control, ...]


class Attached(Struct, frozen=True):
    """A file that goes with a post; one that is `kept` under this path, of this `size`, has `data` while it is sent."""

    name: str
    data: bytes = b""
    kept: str = ""
    size: int = 0

    @property
    def length(self) -> int:
        """How many bytes it has."""
        return self.size if self.kept else len(self.data)


class Part(Struct, frozen=True):
    """One Discord message to be posted. `nonce` at most 25 characters; `reply_to` 0 refers to nothing.

    `content` may be empty where there are `files`.
    """

    channel: int
    content: str
    nonce: str
    reply_to: int = 0
    buttons: Controls = ()
    files: tuple[Attached, ...] = ()


class PostLater(Exception):  # noqa: N818 - a state of the world, not a fault
    """It may stand there or not: again with the same nonce, not before `after` seconds (0: at the outbox's pace)."""

    def __init__(self, reason: str, after: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after


class PostNever(Exception):  # noqa: N818 - a state of the world, not a fault
    """Discord will not take it: unknown channel, missing access, and the like; `code` is Discord's, 0 for none."""

    def __init__(self, reason: str, code: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


class PostOther(PostLater):
    """What came back is another message than was sent: the post counts as not made (CONTRACT, What Discord sees).

    `message` is what came back. The nonce is taken for as long as Discord remembers it.
    """

    def __init__(self, reason: str, message: int) -> None:
        super().__init__(reason)
        self.message = message


class Discord(Protocol):
    """What is asked of Discord. Every call may raise PostLater or PostNever and nothing else."""

    async def post(self, part: Part) -> int:
        """Post it and return its message id; with a known nonce Discord returns the old message's."""
        ...

    async def edit(self, channel: int, message: int, content: str, buttons: Controls = ()) -> None:
        """Replace content and buttons of one of our messages."""
        ...

    async def react(self, channel: int, message: int, sign: str) -> None:
        """Add one reaction of ours."""
        ...

    async def unreact(self, channel: int, message: int, sign: str) -> None:
        """Remove one reaction of ours."""
        ...

    async def typing(self, channel: int) -> None:
        """Show the typing line for about ten seconds."""
        ...

    async def history(self, channel: int, after: int, limit: int = 100) -> list[Message]:
        """Messages newer than `after`, oldest first, at most `limit` (≤ 100)."""
        ...

    async def latest(self) -> Mapping[int, int]:
        """The newest message id of each listed channel as a session's beginning told it; empty when asked again."""
        ...

    async def newest(self, channel: int) -> int:
        """The newest message id of a channel, 0 where it has none; Discord's own lines are no messages."""
        ...

    async def posted_with(self, channel: int, part: Part, after: int) -> int | None:
        """Our own message in this channel newer than `after` that has this part's nonce or content, if any."""
        ...

    async def shown_with(self, channel: int, control: str, after: int) -> int | None:
        """Our own message in this channel newer than `after` that has a control of this `custom_id`, if any."""
        ...

    async def files(self, channel: int, message: int) -> tuple[Attachment, ...]:
        """The files of a message as Discord names and signs them now, those of what was forwarded with it behind."""
        ...

    async def open_thread(self, channel: int, message: int, name: str) -> int:
        """Open a thread on a message, or find the one that a lost reply left there: its id."""
        ...

    async def channels(self) -> list[Place]:
        """All guild channels and active threads we can see."""
        ...

    def managed_role(self, guild: int | None) -> int | None:
        """The role that Discord made for us in a guild, as far as it is known."""
        ...

    async def renew(self, reason: str) -> None:
        """Give the gateway's session up (it is deaf); a fresh one follows, and `Connected(fresh=True)`."""
        ...


# -- heard from Discord --------------------------------------------------------------------------------------------


class Said(Struct, frozen=True):
    """A message was seen, live or from history; the same id may come more than once."""

    message: Message
    live: bool = True


class Changed(Struct, frozen=True):
    """A message's text was edited (a new `edited_timestamp`; link previews are none)."""

    message: Message


class Gone(Struct, frozen=True):
    """Messages were deleted."""

    channel: int
    messages: tuple[int, ...]


class ChannelGone(Struct, frozen=True):
    """A thread or channel was deleted."""

    channel: int


class Connected(Struct, frozen=True):
    """READY or RESUMED. `fresh`: events may have been lost, so history must be read. `us`: our id."""

    us: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The gateway is down; it is tried again in `pause` seconds."""

    reason: str
    pause: float = field(default=0.0, compare=False)


class Pressed(Struct, frozen=True):
    """A button, menu or modal of ours was used; its acknowledgement is on its way, `answer` waits for it.

    `message` is the one it stood under (0: none), `values` what was chosen or written, `can_write` whether Discord
    lets the person write there.
    """

    custom_id: str
    author: Author
    place: Place
    message: int
    answer: "Answer"
    values: tuple[str, ...] = ()
    can_write: bool = True


Rows = tuple[tuple[Button, ...], ...]
"""Buttons as they stand: at most 5 rows of 5."""


class Answer(Protocol):
    """A way to tell the person who pressed or typed a command; only he sees it where `private`.

    The first answer to a command is seen as its acknowledgement was.
    `buttons` stand under the last of its messages. `in_place`: it replaces the message whose button was pressed.
    """

    async def __call__(self, text: str, *, private: bool = True, buttons: Rows = (), in_place: bool = False) -> None:
        """Say it; a lost interaction is logged, never raised."""
        ...


class Commanded(Struct, frozen=True):
    """A slash command or a context menu entry was used (`target`: the message it was used on); as with `Pressed`.

    `id`: the interaction's, which no message has.
    """

    name: str
    options: dict[str, str]
    author: Author
    place: Place
    answer: Answer
    target: Message | None = None
    can_write: bool = True
    id: int = 0


Heard = Said | Changed | Gone | ChannelGone | Connected | Disconnected | Pressed | Commanded
