"""What people do in the soak: they speak in bursts, send files, edit, delete and press Stop, all by one dice."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from fakes.discord import FakeDiscord, Person, Place, Upload
from tests.soak.book import Asked, Book, Lane
from tests.soak.spoken import HARMFUL, Said, chosen

STUCK = 240.0
"""Seconds in which at least one message must come to its end."""

LONG = "slow 9000"
"""What runs long enough to be stopped, and is still answered where nobody does."""

ACKNOWLEDGED = 60.0
"""Seconds that a Stop's acknowledgement may take, on the slowest machine."""

IN_LANE = 6
"""Messages of one lane that may be open at the same time."""


def lanes(world: FakeDiscord, count: int) -> tuple[Lane, ...]:
    """So many: half channels, a third threads, the rest private; one person or two in each."""
    people = [world.person(f"person-{n}") for n in range(max(2, count // 6))]
    found: list[Lane] = []
    for number in range(count):
        two = (people[number % len(people)], people[(number + 1) % len(people)])
        if number < len(people):
            found.append(Lane(world.dm(people[number]), two[:1]))
            continue
        channel = world.channel(f"channel-{number}")
        if number % 5 < 2:
            channel = world.open_thread(two[0], channel, f"thread-{number}")
        found.append(Lane(channel, two[: 1 + number % 2]))
    return tuple(found)


class People:
    """Everybody; `counts` is told what was done."""

    def __init__(
        self, book: Book, where: tuple[Lane, ...], dice: random.Random, counts: Counter[str], most: int
    ) -> None:
        self._book, self._world, self._dice, self._counts = book, book.world, dice, counts
        self.lanes = where
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()

    # -- speaking --------------------------------------------------------------------------------------------------

    async def say(self, lane: Lane, script: str) -> Said:
        """One message of somebody in this lane."""
        person = self._dice.choice(lane.people)
        text = f"{script} m{len(self._book.said) + 1:06}"
        files = [Upload("notes.txt", b"a line\n" * 9)] if self._dice.random() < 0.01 else []
        said = await self._spoken(person, lane.place, text, files, word=False)
        self._counts["messages"] += 1
        return said

    async def _spoken(self, person: Person, place: Place, text: str, files: list[Upload], *, word: bool) -> Said:
        mention = place.guild_id is not None
        message = await self._world.say(person, place, text, mention=mention, attachments=files)
        said = Said(message, place, person.id, [text], word=word)
        self._book.add(said)
        return said

    async def harm(self) -> None:
        """Somebody says what hangs, wedges or kills a child."""
        script = self._dice.choice(HARMFUL)(self._dice)
        said = await self.say(self._dice.choice(self.lanes), script)
        self._counts[f"harm: {script.split()[0]}"] += 1
        if self._dice.random() < 0.3:
            self._later(self._press(said))

    async def talk(self, enough: Callable[[], bool]) -> None:
        """Speak until it is enough; AssertionError when nothing comes to an end any more."""
        while not enough():
            await self._book.changes.until(lambda: len(self._book.open) < self._most, STUCK, "an end of any message")
            lane = self._dice.choice(self.lanes)
            if self._book.in_lane[lane.place.id] >= IN_LANE:
                await asyncio.sleep(0)
                continue
            for _ in range(self._dice.choice((1, 1, 1, 2, 2, 3, 4))):
                said = await self.say(lane, chosen(self._dice))
                self._perhaps(said)
            await asyncio.sleep(self._dice.expovariate(200.0))

    def _perhaps(self, said: Said) -> None:
        chance = self._dice.random()
        if chance < 0.02:
            self._later(self._edit(said))
        elif chance < 0.03:
            self._later(self._delete(said))
        elif chance < 0.06:
            self._later(self._press(said))
        elif chance < 0.07:
            self._later(self._stop(said))

    def _later(self, act: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def quiet(self) -> None:
        """Wait until everybody has done what he was about to do."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    # -- changing one's mind ---------------------------------------------------------------------------------------

    async def _pause(self, mean: float) -> None:
        await asyncio.sleep(min(5.0, self._dice.expovariate(1 / mean)))

    async def _edit(self, said: Said) -> None:
        await self._pause(0.3)
        if said.deleted or said.word:
            return
        text = f"{said.texts[-1]} edited"
        said.edit(text)
        mention = f"{self._world.bot.mention} " if said.place.guild_id is not None else ""
        await self._world.edit(said.id, mention + text)
        self._counts["edits"] += 1

    async def _delete(self, said: Said) -> None:
        await self._pause(0.3)
        said.deleted = True
        await self._world.delete(said.id)
        self._counts["deletes"] += 1

    # -- Stop ------------------------------------------------------------------------------------------------------

    async def _press(self, said: Said) -> None:
        """Stop by the button on the message's card, as soon as there is one, or a little later."""
        with contextlib.suppress(AssertionError):  # it was over before it had a card
            await self._book.changes.until(lambda: said.id in self._book.cards or said.id not in self._book.open, 20.0)
        await self._pause(0.2)
        card, person = self._book.cards.get(said.id), self._person(said)
        if card is None:
            return
        with contextlib.suppress(LookupError):  # the button is gone: the turn is over
            act = await self._world.click(person, card, f"stop:{said.id}")
            self._book.stops.append(Asked(said.id, act))
            self._counts["Stops by button"] += 1

    async def _stop(self, said: Said) -> None:
        """Stop by the command or the word, of the turn or of all in the lane."""
        await self._pause(0.3)
        person = self._person(said)
        if self._dice.random() < 0.5:
            word = await self._spoken(person, said.place, "stop", [], word=True)
            self._book.stops.append(Asked(word=word.id))
            self._counts["Stops by word"] += 1
            return
        with contextlib.suppress(LookupError):  # the commands are not registered yet
            scope = self._dice.choice(("turn", "lane"))
            act = await self._world.slash(person, said.place, "stop", {"scope": scope})
            self._book.stops.append(Asked(act=act))
            self._counts["Stops by command"] += 1

    async def firmly(self) -> None:
        """Stops of running turns while nothing goes wrong any more, by the button, the command and the word.

        Each must be acknowledged, and end its turn: whoever is not heard here is ignored.
        """
        kinds = ("button", "command", "word") * 2
        await asyncio.gather(*(self._firm(how, lane) for how, lane in zip(kinds, self.lanes, strict=False)))

    async def _firm(self, how: str, lane: Lane) -> None:
        said = await self.say(lane, LONG)
        await self._book.changes.until(
            lambda: said.id in self._book.cards or said.id not in self._book.open, STUCK, f"a card of {said.id}"
        )
        if said.id not in self._book.open:  # this life shows no cards, or the machine was too slow
            return
        person = self._person(said)
        act, word = None, 0
        if how == "word":
            word = (await self._spoken(person, lane.place, "stop", [], word=True)).id
        elif how == "command":
            act = await self._world.slash(person, lane.place, "stop", {"scope": "turn"})
        else:
            with contextlib.suppress(LookupError):  # the button is gone: the turn is over
                act = await self._world.click(person, self._book.cards[said.id], f"stop:{said.id}")
        if act is None and not word:
            return
        self._book.stops.append(Asked(said.id, act, word, firm=True))
        self._counts[f"Stops by {how}"] += 1
        if act is not None:
            with contextlib.suppress(AssertionError):  # the judge tells of it
                await act.message(ACKNOWLEDGED)

    def _person(self, said: Said) -> Person:
        return next(one for lane in self.lanes for one in lane.people if one.id == said.author)
