"""Builds the concrete things of `run` and takes them down again in order; it does nothing else."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from connector import chain, facts
from connector.access import Rules, Us, admits
from connector.backfill import Backfill
from connector.beginning import record, recovery, refuse_start
from connector.children import Children
from connector.clock import Clock
from connector.dispatch import Dispatcher
from connector.distribution import installed
from connector.exits import ExitCode, Refusal
from connector.fetching import Fetching
from connector.gateway import Gateway
from connector.gateway_memory import remembered
from connector.health import Health
from connector.hearing import Hearing
from connector.interactions import Hooks
from connector.lane_effects import Quit
from connector.lane_events import Shutdown, Tick
from connector.lanes import Lanes, restored
from connector.ledger import Known, LedgerBroken
from connector.messages import Author, Message, Place
from connector.metrics import Meter
from connector.outgoing import OUTBOX
from connector.patience import patiently
from connector.people import People
from connector.people_desk import Desk
from connector.people_dialogs import DialogActs
from connector.people_session import SessionActs
from connector.performing import Parts
from connector.ports import Connected, Disconnected
from connector.posting import Posting
from connector.pruning import Kept, prune_daily
from connector.settings import nanoseconds
from connector.starting import UNHURRIED, Ahead, Ground, Program
from connector.watch import Sight, Watch
from connector.wiring import access_rules, discord_options, file_tools, lane_rules, nursery, outgoing

LONG_RESUME = 60_000_000_000
"""Nanoseconds without a gateway after which even a resumed session's channels are read."""

LISTENING_CHECK = 120.0
"""Seconds between two comparisons of the gateway with what REST knows."""


async def relay(program: Program, ground: Ground, ahead: Ahead) -> ExitCode:
    """Relay until stopped, with the state folder's lock held; the exit code. Raises Refusal."""
    life = Run(program, ground, ahead)
    try:
        return await life.live()
    finally:
        await life.unserve()


class Run:
    """One life of the connector on an open ledger."""

    def __init__(self, program: Program, ground: Ground, ahead: Ahead) -> None:
        self._program, self._ground, self._ahead = program, ground, ahead
        self._ledger, self._folder = ground.ledger, ground.folder
        self._outgoing = outgoing(program.settings, ground.folder)
        self._settings, self._log = program.settings, program.logs.log
        self._clock = Clock()
        self._asked = 0
        self._lost = 0
        self._impatient, self._started = asyncio.Event(), asyncio.Event()
        self._dispatcher: Dispatcher
        self._gateway: Gateway
        self._children: Children
        self._posting: Posting
        self._watch: Callable[[], Coroutine[Any, Any, None]]
        bound, redact = self._settings.engine.turn_timeout, program.logs.redactor.text
        self._health = Watch(program.manager, self._clock, self._log, redact=redact, child_bound=bound)
        self._ledger.told = self._health.recorded
        self.unserve: Callable[[], Awaitable[None]] = _nothing
        """Ends what `_serve` began."""

    async def live(self) -> ExitCode:
        """Recover, relay, and go down in order."""
        try:
            await self._begin()
        except Refusal:
            raise
        except Exception as error:
            await self._put_down(Quit(ExitCode.FAULT, f"internal fault: {error!r}"), fell=True)
            raise
        return await self._relay()

    async def _begin(self) -> None:
        """Everything up to the first event of Discord. Raises Refusal after too many failed starts."""
        settings, known, in_row = self._settings, self._ground.known, self._ground.in_row
        rules = lane_rules(settings, self._folder / OUTBOX)
        lanes = restored(Lanes(rules=rules, in_row=in_row), known.world)
        await asyncio.to_thread(self._outgoing.sweep, lanes.world.owed)
        start = await self._start(lanes)
        self._build(lanes, known)
        self._dispatcher.spawn(self._health.run(self._sight()))
        await self._serve(lanes)
        if in_row >= settings.supervision.max_wedges:
            await self._tell_started(start, patience=0.0)
            await refuse_start(self._gateway, self._dispatcher, in_row, settings.supervision.max_wedges)
        await record(self._ledger, facts.Up(self._clock.now(), installed()), self._clock, self._log)
        self._listen()
        self._dispatcher.spawn(self._health.meet(self._ahead.meet))
        self._dispatcher.spawn(self._tell_started(start))
        self._dispatcher.put(await asyncio.to_thread(recovery, lanes.world))
        self._dispatcher.spawn(self._prune())

    async def _prune(self) -> None:
        kept = Kept(self._ledger, self._dispatcher.fetching.inbox, self._folder / OUTBOX)
        await prune_daily(kept, self._settings.state.keep, self._clock, self._log, asyncio.sleep)

    async def _serve(self, lanes: Lanes) -> None:
        """Count from here on, and show it, where `metrics.listen` asks for that. Raises Refusal."""
        address = self._settings.metrics.address
        if address is None:
            return
        from connector.metrics_served import Page, serve  # noqa: PLC0415 - brings a web server

        meter = Meter()
        self._dispatcher.on_step, self._dispatcher.on_heard = meter.stepped, meter.heard
        self._posting.tried, self._ledger.took = meter.tried, meter.committed
        redact = self._program.logs.redactor.text
        page = Page(meter, lanes, self._gateway, self._clock, self._health_now, redact)
        self.unserve = (await serve(page, *address)).close

    def _health_now(self) -> Health:
        self._health.look(self._sight())
        return self._health.health

    def _sight(self) -> Sight:
        """Where the watch looks."""
        return Sight(
            ledger=self._ledger,
            connected=lambda: self._gateway.connected,
            overdue=self._children.overdue,
            draining=lambda: self._dispatcher.lanes.draining,
            lanes=lambda: self._dispatcher.ask(Tick()),
        )

    def _build(self, lanes: Lanes, known: Known) -> None:
        settings = self._settings
        rules = access_rules(settings)
        memory = remembered(known.kept, self._ledger.keep)
        options = discord_options(settings, self._program.token)
        # Both are made below; nothing is heard before.
        hooks = Hooks(
            modal=lambda pressed: DialogActs(desk).form(pressed),
            complete=lambda wanted: acts.complete(wanted),  # noqa: PLW0108
            openly=lambda heard: people.openly(heard),  # noqa: PLW0108
        )
        self._gateway = Gateway(options, self._hear, self._log, memory=memory, hooks=hooks)
        hearing = Hearing(rules, threads=settings.discord.reply_in == "thread")
        self._dispatcher = Dispatcher(
            Parts(
                lanes=lanes,
                ledger=self._ledger,
                discord=self._gateway,
                hearing=hearing,
                clock=self._clock,
                log=self._log,
                reactions=settings.discord.reactions,
                cards=settings.discord.progress == "live",
                us=self._us,
                dialog_timeout=nanoseconds(settings.agent.dialog_timeout),
            )
        )
        nurse = nursery(settings, self._program.environ, self._outgoing.prepare)
        self._children = Children(nurse, self._dispatcher.put, self._log, self._dispatcher.linger)
        self._posting = Posting(self._gateway, self._dispatcher.posted, self._log, outgoing=self._outgoing)
        self._dispatcher.children, self._dispatcher.posting = self._children, self._posting
        folder, environ = self._ledger.path.parent, self._program.environ
        self._dispatcher.fetching = Fetching(file_tools(settings, environ, folder, self._gateway, self._log))
        redactor = self._program.logs.redactor
        desk = Desk(hearing, self._us, self._dispatcher, self._ledger, self._clock, self._log, redactor)
        acts = SessionActs(desk, remote=settings.agent.remote)
        people = People(desk, acts)
        self._dispatcher.on_person = people.act
        backfill = Backfill(self._gateway, lanes.world, allowed(rules), self._dispatcher.put, self._log)
        self._dispatcher.on_said, self._dispatcher.on_changed = backfill.live, backfill.changed
        self._dispatcher.on_gone = backfill.gone

        def connected(event: Connected) -> None:
            self._health.connected()
            if event.fresh:
                self._dispatcher.spawn(self._tell_ready())
            else:
                self._log.info("gateway.resumed")
            if event.fresh or self._clock.now() - self._lost >= LONG_RESUME:
                backfill.begin()
                self._dispatcher.spawn(backfill.run())
            self._lost = 0

        def disconnected(event: Disconnected) -> None:
            self._health.disconnected(event.reason, event.pause)
            self._lost = self._lost or self._clock.now()

        self._dispatcher.on_connected, self._dispatcher.on_disconnected = connected, disconnected
        self._watch = lambda: backfill.watch(self._gateway.renew, lambda: asyncio.sleep(LISTENING_CHECK))

    def _us(self, message: Message) -> Us:
        return Us(self._gateway.us, self._gateway.managed_role(message.place.guild))

    def _hear(self, event: Any) -> None:
        self._dispatcher.hear(event)

    async def _start(self, lanes: Lanes) -> dict[str, Any]:
        """What `connector.started` tells of the ledger."""
        return {
            "last_exit": chain.last_exit(self._ground.known.chain),
            "wedges_in_a_row": lanes.in_row,
            "recovered": sum(round_.pending for round_ in lanes.world.rounds.values()),
            "dead": await patiently(self._ledger.dead, self._log, self._program.manager.status),
        }

    async def _tell_started(self, start: Mapping[str, Any], *, patience: float = UNHURRIED) -> None:
        """CONTRACT's `connector.started`."""
        found = await self._ahead.facts(self._health.over, patience)
        self._log.info("connector.started", **found.fields(), **start)
        self._started.set()

    async def _tell_ready(self) -> None:
        await self._started.wait()
        self._log.info("connector.ready")

    def _listen(self) -> None:
        """SIGTERM and SIGINT: the first asks to stop, a second one skips the draining."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._loop_fault)
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, self._on_signal)

    def _on_signal(self) -> None:
        self._asked += 1
        if self._asked > 1:
            self._impatient.set()
        self._dispatcher.put(Shutdown())

    def _loop_fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault in a callback is a fault of ours; what carries no exception is only told."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._dispatcher.fault(error)
        else:
            self._log.warning("loop.trouble", text=str(context.get("message", "")))

    async def _relay(self) -> ExitCode:
        works = {
            asyncio.create_task(self._gateway.run(), name="gateway"),
            asyncio.create_task(self._dispatcher.run(), name="dispatcher"),
            asyncio.create_task(self._posting.run(), name="posting"),
            asyncio.create_task(self._watch(), name="watch"),
        }
        ending = asyncio.create_task(self._dispatcher.ending(), name="ending")
        self._health.relaying()
        try:
            await asyncio.wait({ending, *works}, return_when=asyncio.FIRST_COMPLETED)
            quit_ = _how_it_ends(ending, works)
        except Refusal as refusal:
            await self._take_down(works)
            await self._put_down(Quit(ExitCode.REFUSED, refusal.reason))
            raise
        except Exception as error:
            await self._take_down(works)
            await self._put_down(Quit(ExitCode.FAULT, f"internal fault: {error!r}"), fell=True)
            raise
        await self._take_down(works)
        await self._put_down(quit_)
        if quit_.code == ExitCode.REFUSED:
            raise Refusal(quit_.reason, "mend the child's command, then start again")
        self._log.info("connector.stopped", code=quit_.code, reason=quit_.reason)
        return ExitCode(quit_.code)

    async def _take_down(self, works: set[asyncio.Task[None]]) -> None:
        """Children first, then what is still to be posted, then the way to Discord."""
        self._health.stopping(self._dispatcher.lanes.draining)
        await self._dispatcher.fetching.close()
        await self._children.stop_all()
        await self._unless_impatient(self._posting.drain(self._settings.discord.stop_timeout))
        await self._gateway.close()
        # Where the dispatcher itself has failed there is nobody left to settle.
        settled = asyncio.create_task(self._dispatcher.settle())
        lanes = next(work for work in works if work.get_name() == "dispatcher")
        await asyncio.wait({settled, lanes}, return_when=asyncio.FIRST_COMPLETED)
        settled.cancel()
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)

    async def _unless_impatient(self, work: Any) -> None:
        tasks = [asyncio.ensure_future(work), asyncio.create_task(self._impatient.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _put_down(self, quit_: Quit, *, fell: bool = False) -> None:
        now = self._clock.now()
        last: list[facts.AnyFact] = [facts.Fell(now, quit_.reason)] if fell else []
        try:
            await self._ledger.commit([*last, facts.Down(now, quit_.code, quit_.reason)], at=now)
        except LedgerBroken as broken:
            self._log.warning("ledger.broken", reason=str(broken))


def _how_it_ends(ending: "asyncio.Task[Quit]", works: set["asyncio.Task[None]"]) -> Quit:
    """The lanes' word, or the fault of a part that ended before it."""
    for work in works:
        if work.done() and not work.cancelled() and (error := work.exception()) is not None:
            ending.cancel()
            raise error
    if ending.done():
        return ending.result()
    raise RuntimeError("a part of the connector ended without a word")


async def _nothing() -> None:
    """What there is to end where nothing was begun."""


def allowed(rules: Rules) -> Any:
    """Whether history of a channel is read: what an operator may ask in."""

    def judge(place: Place) -> bool:
        somebody = Author(next(iter(rules.operators | rules.users), 0), "")
        return admits(rules, somebody, place) is None or not (rules.operators | rules.users)

    return judge
