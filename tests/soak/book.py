"""What was said in the soak and what has come of it so far, kept while it runs; the last word is the judge's."""

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connector import ledger_read, notices
from connector.exits import Refusal
from connector.ledger import FILE
from fakes.discord import FakeDiscord, Person, Place
from fakes.discord_acts import Act
from fakes.program import Home
from fakes.waiting import Changes
from tests.soak import sentences
from tests.soak.judge import Recorded, Stands, recorded
from tests.soak.spoken import TOKEN, Said

SWEEP = 2.0
"""Seconds between two looks into the ledger for ends that no post shows."""

UNHEARD = 20.0
"""Seconds after which a deleted message that the ledger does not know is taken for one that never came."""

HONOURED, IDLE, LOST = "Stops honoured", "Stops with nothing left to stop", "Stops lost on the way"

_STOPPING = re.compile(r"Stopping \d+ message")


@dataclass(frozen=True, slots=True)
class Lane:
    """A place, and who speaks there."""

    place: Place
    people: tuple[Person, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """One Stop: of `target` (0: whatever runs in the lane), by an act or by the word `word`.

    `firm`: it was asked of a running turn while nothing went wrong, so that it must have been heard.
    """

    target: int = 0
    act: Act | None = None
    word: int = 0
    firm: bool = False


class Book:
    """All messages by id, those without an end, and the Stops that were pressed."""

    def __init__(self, world: FakeDiscord, home: Home) -> None:
        self.world, self._home = world, home
        self.said: dict[int, Said] = {}
        self.open: dict[int, float] = {}
        """Messages without an end so far, with the instant they were said."""
        self.in_lane: Counter[int] = Counter()
        self.cards: dict[int, int] = {}
        """Message → the post of its card."""
        self.stops: list[Asked] = []
        self.changes = Changes(self._story)
        self._token: dict[str, Said] = {}
        self._parts: dict[int, list[str]] = {}
        self._bot = str(world.bot.id)
        world.watch(self._heard)

    def add(self, said: Said) -> None:
        """One more message."""
        self.said[said.id] = said
        self.open[said.id] = time.monotonic()
        self.in_lane[said.place.id] += 1
        for token in TOKEN.findall(said.texts[0]):
            self._token[token] = said

    def over(self, message: int) -> None:
        """A message has its end."""
        if self.open.pop(message, None) is not None:
            self.in_lane[self.said[message].place.id] -= 1
            self._parts.pop(message, None)
            self.changes.tell()

    # -- what Discord tells ----------------------------------------------------------------------------------------

    def _heard(self, event: str, payload: dict[str, Any]) -> None:
        if event != "MESSAGE_CREATE" or payload["author"]["id"] != self._bot:
            return
        content = str(payload["content"])
        message = int((payload.get("message_reference") or {}).get("message_id") or 0)
        if sentences.card(content):
            if message in self.open:
                self.cards[message] = int(payload["id"])
                self.changes.tell()
        elif tokens := TOKEN.findall(content):
            said = self._token.get(tokens[0])
            if said is not None:
                parts = self._parts.setdefault(said.id, [])
                parts.append(content)
                if any(one and not Counter(one) - Counter(parts) for one in said.answers):
                    self.over(said.id)
        elif sentences.end_of(content):
            self.over(message)

    # -- what only the ledger tells --------------------------------------------------------------------------------

    async def sweep(self) -> None:
        """Look again and again for lines that were joined, stop words that were done, messages that were taken back."""
        while True:
            await asyncio.sleep(SWEEP)
            due = time.monotonic() - SWEEP
            old = [message for message, at in self.open.items() if at < due]
            found = await asyncio.to_thread(self.ledger, old)
            for message in old:
                told, said = found.get(message), self.said[message]
                silent = said.deleted or said.word or (told is not None and told.code == "joined")
                if told is None:
                    gone = said.deleted and time.monotonic() - self.open.get(message, 0) > UNHEARD
                    if gone:
                        self.over(message)
                elif silent and told.code:
                    self.over(message)

    def ledger(self, messages: list[int]) -> Mapping[int, Recorded]:
        """What the ledger has of these messages; those it does not know are left out, all while it cannot be read."""
        found = {}
        with contextlib.suppress(Refusal), ledger_read.opened(self._home.state / FILE) as db:
            for message in messages:
                if steps := ledger_read.steps_of(db, message):
                    found[message] = recorded(step.fact for step in steps)
        return found

    # -- for the judge ---------------------------------------------------------------------------------------------

    def stands(self) -> list[Stands]:
        """Every post of the bot as it stands now."""
        places = {said.place.id: said.place for said in self.said.values()}
        return [
            Stands(post.id, place.id, post.content, post.reference)
            for place in places.values()
            for post in self.world.posts(place)
        ]

    def pressed(self) -> list[int]:
        """The messages whose Stop was acknowledged as stopping something, or had to be."""
        told = [(stop, self._outcome(stop)) for stop in self.stops if stop.target]
        return [stop.target for stop, how in told if how == HONOURED or (stop.firm and how == LOST)]

    def stopped(self) -> Counter[str]:
        """How many Stops were asked, and what they came to."""
        return Counter({"Stops asked": len(self.stops)}) + Counter(map(self._outcome, self.stops))

    def _outcome(self, stop: Asked) -> str:
        if stop.act is None:
            place = self.said[stop.word].place
            told = [post.content for post in self.world.posts(place) if post.reference == stop.word]
            return IDLE if notices.nothing_to_stop() in told else HONOURED
        told = self._told(stop.act)
        if any(map(_STOPPING.match, told)):
            return HONOURED
        return IDLE if any(told) else LOST

    def _told(self, act: Act) -> list[str]:
        told = [act.now().content]
        for followup in act.followups:
            with contextlib.suppress(LookupError):
                told.append(self.world.post(followup).content)
        return told

    def _story(self) -> str:
        oldest = list(self.open)[:5]
        return f"{len(self.open)} messages have no end: {[(name, self.said[name].texts) for name in oldest]} …"
