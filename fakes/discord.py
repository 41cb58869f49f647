"""Discord on a loopback port for an unmodified client: REST, gateway and CDN, with faults on cue."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from aiohttp import web

from fakes.discord_acts import Acting
from fakes.discord_backend import Mind
from fakes.discord_faults import Faults
from fakes.discord_gateway import Gateway
from fakes.discord_net import Port, Server
from fakes.discord_payloads import SPOKEN
from fakes.discord_records import Json, Person, Place, Post, Request, Upload, Violation
from fakes.discord_rest import API, Rest, Spec
from fakes.waiting import BOUND, Changes

__all__ = ["FakeDiscord", "FakeDiscordThread", "Person", "Place", "Post", "Upload"]

T = TypeVar("T")


class FakeDiscord(Acting):
    """A Discord of its own: one guild, the bot in it, and whom and what a test names.

    `intents_allowed` is whether the privileged intents are switched on; `nonce_window` how long a repeated nonce
    gives the old message, `heartbeat` the gateway's interval (both seconds), `replay` how many events a session
    keeps for RESUME; `validate` holds requests, replies and events against Discord's specification where that is at
    hand (it needs jsonschema, which is there for tests only: the demo says False), and the end of the world then raises
    AssertionError where something was outside it, unless `strict` is off. `port` 0 is any free one; OSError where a
    named one is taken.
    """

    def __init__(
        self,
        token: str = "fake-token",  # noqa: S107 - the token of a Discord that exists in this process only
        *,
        bot_name: str = "pi",
        guild_name: str = "Farm",
        intents_allowed: bool = True,
        nonce_window: float = 300.0,
        heartbeat: float = 41.25,
        replay: int = 10_000,
        validate: bool = True,
        strict: bool = True,
        port: int = 0,
    ) -> None:
        super().__init__()
        self.at_end: list[Callable[[], None]] = []
        """What is called when this Discord ends, however that comes."""
        self._port = Port(port)
        self._strict = validate and strict
        self._host = host = f"127.0.0.1:{self._port.number}"
        self.token = token
        self.rest_base = f"http://{host}{API}"
        self.gateway_url = f"ws://{host}/gw/"
        self.resume_url = f"ws://{host}/resume/"
        self.changes = Changes(self._story)
        self.mind = Mind(
            base=f"http://{host}",
            gateway_url=self.gateway_url,
            bot_name=bot_name,
            intents_allowed=intents_allowed,
            nonce_window=nonce_window,
        )
        self.gateway = Gateway(
            self.mind,
            token,
            resume_url=self.resume_url,
            heartbeat=heartbeat,
            replay=replay,
            changed=self.changes.tell,
            told=self._told,
        )
        self.faults = self.gateway.faults = Faults(self.gateway, self._down, self._up)
        self._rest = Rest(self.mind, self.faults, token, _spec() if validate else None, self.changes.tell)
        self._watching: list[Callable[[str, Json], None]] = []
        self.mind.publish = self._publish
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._server = Server(app, self._port)
        self.guild: Place = self.add_guild(guild_name)

    def _told(self, event: str, payload: Json) -> None:
        if self._rest.spec is not None:
            self._rest.violations += self._rest.spec.check_event(event, payload)

    def _publish(self, event: str, payload: Json) -> None:
        for watcher in list(self._watching):
            watcher(event, payload)
        self.gateway.publish(event, payload)

    def watch(self, watcher: Callable[[str, Json], None]) -> Callable[[], None]:
        """Tell a watcher every event's name and payload, as the gateway does; what is returned ends that."""
        self._watching.append(watcher)
        return lambda: self._watching.remove(watcher)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.host != self._host or "Origin" in request.headers:
            # A browser led here by some page; bots call this address by its name, and no page sent them.
            return web.Response(status=403)
        first = request.path.split("/")[1]
        if first in ("gw", "resume"):
            return await self.gateway.handle(request, resume_host=first == "resume")
        return await self._rest.handle(request)

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.faults.clear()
        for end in self.at_end:
            end()
        await self._server.stop()
        if kind is None and self._strict:
            self.judge()

    def judge(self) -> None:
        """Raise AssertionError where a client asked for what Discord has not, or either side spoke as it does not."""
        wrong = [f"no such route: {route}" for route in self.unknown_routes]
        wrong += [f"a body of the wrong shape: {failure}" for failure in self.mind.failures]
        wrong += [str(violation) for violation in self.violations]
        if wrong:
            raise AssertionError("outside Discord's specification:\n" + "\n".join(wrong))

    async def _down(self) -> None:
        await self._server.down()

    async def _up(self) -> None:
        await self._server.up()

    # ------------------------------------------------------------------ what is seen

    @property
    def bot(self) -> Person:
        """The bot itself."""
        return Person(self.mind.bot_id, self.mind.sim.bot_user.name, bot=True)

    @property
    def requests(self) -> list[Request]:
        """Every HTTP request, in order of arrival."""
        return self._rest.requests

    @property
    def unknown_routes(self) -> list[str]:
        """What was asked for and does not exist here: a test that ends with one in it has missed something."""
        return self._rest.unknown_routes

    @property
    def violations(self) -> list[Violation]:
        """Requests, replies and events outside Discord's specification (always empty without it)."""
        return self._rest.violations

    def sent(self, method: str, route: str) -> list[Request]:
        """The requests to one route template."""
        return [r for r in self.requests if (r.method, r.route) == (method, route)]

    def posts(self, channel: Place, *, ephemeral: bool = False) -> list[Post]:
        """The bot's messages in a channel as they stand, oldest first; `ephemeral` ones only when asked for."""
        stored = self.mind.sim.messages.get(channel.id, {})
        posts = [self.post(m) for m in sorted(stored) if stored[m].author_id == self.mind.bot_id]
        return [p for p in posts if stored[p.id].type in SPOKEN and (ephemeral or not p.ephemeral)]

    def post(self, message_id: int) -> Post:
        """One message as it stands; KeyError when it is gone."""
        message = self.mind.sim.messages[self.mind.where(message_id)][message_id]
        body = self.mind.sent.get(message_id, {})
        reference = message.reference["message_id"] if message.reference else None
        return Post(
            id=message_id,
            channel_id=message.channel_id,
            content=message.content,
            nonce=body.get("nonce"),
            reference=int(reference) if reference else None,
            allowed_mentions=body.get("allowed_mentions"),
            components=list(message.components),
            files=tuple(a["filename"] for a in message.attachments),
            edited=message.edited_timestamp is not None,
            flags=message.flags,
            embeds=list(message.embeds),
        )

    def file(self, message_id: int, name: str) -> bytes:
        """The content of a message's attachment."""
        message = self.mind.sim.messages[self.mind.where(message_id)][message_id]
        url = next(a["url"] for a in message.attachments if a["filename"] == name)
        return self.mind.cdn.files[url.removeprefix(self.mind.cdn.base).partition("?")[0]].data

    def expire_files(self) -> None:
        """A day or so has passed: the addresses of files that were told so far hold no longer."""
        self.mind.cdn.expire()

    def reactions(self, message_id: int) -> list[str]:
        """The bot's reactions on a message, in order."""
        message = self.mind.sim.messages[self.mind.where(message_id)][message_id]
        return [r.emoji for r in message.reactions if self.mind.bot_id in r.user_ids]

    def typings(self, channel: Place) -> int:
        """How often the bot said that it types there."""
        path = f"/channels/{channel.id}/typing"
        return sum(r.method == "POST" and r.path == path for r in self.requests)

    def history(self, channel: Place) -> list[Json]:
        """Everything said in a channel by anyone, oldest first, as the API shows it."""
        return [self.mind.message(channel.id, m) for m in sorted(self.mind.sim.messages[channel.id])]

    async def wait_for(self, predicate: Callable[[], T], timeout: float = BOUND, what: str = "") -> T:
        """The first truthy value of `predicate`, asked again at each request, event and connection."""
        return await self.changes.until(predicate, timeout, what)

    async def connected(self, timeout: float = BOUND) -> None:
        """A client has said who it is on the gateway."""
        await self.wait_for(lambda: self.gateway.connected, timeout, "a gateway session")

    def advance(self, seconds: float) -> None:
        """Let Discord's clock run ahead: interactions expire, nonces are forgotten."""
        self.mind.advance(seconds)

    def _story(self) -> str:
        recent = [str(r) for r in self.requests[-12:]]
        return f"last requests: {recent}; gateway: {self.gateway.log[-12:]}"


def _spec() -> Spec | None:
    from fakes.discord_spec import beside  # noqa: PLC0415 - a part of tests, not installed with the demo

    return beside()


class FakeDiscordThread:
    """A `FakeDiscord` on a thread and a loop of its own, for tests that block: `with` gives the thread.

    `run` awaits something on that loop, `ask` computes something there; both give the result.
    """

    def __init__(self, *, strict: bool = True, **options: Any) -> None:
        self._options = options
        self._strict = strict
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main, name="fake-discord")
        self.world: FakeDiscord

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()
        if kind is None and self._strict:
            self.world.judge()

    def _main(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        async with FakeDiscord(**self._options, strict=False) as self.world:
            self._ready.set()
            await self._done.wait()

    def run(self, act: Coroutine[Any, Any, T], timeout: float = BOUND) -> T:
        """The result of a coroutine of the world, awaited there; its exceptions come through."""
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(timeout)

    def ask(self, question: Callable[[FakeDiscord], T], timeout: float = BOUND) -> T:
        """What `question` finds in the world."""

        async def asked() -> T:
            return question(self.world)

        return self.run(asked(), timeout)
