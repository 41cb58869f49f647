"""A browser without a window: enters the page, keeps what it is told, acts; for tests of the page's own server."""

import json
import mimetypes
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from fakes.discord import FakeDiscord, Person
from fakes.page.server import Page

Json = dict[str, Any]
BOUND = 50.0


class Visitor:
    """One open page. `seen` is everything it was told, folded; `messages` those of its place by id."""

    def __init__(self, session: aiohttp.ClientSession, origin: str) -> None:
        self.session, self.origin = session, origin
        self.seen: Json = {}
        self.messages: dict[str, Json] = {}
        self.frames: list[Json] = []
        self._socket: aiohttp.ClientWebSocketResponse

    async def look(self, person: Person | None = None, place: int = 0, *, inside: bool = False) -> None:
        """Look there with that person's eyes, on a new socket; else as a new page does."""
        self.seen, self.messages, self.frames = {}, {}, []
        wanted = {"inside": inside} if person is None else {"as": str(person.id), "in": str(place), "inside": inside}
        self._socket = await self.session.ws_connect(f"{self.origin}/live", headers={"Origin": self.origin})
        await self._socket.send_str(json.dumps(wanted))
        await self.until(lambda: "look" in self.seen)

    async def until(self, predicate: Callable[[], object]) -> None:
        """Until what was told makes it true; TimeoutError."""
        while not predicate():
            frame = await self._socket.receive_json(timeout=BOUND)
            self.frames.append(frame)
            for message in frame.pop("messages", []):
                self.messages[message["id"]] = message
            self.seen |= frame
            if "order" in frame:
                self.messages = {number: self.messages[number] for number in frame["order"]}

    def texts(self) -> list[str]:
        """What stands in the place, oldest first."""
        return [message["text"] for message in self.messages.values()]

    async def act(self, kind: str, files: Sequence[tuple[str, bytes]] = (), /, **more: Any) -> Json:
        """What the page answers to an act here; `error` is in it where it was refused."""
        asked = {"act": kind, "as": self.seen["look"]["as"], "in": self.seen["look"]["in"], **more}
        body: Any = json.dumps(asked)
        headers = {"Origin": self.origin, "Content-Type": "application/json"}
        if files:
            body = aiohttp.FormData({"act": json.dumps(asked)})
            for file, data in files:
                body.add_field("file", data, filename=file, content_type=mimetypes.guess_type(file)[0])
            del headers["Content-Type"]
        async with self.session.post(f"{self.origin}/act", data=body, headers=headers) as response:
            answer: Json = await response.json()
            assert (response.status, "error" in answer) in {(200, False), (409, True)}
            return answer


@asynccontextmanager
async def visiting(world: FakeDiscord, *people: Person) -> AsyncIterator[Visitor]:
    """Somebody who has entered a page over this world."""
    async with Page(world, people) as page, entered(page.url) as visitor:
        yield visitor


@asynccontextmanager
async def entered(url: str) -> AsyncIterator[Visitor]:
    """Somebody who has entered the page at this address."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        parts = urlsplit(url)
        async with session.get(url) as response:
            assert (response.status, response.url.path) == (200, "/")
        yield Visitor(session, f"{parts.scheme}://{parts.netloc}")
