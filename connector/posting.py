"""Carries out what the outbox asks for, and keeps the typing line alive; what to post and when is decided elsewhere."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from connector import facts
from connector.attach_lines import WORD
from connector.gateway_pauses import Clock
from connector.logs import Log
from connector.outbox import Outbox, nonce
from connector.outbox_moves import (
    Action,
    Edit,
    Find,
    Later,
    Look,
    Missing,
    Never,
    Other,
    Outcome,
    Send,
    Show,
    Stands,
    Told,
)
from connector.outgoing import Outgoing
from connector.ports import UNKNOWN_CHANNEL, Controls, Discord, Part, PostLater, PostNever, PostOther
from connector.post_parts import Packed, made, without_files
from connector.render_beside import beside
from engine.events import SECOND

_TYPING = 8.0
_TYPING_TRIES = 3


class Posting:
    """The one task that posts. `done` is told every fact, at once and in order, and must return at once.

    What is owed was recorded before (BEHAVIOUR §6): a post that fails is tried again from here, or after a restart.
    `on_gone` is told of a channel that Discord does not know any more.
    """

    def __init__(
        self,
        discord: Discord,
        done: Callable[[Told], None],
        log: Log,
        clock: Clock | None = None,
        outgoing: Outgoing | None = None,
    ) -> None:
        self._discord, self._done, self._log, self._outgoing = discord, done, log, outgoing
        self._clock = clock or Clock()
        self._outbox = Outbox()
        self._wake = asyncio.Event()
        self._still = asyncio.Event()
        self._still.set()
        self._rendered: dict[str, tuple[Part, ...]] = {}
        self._typing: dict[int, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: BaseException | None = None
        self.tried: Callable[[Action, Outcome], None] = lambda _action, _outcome: None
        """Hears of each try what came of it."""
        self.on_gone: Callable[[int], None] = lambda _channel: None

    async def run(self) -> None:
        """Post until cancelled; raises what `done` raises."""
        alarm: asyncio.Task[None] | None = None
        try:
            while self._fault is None:
                self._wake.clear()
                self.flush()
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

    def flush(self) -> None:
        """Begin now what may go now; without it that waits for the loop's next round."""
        for action in self._outbox.ready(self._clock.now_ns()):
            self._spawn(self._perform(action), f"post in {_channel(action)}")

    def owe(self, owed: facts.Owed, *, posted: int = 0, last: int = 0, fresh: bool = True) -> None:
        """Post this. After a restart: `posted` parts stand there, `last` is the newest of them, `fresh` is False."""
        self._outbox.owe(owed, posted=posted, last=last, fresh=fresh)
        self._changed()

    def drop(self, round_: str) -> None:
        """Stop: nothing more of this round but its receipts; `done` is told facts.Dropped of what never went out."""
        for fact in self._outbox.drop(round_):
            self._tell(fact)
        self._changed()

    def show(self, key: str, channel: int, content: str, buttons: Controls = (), *, reply_to: int = 0) -> None:
        """Let the card (or the post) of this key show this, as soon as the pace allows; the latest content wins.

        A new card is told of first, and waits for `recorded`.
        """
        for fact in self._outbox.show(key, channel, content, buttons, reply_to=reply_to):
            self._tell(fact)
        self._changed()

    def recorded(self, key: str) -> None:
        """A start would look for the card of this key: it may be posted."""
        self._outbox.recorded(key)
        self._changed()

    def adopt(self, key: str, channel: int, message: int) -> None:
        """A message of ours from before a restart, which `show` of this key edits; 0: one that may stand there."""
        self._outbox.adopt(key, channel, message)

    def finish(self, key: str) -> None:
        """The card's last content was shown; one that never stood there is not posted any more."""
        for fact in self._outbox.finish(key):
            self._tell(fact)
        self._changed()

    def forget(self, key: str) -> None:
        """What became of this post is recorded: the copies of its files go. Before that a start may still need them."""
        if self._outgoing is not None:
            self._spawn(asyncio.to_thread(self._outgoing.forget, key), f"forgetting the files of {key}")

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
        # Behind what `flush` begins now: that need not wait for our task to find nothing else to do.
        asyncio.get_running_loop().call_soon(self._wake.set)

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
        self.tried(action, outcome)
        for fact in self._outbox.done(action, outcome, self._clock.now_ns()):
            self._tell(fact)
        self._changed()

    async def _outcome(self, action: Action) -> Outcome:
        try:
            match action:
                case Send(owed, number):
                    return await self._send(owed, number)
                case Look(owed, number, after):
                    return await self._look(owed, number, after)
                case Show(key, channel, content, buttons, reply_to):
                    part = Part(channel, content, nonce(key, 0), reply_to, buttons)
                    return Stands(await self._discord.post(part))
                case Edit(_, channel, message, content, buttons):
                    await self._discord.edit(channel, message, content, buttons)
                    return Stands(message)
                case Find(_, channel, control, after):
                    found = await self._discord.shown_with(channel, control, after)
                    return Missing() if found is None else Stands(found)
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

    async def _send(self, owed: facts.Owed, number: int) -> Outcome:
        parts = await self._parts(owed)
        if number >= len(parts):
            return Never("there is nothing to post")
        part = parts[number]
        try:
            return Stands(await self._discord.post(await self._loaded(part)), len(parts))
        except PostNever as error:
            if not part.files:
                raise
            # A file that Discord does not take must not take its text down with it.
            self._log.warning("post.files_refused", channel=str(part.channel), reason=error.reason)
            self._rendered[owed.key] = without_files(owed.key, parts, number)
            return Later()
        except OSError as error:
            self._log.warning("post.files_lost", key=owed.key, reason=str(error))
            self._rendered.pop(owed.key, None)
            if self._outgoing is not None:  # the next try copies again
                await asyncio.to_thread(self._outgoing.forget, owed.key)
            return Later()

    async def _loaded(self, part: Part) -> Part:
        """The part as it is sent: the bytes of its files are in memory only meanwhile."""
        if self._outgoing is None or not any(file.kept for file in part.files):
            return part
        return await asyncio.to_thread(self._outgoing.loaded, part)

    async def _look(self, owed: facts.Owed, number: int, after: int) -> Outcome:
        parts = await self._parts(owed)
        if number >= len(parts):
            return Never("there is nothing to post")
        found = await self._discord.posted_with(owed.channel, parts[number], after)
        return Missing() if found is None else Stands(found, len(parts))

    async def _parts(self, owed: facts.Owed) -> tuple[Part, ...]:
        """The parts of a post, made at its first try: a start with many posts pending renders none of them."""
        parts = self._rendered.get(owed.key)
        if parts is None:
            packed = await self._packed(owed) or Packed(owed.text)
            parts = self._rendered[owed.key] = await beside(packed.text, lambda: made(owed, packed))
        return parts

    async def _packed(self, owed: facts.Owed) -> Packed | None:
        """The files that an answer names; no other post has any."""
        if self._outgoing is None or owed.kind != "answer" or WORD not in owed.text:
            return None
        return await asyncio.to_thread(self._outgoing.pack, owed)

    # -- typing ------------------------------------------------------------------------------------------------

    def typing(self, channel: int, on: bool, *, after: float = 0.0) -> None:
        """Show the typing line, `after` seconds from now, until it is switched off; after that no call begins."""
        if not on:
            if (off := self._typing.pop(channel, None)) is not None:
                off.set()
        elif channel not in self._typing:
            off = self._typing[channel] = asyncio.Event()
            self._spawn(self._type(channel, off, after), f"typing in {channel}")

    async def _type(self, channel: int, off: asyncio.Event, after: float) -> None:
        failures = 0
        if after:
            await self._off_or(off, after)
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


def _channel(action: Action) -> int:
    match action:
        case Send(owed) | Look(owed):
            return owed.channel
        case Show(_, channel) | Edit(_, channel) | Find(_, channel):
            return channel
