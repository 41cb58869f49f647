"""The faults of the fake Discord, as plain data: what the next requests and events meet; touches no socket."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from fakes.discord_records import Json

ERRORS: dict[int, tuple[int, str]] = {
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10008: (404, "Unknown Message"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    30005: (400, "Maximum number of server roles reached (250)"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50013: (403, "Missing Permissions"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    160002: (403, "Cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
}
"""Discord's JSON error codes with the status and text each comes with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The client gets this instead of the route's own reply; `body` None is an HTML page as a proxy sends it."""

    status: int
    body: Json | None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset (RST) and nothing is said."""


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing is said until `release` is set; then the route's own reply follows."""

    release: asyncio.Event


Outcome = Answer | Reset | Hang
Switch = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Fault:
    """One cue: which requests (`method` or `*`, and a route), how often (`left`, None: always), what they meet.

    `stored` says that Discord does act on the request before the outcome. `hits` counts.
    """

    name: str
    method: str
    route: str
    left: int | None
    stored: bool
    outcome: Outcome
    hits: int = 0

    def matches(self, method: str, path: str, route: str | None) -> bool:
        """Whether a request is meant: `route` is compared with the template, else searched for in the path."""
        return self.method in ("*", method) and (self.route == route or bool(re.search(self.route, path)))

    def release(self) -> None:
        """Let every request that hangs here go on, and hang no further one."""
        self.left = 0
        if isinstance(self.outcome, Hang):
            self.outcome.release.set()


@dataclass(slots=True)
class Bucket:
    """A rate limit as Discord keeps it: `limit` requests in `per` seconds for each concrete path."""

    method: str
    route: str
    limit: int
    per: float
    used: dict[str, tuple[int, int]] = field(default_factory=dict)

    def spend(self, path: str, now_ns: int) -> tuple[bool, dict[str, str]]:
        """Count one request at `now_ns`; whether it is allowed, and the headers that tell the client."""
        start, count = self.used.get(path, (now_ns, 0))
        if now_ns - start >= self.per * 1e9:
            start, count = now_ns, 0
        allowed = count < self.limit
        self.used[path] = (start, count + 1)
        after = max(0.0, self.per - (now_ns - start) / 1e9)
        return allowed, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - count - 1)),
            "X-RateLimit-Reset-After": f"{after:.3f}",
            "X-RateLimit-Reset": f"{now_ns / 1e9 + after:.3f}",
            "X-RateLimit-Bucket": f"{zlib.crc32(f'{self.method} {self.route}'.encode()):08x}",
        }


class Sockets(Protocol):
    """What the faults need of the part that owns the sockets."""

    async def reconnect(self) -> None:
        """Send op 7 on every gateway connection."""

    async def invalidate(self, resumable: bool) -> None:
        """Send op 9 on every gateway connection."""

    async def close(self, code: int) -> None:
        """Close every gateway connection with this code."""

    def drop(self) -> None:
        """Reset every gateway connection."""

    def tear(self) -> None:
        """End every gateway connection in the middle of a frame."""


def limited(retry_after: float, scope: str, via: bool) -> Answer:
    """A 429 as Discord words it; without the `Via` header it is Cloudflare's, which clients treat as a ban."""
    headers = {"Retry-After": str(max(1, round(retry_after))), "X-RateLimit-Scope": scope}
    if via:
        headers["Via"] = "1.1 fake"
    if scope == "global":
        headers["X-RateLimit-Global"] = "true"
    body: Json = {
        "message": "You are being rate limited.",
        "retry_after": retry_after,
        "global": scope == "global",
        "code": 0,
    }
    return Answer(429, body, headers)


def refused(code: int) -> Answer:
    """The error reply for one of Discord's codes; KeyError for a code not in `ERRORS`."""
    status, text = ERRORS[code]
    return Answer(status, {"message": text, "code": code})


class Faults:
    """Every fault on cue. Counts say how many requests or events meet it; None means until `clear`.

    `route` is a template (`/channels/{channel_id}/messages`) or a regular expression searched for in the path.
    """

    def __init__(self, sockets: Sockets, down: Switch, up: Switch) -> None:
        self.rest: list[Fault] = []
        self.buckets: list[Bucket] = []
        self.deaf = False
        """The gateway acknowledges heartbeats and says nothing else; what happens meanwhile is never told."""
        self.mute_heartbeats = False
        """Heartbeats are not acknowledged."""
        self.refuse_gateway = False
        """Gateway connections are reset, at the default address and at the resume address."""
        self.refuse_resume = False
        """The same at the resume address only."""
        self.flowing = asyncio.Event()
        """Not set: no frame of the gateway leaves, heartbeats' answers neither; they come, in order, when it is."""
        self.flowing.set()
        self._double: int | None = 0
        self._swallow = 0
        self._swallow_event: str | None = None
        self._sockets = sockets
        self._down, self._up = down, up

    # ------------------------------------------------------------------ requests

    def _add(
        self, name: str, method: str, route: str, times: int | None, outcome: Outcome, *, stored: bool = False
    ) -> Fault:
        fault = Fault(name, method, route, times, stored, outcome)
        self.rest.append(fault)
        return fault

    def rate_limit(
        self,
        method: str,
        route: str,
        *,
        times: int | None = 1,
        retry_after: float = 0.01,
        scope: str = "user",
        via: bool = True,
    ) -> Fault:
        """429 with `retry_after` seconds; `scope` is `user` (a bucket), `shared` or `global`."""
        return self._add("429", method, route, times, limited(retry_after, scope, via))

    def status(self, method: str, route: str, status: int, *, times: int | None = 1) -> Fault:
        """A 5xx page before anything was stored."""
        return self._add(str(status), method, route, times, Answer(status, None))

    def answer(self, method: str, route: str, answer: Answer, *, times: int | None = 1) -> Fault:
        """Any answer, headers included, nothing stored."""
        return self._add(f"answer {answer.status}", method, route, times, answer)

    def refuse(self, method: str, route: str, code: int, *, times: int | None = 1) -> Fault:
        """Discord's own error of this code (`ERRORS`), nothing stored."""
        return self._add(f"code {code}", method, route, times, refused(code))

    def stored_then(self, method: str, route: str, status: int = 502, *, times: int | None = 1) -> Fault:
        """Discord acts on the request, and the client gets this status."""
        return self._add(f"stored-then-{status}", method, route, times, Answer(status, None), stored=True)

    def reset(self, method: str, route: str, *, times: int | None = 1) -> Fault:
        """The connection is reset before anything was stored."""
        return self._add("reset", method, route, times, Reset())

    def stored_then_reset(self, method: str, route: str, *, times: int | None = 1) -> Fault:
        """Discord acts on the request, and the connection is reset."""
        return self._add("stored-then-reset", method, route, times, Reset(), stored=True)

    def hang(self, method: str, route: str, *, times: int | None = 1, stored: bool = False) -> Fault:
        """No reply until the returned fault's `release()`; `stored`: Discord acts first, not after it."""
        return self._add("hang", method, route, times, Hang(asyncio.Event()), stored=stored)

    def bucket(self, method: str, route: str, *, limit: int, per: float) -> Bucket:
        """A real limit on a route template, with headers on each reply and 429 for what is beyond it."""
        bucket = Bucket(method, route, limit, per)
        self.buckets.append(bucket)
        return bucket

    def take(self, method: str, path: str, route: str | None) -> Fault | None:
        """The fault this request meets, used up by one; the oldest cue that matches wins."""
        for fault in self.rest:
            if fault.left != 0 and fault.matches(method, path, route):
                fault.hits += 1
                if fault.left is not None:
                    fault.left -= 1
                return fault
        return None

    def spend(self, method: str, path: str, route: str | None, now_ns: int) -> tuple[Answer | None, dict[str, str]]:
        """The 429 of a bucket that is empty (None: allowed), and its headers."""
        for bucket in self.buckets:
            if (bucket.method, bucket.route) == (method, route):
                allowed, headers = bucket.spend(path, now_ns)
                return (None if allowed else limited(float(headers["X-RateLimit-Reset-After"]), "user", True)), headers
        return None, {}

    def clear(self) -> None:
        """Take every cue back, also those of the gateway, and let what hangs go on."""
        for fault in self.rest:
            match fault.outcome:
                case Hang():
                    fault.release()
                case Answer() | Reset():
                    pass
                case _:
                    assert_never(fault.outcome)
        self.rest.clear()
        self.buckets.clear()
        self.flowing.set()
        self.deaf = self.mute_heartbeats = self.refuse_gateway = self.refuse_resume = False
        self._double, self._swallow, self._swallow_event = 0, 0, None

    # ------------------------------------------------------------------ gateway

    def double(self, times: int | None = None) -> None:
        """The next `times` events (None: every one) arrive twice."""
        self._double = times

    def swallow(self, times: int = 1, event: str | None = None) -> None:
        """The next `times` events (of this name) are lost: never sent, and no RESUME brings them."""
        self._swallow, self._swallow_event = times, event

    def copies(self, event: str) -> int:
        """How often an event is said: 0 (lost), 1, or 2; uses up the cue it meets."""
        if self.deaf:
            return 0
        if self._swallow and self._swallow_event in (None, event):
            self._swallow -= 1
            return 0
        if self._double is None:
            return 2
        if self._double:
            self._double -= 1
            return 2
        return 1

    async def reconnect(self) -> None:
        """Op 7: the client is asked to come back and RESUME."""
        await self._sockets.reconnect()

    async def invalidate(self, *, resumable: bool = False) -> None:
        """Op 9: the session is over, or (`resumable`) may be resumed."""
        await self._sockets.invalidate(resumable)

    async def close(self, code: int = 4000) -> None:
        """Close every gateway connection; 4007 and 4009 end the session too."""
        await self._sockets.close(code)

    def drop(self) -> None:
        """Reset every gateway connection, without a close frame."""
        self._sockets.drop()

    def tear(self) -> None:
        """End every gateway connection in the middle of a frame."""
        self._sockets.tear()

    async def server_down(self) -> None:
        """The whole server: connections are reset and new ones refused, until `server_up`."""
        await self._down()

    async def server_up(self) -> None:
        """The server comes back, on the same port."""
        await self._up()
