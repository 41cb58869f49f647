"""The connector's own parts around a real gateway on the fake Discord, with children that do what a test says.

For tests of what people press and type: lanes, ledger, dispatcher, outbox and people are the real ones; there is no
process of an agent. A prompt that is written begins its run at once and stays until the test ends it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from connector import facts
from connector.access import Rules, Us
from connector.children import Children
from connector.clock import Clock
from connector.commands_session import SESSION_COMMANDS
from connector.dispatch import Dispatcher
from connector.download import Doors
from connector.environment import plain_environment
from connector.fetching import Bounds, Fetching, Tools
from connector.gateway import Memory
from connector.gateway_memory import remembered
from connector.hearing import Hearing
from connector.inbox import Inbox
from connector.interactions import COMMANDS, Hooks
from connector.lane_base import LaneRules
from connector.lane_events import ChildDown, ChildSays, ChildUp, Input, Recover, Tick
from connector.lanes import Lanes, restored
from connector.ledger import Ledger
from connector.messages import Message
from connector.people import People
from connector.people_desk import Desk
from connector.people_dialogs import DialogActs
from connector.people_session import SessionActs
from connector.performing import Parts
from connector.pictures import Worker
from connector.posting import Posting
from engine import events as told
from engine.state import Advice
from fakes.discord import FakeDiscord, Place
from fakes.discord_acts import Act
from fakes.living_gateway import Living, running

T = TypeVar("T")
MODEL = ("fake", "scripted")
STATE = {"model": {"provider": MODEL[0], "id": MODEL[1]}}


class Hands(Clock):
    """A wall clock whose hands a test may move forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0

    def now(self) -> int:
        """Nanoseconds since the epoch."""
        return super().now() + self.ahead


class Puppets(Children):
    """Children on strings, in the place of engines. `heard`: what each lane's was told, in order."""

    def __init__(self, put: Callable[[Input], None]) -> None:
        self._give = put
        self.heard: list[tuple[str, told.Input]] = []
        self.alive: dict[str, int] = {}
        self.asked: set[str] = set()
        self.advice = Advice.QUEUE

    def advise(self, lane: str) -> Advice:  # noqa: ARG002 - what it stands in for has it
        """What comes during a run waits, unless a test says otherwise."""
        return self.advice

    def left(self, lane: str, child: int) -> tuple[str, ...] | None:  # noqa: ARG002 - what it stands in for has it
        """Nothing is left."""
        return ()

    def spawn(self, lane: str, child: int, session: str) -> None:  # noqa: ARG002 - what it stands in for has it
        """One is there, and answers."""
        self.alive[lane] = child
        self._give(ChildUp(lane, child, 1, "a test"))
        self.says(lane, told.Ready(STATE), busy=False)

    def tell(self, lane: str, child: int, given: told.Input) -> None:  # noqa: ARG002 - what it stands in for has it
        """A prompt begins its run; what fails in it ends at once."""
        self.heard.append((lane, given))
        match given:
            case told.Submit(turn, told.Text()):
                self.says(lane, told.Sent(turn), told.Started(turn), busy=True)
            case told.Fail(turn, code):
                self.says(lane, told.Ended(turn, told.Outcome(code)), told.Released(turn), busy=False)
            case told.AnswerDialog(dialog):
                self.says(lane, told.Unasked(dialog), busy=True)
            case _:
                pass

    def asks(self, lane: str, child: int, dialog: str) -> bool:
        """It waits for what it has asked until that is answered, or it says that it does not."""
        return self.alive.get(lane) == child and dialog in self.asked

    def retire(self, lane: str, child: int) -> None:
        """It goes."""
        if self.alive.pop(lane, None) is not None:
            self._give(ChildDown(lane, child, 0, expected=True))

    async def stop_all(self) -> None:
        """Nothing has to be waited for."""

    def says(self, lane: str, *words: told.Effect, busy: bool) -> None:
        """Let a lane's child tell something."""
        for word in words:
            if isinstance(word, told.Asked):
                self.asked.add(word.dialog.id)
            elif isinstance(word, told.Unasked):
                self.asked.discard(word.dialog)
        self._give(ChildSays(lane, self.alive[lane], words, busy))

    def prompts(self) -> list[tuple[str, str]]:
        """Lane and text of every prompt that was written, in order."""
        found = []
        for lane, given in self.heard:
            if isinstance(given, told.Submit) and isinstance(given.work, told.Text):
                found.append((lane, given.work.message))
        return found


class Watched(Inbox):
    """Inboxes that tell of each change, in whatever thread it is made."""

    def __init__(self, state: Path, most: int, tell: Callable[[], None]) -> None:
        super().__init__(state, most)
        self._loop, self._changed = asyncio.get_running_loop(), tell

    def _tell(self) -> None:
        self._loop.call_soon_threadsafe(self._changed)

    def keep(self, part: Path, lane: str, name: str, *, beside: int) -> bool:
        """As in an inbox."""
        kept = super().keep(part, lane, name, beside=beside)
        self._tell()
        return kept

    def discard(self, part: Path) -> None:
        """As in an inbox."""
        super().discard(part)
        self._tell()

    def forget(self, message: int) -> None:
        """As in an inbox."""
        super().forget(message)
        self._tell()


@dataclass
class House:
    """One life of the connector. `ledger` is on the disk: a further house in the same folder is a restart."""

    world: FakeDiscord
    living: Living
    lanes: Lanes
    dispatcher: Dispatcher
    ledger: Ledger
    puppets: Puppets
    posting: Posting
    clock: Hands
    kept: list[facts.AnyFact] = field(default_factory=list)

    async def settle(self) -> None:
        """Everything given so far is stepped, recorded and performed."""
        await self.dispatcher.settle()

    async def until(self, predicate: Callable[[], T], what: str = "") -> T:
        """The first truthy value, looked at after each request, fact and step."""
        return await self.living.changes.until(predicate, what=what)

    def round(self, name: str | int) -> str:
        """Where a round is: its phase, "" where it is over and forgotten."""
        found = self.lanes.world.rounds.get(str(name))
        return "" if found is None else found.phase.name

    async def comes(self, name: str | int, phase: str) -> None:
        """Wait until a round is in this phase."""
        await self.until(lambda: self.round(name) == phase, f"round {name} to be {phase or 'over'}")

    def of(self, kind: type[facts.Fact]) -> list[facts.AnyFact]:
        """The facts of one kind that were recorded in this life, in order."""
        return [fact for fact in self.kept if isinstance(fact, kind)]

    # -- what children do ------------------------------------------------------------------------------------------

    async def ends(self, name: str | int, outcome: told.Outcome) -> None:
        """The run of a round ends."""
        round_ = self.lanes.world.rounds[str(name)]
        self.puppets.says(round_.lane, told.Ended(round_.turn, outcome), told.Released(round_.turn), busy=False)
        await self.settle()

    async def answers(self, name: str | int, text: str = "done") -> None:
        """The run of a round ends with an answer."""
        await self.ends(name, told.Outcome(told.Code.ANSWERED, text=text))

    async def limited(self, name: str | int) -> None:
        """The run of a round ends at the provider's limit."""
        await self.ends(name, told.Outcome(told.Code.RATE_LIMITED, detail="429 too many requests"))

    async def fails(self, name: str | int) -> None:
        """The run of a round fails for good, with a Retry button."""
        await self.ends(name, told.Outcome(told.Code.TIMEOUT))

    async def later(self, seconds: float) -> None:
        """So much time passes."""
        self.clock.ahead += int(seconds * 1e9)
        self.dispatcher.put(Tick())
        await self.settle()

    # -- what people are told --------------------------------------------------------------------------------------

    async def told(self, act: Act) -> str:
        """What the person who pressed or typed is told, once it is; it must be seen by him alone."""
        await self.until(lambda: self._said(act), f"an answer to {act.id}")
        for message in act.followups:
            assert self.world.post(message).ephemeral
        return self._said(act)

    def _said(self, act: Act) -> str:
        reply = act.now()
        said = [reply.content] if reply.kind in {"message", "deferred"} and reply.content else []
        if said:
            assert reply.ephemeral
        return "\n".join(said + [self.world.post(message).content for message in act.followups])

    async def post(self, place: Place, count: int = 1) -> str:
        """The text of the `count`-th post in a place, once it stands."""
        await self.until(lambda: len(self.world.posts(place)) >= count, f"post {count} in {place.name}")
        return self.world.posts(place)[count - 1].content

    def buttons(self, message: int) -> list[str]:
        """The `custom_id`s under a message."""
        rows: Sequence[dict[str, object]] = self.world.post(message).components
        found: list[str] = []
        for row in rows:
            inner = row["components"]
            assert isinstance(inner, list)
            found += [one["custom_id"] for one in inner]
        return found


@asynccontextmanager
async def house(
    world: FakeDiscord,
    folder: Path,
    rules: Rules,
    *,
    lane_rules: LaneRules | None = None,
    cards: bool = True,
    threads: bool = False,
    reactions: bool = True,
    ahead: int = 0,
    files: Callable[[Bounds], Bounds] = lambda bounds: bounds,
    max_lane: int = 1 << 28,
) -> AsyncIterator[House]:
    """A connector that listens to this Discord and keeps its ledger in this folder; its clock is `ahead` by so many ns.

    `files` changes their bounds.
    """
    ledger = Ledger.open(folder)
    known = await ledger.load()
    memory: Memory = remembered(known.kept, ledger.keep)
    lanes = restored(Lanes(rules=lane_rules or LaneRules(busy="queue")), known.world)
    clock = Hands()
    clock.ahead = ahead
    # The gateway takes them before there are any.
    hooks = Hooks(
        modal=lambda pressed: DialogActs(desk).form(pressed),
        complete=lambda wanted: acts.complete(wanted),  # noqa: PLW0108
        openly=lambda heard: people.openly(heard),  # noqa: PLW0108
    )
    async with running(world, memory=memory, hooks=hooks, commands=(*COMMANDS, *SESSION_COMMANDS)) as living:
        log = living.logs.log
        hearing = Hearing(rules, threads=threads)

        def us(message: Message) -> Us:
            return Us(living.gateway.us, living.gateway.managed_role(message.place.guild))

        dispatcher = Dispatcher(
            Parts(lanes, ledger, living.gateway, hearing, clock, log, reactions=reactions, cards=cards, us=us)
        )
        puppets = Puppets(dispatcher.put)
        posting = Posting(living.gateway, dispatcher.posted, log, living.pacing.clock())
        dispatcher.children, dispatcher.posting = puppets, posting
        bounds = files(Bounds(10 << 20, 10, remote=False, doors=Doors(world.rest_base)))
        worker = Worker(plain_environment(os.environ), log, asyncio.Semaphore(2))
        pause = living.pacing.clock().sleep
        dispatcher.fetching = Fetching(
            Tools(bounds, Watched(folder, max_lane, living.changes.tell), worker, living.gateway, log, pause)
        )
        desk = Desk(hearing, us, dispatcher, ledger, clock, log, living.logs.redactor)
        acts = SessionActs(desk, remote=False)
        people = People(desk, acts)
        dispatcher.on_person = people.act
        here = House(world, living, lanes, dispatcher, ledger, puppets, posting, clock)
        commit = ledger.commit

        async def watched(new: Sequence[facts.AnyFact], *, at: int, closed: Iterable[str] = ()) -> None:
            await commit(new, at=at, closed=closed)
            here.kept += new
            living.changes.tell()

        ledger.commit = watched  # type: ignore[method-assign]  # what was recorded is what tests ask about
        unwatch = world.changes.also(living.changes.tell)
        living.also = dispatcher.hear
        tasks = [asyncio.create_task(dispatcher.run()), asyncio.create_task(posting.run())]
        dispatcher.put(Recover())
        try:
            await here.settle()
            yield here
        finally:
            unwatch()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await dispatcher.fetching.close()
            await ledger.close()
