"""Discord as the core sees it: facts in, calls out, the connection supervised by us; it decides about neither."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import discord
from discord.http import Route
from msgspec import Struct

from connector.gateway_calls import Calls, Wire
from connector.gateway_client import Client, bad_token
from connector.gateway_hearing import Hearing
from connector.gateway_lookups import Lookups
from connector.gateway_pauses import Budget, Clock, Pauses
from connector.interactions import COMMANDS, CommandSpec, Hooks, Interactions, digest, payload
from connector.logs import Log
from connector.messages import Place
from connector.ports import Heard, PostLater, PostNever

_LOGIN_LIMIT = 60.0
_DISCORD_API = Route.BASE


@dataclass(frozen=True, slots=True)
class Options:
    """How to reach Discord. `api_base` and `gateway_url` are given together or not at all.

    `roles` and `guilds` are the access settings of that name. `ready_wait`: seconds without a further guild that end
    the start of a session; `request_limit`: seconds that one request may take.
    """

    token: str = field(repr=False)
    api_base: str | None = None
    gateway_url: str | None = None
    roles: frozenset[int] = frozenset()
    guilds: frozenset[int] = frozenset()
    commands: tuple[CommandSpec, ...] = COMMANDS
    ready_wait: float = 2.0
    request_limit: float = 30.0

    def __post_init__(self) -> None:
        if (self.api_base is None) != (self.gateway_url is None):
            # With one of them alone the token would go to the real gateway, or to a foreign REST.
            raise ValueError("api_base and gateway_url go together")


class Memory(Struct, frozen=True):
    """What outlives the process, kept by somebody else.

    `identifies`: the IDENTIFYs of the last hour (nanoseconds since the epoch), `identified` is told each further one.
    `registered`: the digest of the commands that Discord has, `register` stores a new one.
    """

    identifies: tuple[int, ...] = ()
    identified: Callable[[int], None] = lambda _at: None
    registered: Callable[[], str] = lambda: ""
    register: Callable[[str], None] = lambda _digest: None


class Gateway(Calls):
    """Implements `ports.Discord`. `hear` takes every fact in its order and must return at once."""

    def __init__(
        self,
        options: Options,
        hear: Callable[[Heard], None],
        log: Log,
        *,
        hooks: Hooks | None = None,
        memory: Memory | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._options, self._memory = options, memory or Memory()
        self._clock, self._log = clock or Clock(), log
        self._client: Client | None = None
        self._pauses, self._budget = Pauses(self._clock), Budget(self._clock, self._memory.identifies)
        self._closing, self._over = asyncio.Event(), asyncio.Event()
        self._running = self._synced = False
        self._beside: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self._known = 0
        wire = Wire(lambda: self._client, log, options.request_limit)
        self._lookups = Lookups(lambda: self._client, wire.ask, self._clock, roles=options.roles, guilds=options.guilds)
        super().__init__(wire, self._lookups, self._us, log)
        self._hearing = Hearing(
            hear, self._lookups, log, us=self._us, clock=self._clock, spawn=self._spawn, broken=self._break
        )
        self._hearing.interactions = Interactions(
            wire,
            self._hearing,
            log,
            hear=self._hearing.tell,
            spawn=self._spawn,
            us=self._us,
            commands=options.commands,
            hooks=hooks or Hooks(),
        )
        self._hearing.on_ready = self._ready
        self._latest: dict[int, int] = {}

    @property
    def us(self) -> int:
        """Our own user id; 0 before the first login."""
        return self._known

    def _us(self) -> int:
        return self._known

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Be connected until `close()`; raises Refusal for what only a person can mend."""
        self._running = True
        work = asyncio.create_task(self._work(), name="gateway")
        closing = asyncio.create_task(self._closing.wait(), name="gateway closing")
        try:
            await asyncio.wait({work, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._end(work, closing)
            self._over.set()
        if self._broken is not None:
            raise self._broken
        if not work.cancelled():
            work.result()

    async def close(self) -> None:
        """End `run()` and wait for it; posts still in flight are lost to us, so they are drained before."""
        self._closing.set()
        if self._running:
            await self._over.wait()

    async def _end(self, *tasks: asyncio.Task[Any]) -> None:
        beside = [*tasks, *self._beside]
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _work(self) -> None:
        if self._options.api_base is not None:
            Route.BASE = self._options.api_base
        elif Route.BASE != _DISCORD_API:
            raise ValueError("another gateway of this process set its own address")
        self._client = client = await self._logged_in()
        self._known = client.user.id if client.user is not None else 0
        await client.connect()

    async def _logged_in(self) -> Client:
        """A client that Discord knows; tried until it does."""
        while True:
            client = Client(
                self._hearing,
                self._log,
                gateway=self._options.gateway_url,
                pauses=self._pauses,
                budget=self._budget,
                clock=self._clock,
                identified=self._memory.identified,
                ready_wait=self._options.ready_wait,
            )
            try:
                async with asyncio.timeout(_LOGIN_LIMIT):
                    await client.login(self._options.token)
            except discord.LoginFailure:
                await client.close()
                raise bad_token() from None
            except asyncio.CancelledError:
                await client.close()
                raise
            except Exception as error:  # noqa: BLE001 - a half reply may raise anything; the next may be whole
                pause = self._pauses.after_failure()
                reason = f"{type(error).__name__}: {error}"
                self._log.warning("gateway.login_failed", reason=reason, pause=round(pause, 2))
                self._hearing.down(reason, pause)
                await client.close()
            else:
                return client
            await self._clock.sleep(pause)

    @property
    def connected(self) -> bool:
        """Whether the gateway's socket stands."""
        return self._client is not None and self._client.up

    @property
    def latency(self) -> float | None:
        """Seconds between a heartbeat and its answer, None while there is none."""
        seconds = self._client.latency if self._client is not None and self._client.up else float("inf")
        return seconds if seconds < float("inf") else None

    async def renew(self, reason: str) -> None:
        """Give the gateway's session up (it is deaf); a fresh one follows, and `Connected(fresh=True)`."""
        if self._client is not None:
            await self._client.renew(reason)

    async def channels(self) -> list[Place]:
        """All guild channels and active threads we can see."""
        return list(self._lookups.all())

    async def latest(self) -> dict[int, int]:
        """The newest message id of each channel and active thread, as READY's guilds told it; told once."""
        latest, self._latest = self._latest, {}
        return latest

    def _newest(self) -> dict[int, int]:
        guilds = self._client.guilds if self._client is not None else ()
        rooms = [room for guild in guilds for room in (*guild.channels, *guild.threads)]
        found = {room.id: getattr(room, "last_message_id", None) for room in rooms}
        return {channel: newest for channel, newest in found.items() if newest is not None}

    def managed_role(self, guild: int | None) -> int | None:
        """The role that Discord made for us in a guild, as far as it is known."""
        return self._lookups.managed_role(guild)

    # -- beside -------------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._beside.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._break(error)

    def _break(self, error: BaseException) -> None:
        """A fault of ours: `run()` ends with it."""
        self._broken = self._broken or error
        self._closing.set()

    def _ready(self) -> None:
        self._latest = self._newest()
        if not self._synced:
            self._synced = True
            self._spawn(self._register(), "register commands")

    async def _register(self) -> None:
        """Register the commands where Discord does not have them as they are now."""
        application = self._client.application_id if self._client is not None else None
        if application is None or not self._options.commands:
            return
        wanted = digest(self._options.commands, application)
        if self._memory.registered() == wanted:
            return
        pauses = Pauses(self._clock)
        while True:
            try:
                await self._wire.ask(
                    "PUT",
                    "/applications/{application_id}/commands",
                    application_id=application,
                    json=[payload(spec) for spec in self._options.commands],
                )
                break
            except PostLater as error:
                await self._clock.sleep(pauses.after_failure(floor=error.after))
            except PostNever as error:
                self._log.error("gateway.commands_refused", reason=error.reason)
                return
        self._memory.register(wanted)
        self._log.info("gateway.commands_registered", count=len(self._options.commands))
