"""From a press or a message to the child's stdin and to the answer, against a bare discord.py bot with durable inserts.

Both are processes of their own against a fake Discord each; times are taken on the machine's one monotonic clock.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from fakes.discord import FakeDiscord, Person, Place
from fakes.program import Home, Running, discord
from tests.bench.pairs import PAIRS, Figure, figure

T = TypeVar("T")

QUIET = 0.05
"""Seconds of rest before each measurement: reactions and typing lines of the step before are still on their way."""


async def until(look: Callable[[], T | None]) -> T:
    """The first value that `look` finds."""
    while (found := look()) is None:
        await asyncio.sleep(0.0005)
    return found


class Ours:
    """The connector with the scripted child."""

    def __init__(self, world: FakeDiscord, home: Home, person: Person, place: Place) -> None:
        self.world, self.home, self.person, self.place = world, home, person, place
        self._read = 0
        self._lines: list[dict[str, Any]] = []

    def seen(self, kind: str, mark: str) -> int | None:
        """When the child read this command."""
        with self.home.child_log.open() as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith("\n"):
                    break
                self._read += len(line.encode())
                self._lines.append(json.loads(line))
        for entry in self._lines:
            command = entry.get("command")
            found = entry["kind"] == "command" and isinstance(command, dict) and command.get("type") == kind
            if found and mark in json.dumps(command):
                return int(entry["ns"])
        return None

    async def stop(self) -> float:
        """A running turn is stopped by its button: seconds until the child reads `abort`."""
        self._lines.clear()
        message = await self.world.say(self.person, self.place, "hang", mention=True)
        await until(lambda: self.seen("prompt", str(message)))
        posts = self.world.posts(self.place)
        carrier = posts[-1].id if posts else message
        await asyncio.sleep(QUIET)
        self._lines.clear()
        start = time.monotonic_ns()
        await self.world.click(self.person, carrier, f"stop:{message}", force=True)
        came = await until(lambda: self.seen("abort", ""))
        await self.world.wait_for(lambda: answered(self.world, self.place, message))
        return (came - start) / 1e9

    async def ask(self) -> tuple[float, float]:
        """A message: seconds until the child reads the prompt, and until the answer is stored."""
        await asyncio.sleep(QUIET)
        self._lines.clear()
        start = time.monotonic_ns()
        message = await self.world.say(self.person, self.place, "hello", mention=True)
        await self.world.wait_for(lambda: answered(self.world, self.place, message))
        end = time.monotonic_ns()
        came = await until(lambda: self.seen("prompt", str(message)))
        return (came - start) / 1e9, (end - start) / 1e9


def answered(world: FakeDiscord, place: Place, message: int) -> bool:
    """Whether a post refers to this message."""
    posts = world.posts(place)
    return bool(posts) and posts[-1].reference == message


class Theirs:
    """The bare bot."""

    def __init__(self, world: FakeDiscord, log: Path, person: Person, place: Place) -> None:
        self.world, self.log, self.person, self.place = world, log, person, place

    def seen(self, kind: str, name: str) -> int | None:
        """When its child read this command."""
        for line in reversed(self.log.read_text().splitlines()[-60:]):
            if f'"id": "{name}"' in line or f'"id":"{name}"' in line:
                entry = json.loads(line)
                if entry["kind"] == "command" and entry["command"].get("type") == kind:
                    return int(entry["ns"])
        return None

    async def stop(self) -> float:
        """A press: seconds until its child reads the line."""
        posts = self.world.posts(self.place)
        await asyncio.sleep(QUIET)
        number = time.monotonic_ns()
        start = time.monotonic_ns()
        await self.world.click(self.person, posts[-1].id, f"stop:{number}", force=True)
        came = await until(lambda: self.seen("abort", f"stop:{number}"))
        return (came - start) / 1e9

    async def ask(self) -> tuple[float, float]:
        """A message: seconds until its child reads it, and until its echo is stored."""
        await asyncio.sleep(QUIET)
        start = time.monotonic_ns()
        message = await self.world.say(self.person, self.place, "hello", mention=True)
        await self.world.wait_for(lambda: answered(self.world, self.place, message))
        end = time.monotonic_ns()
        came = await until(lambda: self.seen("prompt", str(message)))
        return (came - start) / 1e9, (end - start) / 1e9


@contextlib.asynccontextmanager
async def ours(folder: Path) -> AsyncIterator[tuple[Ours, Running]]:
    """A running connector."""
    folder.mkdir()
    async with discord(validate=False) as world:
        person = world.person("ann")
        home = Home(
            folder,
            world,
            access={"users": [person.id]},
            discord={"reply_in": "channel"},
            log={"level": "info"},
        )
        async with home.running() as program:
            await program.ready()
            side = Ours(world, home, person, world.channel("general"))
            await world.say(person, side.place, "hello", mention=True)
            await world.wait_for(lambda: world.posts(side.place), 20)
            yield side, program


@contextlib.asynccontextmanager
async def theirs(folder: Path) -> AsyncIterator[Theirs]:
    """A running bare bot."""
    folder.mkdir()
    async with discord(validate=False) as world:
        log = folder / "child.log"
        arguments = [world.rest_base, world.gateway_url, str(folder / "bare.sqlite"), str(log)]
        command = [sys.executable, "-m", "tests.bench.bare_bot", *arguments]
        bot = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
        try:
            assert bot.stdin is not None
            bot.stdin.write(f"{world.token}\n".encode())
            await until(lambda: True if Path(f"{log}.ready").exists() else None)
            side = Theirs(world, log, world.person("ann"), world.channel("general"))
            await side.ask()
            yield side
        finally:
            bot.kill()
            await bot.wait()


async def measure() -> list[Figure]:
    """All pairs, interleaved."""
    stops: tuple[list[float], list[float]] = [], []
    prompts: tuple[list[float], list[float]] = [], []
    answers: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as name:
        async with ours(Path(name) / "ours") as (mine, _), theirs(Path(name) / "theirs") as other:
            for number in range(PAIRS):
                for index, side in ((0, mine), (1, other)) if number % 2 else ((1, other), (0, mine)):
                    prompt, answer = await side.ask()
                    prompts[index].append(prompt)
                    answers[index].append(answer)
                    stops[index].append(await side.stop())
    return [
        figure("message in to prompt on the child's stdin, by a bare bot", *prompts, bound=1.5),
        figure("message in to answer stored, by a bare bot", *answers, bound=1.5),
        figure("Stop pressed to abort on the child's stdin, by a bare bot", *stops, bound=1.5),
    ]


def run() -> list[Figure]:
    """All figures."""
    return asyncio.run(measure())
