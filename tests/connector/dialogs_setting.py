"""Ann's line that runs while its child asks, on a fake Discord: what she and others do, and what the child is given."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

from connector.access import Rules
from engine import events as told
from fakes.discord import FakeDiscord, Person
from fakes.discord_acts import Act
from fakes.house import House, house
from fakes.recorded_dialogs import recorded

Open = Callable[..., AbstractAsyncContextManager[House]]
MANY = [f"choice {number}" for number in range(30)]


def opening(world: FakeDiscord, folder: Path) -> Open:
    """Ann and Bob have access, Olga is an operator; no cards. Opened twice, it is a restart."""
    people = frozenset(world.person(name).id for name in ("ann", "bob"))
    rules = Rules(users=people, operators=frozenset({world.person("olga").id}), respond="all")
    return partial(house, world, folder, rules, cards=False)


class Scene:
    """Ann's line runs in general, and its child asks."""

    def __init__(self, home: House) -> None:
        self.home, self.world, self.general = home, home.world, home.world.channel("general")
        self.ann, self.bob, self.olga = (home.world.person(name) for name in ("ann", "bob", "olga"))
        self.round = ""

    async def runs(self) -> "Scene":
        self.round = str(await self.world.say(self.ann, self.general, "work"))
        await self.home.comes(self.round, "RUNNING")
        return self

    async def asks(self, kind: str, name: str = "d", **changes: Any) -> int:
        """The message under which the question's controls stand, once it is recorded."""
        turn = self.home.lanes.world.rounds[self.round].turn
        self.home.puppets.says(str(self.general.id), told.Asked(turn, recorded(kind, id=name, **changes)), busy=True)
        known = self.home.lanes.world.dialogs
        return await self.home.until(
            lambda: next((post for key, (_, post) in known.items() if key.endswith(f".{name}")), 0), "a question"
        )

    def answers(self) -> list[told.Input]:
        """What the child was given, prompts apart."""
        return [given for _, given in self.home.puppets.heard if not isinstance(given, told.Submit)]

    async def ends(self, post: int, line: str) -> None:
        """The question shows this as its last line, and no controls."""
        await self.home.until(lambda: self.world.post(post).content.rpartition("\n")[2] == line, f"{line!r} in {post}")
        assert self.home.buttons(post) == []
        await self.home.until(lambda: not self.home.lanes.world.dialogs, "its last record")

    async def press(self, who: Person, post: int, verb: str, *, name: str = "d") -> Act:
        return await self.world.click(who, post, f"dialog:{name}:{verb}")


async def scene(home: House) -> Scene:
    return await Scene(home).runs()
