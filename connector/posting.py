"""Carries out what the outbox asks for, and keeps the typing line alive; what to post and when is decided elsewhere."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from connector import facts
from connector.gateway_pauses import Clock
from connector.logs import Log
from connector.outbox import Outbox, nonce
from connector.outbox_moves import Action, Edit, Later, Look, Missing, Never, Other, Outcome, Send, Show, Stands, Told
from connector.ports import UNKNOWN_CHANNEL, Attached, Button, Discord, Part, PostLater, PostNever, PostOther
from connector.render import AsFile, render
from engine.events import SECOND

_TYPING = 8.0
_TYPING_TRIES = 3
_FILE_LIMIT = 10_000_000
_CUT = "\n\n[cut here: the rest is longer than Discord takes]\n"
FILE_NAME = "answer.md"


class Posting:
    """The one task that posts. `done` is told every fact, at once and in order, and must return at once.

    What is owed was recorded before (BEHAVIOUR §6): a post that fails is tried again from here, or after a restart.
    `on_gone` is told of a channel that Discord does not know any more.
    """

    def __init__(self, discord: Discord, done: Callable[[Told], None], log: Log, clock: Clock | None = None) -> None:
        self._discord, self._done, self._log = discord, done, log
        self._clock = clock or Clock()
        self._outbox = Outbox()
        self._wake = asyncio.Event()
        self._still = asyncio.Event()
        self._still.set()
        self._rendered: dict[str, tuple[Part, ...]] = {}
        self._typing: dict[int, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None
        self.on_gone: Callable[[int], None] = lambda _channel: None

    async def run(self) -> None:
        """Post until cancelled; raises what `done` raises."""
        alarm: asyncio.Task[None] | None = None
        try:
            while self._fault is None:
                self._wake.clear()
                for action in self._outbox.ready(self._clock.now_ns()):
                    self._spawn(self._perform(action), f"post in {_channel(action)}")
                if alarm is not None:
                    alarm.cancel()
                due = self._outbox.deadline()
                alarm = None if due is None else asyncio.create_task(self._ring(due), name="posting alarm")
                await self._wake.wait()
            raise self._fault
        finally:
            tasks = [*self._tasks, *([alarm] if alarm is not None else [])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def owe(self, owed: facts.Owed, *, posted: int = 0, last: int = 0, fresh: bool = True) -> None:
        """Post this. After a restart: `posted` parts stand there, `last` is the newest of them, `fresh` is False."""
        self._outbox.owe(owed, posted=posted, last=last, fresh=fresh)
        self._changed()

    def drop(self, round_: str) -> None:
        """Stop: nothing more of this round but its receipts; `done` is told facts.Dropped of what never went out."""
        for fact in self._outbox.drop(round_):
            self._tell(fact)
        self._changed()

    def show(
        self, key: str, channel: int, content: str, buttons: tuple[Button, ...] = (), *, reply_to: int = 0
    ) -> None:
        """Let the card (or the post) of this key show this, as soon as the pace allows; the latest content wins."""
        self._outbox.show(key, channel, content, buttons, reply_to=reply_to)
        self._changed()

    def adopt(self, key: str, channel: int, message: int) -> None:
        """A message of ours from before a restart, which `show` of this key edits."""
        self._outbox.adopt(key, channel, message)

    def finish(self, key: str) -> None:
        """The card's last content was shown; one that never stood there is not posted any more."""
        for fact in self._outbox.finish(key):
            self._tell(fact)
        self._changed()

    async def drain(self, timeout: float) -> bool:
        """Wait until everything stands there, `timeout` seconds at most; whether it does."""
        waiting = asyncio.create_task(self._still.wait())
        bound = asyncio.ensure_future(self._clock.sleep(timeout))
        try:
            await asyncio.wait({waiting, bound}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            bound.cancel()
            await asyncio.gather(waiting, bound, return_exceptions=True)
        return self._outbox.idle

    # -- posts -------------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        if self._outbox.idle:
            self._still.set()
        else:
            self._still.clear()
        self._wake.set()

    async def _ring(self, due: int) -> None:
        await self._clock.sleep(max(0, due - self._clock.now_ns()) / SECOND)
        self._wake.set()

    def _tell(self, fact: Told) -> None:
        match fact:
            case facts.Dropped(key, reason):
                self._rendered.pop(key, None)
                self._log.info("post.dropped", key=key, reason=reason)
            case facts.Posted(key, part, parts) if part + 1 >= parts:
                self._rendered.pop(key, None)
            case _:
                pass
        self._done(fact)

    async def _perform(self, action: Action) -> None:
        outcome = await self._outcome(action)
        for fact in self._outbox.done(action, outcome, self._clock.now_ns()):
            self._tell(fact)
        self._changed()

    async def _outcome(self, action: Action) -> Outcome:
        try:
            match action:
                case Send(owed, number):
                    parts = self._parts(owed)
                    if number >= len(parts):
                        return Never("there is nothing to post")
                    return Stands(await self._discord.post(parts[number]), len(parts))
                case Look(owed, number, after):
                    return await self._look(owed, number, after)
                case Show(key, channel, content, buttons, reply_to):
                    part = Part(channel, content, nonce(key, 0), reply_to, buttons)
                    return Stands(await self._discord.post(part))
                case Edit(_, channel, message, content, buttons):
                    await self._discord.edit(channel, message, content, buttons)
                    return Stands(message)
                case _:
                    assert_never(action)
        except PostOther as error:
            self._log.error("post.another", reason=error.reason, message_id=str(error.message))
            return Other()
        except PostLater as error:
            self._log.info("post.later", reason=error.reason, after=error.after)
            return Later(round(error.after * SECOND))
        except PostNever as error:
            self._log.warning("post.refused", channel=str(_channel(action)), reason=error.reason)
            if error.code == UNKNOWN_CHANNEL:
                self.on_gone(_channel(action))
            return Never(error.reason)

    async def _look(self, owed: facts.Owed, number: int, after: int) -> Outcome:
        parts = self._parts(owed)
        if number >= len(parts):
            return Never("there is nothing to post")
        found = await self._discord.posted_with(owed.channel, parts[number], after)
        return Missing() if found is None else Stands(found, len(parts))

    def _parts(self, owed: facts.Owed) -> tuple[Part, ...]:
        """The parts of a post, made at its first try: a start with many posts pending renders none of them."""
        parts = self._rendered.get(owed.key)
        if parts is None:
            parts = self._rendered[owed.key] = made(owed)
        return parts

    # -- typing ------------------------------------------------------------------------------------------------

    def typing(self, channel: int, on: bool) -> None:
        """Show the typing line until it is switched off; after that no call begins."""
        if not on:
            if (off := self._typing.pop(channel, None)) is not None:
                off.set()
        elif channel not in self._typing:
            off = self._typing[channel] = asyncio.Event()
            self._spawn(self._type(channel, off), f"typing in {channel}")

    async def _type(self, channel: int, off: asyncio.Event) -> None:
        failures = 0
        # Given up after a few failures in a row: the switch stays on, and the next turn's tries anew.
        while not off.is_set() and failures < _TYPING_TRIES:
            try:
                await self._discord.typing(channel)
                failures = 0
            except (PostLater, PostNever) as error:
                failures += 1
                self._log.debug("typing.failed", channel=str(channel), reason=error.reason)
            await self._off_or(off, _TYPING)

    async def _off_or(self, off: asyncio.Event, seconds: float) -> None:
        switched = asyncio.create_task(off.wait())
        pause = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait({switched, pause}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            switched.cancel()
            pause.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fault = self._fault or error
            self._wake.set()


def made(owed: facts.Owed) -> tuple[Part, ...]:
    """A post as Discord messages: the first refers to the message it answers, the last has the Retry button."""
    shown = render(owed.text)
    file: Attached | None = None
    if isinstance(shown, AsFile):
        contents: tuple[str, ...] = (shown.beginning,)
        file = Attached(FILE_NAME, _bounded(shown.file_text))
    else:
        contents = shown.parts
    retry = (Button(f"retry:{owed.round}", "Retry", "primary"),) if owed.retry else ()
    return tuple(
        Part(
            owed.channel,
            content,
            nonce(owed.key, number),
            reply_to=owed.reply_to if number == 0 else 0,
            buttons=retry if number == len(contents) - 1 else (),
            file=file,
        )
        for number, content in enumerate(contents)
    )


def _bounded(text: str) -> bytes:
    """A text as a file that Discord takes: what is beyond its limit is cut off, and says so."""
    data = text.encode("utf-8", errors="replace")
    if len(data) <= _FILE_LIMIT:
        return data
    return data[: _FILE_LIMIT - len(_CUT)].decode("utf-8", errors="ignore").encode() + _CUT.encode()


def _channel(action: Action) -> int:
    match action:
        case Send(owed) | Look(owed):
            return owed.channel
        case Show(_, channel) | Edit(_, channel):
            return channel
