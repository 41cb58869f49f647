"""discord.py's client with the connection in our own hands; it reads events and decides nothing about them.

discord.py's own loop retries a resumable close with no pause, dies of one malformed event and of a gateway that is
down at the first connect. This one replaces `Client.connect`; its parsers of messages and interactions are ours.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from msgspec import Struct

from connector.exits import Refusal
from connector.gateway_facts import Json
from connector.gateway_pauses import Budget, Clock, Pauses
from connector.logs import Log

_CONNECT_LIMIT = 60.0
_CLOSE_LIMIT = 2.0
_RESUME_TRIES = 3
_NOTICED = 30.0
_LOST_SESSION = 1.0
_EVENTS = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "INTERACTION_CREATE")
_PLACES = ("CHANNEL_DELETE", "THREAD_DELETE")
_STEP = "open https://discord.com/developers/applications, choose the application, "
_BAD_TOKEN = _STEP + "Bot, Reset Token, and put the new one into the token file"
_INTENTS = _STEP + "Bot, Privileged Gateway Intents, switch on MESSAGE CONTENT INTENT, and save"


def bad_token() -> Refusal:
    """The refusal of a token that Discord does not know."""
    return Refusal("Discord does not accept the bot token", _BAD_TOKEN)


def fatal(code: int | None) -> Refusal | None:
    """The refusal behind a close code of the gateway that no further attempt would change."""
    match code:
        case 4004:
            return bad_token()
        case 4013 | 4014:
            return Refusal("Discord does not allow the bot to read messages (message content intent)", _INTENTS)
        case 4010 | 4011 | 4012:
            return Refusal(f"Discord's gateway refuses this client (close code {code})", "install the newest version")
        case _:
            return None


def trusted(gateway: yarl.URL, *, custom: str | None) -> yarl.URL:
    """The address to resume at: the token goes to no host but Discord's, or the one of `custom`."""
    default = DiscordWebSocket.DEFAULT_GATEWAY if custom is None else yarl.URL(custom)
    host = gateway.host or ""
    known = host == default.host if custom is not None else f".{host}".endswith(".discord.gg")
    return gateway if known and gateway.scheme == default.scheme else default


class Ears(Protocol):
    """Who is told of events, in order and at once; what he raises counts as the event's being malformed."""

    def connecting(self) -> None:
        """READY was read; guilds follow."""

    def ready(self) -> None:
        """The guilds are known."""

    def resumed(self) -> None:
        """What was missed has been replayed."""

    def event(self, name: str, data: Json) -> None:
        """One of the events that are read by ourselves."""

    def malformed(self, name: str) -> None:
        """An event could not be read; the connection goes on."""

    def down(self, reason: str, pause: float) -> None:
        """The gateway is gone; the next attempt follows in `pause` seconds."""


class _Session(Struct, frozen=True):
    """What a RESUME needs."""

    id: str
    sequence: int | None
    gateway: yarl.URL


class Client(discord.Client):
    """One bot's connection, kept up until the task that runs `connect` is cancelled or Discord refuses for good.

    `gateway` is the gateway's address (None: Discord's own), `ready_wait` how many seconds without a further guild
    end the start of a session, `identified` is told each IDENTIFY (nanoseconds since the epoch).
    """

    def __init__(
        self,
        ears: Ears,
        log: Log,
        *,
        gateway: str | None,
        pauses: Pauses,
        budget: Budget,
        clock: Clock,
        identified: Callable[[int], None],
        ready_wait: float,
    ) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # we never speak
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
        super().__init__(
            intents=intents,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=ready_wait,
            max_ratelimit_timeout=30.0,
        )
        self._ears, self._log, self._clock = ears, log, clock
        self._pauses, self._budget, self._identified = pauses, budget, identified
        self._sockets = _socket_class(self._born, gateway)
        self._custom = gateway
        self._open: DiscordWebSocket | None = None
        self._session: _Session | None = None
        self._resumes = 0
        self._reading = ""
        self._why = ""
        self._unread: dict[str, int] = {}
        self._ready_wait = ready_wait
        for name in _PLACES:
            self._connection.parsers[name] = self._place_reader(name, self._connection.parsers[name])
        self._connection.parsers["GUILD_CREATE"] = self._guild_reader(self._connection.parsers["GUILD_CREATE"])
        for name in _EVENTS:
            # Not discord.py's objects: they would be built for every message of every channel, and break on one key.
            self._connection.parsers[name] = self._reader(name)

    def dispatch(self, event: str, /, *args: Any, **_kwargs: Any) -> None:
        """Tell the ears in the first synchronous line; nobody else listens, and handlers as tasks lose the order."""
        match event:
            case "socket_event_type":
                self._reading = args[0]
            case "connect":
                self._came_up()
                self._hurry_start()
                self._ears.connecting()
            case "ready":
                self._ears.ready()
            case "resumed":
                self._came_up()
                self._ears.resumed()
            case _:
                pass  # events of discord.py's own objects, which nobody asked for

    def _came_up(self) -> None:
        self._resumes = 0
        self._pauses.up()

    def _reader(self, name: str) -> Callable[[Any], None]:
        return lambda data: self._ears.event(name, data)

    def _place_reader(self, name: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
        def read(data: Any) -> None:
            parse(data)
            self._ears.event(name, data)

        return read

    def _guild_reader(self, parse: Callable[[Any], None]) -> Callable[[Any], None]:
        def read(data: Any) -> None:
            parse(data)
            self._hurry_start()

        return read

    def _hurry_start(self) -> None:
        """discord.py waits for one more guild after the last one, too; where none is missing it need not."""
        missing = any(guild.unavailable for guild in self._connection.guilds)
        self._connection.guild_ready_timeout = self._ready_wait if missing else 0.0

    def _born(self, socket: DiscordWebSocket) -> None:
        self._open = socket

    async def before_identify_hook(self, _shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 - discord.py's name
        """Count it where discord.py would wait five seconds: the budget has been waited for already."""
        self._identified(self._budget.spent())

    @property
    def up(self) -> bool:
        """Whether a socket stands."""
        return self._open is not None and self._open.open

    async def renew(self, reason: str) -> None:
        """Drop the connection and its session: the next one begins afresh."""
        self._why = reason
        if self._open is not None:
            await self._shut(self._open, 1000)

    async def connect(self, *, reconnect: bool = True) -> None:  # noqa: ARG002 - discord.py's signature
        """Stay connected; raises Refusal at a close that no attempt would change."""
        while True:
            if self._session is None:
                await self._may_identify()
            floor, reason = 0.0, ""
            try:
                await self._attempt()
            except ReconnectWebSocket as closed:
                reason = f"closed with {self._code()}" if self._code() else f"asked to {closed.op.lower()}"
                if not closed.resume:
                    self._session = None
                    floor = _LOST_SESSION + 4 * self._clock.random()
            except discord.ConnectionClosed as closed:
                if (refusal := fatal(closed.code)) is not None:
                    raise refusal from None
                reason = f"closed with {closed.code}"
            except (OSError, aiohttp.ClientError, discord.DiscordException) as error:
                reason = f"{type(error).__name__}: {error}"
            except Exception as error:  # noqa: BLE001 - a malformed greeting may raise anything; the next may be whole
                reason = f"{type(error).__name__}: {error}"
                self._log.warning("gateway.malformed", kind=self._reading or "HELLO", exc_info=True)
            if self._why:
                reason, self._why, self._session = self._why, "", None
            pause = self._pauses.after_failure(floor=floor)
            self._ears.down(reason, pause)
            self._log.warning("gateway.down", reason=reason, pause=round(pause, 2), resume=self._session is not None)
            await self._clock.sleep(pause)

    async def _may_identify(self) -> None:
        """Wait until the budget has an IDENTIFY."""
        if (wait := self._budget.wait()) > 0:
            self._log.info("gateway.identify_waits", seconds=round(wait, 1))
            if wait > _NOTICED:
                self._ears.down("waiting until a new session is allowed", wait)
            await self._clock.sleep(wait)

    def _code(self) -> int | None:
        return self._open.socket.close_code if self._open is not None else None

    async def _attempt(self) -> None:
        """One connection from beginning to end; whatever ends it is raised."""
        session = self._session
        if session is not None and self._resumes >= _RESUME_TRIES:
            self._session = session = None
            await self._may_identify()
        self._resumes += session is not None
        self._open, self._reading = None, ""
        code = 4000
        try:
            async with asyncio.timeout(_CONNECT_LIMIT):
                self.ws = await self._sockets.from_client(
                    self,
                    gateway=session.gateway if session else None,
                    session=session.id if session else None,
                    sequence=session.sequence if session else None,
                    resume=session is not None,
                )
            while True:
                await self._read(self.ws)
        except asyncio.CancelledError:
            code = 1000  # we leave for good: nobody will resume
            raise
        finally:
            await self._left(code)

    async def _read(self, socket: DiscordWebSocket) -> None:
        """Read one event; a malformed one is logged once a kind with a count, and the connection goes on."""
        self._reading = ""
        try:
            await socket.poll_event()
        except (ReconnectWebSocket, discord.ConnectionClosed, OSError, aiohttp.ClientError):
            raise
        except Exception:
            # discord.py's parsers raise what a missing key raises; the sequence has been noted before.
            name = self._reading
            self._unread[name] = count = self._unread.get(name, 0) + 1
            if count == 1 or count % 1_000 == 0:
                self._log.warning("gateway.malformed", kind=name, count=count, exc_info=True)
            if name in ("READY", "RESUMED", ""):
                raise
            self._ears.malformed(name)

    async def _left(self, code: int) -> None:
        """Remember the session of the socket that ended, and leave neither it nor its heartbeat behind."""
        socket = self._open
        if socket is None:
            return
        if socket.session_id is not None:
            self._session = _Session(socket.session_id, socket.sequence, trusted(socket.gateway, custom=self._custom))
        await self._shut(socket, code)

    async def _shut(self, socket: DiscordWebSocket, code: int) -> None:
        # A peer that says nothing any more must not hold us; aiohttp drops the socket when it is cancelled.
        with contextlib.suppress(TimeoutError, OSError, aiohttp.ClientError, RuntimeError):
            async with asyncio.timeout(_CLOSE_LIMIT):
                await socket.close(code)


def _socket_class(born: Callable[[DiscordWebSocket], None], gateway: str | None) -> type[DiscordWebSocket]:
    """discord.py's socket, which tells of its birth (a half-made one must be closed too), at our own address."""

    class Socket(DiscordWebSocket):
        DEFAULT_GATEWAY = yarl.URL(gateway) if gateway is not None else DiscordWebSocket.DEFAULT_GATEWAY

        def __init__(self, socket: aiohttp.ClientWebSocketResponse, *, loop: asyncio.AbstractEventLoop) -> None:
            super().__init__(socket, loop=loop)
            born(self)

    return Socket
