"""A posting task against a Discord of plain calls, whose fates a test names; it judges nothing."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from connector import facts
from connector.logs import Logs
from connector.messages import Attachment, Message, Place
from connector.outgoing import Outgoing
from connector.ports import Controls, Part
from connector.posting import Posting
from connector.settings import LogSettings
from fakes.living_gateway import Pacing
from fakes.waiting import Changes


def owed(key: str = "r1:answer:0", **wanted: Any) -> facts.Owed:
    given: dict[str, Any] = {"round": "r1", "channel": 1, "kind": "answer", "text": "hello", "reply_to": 77}
    return facts.Owed(key=key, **{**given, **wanted})


@dataclass
class Plain:
    """`ports.Discord` of plain calls: each is written down and meets the next fate, if there is one."""

    changes: Changes
    fates: list[Exception | asyncio.Event] = field(default_factory=list)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    found: int | None = None
    closed: bool = False

    async def _meet(self, *call: Any) -> None:
        self.calls.append(call)
        self.changes.tell()
        fate = self.fates.pop(0) if self.fates else None
        if isinstance(fate, asyncio.Event):
            await fate.wait()
        elif fate is not None:
            raise fate

    async def post(self, part: Part) -> int:
        await self._meet("post", part)
        return 1_000 + len(self.calls)

    async def edit(self, channel: int, message: int, content: str, buttons: Controls = ()) -> None:
        await self._meet("edit", channel, message, content, buttons)

    async def react(self, channel: int, message: int, sign: str) -> None:
        await self._meet("react", channel, message, sign)

    async def unreact(self, channel: int, message: int, sign: str) -> None:
        await self._meet("unreact", channel, message, sign)

    async def typing(self, channel: int) -> None:
        await self._meet("typing", channel)

    async def history(self, channel: int, after: int, limit: int = 100) -> list[Message]:
        await self._meet("history", channel, after, limit)
        return []

    async def latest(self) -> dict[int, int]:
        return {}

    async def newest(self, channel: int) -> int:
        await self._meet("newest", channel)
        return 0

    async def posted_with(self, channel: int, part: Part, after: int) -> int | None:
        await self._meet("look", channel, part.nonce, after)
        return self.found

    async def shown_with(self, channel: int, control: str, after: int) -> int | None:
        await self._meet("find", channel, control, after)
        return self.found

    async def files(self, channel: int, message: int) -> tuple[Attachment, ...]:
        await self._meet("files", channel, message)
        return ()

    async def open_thread(self, channel: int, message: int, name: str) -> int:
        await self._meet("thread", channel, message, name)
        return message

    async def channels(self) -> list[Place]:
        return []

    def managed_role(self, guild: int | None) -> int | None:
        return None

    async def renew(self, reason: str) -> None:
        await self._meet("renew", reason)


class Setting:
    """A posting task at work, its Discord, its clock and what it told."""

    def __init__(self, outgoing: Outgoing | None = None) -> None:
        self.told: list[Any] = []
        self.changes = Changes(lambda: f"calls: {self.discord.calls}; told: {self.told}")
        self.pacing = Pacing(changes=self.changes)
        self.discord = Plain(self.changes)
        log = Logs(LogSettings(level="debug", format="console"), io.StringIO()).log
        self.posting = Posting(self.discord, self.done, log, self.pacing.clock(), outgoing)

    def done(self, fact: Any) -> None:
        self.told.append(fact)
        self.changes.tell()

    async def until(self, predicate: Callable[[], Any]) -> None:
        await self.changes.until(predicate)
