"""What a person does on the page, done in the fake Discord as its own client would let him; it renders nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fakes.discord import FakeDiscord
from fakes.discord_acts import Act
from fakes.discord_records import Json, Person, Place, Upload
from fakes.page import sight

PATIENCE = 3.0
"""Seconds in which Discord wants an interaction answered; then its client says that it failed."""

LONGEST = 2000
KEPT_FORMS = 50


class NotPossible(Exception):  # noqa: N818 - what the page is told, not a fault
    """Discord's own client would not do that; its text is for the person."""


class Acts:
    """The acts of these people. `forms` are the modals they were shown and have not sent yet."""

    def __init__(self, world: FakeDiscord, people: Sequence[Person]) -> None:
        self._world = world
        self._people = {str(person.id): person for person in people}
        self._forms: dict[str, Act] = {}

    def person(self, number: object) -> Person:
        """One of them by id. Raises NotPossible for anybody else."""
        found = self._people.get(str(number))
        if found is None:
            raise NotPossible("This is nobody who may act here.")
        return found

    async def do(self, asked: Json, files: Sequence[Upload] = ()) -> Json:
        """Do one act; what came of it. Raises NotPossible, also for an act of the wrong shape."""
        try:
            return await self._do(self.person(asked["as"]), asked, files)
        except (LookupError, OverflowError, TypeError, ValueError) as wrong:
            # From the fake: no such message, command, option or value; or the page sent nonsense.
            raise NotPossible(str(wrong.args[0]) if wrong.args else repr(wrong)) from wrong

    async def _do(self, person: Person, asked: Json, files: Sequence[Upload]) -> Json:
        match asked["act"]:
            case "say":
                return await self._say(person, asked, files)
            case "edit":
                await self._world.edit(self._own(person, asked), self._written(asked["text"]))
            case "delete":
                await self._world.delete(self._own(person, asked))
            case "react":
                self._react(person, int(asked["message"]), str(asked["emoji"]))
            case "click":
                return await self._answer(
                    await self._world.click(person, self._visible(person, asked), asked["custom_id"])
                )
            case "select":
                act = await self._world.select(
                    person, self._visible(person, asked), asked["custom_id"], list(asked["values"])
                )
                return await self._answer(act)
            case "submit":
                return await self._submit(person, str(asked["form"]), dict(asked["values"]))
            case "slash":
                act = await self._world.slash(person, self._place(person, asked), asked["name"], dict(asked["options"]))
                return await self._answer(act)
            case "complete":
                return await self._complete(person, asked)
            case "menu":
                target = self._visible(person, asked)
                return await self._answer(
                    await self._world.context_menu(person, self._place(person, asked), asked["name"], target)
                )
            case unknown:
                raise NotPossible(f"There is no act {unknown!r}.")
        self._world.changes.tell()
        return {}

    # ------------------------------------------------------------------ speaking

    async def _say(self, person: Person, asked: Json, files: Sequence[Upload]) -> Json:
        text = str(asked.get("text", "")).strip()
        if not text and not files:
            raise NotPossible("There is nothing to send.")
        reply_to = int(asked["reply_to"]) if asked.get("reply_to") else None
        said = await self._world.say(
            person, self._place(person, asked), self._written(text), reply_to=reply_to, attachments=files
        )
        return {"message": str(said)}

    def _written(self, text: str) -> str:
        """The text as Discord's client sends it: names become mentions."""
        known = {name.lower(): f"<@{number}>" for number, name in self._names()}
        if known:
            names = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
            text = re.sub(rf"(?<![\w@<])@({names})\b", lambda found: known[found[1].lower()], text, flags=re.IGNORECASE)
        if len(text) > LONGEST:
            raise NotPossible(f"Discord takes {LONGEST:,} characters a message; this has {len(text):,}.")
        return text

    def _names(self) -> list[tuple[int, str]]:
        return [(one.id, one.name) for one in (self._world.bot, *self._people.values())]

    def _react(self, person: Person, message: int, emoji: str) -> None:
        """Put a reaction on a message, or take it away again."""
        mind = self._world.mind
        channel = mind.where(message)
        found = mind.sim.messages[channel][message].reaction_for(emoji)
        if found is not None and person.id in found.user_ids:
            mind.sim.remove_reaction(channel, message, emoji, person.id)
        else:
            mind.sim.add_reaction(channel, message, emoji, person.id)

    # ------------------------------------------------------------------ interactions

    async def _answer(self, act: Act) -> Json:
        """What Discord's client shows of the bot's first answer; the message itself comes with the view."""
        try:
            reply = await act.reply(PATIENCE)
        except AssertionError:
            raise NotPossible("This interaction failed: the bot did not answer within three seconds.") from None
        if reply.modal is None:
            return {"kind": reply.kind}
        while len(self._forms) >= KEPT_FORMS:
            self._forms.pop(next(iter(self._forms)))
        self._forms[str(act.id)] = act
        return {"kind": reply.kind, "form": str(act.id), "modal": reply.modal}

    async def _submit(self, person: Person, form: str, values: dict[str, Any]) -> Json:
        shown = self._forms.get(form)
        if shown is None or shown.person.id != person.id:
            raise NotPossible("This form is not open any more.")
        done = await self._answer(await self._world.submit_modal(person, shown, values))
        self._forms.pop(form, None)
        return done

    async def _complete(self, person: Person, asked: Json) -> Json:
        others = {name: value for name, value in dict(asked["options"]).items() if name != asked["option"]}
        act = await self._world.autocomplete(
            person, self._place(person, asked), asked["name"], asked["option"], str(asked["typed"]), options=others
        )
        try:
            return {"choices": (await act.reply(PATIENCE)).choices}
        except AssertionError:
            raise NotPossible("Loading options failed: the bot did not answer within three seconds.") from None

    # ------------------------------------------------------------------ what is where

    def _place(self, person: Person, asked: Json) -> Place:
        number = str(asked["in"])
        if all(place["id"] != number for place in sight.places(self._world, person)):
            raise NotPossible("This is no place of yours.")
        return self._world.place(int(number))

    def _visible(self, person: Person, asked: Json) -> int:
        message = int(asked["message"])
        mind = self._world.mind
        if not mind.sim.messages[mind.where(message)][message].visible_to(person.id):
            raise NotPossible("This message is for somebody else.")
        return message

    def _own(self, person: Person, asked: Json) -> int:
        message = int(asked["message"])
        mind = self._world.mind
        if mind.sim.messages[mind.where(message)][message].author_id != person.id:
            raise NotPossible("This message is somebody else's.")
        return message
