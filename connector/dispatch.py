"""The one task that owns the lanes: inbox, step, one ledger transaction, effects in order; it decides nothing.

What arrives together is stepped together and shares one commit. Nothing is performed before its facts are on the
disk; while the disk refuses them, everything waits and the people who write are told.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, assert_never

import msgspec
from msgspec import Struct

from connector import facts
from connector.asking import Asking
from connector.cards import Cpu
from connector.children import Children
from connector.exits import ExitCode
from connector.fetching import Fetching
from connector.hearing import knows
from connector.lane_effects import Effect, ErrandDone, Fetch, Post, Quit
from connector.lane_events import (
    Arrived,
    Brought,
    CardDone,
    ChildDown,
    ChildSays,
    Deleted,
    Input,
    PlaceGone,
    PostDone,
    Recover,
    Rewrite,
    Shutdown,
    Tick,
)
from connector.lanes import Lanes, Stepped
from connector.messages import Message
from connector.outbox_moves import Told
from connector.performing import BREATH, Hands, Parts, Performing, Rank, rank
from connector.ports import (
    Changed,
    ChannelGone,
    Commanded,
    Connected,
    Disconnected,
    Gone,
    Heard,
    Pressed,
    Said,
)
from connector.posting import Posting
from connector.recording import Recording
from connector.showing import Showing
from connector.threads import Threads
from engine.alarm import Alarm

CARD_DELAY = 1.2
"""Seconds after which a turn gets a card; a shorter one is its answer alone."""

RECENT = 4096
"""So many message ids of late are known without asking the ledger."""


class _Asked(Struct, frozen=True):
    """An input whose giver waits for what it decides."""

    given: Input
    answer: "asyncio.Future[Stepped]"


class Dispatcher:
    """Owner of the lanes. `put` and `hear` may be called at any time on its loop; `run` ends with the program."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._inbox: list[Input | Said | Changed | Gone | _Asked] = []
        self._news = asyncio.Event()
        self._alarm = Alarm(parts.clock.now, lambda: self.put(Tick()))
        self._tasks: set[asyncio.Task[None]] = set()
        self._recent: dict[int, None] = {}
        self._recording = Recording(parts.ledger, parts.discord, parts.clock, parts.log, self.spawn)
        self._lost = False
        self._threads = Threads(parts.discord, parts.log, lambda: self.posting)
        self._asked: list[tuple[asyncio.Future[Stepped], Stepped]] = []
        self._unlearnt: list[Stepped] = []
        self._idle: asyncio.Future[None] | None = None
        self._ending: asyncio.Future[Quit] = asyncio.get_running_loop().create_future()
        self.children: Children
        self.fetching: Fetching
        self.posting: Posting
        self._showing = Showing(
            parts.lanes, lambda: self.posting, self._threads.opening, parts.clock.now, on=parts.cards
        )
        self.asking = Asking(
            parts.lanes, lambda: self.children, self._showing, parts.clock.now, parts.log, bound=parts.dialog_timeout
        )
        self._performing = Performing(
            parts,
            Hands(
                children=lambda: self.children,
                posting=lambda: self.posting,
                threads=self._threads,
                showing=self._showing,
                spawn=self.spawn,
                ask=self.ask,
                errand_done=lambda effect: self.on_errand(effect),  # noqa: PLW0108 - set later
                fetch=self._fetch,
                quit=self._quit,
            ),
        )
        self.on_said: Callable[[Said], None] = self.put
        self.on_changed: Callable[[Changed], None] = self.put
        self.on_gone: Callable[[Gone], None] = self.put
        self.on_connected: Callable[[Connected], None] = lambda _: None
        self.on_disconnected: Callable[[Disconnected], None] = lambda _: None
        self.on_errand: Callable[[ErrandDone], None] = lambda _: None
        self.on_heard: Callable[[Heard], None] = lambda _: None
        self.on_step: Callable[[Stepped], None] = lambda _: None
        self.on_person: Callable[[Pressed | Commanded], Coroutine[Any, Any, None]]

    @property
    def linger(self) -> Callable[[str, int, Cpu], None]:
        """Hears that a tool of a lane's child has been open for very long."""
        return self._showing.linger

    @property
    def lanes(self) -> Lanes:
        """The lanes, to be read only."""
        return self._parts.lanes

    def put(self, given: Input | Said | Changed | Gone) -> None:
        """Give one input; it is taken in order."""
        self._inbox.append(given)
        self._news.set()

    async def ask(self, given: Input) -> Stepped:
        """Give one input, and learn what it decided once that is on the disk and performed."""
        answer: asyncio.Future[Stepped] = asyncio.get_running_loop().create_future()
        self._inbox.append(_Asked(given, answer))
        self._news.set()
        return await answer

    def hear(self, heard: Heard) -> None:
        """An event of Discord, in the first synchronous line of its handler."""
        self.on_heard(heard)
        match heard:
            case Said():
                self.on_said(heard)
            case Changed():
                self.on_changed(heard)
            case Gone():
                self.on_gone(heard)
            case ChannelGone(channel):
                self.put(PlaceGone(channel))
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

    def _quit(self, effect: Quit) -> None:
        if not self._ending.done():
            self._ending.set_result(effect)

    async def ending(self) -> Quit:
        """How the lanes want the program to end; raises what went wrong beyond repair."""
        return await asyncio.shield(self._ending)

    async def run(self) -> None:
        """Own the lanes until cancelled."""
        self.posting.on_gone = lambda channel: self.put(PlaceGone(channel))
        while True:
            await self._news.wait()
            self._news.clear()
            if not self._lost:
                await self._turn()
            if self._idle is not None and (self._lost or not self._inbox):
                self._idle.set_result(None)
                self._idle = None

    async def _turn(self) -> None:
        """Everything that came so far: stepped, recorded, then performed and answered."""
        batch, self._inbox = self._inbox, []
        known = await self._known(batch)
        if known is None:
            self._lose()
            return
        steps = [step for given in batch for step in self._steps(given, known)]
        if not await self._recording.keep(steps, self._claims, lambda: self._leaving(batch)):
            self._lose()
            return
        for step in steps:
            self.on_step(step)
        await self._perform(effect for step in steps for effect in step.effects)
        asked, self._asked = self._asked, []
        for answer, step in asked:
            if not answer.done():
                answer.set_result(step)

    async def _perform(self, effects: Iterable[Effect]) -> None:
        """Each in its rank; the requests of posts and signs are on their way before what follows them.

        What the steps mean for cards, questions and files is learnt behind those, before anything of it is shown.
        """
        ranked: dict[Rank, list[Effect]] = {order: [] for order in Rank}
        for effect in effects:
            ranked[rank(effect)].append(effect)
        begun = ranked[Rank.LIFE] or any(isinstance(effect, Post) for effect in ranked[Rank.WORK])
        for order, group in ranked.items():
            if order is Rank.RECORD:
                self.asking.flush()
                self._showing.flush()
                self._alarm.follow(self.lanes.deadline())
            if order is Rank.COURTESY and begun:
                await asyncio.sleep(BREATH)
            elif group and order is Rank.RECORD:
                await asyncio.sleep(0)
            if order is Rank.COURTESY:
                self._learn()
            for effect in group:
                self._performing.perform(effect)
            if order is Rank.WORK and group:
                self.posting.flush()

    def _lose(self) -> None:
        """We leave, and the disk refuses: the next start decides of what could not be recorded."""
        self._lost = True
        self._performing.perform(Quit(ExitCode.STOPPED, "asked to stop while the ledger could not be written"))

    async def settle(self) -> None:
        """Wait until everything given so far is stepped, recorded and performed."""
        self._idle = asyncio.get_running_loop().create_future()
        self._news.set()
        await self._idle

    # -- in --------------------------------------------------------------------------------------------------------

    async def _known(self, batch: Sequence[object]) -> frozenset[int] | None:
        """Ids of this batch that a round exists of; what is newer than all of its channel needs no look.

        None where we leave and the disk does not tell.
        """
        asked = [heard.message.id for heard in batch if isinstance(heard, Said | Changed) and not self._newer(heard)]
        asked += [message for heard in batch if isinstance(heard, Gone) for message in heard.messages]
        if not asked:
            return frozenset()
        return await self._recording.known(asked, lambda: self._claims(batch), lambda: self._leaving(batch))

    def _newer(self, heard: Said | Changed) -> bool:
        """Whether this message is newer than all that was said in its channel before."""
        return heard.message.id > self.lanes.world.seen.get(heard.message.place.channel, 0)

    def _steps(self, given: Input | Said | Changed | Gone | _Asked, known: frozenset[int]) -> list[Stepped]:
        self._learn()  # what is heard now comes behind what was decided before it
        match given:
            case Said(message):
                return self._said(message, known)
            case Changed(message):
                return self._changed(message, known)
            case Gone(_, messages):
                self.asking.gone(messages)
                return [self._step(Deleted(message, message in known)) for message in messages]
            case Brought():
                return [self._step(msgspec.structs.replace(given, advice=self.children.advise(given.lane)))]
            case _Asked(asked, answer):
                step = self._step(asked)
                self._asked.append((answer, step))
                return [step]
            case ChildSays():
                self._showing.hear(given)
                self.asking.hear(given)
                return [self._step(given)]
            case ChildDown():
                self.asking.down(given)
                return [self._step(given)]
            case Recover():
                self._showing.adopt()
                self.asking.adopt()
                return [self._step(given)]
            case _:
                return [self._step(given)]

    @property
    def _rounds(self) -> dict[str, Any]:
        return self.lanes.world.rounds

    def _said(self, message: Message, known: frozenset[int]) -> list[Stepped]:
        if message.id in known or message.id in self._recent:
            return []
        message = self._placed(message)
        given, ignored = self._parts.hearing.of_message(message, self._parts.us(message), self._parts.clock.now())
        if ignored is None:
            self._recent[message.id] = None
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        else:
            level = self._parts.log.info if ignored.addressed else self._parts.log.debug
            level("message.ignored", message_id=message.id, lane=message.place.lane, reason=str(ignored.reason))
        if isinstance(given, Arrived):
            given = Arrived(given.claim, self.children.advise(given.claim.lane), given.refusal)
        return [self._step(given)]

    def _placed(self, message: Message) -> Message:
        """The message, its place marked as ours where we opened that thread."""
        place = knows(message.place, self.lanes.world.lane(message.place.lane).thread_of)
        return message if place is message.place else msgspec.structs.replace(message, place=place)

    def _changed(self, message: Message, known: frozenset[int]) -> list[Stepped]:
        """An edit of a waiting message changes it; one that first addresses us is a new message, once.

        Where its author has it asked once more, that round is changed too, but not taken back by it.
        """
        own, mine = str(message.id), (message.id, message.author.id)
        rounds = [name for name, one in self._rounds.items() if (one.message, one.author) == mine]
        if not rounds:
            return self._said(message, known)
        message = self._placed(message)
        heard, _ = self._parts.hearing.of_message(message, self._parts.us(message), self._parts.clock.now())
        text = heard.claim.text if isinstance(heard, Arrived) and not heard.refusal else ""
        return [self._step(Rewrite(name, text)) for name in rounds if text or name == own]

    def _step(self, given: Input) -> Stepped:
        self._learn()
        step = self.lanes.step(given, self._parts.clock.now(), random.random())  # noqa: S311 - jitter, no secret
        self._unlearnt.append(step)
        return step

    def _learn(self) -> None:
        """What was decided, for the parts that only follow it."""
        steps, self._unlearnt = self._unlearnt, []
        for step in steps:
            self._showing.learn(step.facts)
            self.asking.learn(step.facts)
            self.fetching.forget(step.closed)
            if erased := [fact.message for fact in step.facts if isinstance(fact, facts.Erased)]:
                self.spawn(self.fetching.deleted(erased))
            for fact in step.facts:
                if isinstance(fact, facts.Written) and fact.kind == "prompt":
                    asyncio.get_running_loop().call_later(CARD_DELAY, self._showing.reveal, fact.round)

    def _fetch(self, effect: Fetch) -> None:
        self.spawn(self.fetching.fetch(effect, self.put))

    # -- records ---------------------------------------------------------------------------------------------------

    def _claims(self, batch: Sequence[object] = ()) -> list[facts.Claimed]:
        """What would be claimed of what waits in `batch` and in the inbox; what may be known already is not asked."""
        waiting = [given for given in (*batch, *self._inbox) if isinstance(given, Said)]
        said = [given.message for given in waiting if given.live and self._newer(given)]
        now = self._parts.clock.now()
        heard = [self._parts.hearing.of_message(message, self._parts.us(message), now)[0] for message in said]
        return [given.claim for given in heard if isinstance(given, Arrived)]

    def _leaving(self, batch: Sequence[object]) -> bool:
        return any(isinstance(given, Shutdown) for given in (*batch, *self._inbox))

    def posted(self, fact: Told) -> None:
        """What became of a post or of a card."""
        match fact:
            case facts.Posted() | facts.Dropped():
                self.put(PostDone(fact))
            case _:
                self.put(CardDone(fact))
