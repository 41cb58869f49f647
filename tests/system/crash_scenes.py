"""Twenty messages in four lanes, lives that end by kill -9: how it is played, not what must hold."""

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from connector import facts
from connector.ledger import Ledger
from connector.ports import Part
from connector.post_parts import made
from engine import processes
from fakes import behaviour
from fakes.discord import FakeDiscord, Person, Place, Post, Upload
from fakes.discord_faults import Fault, Hang
from fakes.program import Home, Running, ends, of_home
from fakes.script import plan

MESSAGES = "/channels/{channel_id}/messages"
THREADS = MESSAGES + "/{message_id}/threads"
LIFE = 60.0
"""Seconds that a life may take; it ends with what it is to end with, never with this."""

REACTIONS = MESSAGES + "/{message_id}/reactions/{emoji}/@me"

LANES: tuple[tuple[str, ...], ...] = (
    ("echo north one", "tool 80", "slow 150", "long 4500", "echo north five"),
    ("tool 60", "err429 5 south", "echo south three", "slow 100", "long 2500"),
    ("slow 120", "tools 2 60", "echo ann three", "err429 6 ann", "echo ann five"),
    ("long 2300", "ignoreterm slow 200", "ignoreterm tool 100", "echo bob four", "tool 50"),
)
"""What is asked in each lane, in order: plain and slow answers, such of several parts, tools, rate limits of which
some outlast pi's own retries, and children that do not end with their input."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One message: by its id, in its lane, and the only answer it may get."""

    id: int
    place: Place
    text: str
    answer: str

    def posts(self, kind: str, text: str, *, retry: bool = False) -> tuple[Part, ...]:
        """The posts that an answer or a notice to this message is made of."""
        reply_to = self.id if self.id != self.place.id else 0
        return made(facts.Owed(f"{self.id}/{kind}/1", str(self.id), self.place.id, "answer", text, reply_to, retry))


def answer_to(text: str) -> str:
    """What the scripted child answers in the end."""
    match plan(text).calls:
        case (*_, behaviour.Text(said)) | (*_, behaviour.Http(then=said)) if said:
            return said
        case _:
            return f"echo: {text.removeprefix('echo ')}"


class NthRequest(Fault):
    """A cue at the N-th request that matches: stored or only received, and nothing is said until it is released."""

    def __init__(self, method: str, route: str, number: int, *, stored: bool) -> None:
        super().__init__("crash", method, route, 1, stored, Hang(asyncio.Event()))
        self.before = number - 1

    def matches(self, method: str, path: str, route: str | None) -> bool:
        """Whether this is the one."""
        if self.method != method or self.route != route:
            return False
        self.before -= 1
        return self.before < 0


def hit(cue: NthRequest | None) -> bool:
    """Whether that request has come."""
    return cue is not None and cue.hits > 0


@dataclass(frozen=True, slots=True)
class Life:
    """How a life ends: at a point of its own (`fakes.crashing`), of its child (FAKE_PI_KILL) or at a request.

    `request`: method, route, its number, and whether Discord has stored it.
    """

    own: str = ""
    child: str = ""
    request: tuple[str, str, int, bool] | None = None

    def __str__(self) -> str:
        if self.request is None:
            return f"child:{self.child}" if self.child else self.own
        method, route, number, stored = self.request
        what = re.findall(r"[a-z]+", route.replace("{emoji}/@me", ""))[-1]
        return f"{'stored' if stored else 'received'}:{method}-{what}:{number}"


Act = Callable[[Callable[[str], Awaitable[None]]], Awaitable[None]]
"""Something people do in a life, which may first wait for a line of its log."""


@dataclass
class Scene:
    """One home over several lives, and what was asked in it.

    `threads`: a line in a guild channel opens a lane of its own. `steers`: lines may join a run, and then have no end
    of their own in Discord but for the last one.
    """

    world: FakeDiscord
    home: Home
    threads: bool = False
    steers: bool = False
    asked: list[Asked] = field(default_factory=list)

    async def known(self, *places: Place) -> None:
        """The connector was here before: it has seen these places, so whatever is said from now on is not history."""
        self.home.state.mkdir(mode=0o700)
        ledger = Ledger.open(self.home.state)
        await ledger.commit([facts.Seen(place.id, place.id) for place in places], at=1)
        await ledger.close()

    async def ask(self, person: Person, place: Place, text: str, *files: Upload) -> None:
        """Say one line to the bot, perhaps with files."""
        mention = place.guild_id is not None
        message = await self.world.say(person, place, text, mention=mention, attachments=files)
        opens = self.threads and place.guild_id is not None and place.parent_id is None
        lane = replace(place, id=message, parent_id=place.id) if opens else place
        self.asked.append(Asked(message, lane, text, answer_to(text)))

    async def live(self, life: Life, *acts: Act, sure: bool = True) -> None:
        """One life up to the kill; each of the `acts` once all that was said before has its sign, or it is over.

        Not `sure` that its point is reached: then it is killed when every message has its end.
        """
        environ = {"FAKE_PI_KILL": life.child} if life.child else {}
        module = ("fakes.crashing", life.own) if life.own else ("connector",)
        cue = None if life.request is None else NthRequest(*life.request[:3], stored=life.request[3])
        if cue is not None:
            self.world.faults.rest.append(cue)
        async with self.home.running(environ=environ, module=module) as run, until_over(run) as over:
            await unless(over, run.ready())
            for act in acts:
                await act(lambda event: unless(over, run.logged(event)))
                await unless(over, self.world.wait_for(lambda: hit(cue) or self.accepted(), LIFE, "a sign on each"))
            await unless(over, self.world.wait_for(lambda: hit(cue) or self.settled(), LIFE, "an end of every message"))
            assert hit(cue) or over.done() or not sure, f"{life} was not reached"
            await finish(over, run.kill)
            code = await over
            assert code == -signal.SIGKILL, f"{life}: exit {code}; the log ends: {run.raw[-20:]}"
        if cue is not None:
            cue.release()

    async def settle(self) -> Running:
        """A last life that nobody cuts short, up to a clean stop once every message has its end."""
        async with self.home.running() as run, until_over(run) as over:
            await unless(over, run.ready())
            await self.only(run)
            await unless(over, self.world.wait_for(self.settled, LIFE, "an end of every message"))
            await finish(over, run.stop)
            code = await over
            assert code == 0, f"exit {code}; without an end: {self.unsettled()}; the log ends: {run.raw[-30:]}"
        await self.only(None)
        return run

    async def only(self, run: Running | None) -> None:
        """No process of an earlier life lives on; one that is just ending of its own accord is waited for."""
        assert await left_over(self.home.folder, run) == []

    def accepted(self) -> bool:
        """Whether every message has a sign."""
        return all(self.world.reactions(one.id) for one in self.asked)

    def settled(self) -> bool:
        """Whether every message has its whole answer or its notice."""
        return not self.unsettled()

    def unsettled(self) -> list[Asked]:
        """The messages without an end in Discord."""
        stand = {str(post.nonce) for place in self.places() for post in self.posts(place)}
        asked = self.asked[-1:] if self.steers else self.asked
        return [one for one in asked if not self.ends_of(one, stand)]

    def ends_of(self, one: Asked, stand: set[str]) -> list[str]:
        """Which of answer and notice stand whole among these nonces."""
        kinds = (("answer", one.answer), ("notice", "-"))
        return [kind for kind, text in kinds if all(part.nonce in stand for part in one.posts(kind, text))]

    def places(self) -> list[Place]:
        """Every lane that was asked in."""
        return list({one.place.id: one.place for one in self.asked}.values())

    def posts(self, place: Place) -> list[Post]:
        """The bot's posts in a lane; none where its thread does not stand yet."""
        return self.world.posts(place)


@contextlib.asynccontextmanager
async def until_over(run: Running) -> AsyncIterator["asyncio.Task[int]"]:
    """The exit code of a life, as a task that is not left behind."""
    over = asyncio.create_task(run.exit(LIFE))
    try:
        yield over
    finally:
        over.cancel()
        await asyncio.gather(over, return_exceptions=True)


async def unless(over: "asyncio.Task[int]", other: Coroutine[Any, Any, object]) -> None:
    """Wait for this, or for the end of the life."""
    task = asyncio.ensure_future(other)
    await asyncio.wait({over, task}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def finish(over: "asyncio.Task[int]", end: Callable[[], Awaitable[object]]) -> None:
    """End a life that is not over by itself."""
    if not over.done():
        await end()


async def left_over(folder: Path, run: Running | None) -> list[str]:
    """The processes of this home that began before this life, or all without one, and do not end by themselves."""
    mine = processes.row_of(run.pid) if run is not None else None
    found = []
    for pid in of_home(folder):
        row = processes.row_of(pid)
        if row is not None and (mine is None or row.began < mine.began) and not await asyncio.to_thread(ends, pid):
            found.append(f"{pid} lives on: {commandline(pid)}")
    return found


def commandline(pid: int) -> str:
    """What a process was started as."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
