"""Memory of the connector at work, beside a bare client: with 50 lanes whose children live, and after turns of 2 MB;
and with 1,000 lanes that have talked, by with 10 of them, where four at most have a child.

Shown, not judged: what is judged is idling (`bench_idle`) and growth over turns (`bench_growth`). The children are
processes of their own, and not counted.
"""

import asyncio
import tempfile
from pathlib import Path

import psutil

from fakes.discord import FakeDiscord, Person, Place
from fakes.program import Home, Running, discord
from tests.bench.lives import Stand, bare, stand
from tests.bench.pairs import Surplus
from tests.bench.readers_how import command
from tests.bench.stream import lay, turn

LANES, TURNS, MB = 50, 20, 1_000_000
FEW, MANY, CHILDREN = 10, 1_000, 4
SMALL, LARGE = turn(10), turn(50_000, 2_000_000)
"""A short answer; and 250 KB of answer with a line of 2 MB, ten times the text of a long one."""


async def ask(world: FakeDiscord, program: Running, person: Person, place: Place) -> None:
    """One message and its turn."""
    await program.ended(await world.say(person, place, "hello", mention=True))


async def measure() -> list[Surplus]:
    """One life of each."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = lay(Path(scratch) / "turn", SMALL)
        async with discord(validate=False) as world, bare(world) as client:
            person = world.person("ann")
            home = Home(
                Path(scratch),
                world,
                child=command(str(folder)),
                access={"users": [person.id]},
                discord={"reply_in": "channel"},
                agent={"max_children": LANES},
                log={"level": "info"},
            )
            places = [world.channel(f"lane-{number}") for number in range(LANES)]
            async with home.running() as program:
                await program.ready()
                for place in places:
                    await ask(world, program, person, place)
                assert len(psutil.Process(program.pid).children()) == LANES
                living = stand(program.pid)
            lay(folder, LARGE)
            async with home.running() as program:
                await program.ready()
                for _ in range(TURNS):
                    await ask(world, program, person, places[0])
                large = stand(program.pid)
            lay(folder, SMALL)
            few, many = await talked(world, person, Path(scratch) / "many", command(str(folder)))
            less = round(stand(client).resident / MB, 1)
    named = {f"with {LANES} lanes and their children": living, f"after {TURNS} turns of 2.5 MB": large}
    found = [
        Surplus(f"resident memory {when}, beside a bare client", "MB", None, round(one.resident / MB, 1), less)
        for when, one in named.items()
    ]
    title = f"resident memory with {MANY:,} lanes and {CHILDREN} children, by with {FEW} lanes"
    return [*found, Surplus(title, "MB", None, round(many.resident / MB, 1), round(few.resident / MB, 1))]


async def talked(world: FakeDiscord, person: Person, folder: Path, child: tuple[str, ...]) -> tuple[Stand, Stand]:
    """One life: how it stands after a turn in each of FEW lanes, and in each of MANY."""
    places = [world.channel(f"many-{number}") for number in range(MANY)]
    home = Home(
        folder,
        world,
        child=child,
        access={"users": [person.id]},
        discord={"reply_in": "channel"},
        agent={"max_children": CHILDREN},
        log={"level": "info"},
    )
    async with home.running() as program:
        await program.ready()
        left = iter(places[:FEW])

        async def talk() -> None:
            for place in left:
                await ask(world, program, person, place)

        await asyncio.gather(*(talk() for _ in range(CHILDREN)))
        few = stand(program.pid)
        left = iter(places[FEW:])
        await asyncio.gather(*(talk() for _ in range(CHILDREN)))
        return few, stand(program.pid)


def run() -> list[Surplus]:
    """All figures."""
    return asyncio.run(measure())
