"""From a press or a message to the child's stdin, and from the end of its run to the answer in Discord.

Against a bare discord.py bot with the durable inserts that the rules demand. Both are processes of their own against
a fake Discord each, with the same scripted child. Times are taken on the machine's one monotonic clock: a message is
in when Discord is told to send it; the end is the child's writing `agent_settled`.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fakes.discord import FakeDiscord, Person, Place
from fakes.program import Home, Running, discord
from tests.bench.asked import pairs
from tests.bench.pairs import Figure, figure

T = TypeVar("T")

QUIET = 0.05
"""Seconds of rest before each measurement: reactions and typing lines of the step before are still on their way."""


async def until(look: Callable[[], T | None]) -> T:
    """The first value that `look` finds."""
    while (found := look()) is None:
        await asyncio.sleep(0.0005)
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """One message, in seconds: until the child reads its prompt, until its answer is stored; and from the run's end."""

    prompt: float
    answer: float
    end: float


class Side:
    """A program with the scripted child, whose log tells when it read what and when it wrote the end of a run.

    Answers are noted as Discord stores them: looking through all posts would take longer with each one, and would be
    measured as if the programs took it.
    """

    def __init__(self, world: FakeDiscord, log: Path, person: Person, place: Place) -> None:
        self.world, self.log, self.person, self.place = world, log, person, place
        self._read = 0
        self._lines: list[dict[str, Any]] = []
        self._answers: dict[int, int] = {}
        world.watch(self._stored)

    def _stored(self, event: str, payload: dict[str, Any]) -> None:
        if event == "MESSAGE_CREATE" and (reference := payload.get("message_reference")):
            self._answers.setdefault(int(reference["message_id"]), time.monotonic_ns())

    def told(self) -> list[dict[str, Any]]:
        """What the child has logged since `forget`."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                self._lines.append(json.loads(line))
        return self._lines

    def forget(self) -> None:
        """What is told next comes after this."""
        self.told()
        self._lines.clear()

    def seen(self, kind: str, mark: str) -> int | None:
        """When the child read this command."""
        for entry in self.told():
            command = entry.get("command", {})
            if entry["kind"] == "command" and command.get("type") == kind and mark in json.dumps(command):
                return int(entry["ns"])
        return None

    def settled(self) -> int | None:
        """When the child wrote that the run is over."""
        ends = (entry for entry in self.told() if entry["kind"] == "event" and entry["type"] == "agent_settled")
        return next((int(entry["ns"]) for entry in ends), None)

    async def pressed(self, carrier: int, name: str, mark: str) -> float:
        """A press of Stop: seconds until the child reads `abort`."""
        await asyncio.sleep(QUIET)
        self.forget()
        start = time.monotonic_ns()
        await self.world.click(self.person, carrier, f"stop:{name}", force=True)
        came = await until(lambda: self.seen("abort", mark))
        return (came - start) / 1e9

    async def answered(self, message: int) -> int:
        """When Discord stored the answer to this message."""
        return await self.world.wait_for(lambda: self._answers.get(message, 0))

    async def ask(self) -> Asked:
        """A message, until its answer is stored."""
        await asyncio.sleep(QUIET)
        self.forget()
        start = time.monotonic_ns()
        message = await self.world.say(self.person, self.place, "hello", mention=True)
        stored = await self.answered(message)
        came = await until(lambda: self.seen("prompt", str(message)))
        over = await until(self.settled)
        return Asked((came - start) / 1e9, (stored - start) / 1e9, (stored - over) / 1e9)


class Ours(Side):
    """The connector."""

    async def stop(self) -> float:
        """A running turn is stopped by its button."""
        self.forget()
        message = await self.world.say(self.person, self.place, "hang", mention=True)
        await until(lambda: self.seen("prompt", str(message)))
        posts = self.world.posts(self.place)
        seconds = await self.pressed(posts[-1].id if posts else message, str(message), "")
        await self.answered(message)
        return seconds


class Theirs(Side):
    """The bare bot; what is pressed there stops nothing."""

    async def stop(self) -> float:
        """A press."""
        name = str(time.monotonic_ns())
        return await self.pressed(self.world.posts(self.place)[-1].id, name, f"stop:{name}")


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
            side = Ours(world, home.child_log, person, world.channel("general"))
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
    ends: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as name:
        async with ours(Path(name) / "ours") as (mine, _), theirs(Path(name) / "theirs") as other:
            for number in range(pairs()):
                for index, side in ((0, mine), (1, other)) if number % 2 else ((1, other), (0, mine)):
                    asked = await side.ask()
                    prompts[index].append(asked.prompt)
                    answers[index].append(asked.answer)
                    ends[index].append(asked.end)
                    stops[index].append(await side.stop())
    return [
        figure("message in to prompt on the child's stdin, by a bare bot", *prompts, bound=1.5),
        figure("end of the run to answer stored, by a bare bot", *ends, bound=1.5),
        figure("message in to answer stored, by a bare bot", *answers, bound=1.5),
        figure("Stop pressed to abort on the child's stdin, by a bare bot", *stops, bound=1.5),
    ]


def run() -> list[Figure]:
    """All figures."""
    return asyncio.run(measure())
