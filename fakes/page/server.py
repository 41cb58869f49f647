"""The page's own loopback server: its files, one socket with what is seen, one address for what is done."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import WSMsgType, web

from fakes.discord import FakeDiscord
from fakes.discord_net import Port, Server
from fakes.discord_records import Json, Person, Upload
from fakes.page import sight
from fakes.page.acts import Acts, NotPossible
from fakes.page.door import Door, Handler, add_headers

WEB = Path(__file__).parent / "web"
KINDS = {".svg": "image/svg+xml", ".html": "text/html", ".js": "text/javascript", ".css": "text/css"}

GATHER = 0.05
"""Seconds in which changes are gathered before they are shown."""

LOOK = 0.5
"""Seconds between two looks inside, while somebody has that panel open."""

TYPES = 10.0
"""Seconds for which Discord shows that somebody types."""

PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
"""What may be shown in the page; everything else is downloaded, so that no file of the agent runs in it."""

LARGEST = 25 << 20


@dataclass(slots=True, eq=False)
class Viewer:
    """One open page: who looks, where to, and what it has been sent."""

    socket: web.WebSocketResponse
    person: Person
    place: int = 0
    inside: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    sent: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)


async def _at_once() -> None:
    """Nothing to wait for."""


class Page:
    """The page over one fake Discord, as an async context; `url` leads in.

    `people` are who may be played; `about` gives what the page says of the connector, `inside` (called on a thread)
    what goes on in it; both as JSON. `tour` are pairs of what to type and what to watch. Nobody acts before
    `begun` gives its word. OSError where `port` is taken.
    """

    def __init__(
        self,
        world: FakeDiscord,
        people: Sequence[Person],
        *,
        port: int = 0,
        tour: Sequence[tuple[str, str]] = (),
        words: dict[str, str] | None = None,
        about: Callable[[], Json] = dict,
        inside: Callable[[], Json] = dict,
        begun: Callable[[], Awaitable[object]] = _at_once,
    ) -> None:
        self._world, self._people = world, tuple(people)
        self._tour, self._words = list(tour), words or {}
        self._about, self._inside, self._begun = about, inside, begun
        self._acts = Acts(world, people)
        self._viewers: set[Viewer] = set()
        self._typing: dict[int, dict[int, float]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._looked: str | None = None
        self._unwatch: list[Callable[[], None]] = []
        self._port = Port(port)
        self._door = Door(self._port.number)
        self.url = self._door.entry

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._door.check(request, handler)

        app = web.Application(middlewares=[check], client_max_size=LARGEST)
        app.on_response_prepare.append(add_headers)
        app.router.add_get("/", self._file)
        app.router.add_get("/web/{name}", self._file)
        app.router.add_get("/live", self._live)
        app.router.add_post("/act", self._act)
        app.router.add_get(sight.FILES + "/{tail:.+}", self._attachment)
        self._server = Server(app, self._port)

    async def __aenter__(self) -> Self:
        await self._server.start()
        self._unwatch = [self._world.changes.also(self._tell), self._world.watch(self._heard)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for unwatch in self._unwatch:
            unwatch()
        if self._looking is not None:
            self._looking.cancel()
        for viewer in list(self._viewers):
            with contextlib.suppress(ConnectionError):
                await viewer.socket.send_str(json.dumps({"end": True, "about": self._about()}))
                # In order: what is only reset may lose what was sent last.
                await viewer.socket.close()
        await self._server.stop()

    # ------------------------------------------------------------------ what is served

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name", "index.html")
        path = WEB / name
        if path.suffix not in KINDS or path.name != name or not path.is_file():
            return web.Response(status=404, text="There is nothing here.\n")
        return web.Response(body=path.read_bytes(), content_type=KINDS[path.suffix], charset="utf-8")

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        file = self._world.mind.cdn.files.get(request.rel_url.raw_path.removeprefix(sight.FILES))
        if file is None or file.status != 200:
            return web.Response(status=404, text="This file is gone.\n")
        kind = file.content_type or sight.kind_of(file.name)
        shown = kind in PICTURES
        headers = {"Content-Disposition": "inline" if shown else "attachment"}
        return web.Response(body=file.data, content_type=kind if shown else "application/octet-stream", headers=headers)

    async def _act(self, request: web.Request) -> web.StreamResponse:
        asked, files = await _asked(request)
        if not isinstance(asked, dict):
            return web.json_response({"error": "That is no act."}, status=409)
        await self._begun()
        try:
            return web.json_response(await self._acts.do(asked, files))
        except NotPossible as no:
            return web.json_response({"error": str(no)}, status=409)

    # ------------------------------------------------------------------ what is seen

    async def _live(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(heartbeat=30.0, timeout=1.0, max_msg_size=1 << 16)
        await socket.prepare(request)
        viewer = Viewer(socket, self._people[0])
        self._viewers.add(viewer)
        showing = asyncio.create_task(self._show(viewer))
        try:
            async for frame in socket:
                if frame.type is not WSMsgType.TEXT:
                    break
                self._look(viewer, json.loads(frame.data))
        except (AttributeError, OverflowError, RecursionError, TypeError, ValueError):
            await socket.close(code=1008, message=b"that is no look")
        finally:
            self._viewers.discard(viewer)
            showing.cancel()
        return socket

    def _look(self, viewer: Viewer, wanted: Json) -> None:
        """A page says who looks where; nothing that it was sent counts any more.

        Its address may be of another run: then it begins as a new one does.
        """
        wants = str(wanted.get("as"))
        viewer.person = next((one for one in self._people if str(one.id) == wants), self._people[0])
        viewer.place, viewer.inside = int(wanted.get("in") or 0), bool(wanted.get("inside"))
        viewer.sent.clear()
        viewer.messages.clear()
        viewer.changed.set()
        if viewer.inside and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_inside())

    async def _show(self, viewer: Viewer) -> None:
        """Send one page what changed for it, a moment after it did."""
        while True:
            await viewer.changed.wait()
            viewer.changed.clear()
            news = self._news(viewer)
            if news:
                try:
                    await viewer.socket.send_str(json.dumps(news))
                except ConnectionError:
                    return  # it is gone; its reader ends as well
            await asyncio.sleep(GATHER)

    def _news(self, viewer: Viewer) -> Json:
        """What is different from what this page was sent."""
        person = viewer.person
        places = sight.places(self._world, person)
        if not any(place["id"] == str(viewer.place) for place in places):
            viewer.place = int(places[-1]["id"])
        whole = {
            "who": {
                "people": [{"id": str(one.id), "name": one.name} for one in self._people],
                "bot": {"id": str(self._world.bot.id), "name": self._world.bot.name},
                "tour": self._tour,
                "words": self._words,
            },
            "look": {"as": str(person.id), "in": str(viewer.place)},
            "places": places,
            "names": sight.names(self._world),
            "commands": sight.commands(self._world),
            "typing": self._types(viewer.place, person),
            "about": self._about(),
        }
        if viewer.inside and self._looked is not None:
            whole["inside"] = json.loads(self._looked)
        news = {key: value for key, value in whole.items() if _differs(viewer.sent, key, value)}
        messages = sight.messages(self._world, person, viewer.place)
        order = [message["id"] for message in messages]
        for gone in viewer.messages.keys() - set(order):
            del viewer.messages[gone]
        changed = [message for message in messages if _differs(viewer.messages, message["id"], message)]
        if changed or _differs(viewer.sent, "order", order):
            viewer.sent["order"] = json.dumps(order)
            news |= {"order": order, "messages": changed}
        return news

    def _tell(self) -> None:
        for viewer in self._viewers:
            viewer.changed.set()

    def _heard(self, event: str, payload: Json) -> None:
        """Who types where, and until when that is shown (on the clock that browsers of this machine have, too)."""
        if event == "TYPING_START":
            until = self._world.mind.clock.ns() / 1e9 + TYPES
            self._typing.setdefault(int(payload["channel_id"]), {})[int(payload["user_id"])] = until
        elif event == "MESSAGE_CREATE":
            self._typing.get(int(payload["channel_id"]), {}).pop(int(payload["author"]["id"]), None)

    def _types(self, place: int, person: Person) -> list[Json]:
        now, users = self._world.mind.clock.ns() / 1e9, self._world.mind.sim.users
        found = self._typing.get(place, {}).items()
        return [
            {"name": users[user].name, "until": until} for user, until in found if until > now and user != person.id
        ]

    async def _look_inside(self) -> None:
        while any(viewer.inside for viewer in self._viewers):
            looked = json.dumps(await asyncio.to_thread(self._inside))
            if looked != self._looked:
                self._looked = looked
                self._tell()
            await asyncio.sleep(LOOK)


def _differs(sent: dict[str, str], key: str, value: object) -> bool:
    """Whether this is not what was sent under the key last; from now on it counts as sent."""
    text = json.dumps(value)
    if sent.get(key) == text:
        return False
    sent[key] = text
    return True


async def _asked(request: web.Request) -> tuple[Any, list[Upload]]:
    """An act and the files that come with it; None for what is none."""
    files: list[Upload] = []
    text: object = None
    if request.content_type == "multipart/form-data":
        form = await request.post()
        text = form.get("act")
        sent = [value for value in form.getall("file", []) if isinstance(value, web.FileField)]
        files += [Upload(one.filename, one.file.read(), one.content_type or None) for one in sent]
    elif request.content_type == "application/json":
        text = await request.text()
    try:
        return json.loads(text) if isinstance(text, str) else None, files
    except (RecursionError, ValueError):
        return None, files
