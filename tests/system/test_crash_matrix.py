"""kill -9 of the connector before and after each record and effect, with 20 messages in flight over 4 lanes."""

import asyncio
import contextlib
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fakes.discord import Person, Upload
from fakes.program import Home, discord
from tests.system.crash_laws import hold, hold_steered, read
from tests.system.crash_scenes import LANES, MESSAGES, REACTIONS, THREADS, Act, Life, Scene

pytestmark = pytest.mark.timeout(150)


def points(*names: str) -> list[Life]:
    """Each of these points of the connector's own, before and after."""
    return [Life(own=f"{when}:{name}") for name in names for when in ("before", "after")]


RECORDS = points(
    "Claimed:1",
    "Claimed:7",
    "ChildStarted:2",
    "Written:1",
    "Written:6",
    "SessionSet:1",
    "Started:3",
    "ToolOpened:1",
    "ToolOpened:3",
    "Backoff:1",
    "Answered:2",
    "Posted:1",
    "Posted:6",
    "Ended:4",
)
EFFECTS = points("Spawn:2", "Submit:9", "React:3", "Post:3", "post:5")
CHILD = [
    Life(child=point)
    for point in (
        "before:prompt:2",
        "before:agent_start:2",
        "after:agent_start:1",
        "before:tool_execution_start:1",
        "after:tool_execution_start:1",
        "after:message_end:4",
        "before:agent_end:2",
        "after:agent_settled:1",
    )
]
DISCORD = [
    Life(request=("POST", MESSAGES, 4, False)),
    Life(request=("POST", MESSAGES, 4, True)),
    Life(request=("POST", MESSAGES, 9, True)),
    Life(request=("PUT", REACTIONS, 6, True)),
]
RECOVERY = [
    *(
        (Life(own="after:ToolOpened:2"), life)
        for life in points("Up:1", "ChildEnded:1", "Spawn:2", "Owed:1", "Posted:1")
    ),
    # Written and cut before the child has it: asked again whatever it would have done.
    *((Life(own="after:Written:2"), life) for life in points("Requeued:1")),
]
STEERED = [*points("SteerIn:1", "Heard:1"), Life(child="before:steer:1"), Life(own="after:Ended:1")]
THREADS_OPEN = [
    *points("OpenThread:2", "ThreadOpened:2"),
    Life(request=("POST", THREADS, 2, False)),
    Life(request=("POST", THREADS, 2, True)),
]
FILES = points("Fetch:1", "Fetch:2", "Fetched:1", "Fetched:2")
SEEDS = range(6)


async def nothing(_event: str) -> None:
    """What there is to wait for while the connector is away."""


@contextlib.asynccontextmanager
async def scene(folder: Path, **sections: dict[str, object]) -> AsyncIterator[tuple[Scene, Person, Person]]:
    """A home without cards, two people in it, and a Discord that remembers no nonce: nobody but us keeps from twice."""
    async with discord(nonce_window=0.0) as world:
        ann, bob = world.person("ann"), world.person("bob")
        base: dict[str, Any] = {
            "discord": {"reply_in": "channel", "progress": "off"},
            "access": {"users": [ann.id, bob.id]},
            "lanes": {"busy": "queue"},
            "agent": {"env": {"FAKE_PI_SCALE": "1000"}, "env_pass": ["FAKE_PI_KILL"]},
            "engine": {"kill_after": 0.3},
            "retry": {"backoff": [0.05, 0.1, 0.2, 0.2, 0.2]},
        }
        given: dict[str, Any] = {section: {**base.get(section, {}), **keys} for section, keys in sections.items()}
        yield Scene(world, Home(folder, world, **{**base, **given})), ann, bob


async def four_lanes(folder: Path, lives: Sequence[Life], *, sure: bool = True) -> None:
    """Five lines in each lane, one after the other in all of them, the last ones while the connector is away."""
    async with scene(folder) as (played, ann, bob):
        world = played.world
        lanes = [
            (ann, world.channel("north")),
            (bob, world.channel("south")),
            (ann, world.dm(ann)),
            (bob, world.dm(bob)),
        ]

        await played.known(*(place for _, place in lanes))

        def row(number: int) -> Act:
            async def say(_: object) -> None:
                for (person, place), texts in zip(lanes, LANES, strict=True):
                    await played.ask(person, place, texts[number])

            return say

        await played.live(lives[0], *map(row, range(4)), sure=sure)
        await row(4)(nothing)
        for life in lives[1:]:
            await played.live(life, sure=sure)
        await played.settle()
        hold(played, len(lives))


@pytest.mark.parametrize("life", RECORDS + EFFECTS + CHILD + DISCORD, ids=str)
def test_kill_at(life: Life, tmp_path: Path) -> None:
    """BEHAVIOUR §6: whatever the instant, every message ends once, and no recorded tool runs again."""
    asyncio.run(four_lanes(tmp_path, [life]))


@pytest.mark.parametrize("lives", RECOVERY, ids=lambda lives: str(lives[1]))
def test_kill_in_recovery(lives: Sequence[Life], tmp_path: Path) -> None:
    """BEHAVIOUR §7.30: the recovery from one kill may itself be cut at any record."""
    asyncio.run(four_lanes(tmp_path, lives))


@pytest.mark.parametrize("seed", SEEDS)
def test_kill_anywhere_twice(seed: int, tmp_path: Path) -> None:
    """Two kills at points that chance picks."""
    dice = random.Random(seed)
    names = ("Claimed", "Written", "Started", "ToolOpened", "Answered", "Posted", "Ended", "Submit", "Post", "post")
    records = ("prompt", "agent_start", "message_start", "message_end", "tool_execution_end", "agent_settled")

    def anywhere() -> Life:
        when = dice.choice(("before", "after"))
        match dice.randrange(3):
            case 0:
                return Life(own=f"{when}:{dice.choice(names)}:{dice.randrange(5, 17)}")
            case 1:
                return Life(child=f"{when}:{dice.choice(records)}:{dice.randrange(1, 5)}")
            case _:
                return Life(request=("POST", MESSAGES, dice.randrange(1, 20), when == "after"))

    lives = [anywhere(), anywhere()]
    print(f"seed {seed}: {', '.join(map(str, lives))}")  # noqa: T201 - shown by pytest when it fails
    asyncio.run(four_lanes(tmp_path, lives, sure=False))


@pytest.mark.parametrize("life", STEERED, ids=str)
def test_kill_with_steered_lines(life: Life, tmp_path: Path) -> None:
    """BEHAVIOUR §4, last row: a steered line, heard or not, ends by the evidence rule like any other."""

    async def play() -> None:
        async with scene(tmp_path, lanes={"busy": "steer"}) as (played, ann, _):
            played.steers = True
            place = played.world.dm(ann)
            await played.known(place)

            async def first(_: object) -> None:
                await played.ask(ann, place, "tool 300")

            async def rest(wait: Callable[[str], Awaitable[None]]) -> None:
                await wait("turn.started")
                await played.ask(ann, place, "echo two")
                await played.ask(ann, place, "echo three")

            await played.live(life, first, rest)
            await played.ask(ann, place, "echo last")
            await played.settle()
            hold_steered(played)

    asyncio.run(play())


@pytest.mark.parametrize("life", THREADS_OPEN, ids=str)
def test_kill_while_threads_open(life: Life, tmp_path: Path) -> None:
    """Each of three lines gets its thread once, and its answer in it."""

    async def play() -> None:
        async with scene(tmp_path, discord={"reply_in": "thread"}) as (played, ann, _):
            played.threads = True
            channel = played.world.channel("north")
            await played.known(channel)

            def line(text: str) -> Act:
                return lambda _: played.ask(ann, channel, text)

            await played.live(life, line("echo one"), line("tool 50"), line("slow 100"))
            await played.settle()
            hold(played, 1)
            threads = [place.id for place in played.world.threads(channel)]
            assert sorted(threads) == [one.id for one in played.asked]
            assert played.world.posts(channel) == []

    asyncio.run(play())


@pytest.mark.parametrize("life", FILES, ids=str)
def test_kill_while_files_are_fetched(life: Life, tmp_path: Path) -> None:
    """Each line is asked once with its own file, in its order, and the inbox holds each file whole and once."""

    async def play() -> None:
        async with scene(tmp_path) as (played, ann, _):
            place = played.world.dm(ann)
            await played.known(place)

            async def lines(_: object) -> None:
                for number in range(3):
                    await played.ask(ann, place, f"echo {number}", Upload("f.txt", b"%d" % number * 9))

            await played.live(life, lines)
            await played.settle()
            hold(played, 1)
            inbox = played.home.state / "inbox" / str(place.id)
            whole = {f"{one.id}-1.txt": b"%d" % number * 9 for number, one in enumerate(played.asked)}
            assert {path.name: path.read_bytes() for path in inbox.iterdir()} == whole
            named = {message: re.findall(r"saved as \S+/(\S+)\]", text) for message, text in read(played.home)}
            assert named == {one.id: [f"{one.id}-1.txt"] for one in played.asked}

    asyncio.run(play())
