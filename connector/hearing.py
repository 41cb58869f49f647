"""What a Discord event means for the lanes: access rules, the claim, the text the child will see; it keeps no state."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from connector import header, notices
from connector.access import Ignore, Prompt, Rules, StopWord, Us, judge
from connector.facts import Claimed, File, Origin
from connector.lane_events import Arrived, Input, Overlooked, StopAsked
from connector.messages import Message, Place


@dataclass(frozen=True, slots=True)
class Hearing:
    """The settings that matter for hearing. `threads`: a top-level mention in a guild channel opens a thread."""

    rules: Rules
    threads: bool

    def of_message(self, message: Message, us: Us, now: int) -> tuple[Input, Ignore | None]:
        """The input that a message is, and why it was ignored where it was."""
        verdict = judge(self.rules, us, message)
        match verdict:
            case Prompt(text):
                heard = replace(message, text=text)
                if header.nothing_to_ask(heard):
                    claim = self.claim(heard, now, thread=False)
                    return Arrived(claim, refusal=notices.nothing_to_ask()), None
                return Arrived(self.claim(heard, now, thread=self.threads)), None
            case StopWord():
                claim = self.claim(message, now, thread=False)
                stop = StopAsked(
                    lane=claim.lane,
                    channel=claim.channel,
                    by=message.author.id,
                    by_name=message.author.name,
                    scope="turn",
                    word=claim,
                )
                return stop, None
            case Ignore():
                return Overlooked(message.place.channel, message.id), verdict

    def claim(
        self,
        message: Message,
        now: int,
        *,
        thread: bool,
        origin: Origin = Origin.MESSAGE,
        notes: Sequence[str] = (),
    ) -> Claimed:
        """The claim of a message; with `thread` a top-level one in a guild channel gets a thread of its own.

        `notes` are lines of ours for the child (`header.compose`).
        """
        place = message.place
        opens = thread and place.kind == "channel"
        channel = message.id if opens else place.channel
        return Claimed(
            round=str(message.id),
            lane=str(message.id) if opens else place.lane,
            channel=channel,
            message=message.id,
            reply_to=message.id,
            author=message.author.id,
            author_name=header.clean(message.author.name),
            text=header.compose(message, notes=notes),
            at=now,
            bot=message.author.bot or message.author.webhook,
            origin=origin,
            parent=place.channel if opens else 0,
            files=files(message),
        )


def files(message: Message) -> tuple[File, ...]:
    """The files that came with a message: its own, then those of what was forwarded with it."""
    own = len(message.attachments)
    return tuple(
        File(file.id, file.filename, file.size, file.content_type or "", file.url, forwarded=number >= own)
        for number, file in enumerate(message.all_files)
    )


def knows(place: Place, thread_of: int) -> Place:
    """The place, marked as ours where the connector opened that thread (under `thread_of`)."""
    return replace(place, ours=True) if place.kind == "thread" and thread_of else place
