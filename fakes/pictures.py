"""`python -m fakes.pictures [FOLDER]`: a real run of the connector, drawn: the pictures of the README.

The connector runs as a process with the scripted child against the fake Discord; each picture is a channel of that
world at one moment of the run, drawn from what its API tells.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fakes.discord import FakeDiscord, Person, Place, Post
from fakes.picture_draw import picture
from fakes.program import Home, Running, discord

HERE = Path(__file__).parent / "pictures"
BOUND = 60.0


class Studio:
    """One run, and the pictures of it."""

    def __init__(self, world: FakeDiscord, run: Running, folder: Path) -> None:
        self.world, self.run, self.folder = world, run, folder
        self.ann: Person = world.person("ann")

    def take(self, name: str, place: Place) -> None:
        """Draw a channel as it is now."""
        names = {str(one.id): one.name for one in (self.ann, self.world.bot)}
        image = picture(self.world.history(place), names, int(time.time()))
        path = self.folder / f"{name}.png"
        image.save(path, optimize=True)
        sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")

    async def ask(self, place: Place, text: str) -> int:
        """A mention of Ann's."""
        return await self.world.say(self.ann, place, text, mention=True)

    async def until(self, place: Place, found: Callable[[Post], bool]) -> Post:
        """The first post in a place that is this, once it stands."""
        (post,) = await self.world.wait_for(
            lambda: [post for post in self.world.posts(place) if found(post)][:1], BOUND, "a post"
        )
        return post

    async def signed(self, message: int) -> None:
        """Both signs of a message that has its answer stand."""
        await self.world.wait_for(lambda: len(self.world.reactions(message)) >= 2, BOUND, "the signs")

    async def card(self) -> None:
        """A turn at work, then its answer."""
        place = self.world.channel("tests")
        asked = await self.ask(place, "bash sleep 4; echo 214 passed, 2 skipped")
        card = await self.until(place, lambda post: "bash" in post.content)
        self.take("card", place)
        await self.run.ended(asked)
        await self.until(place, lambda post: not post.custom_ids() and post.id == card.id)
        await self.signed(asked)
        self.take("answer", place)

    async def table(self) -> None:
        """A table, lists and a fence."""
        place = self.world.channel("reports")
        asked = await self.ask(place, "md")
        await self.run.ended(asked)
        await self.signed(asked)
        self.take("table", place)

    async def fence(self) -> None:
        """A fence that is longer than one message."""
        place = self.world.channel("code")
        asked = await self.ask(place, "fence 2200")
        await self.run.ended(asked)
        await self.signed(asked)
        self.take("fence", place)

    async def dialog(self) -> None:
        """A question of one of pi's extensions."""
        place = self.world.channel("deploy")
        asked = await self.ask(place, "tooldialog")
        post = await self.until(place, lambda post: any(one.startswith("dialog:") for one in post.custom_ids()))
        self.take("dialog", place)
        yes = next(one for one in post.custom_ids() if one.endswith(":yes"))
        await self.world.click(self.ann, post.id, yes)
        await self.run.ended(asked)

    async def stop(self) -> None:
        """Stop, with its receipt."""
        place = self.world.channel("cleanup")
        asked = await self.ask(place, "hang")
        card = await self.until(place, lambda post: f"stop:{asked}" in post.custom_ids())
        await self.world.click(self.ann, card.id, f"stop:{asked}")
        await self.until(place, lambda post: post.content.startswith("Stopped") and "still" not in post.content)
        await self.until(place, lambda post: not post.custom_ids() and post.id == card.id)
        await self.signed(asked)
        self.take("stop", place)


async def pictures(folder: Path, scratch: Path) -> None:
    """All of them, from a connector that keeps its things in `scratch`."""
    async with discord() as world:
        people = {"users": [world.person("ann").id]}
        home = Home(scratch, world, access=people, discord={"reply_in": "channel"})
        async with home.running() as run:
            await run.ready()
            studio = Studio(world, run, folder)
            for scene in (studio.card, studio.table, studio.fence, studio.dialog, studio.stop):
                await scene()
            await run.stop()


def main(folder: Path) -> None:
    """Make the folder where it is missing, and fill it."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(pictures(folder, Path(scratch)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else HERE)
