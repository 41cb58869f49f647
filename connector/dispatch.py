"""The one task that owns the lanes: inbox, step, one ledger transaction, effects in order; it decides nothing.

What arrives together is stepped together and shares one commit. Nothing is performed before its facts are on the
disk; while the disk refuses them, everything waits and the people who wrote are told.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from connector import facts, notices
from connector.access import Us
from connector.cards import Cards, View
from connector.children import Children
from connector.clock import Clock
from connector.hearing import Hearing, knows
from connector.lane_events import (
    Amend,
    Arrived,
    Cancel,
    ChildSays,
    Effect,
    Input,
    Log,
    OpenThread,
    Post,
    PostDone,
    Quit,
    React,
    Retire,
    Rewrite,
    Spawn,
    Tell,
    ThreadDone,
    Tick,
    Typing,
    Withdraw,
)
from connector.lanes import Lanes, Stepped
from connector.ledger import Ledger, LedgerBroken
from connector.logs import Log as Logger
from connector.messages import Message
from connector.ports import (
    Changed,
    Commanded,
    Connected,
    Disconnected,
    Discord,
    Gone,
    Heard,
    Part,
    PostLater,
    PostNever,
    Pressed,
    Said,
)
from connector.posting import Posting

SIGNS = {"accepted": "👀", "waiting": "⏳", "heard": "👂", "answered": "✅", "failed": "⚠️", "stopped": "🛑"}
DISK_PAUSE = 1.0
"""Seconds between attempts to write what the disk refused."""

CARD_DELAY = 1.2
"""Seconds after which a turn gets a card; a shorter one is its answer alone."""

RECENT = 4096
"""So many message ids of late are known without asking the ledger."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a dispatcher works with."""

    lanes: Lanes
    ledger: Ledger
    discord: Discord
    hearing: Hearing
    clock: Clock
    log: Logger
    reactions: bool
    cards: bool
    us: Callable[[Message], Us]


class Dispatcher:
    """Owner of the lanes. `put` and `hear` may be called at any time on its loop; `run` ends with the program."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._inbox: list[Input | Said | Changed | Gone] = []
        self._news = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._recent: dict[int, None] = {}
        self._opening: dict[int, list[facts.Owed]] = {}
        self._cards = Cards()
        self._views: list[View] = []
        self._early: dict[str, View] = {}
        self._idle: asyncio.Future[None] | None = None
        self._ending: asyncio.Future[Quit] = asyncio.get_running_loop().create_future()
        self.children: Children
        self.posting: Posting
        self.on_said: Callable[[Said], None] = self.put
        self.on_connected: Callable[[Connected], None] = lambda _: None
        self.on_disconnected: Callable[[Disconnected], None] = lambda _: None
        self.on_person: Callable[[Pressed | Commanded], Coroutine[Any, Any, None]]

    @property
    def lanes(self) -> Lanes:
        """The lanes, to be read only."""
        return self._parts.lanes

    def put(self, given: Input | Said | Changed | Gone) -> None:
        """Give one input; it is taken in order."""
        self._inbox.append(given)
        self._news.set()

    def hear(self, heard: Heard) -> None:
        """An event of Discord, in the first synchronous line of its handler."""
        match heard:
            case Said():
                self.on_said(heard)
            case Changed() | Gone():
                self.put(heard)
            case Connected():
                self.on_connected(heard)
            case Disconnected():
                self.on_disconnected(heard)
            case Pressed() | Commanded():
                self.spawn(self.on_person(heard))
            case _:
                assert_never(heard)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the lanes; a fault of it ends the program as any fault does."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fault(error)

    def fault(self, error: BaseException) -> None:
        """An impossible move of our own: the program ends, and the ledger and systemd are the recovery."""
        if not self._ending.done():
            self._ending.set_exception(error)

    async def ending(self) -> Quit:
        """How the lanes want the program to end; raises what went wrong beyond repair."""
        return await asyncio.shield(self._ending)

    async def run(self) -> None:
        """Own the lanes until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            batch, self._inbox = self._inbox, []
            known = await self._known(batch)
            steps = [step for given in batch for step in self._steps(given, known)]
            await self._commit(steps)
            for step in steps:
                for effect in step.effects:
                    self._perform(effect)
            views, self._views = self._views, []
            for view in views:
                self._show(view)
            self._arm()
            if self._idle is not None and not self._inbox:
                self._idle.set_result(None)
                self._idle = None

    async def settle(self) -> None:
        """Wait until everything given so far is stepped, recorded and performed."""
        self._idle = asyncio.get_running_loop().create_future()
        self._news.set()
        await self._idle

    # -- in --------------------------------------------------------------------------------------------------------

    async def _known(self, batch: Iterable[object]) -> frozenset[int]:
        """Ids of this batch that a round exists of; what is newer than all of its channel needs no look."""
        seen = self.lanes.world.seen
        asked = [
            heard.message.id
            for heard in batch
            if isinstance(heard, Said | Changed) and heard.message.id <= seen.get(heard.message.place.channel, 0)
        ]
        return await self._parts.ledger.known_messages(asked) if asked else frozenset()

    def _steps(self, given: Input | Said | Changed | Gone, known: frozenset[int]) -> list[Stepped]:
        match given:
            case Said(message):
                return self._said(message, known)
            case Changed(message):
                return self._changed(message, known)
            case Gone(_, messages):
                return [self._step(Cancel(str(name), silent=True)) for name in messages if str(name) in self._rounds]
            case ChildSays(lane, _, told):
                if (head := self.lanes.world.head(lane)) is not None:
                    self._view(self._cards.hear(head.id, told, self._parts.clock.now()))
                return [self._step(given)]
            case _:
                return [self._step(given)]

    @property
    def _rounds(self) -> dict[str, Any]:
        return self.lanes.world.rounds

    def _said(self, message: Message, known: frozenset[int]) -> list[Stepped]:
        if message.id in known or message.id in self._recent:
            return []
        place = knows(message.place, self.lanes.world.lane(message.place.lane).thread_of)
        message = replace(message, place=place)
        given, ignored = self._parts.hearing.of_message(message, self._parts.us(message), self._parts.clock.now())
        if ignored is None:
            self._recent[message.id] = None
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        else:
            level = self._parts.log.info if ignored.addressed else self._parts.log.debug
            level("message.ignored", message_id=message.id, lane=place.lane, reason=str(ignored.reason))
        if isinstance(given, Arrived):
            given = replace(given, advice=self.children.advise(given.claim.lane))
        return [self._step(given)]

    def _changed(self, message: Message, known: frozenset[int]) -> list[Stepped]:
        """An edit of a waiting message changes it; one that first addresses us is a new message, once."""
        if str(message.id) not in self._rounds:
            return self._said(message, known)
        heard, _ = self._parts.hearing.of_message(message, self._parts.us(message), self._parts.clock.now())
        return [self._step(Rewrite(str(message.id), heard.claim.text))] if isinstance(heard, Arrived) else []

    def _step(self, given: Input) -> Stepped:
        now = self._parts.clock.now()
        step = self.lanes.step(given, now, random.random())  # noqa: S311 - jitter, no secret
        for view in self._cards.learn(step.facts, self.lanes.world.rounds, now):
            self._view(view)
        for fact in step.facts:
            if isinstance(fact, facts.Written) and fact.kind == "prompt":
                asyncio.get_running_loop().call_later(CARD_DELAY, self._reveal, fact.round)
        return step

    # -- cards -----------------------------------------------------------------------------------------------------

    def _view(self, view: View | None) -> None:
        if view is not None and self._parts.cards:
            self._views.append(view)

    def _reveal(self, name: str) -> None:
        view = self._cards.reveal(name)
        if view is not None and self._parts.cards:
            self._show(view)

    def _show(self, view: View) -> None:
        """Hand a card to the outbox; one for a thread that does not stand yet waits for it."""
        if view.channel in self._opening:
            self._early[view.key] = view
            return
        self.posting.show(view.key, view.channel, view.content, view.buttons, reply_to=view.reply_to)
        if view.over:
            self.posting.finish(view.key)

    # -- records ---------------------------------------------------------------------------------------------------

    async def _commit(self, steps: Sequence[Stepped]) -> None:
        """Put all facts on the disk; while it refuses, nothing goes on."""
        new = [fact for step in steps for fact in step.facts]
        if not new:
            return
        closed = [name for step in steps for name in step.closed]
        told = False
        while True:
            try:
                await self._parts.ledger.commit(new, at=self._parts.clock.now(), closed=closed)
            except LedgerBroken as broken:
                if not told:
                    told = True
                    self._parts.log.warning("ledger.broken", reason=str(broken))
                    for fact in new:
                        if isinstance(fact, facts.Claimed):
                            self.spawn(self._tell_disk(fact))
                await asyncio.sleep(DISK_PAUSE)
            else:
                if told:
                    self._parts.log.info("ledger.mended")
                return

    async def _tell_disk(self, claim: facts.Claimed) -> None:
        channel = claim.parent or claim.channel
        try:
            await self._parts.discord.post(
                Part(channel, notices.disk_trouble(), nonce=f"disk-{claim.message}", reply_to=claim.message)
            )
        except (PostLater, PostNever) as trouble:
            self._parts.log.warning("post.failed", reason=trouble.reason, message_id=claim.message)

    # -- out -------------------------------------------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Spawn(lane, child):
                self.children.spawn(lane, child, self.lanes.world.lane(lane).session)
            case Retire(lane, child):
                self.children.retire(lane, child)
            case Tell(lane, child, given):
                self.children.tell(lane, child, given)
            case OpenThread():
                self._opening.setdefault(effect.message, [])
                self.spawn(self._open_thread(effect))
            case Post(owed, posted, last, fresh):
                if owed.channel in self._opening:
                    self._opening[owed.channel].append(owed)
                else:
                    self.posting.owe(owed, posted=posted, last=last, fresh=fresh)
            case Amend():
                self.spawn(self._amend(effect))
            case Withdraw(round_):
                self._withdraw(round_)
            case React(channel, message, sign):
                if self._parts.reactions:
                    self.spawn(self._react(channel, message, SIGNS[sign]))
            case Typing(channel, on):
                if channel not in self._opening or not on:
                    self.posting.typing(channel, on=on)
            case Log(event, fields):
                self._parts.log.info(event, **dict(fields))
            case Quit():
                if not self._ending.done():
                    self._ending.set_result(effect)
            case _:
                assert_never(effect)

    async def _amend(self, effect: Amend) -> None:
        """Verified, not hoped: what the stopped turn's tools left running is looked for, off the loop, and named."""
        left = await asyncio.to_thread(self.children.left, effect.lane, effect.child)
        self.posting.show(effect.key, effect.channel, notices.settled(effect.text, left))
        self.posting.finish(effect.key)

    def _withdraw(self, round_: str) -> None:
        for held in self._opening.values():
            held[:] = [owed for owed in held if owed.round != round_]
        self.posting.drop(round_)

    async def _react(self, channel: int, message: int, sign: str) -> None:
        """A sign is a courtesy: one that fails is logged and left."""
        try:
            await self._parts.discord.react(channel, message, sign)
        except (PostLater, PostNever) as trouble:
            self._parts.log.debug("reaction.failed", message_id=message, reason=trouble.reason)

    async def _open_thread(self, effect: OpenThread) -> None:
        """Until the thread stands, what is posted to it is held; after a lost reply it is found by its id."""
        opened, pause = True, 1.0
        while True:
            try:
                await self._parts.discord.open_thread(effect.parent, effect.message, effect.name)
            except PostLater as later:
                self._parts.log.warning("thread.delayed", message_id=effect.message, reason=later.reason)
                await asyncio.sleep(later.after or pause)
                pause = min(60.0, pause * 2)
            except PostNever as never:
                self._parts.log.warning("thread.refused", message_id=effect.message, reason=never.reason)
                opened = False
                break
            else:
                break
        self.put(ThreadDone(effect.message, effect.parent, opened))
        for owed in self._opening.pop(effect.message, []):
            self.posting.owe(owed if opened else facts.moved(owed, effect.parent))
        for view in [view for view in self._early.values() if view.channel == effect.message]:
            del self._early[view.key]
            self._show(view if opened else replace(view, channel=effect.parent, reply_to=effect.message))
        if str(effect.message) in self.lanes.shown:
            self.posting.typing(effect.message if opened else effect.parent, on=True)

    def posted(self, fact: facts.Posted | facts.Dropped) -> None:
        """What became of a post."""
        self.put(PostDone(fact))

    # -- time ------------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.lanes.deadline()
        if due is not None:
            wait = max(0, due - self._parts.clock.now()) / 1e9
            self._timer = asyncio.get_running_loop().call_later(wait, self.put, Tick())
