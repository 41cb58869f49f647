"""Discord's gateway v10 over real sockets: sessions, replay, heartbeats; knows nothing of guilds and messages."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import WSMsgType, web

from fakes.discord_faults import Faults
from fakes.discord_net import reset
from fakes.discord_records import Json

PRIVILEGED = (1 << 15) | (1 << 8) | (1 << 1)
"""Message content, presences and members: what must be switched on for the application."""
ENDS_SESSION = {4007, 4009}
TORN = b"\x81\x7e\x10\x00" + b'{"op": 0, "t": "MESSAGE_CREATE", "s": '
"""The first bytes of a text frame of 4,096."""


class World(Protocol):
    """What the gateway asks of the part that knows Discord."""

    intents_allowed: bool

    def ready(self) -> Json:
        """READY without its session."""

    def guild_creates(self) -> list[Json]:
        """A GUILD_CREATE per guild."""

    def shape(self, event: str, payload: Json, intents: int) -> Json | None:
        """An event as these intents get it."""

    def members_chunk(self, wanted: Json) -> Json:
        """The answer to op 8."""


@dataclass(slots=True)
class Session:
    """One IDENTIFY and what it was told since; `log` is what a RESUME replays."""

    id: str
    intents: int
    log: deque[tuple[int, str]]
    seq: int = 0
    line: Line | None = None
    forgotten: int = 0
    """The last sequence number that is no longer in the log."""


@dataclass(slots=True, eq=False)
class Line:
    """One open socket; frames leave in order, written by one task."""

    socket: web.WebSocketResponse
    request: web.Request
    resumed_host: bool
    out: asyncio.Queue[str | int] = field(default_factory=asyncio.Queue)
    session: Session | None = None
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    closed_with: int | None = None
    """The code of the close frame, if the server sent it."""

    def op(self, op: int, d: Any = None) -> None:
        """Queue a frame that is no event."""
        self.out.put_nowait(json.dumps({"op": op, "d": d, "s": None, "t": None}))

    def close(self, code: int) -> None:
        """Close after what is queued."""
        self.out.put_nowait(code)


class Gateway:
    """Every gateway connection of the fake. `heartbeat` in seconds; `replay` events are kept for each session."""

    def __init__(
        self,
        world: World,
        token: str,
        *,
        resume_url: str,
        heartbeat: float,
        replay: int,
        changed: Callable[[], None],
        told: Callable[[str, Json], None] = lambda _event, _payload: None,
    ) -> None:
        self.told = told
        """Hears of every event as a session gets it."""
        self.world = world
        self.token = token
        self.resume_url = resume_url
        self.heartbeat = heartbeat
        self.replay = replay
        self.changed = changed
        self.faults: Faults | None = None
        self.lines: list[Line] = []
        self.sessions: dict[str, Session] = {}
        self.log: list[tuple[str, Any]] = []
        """What happened, in order: ("connect", "gw" or "resume"), ("refused", ...), ("identify", intents),
        ("resume", sequence), ("resumed", events replayed), ("invalid", resumable), ("close", code),
        ("op", frame), ("event", name)."""
        self._ids = itertools.count(1)

    def _note(self, kind: str, detail: Any = None) -> None:
        self.log.append((kind, detail))
        self.changed()

    def count(self, kind: str) -> int:
        """How often something of `log` happened."""
        return sum(k == kind for k, _ in self.log)

    @property
    def connected(self) -> list[Session]:
        """The sessions that have a socket and have said who they are."""
        return [line.session for line in self.lines if line.session is not None]

    # ------------------------------------------------------------------ events

    def publish(self, event: str, payload: Json) -> None:
        """Tell every session, also one whose socket is gone, for its RESUME."""
        copies = 1 if self.faults is None else self.faults.copies(event)
        for _ in range(copies):
            for session in self.sessions.values():
                self._say(session, event, payload)
        if copies:
            self._note("event", event)

    def _say(self, session: Session, event: str, payload: Json) -> None:
        shaped = self.world.shape(event, payload, session.intents)
        if shaped is not None:
            self.told(event, shaped)
            self.say_raw(session, event, shaped)

    def say_raw(self, session: Session, event: str, shaped: Any) -> None:
        """An event as it is, whatever that may be."""
        session.seq += 1
        frame = json.dumps({"op": 0, "t": event, "s": session.seq, "d": shaped})
        session.log.append((session.seq, frame))
        while len(session.log) > self.replay:
            session.forgotten = session.log.popleft()[0]
        if session.line is not None:
            session.line.out.put_nowait(frame)

    # ------------------------------------------------------------------ sockets

    async def handle(self, request: web.Request, *, resume_host: bool) -> web.StreamResponse:
        """Serve one connection until it ends."""
        where = "resume" if resume_host else "gw"
        faults = self.faults
        if faults is not None and (faults.refuse_gateway or (resume_host and faults.refuse_resume)):
            self._note("refused", where)
            reset(request)
            return web.Response(status=503)
        socket = web.WebSocketResponse(compress=False, max_msg_size=0, timeout=1.0, autoping=True)
        await socket.prepare(request)
        line = Line(socket, request, resume_host)
        self.lines.append(line)
        self._note("connect", where)
        line.op(10, {"heartbeat_interval": int(self.heartbeat * 1000), "_trace": []})
        writer = asyncio.create_task(self._write(line))
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._heard(line, json.loads(message.data))
        finally:
            self._gone(line)
            line.close(1000)
            await writer
        return socket

    async def _write(self, line: Line) -> None:
        while True:
            frame = await line.out.get()
            try:
                if isinstance(frame, int):
                    if not line.gone.is_set():
                        line.closed_with = frame
                    await line.socket.close(code=frame)
                    return
                if self.faults is not None and not self.faults.flowing.is_set():
                    await self._flows(line, self.faults.flowing)
                await line.socket.send_str(frame)
            except ConnectionError:
                return  # the client went away; what it missed is in its session's log

    async def _flows(self, line: Line, flowing: asyncio.Event) -> None:
        """Wait until frames leave again, or nobody is there any more."""
        either = [asyncio.create_task(flowing.wait()), asyncio.create_task(line.gone.wait())]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()

    def _gone(self, line: Line) -> None:
        self.lines.remove(line)
        line.gone.set()
        session = line.session
        if session is not None and session.line is line:
            session.line = None
            if line.closed_with is None and line.socket.close_code in (1000, 1001):
                self.sessions.pop(session.id, None)
        self._note("close", line.closed_with or line.socket.close_code)

    def _heard(self, line: Line, frame: Json) -> None:
        op, d = frame.get("op"), frame.get("d")
        match op:
            case 1:
                if self.faults is None or not self.faults.mute_heartbeats:
                    line.op(11)
                return
            case 2:
                self._identify(line, d or {})
            case 6:
                self._resume(line, d or {})
            case 8 if line.session is not None and d:
                self._say(line.session, "GUILD_MEMBERS_CHUNK", self.world.members_chunk(d))
            case 3 | 4 if line.session is not None:
                self._note("op", frame)
            case _:
                line.close(4003 if line.session is None else 4001)

    def _identify(self, line: Line, d: Json) -> None:
        intents = int(d.get("intents") or 0)
        self._note("identify", intents)
        if line.session is not None:
            return line.close(4005)
        if d.get("token") != self.token:
            return line.close(4004)
        if intents & PRIVILEGED and not self.world.intents_allowed:
            return line.close(4014)
        session = Session(f"session-{next(self._ids)}", intents, deque())
        self.sessions[session.id] = session
        session.line, line.session = line, session
        ready = self.world.ready() | {"session_id": session.id, "resume_gateway_url": self.resume_url}
        if "shard" in d:
            ready["shard"] = d["shard"]
        self._say(session, "READY", ready)
        for guild in self.world.guild_creates():
            self._say(session, "GUILD_CREATE", guild)
        return self.changed()

    def _resume(self, line: Line, d: Json) -> None:
        self._note("resume", d.get("seq"))
        session = self.sessions.get(str(d.get("session_id")))
        seq = d.get("seq")
        if d.get("token") != self.token:
            return line.close(4004)
        if session is None or not isinstance(seq, int) or not session.forgotten <= seq <= session.seq:
            self._note("invalid", False)
            return line.op(9, False)
        if session.line is not None:
            session.line.close(4000)
            session.line.session = None
        session.line, line.session = line, session
        missed = [frame for at, frame in session.log if at > seq]
        for frame in missed:
            line.out.put_nowait(frame)
        self._say(session, "RESUMED", {"_trace": []})
        return self._note("resumed", len(missed))

    # ------------------------------------------------------------------ on cue

    async def reconnect(self) -> None:
        """Op 7 on every connection; returns when each has gone."""
        await self._each(lambda line: line.op(7))

    async def invalidate(self, resumable: bool) -> None:
        """Op 9 on every connection; returns when each has gone."""
        for line in self.lines:
            if line.session is not None and not resumable:
                self.sessions.pop(line.session.id, None)
        self._note("invalid", resumable)
        await self._each(lambda line: line.op(9, resumable))

    async def close(self, code: int) -> None:
        """Close every connection with `code`; returns when each has gone."""
        for line in self.lines:
            if line.session is not None and code in ENDS_SESSION:
                self.sessions.pop(line.session.id, None)
        await self._each(lambda line: line.close(code))

    async def _each(self, act: Callable[[Line], None]) -> None:
        waiting = list(self.lines)
        for line in waiting:
            act(line)
        async with asyncio.timeout(5):
            for line in waiting:
                await line.gone.wait()

    def drop(self) -> None:
        """Reset every connection."""
        for line in list(self.lines):
            reset(line.request)

    def tear(self) -> None:
        """End every connection in the middle of a frame: its head tells of more than comes."""
        for line in list(self.lines):
            if line.request.transport is not None:
                line.request.transport.write(TORN)
                line.request.transport.close()
