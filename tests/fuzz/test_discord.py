"""Discord's payloads tampered with: each is read or malformed, and the connector goes on with the next one."""

import asyncio
import copy
import json
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path as Folder
from typing import Any

import msgspec
from hypothesis import Phase as Phases
from hypothesis import given, settings
from hypothesis import strategies as st

from connector import facts
from connector import gateway_facts as read
from connector.access import Rules
from connector.header import compose
from connector.hearing import Hearing
from connector.lane_base import LaneRules
from connector.messages import Place
from connector.modals import written
from connector.ports import Connected, Part
from connector.world import Phase
from fakes.discord import FakeDiscord
from fakes.discord_faults import Answer
from fakes.discord_records import Json
from fakes.house import House, house
from fakes.program import discord
from tests.fuzz.bounds import bounded
from tests.fuzz.hostile import JSON, mutated, tried

# -- single payloads -----------------------------------------------------------------------------------------------

USER = {"id": "41", "username": "ann", "global_name": "Ann", "bot": False}
FILE = {"id": "77", "filename": "a.txt", "size": 5, "content_type": "text/plain", "url": "https://cdn.example/a"}
MESSAGE = {
    "id": "1300000000000000001",
    "type": 19,
    "channel_id": "20",
    "guild_id": "30",
    "author": USER,
    "member": {"nick": "annie", "roles": ["31", "32"], "permissions": "2048"},
    "content": "hello",
    "mentions": [USER],
    "mention_roles": ["31"],
    "mention_everyone": False,
    "webhook_id": None,
    "attachments": [FILE],
    "message_reference": {"type": 0, "message_id": "1300000000000000000", "channel_id": "20"},
    "referenced_message": {"id": "1300000000000000000", "author": USER, "content": "before", "attachments": []},
    "message_snapshots": [{"message": {"content": "forwarded", "attachments": [FILE]}}],
    "edited_timestamp": "2026-01-01T00:00:00+00:00",
}
CHANNEL = {"id": "20", "type": 11, "name": "a thread", "guild_id": "30", "owner_id": "1", "parent_id": "19"}
FORM = {"components": [{"type": 1, "components": [{"type": 4, "custom_id": "text", "value": "said"}]}]}


def sound(value: object) -> None:
    """What a payload was read as can be written down: every number and text of it."""
    match value:
        case str():
            value.encode("utf-8")
        case bool() | None:
            pass
        case int():
            assert -(2**63) <= value < 2**63
        case tuple() | frozenset():
            for item in value:
                sound(item)
        case _:
            for name in value.__slots__:  # type: ignore[attr-defined]  # our own dataclasses, and no others
                sound(getattr(value, name))


@given(st.one_of(mutated(MESSAGE, 3), JSON))
@tried(150)
def test_a_message_is_whole_or_malformed(data: Any) -> None:
    try:
        message = read.message(data, Place(20, "general", 30), us=1)
        read.spoken(data)
    except read.MALFORMED:
        return
    assert isinstance(message.text, str)
    sound(message)
    claim = Hearing(Rules(), threads=True).claim(message, 5, thread=True)
    assert msgspec.json.decode(msgspec.json.encode(claim), type=facts.Claimed) == claim
    compose(message).encode("utf-8")


@given(st.one_of(mutated(CHANNEL, 3), JSON))
@tried(40)
def test_a_channel_is_a_place_or_malformed(data: Any) -> None:
    try:
        place = read.place(data, us=1)
    except read.MALFORMED:
        return
    sound(place)


@given(st.one_of(mutated(FORM, 3), JSON))
@tried(40)
def test_what_a_form_holds_is_texts_or_malformed(data: Any) -> None:
    try:
        found = written(data)
    except read.MALFORMED:
        return
    sound(tuple(found))


# -- the whole connector -------------------------------------------------------------------------------------------


class Stage:
    """A connector on the fake Discord that lives over many examples, and one of each event that it was told."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self.events: list[tuple[str, Json]] = []
        self.world: FakeDiscord
        self.home: House

    async def begin(self) -> None:
        folder = Folder(self._stack.enter_context(tempfile.TemporaryDirectory()))
        world = self.world = await self._stack.enter_async_context(discord(strict=False))
        self.ann, self.general, self.other = world.person("ann"), world.channel("general"), world.channel("other")
        hook, spare = world.webhook("hook", self.other), world.channel("spare")
        rules = Rules(users=frozenset({self.ann.id}), operators=frozenset({self.ann.id}), respond="all")
        lane_rules = LaneRules(busy="queue", max_children=10_000, per_person=1_000_000, capacity=1_000_000)
        self.home = await self._stack.enter_async_context(house(world, folder, rules, lane_rules=lane_rules))
        (session,) = world.gateway.connected
        self._from = session.log[-1][0]
        first = await world.say(self.ann, self.other, "one", attachments=[("a.txt", b"1", "text/plain")])
        await world.say(self.ann, self.other, f"{world.bot.mention} two", reply_to=first)
        await world.forward(self.ann, self.other, first)
        await world.say(hook, self.other, "three")
        await world.say(self.ann, world.dm(self.ann), "four")
        await world.edit(first, "one, edited")
        card = await self.home.living.gateway.post(Part(self.other.id, "a card", "card"))
        for act in ("stop:1", "retry:1.2", "queue:page:0", "dialog:x:open", "spend:1"):
            await world.click(self.ann, card, act, force=True)
        await world.select(self.ann, card, "dialog:x:menu", ["1"], force=True)
        await world.forge_modal(self.ann, self.other, "dialog:x:text", {"text": "said"})
        await self.home.until(lambda: world.commands, "the commands")
        await world.slash(self.ann, self.other, "stop", {"scope": "turn"})
        await world.slash(self.ann, self.other, "trace", {"message": str(first)})
        await world.autocomplete(self.ann, self.other, "model", "name", "fake")
        await world.context_menu(self.ann, self.other, "Ask pi", first)
        await world.context_menu(self.ann, self.other, "Trace", first)
        thread = world.open_thread(self.ann, spare, "a thread")
        world.archive(thread)
        await world.delete(first)
        world.delete_channel(spare)
        self.events = [("GUILD_CREATE", guild) for guild in world.mind.guild_creates()]
        for number, frame in session.log:
            told = json.loads(frame)
            if number > self._from:
                self.events.append((told["t"], told["d"]))
        await self.answered()

    async def end(self) -> None:
        await self._stack.aclose()

    def fresh(self, event: str, payload: Json) -> Json:
        """The payload of an event that has not been: what is known already is not looked at again."""
        payload = copy.deepcopy(payload)
        if event in ("MESSAGE_CREATE", "INTERACTION_CREATE"):
            payload["id"] = str(self.world.mind.sim.snowflake())
        return payload

    async def tell(self, event: str, payload: Any) -> None:
        for session in self.world.gateway.connected:
            self.world.gateway.say_raw(session, event, payload)

    async def answered(self) -> None:
        """A message is heard, asked and answered: nothing before it has stopped anything."""
        message = await self.world.say(self.ann, self.general, "and now?")
        while self.home.round(message) != Phase.RUNNING.name:
            name = await self.home.until(self._running, f"the run of {message}")
            if name != str(message):
                await self.home.answers(name)
        await self.home.answers(message)
        await self.home.comes(message, "")

    def _running(self) -> str:
        """A round that runs where the next message is to be answered."""
        rounds = self.home.lanes.world.rounds.values()
        lane = str(self.general.id)
        return next((one.id for one in rounds if one.phase is Phase.RUNNING and one.lane == lane), "")


@st.composite
def tampered_events(draw: Callable[[Any], Any], stage: Stage) -> tuple[str, Any]:
    event, payload = draw(st.sampled_from(stage.events))
    payload = stage.fresh(event, payload)
    return event, draw(st.one_of(mutated(payload, 1), mutated(payload, 2), mutated(payload, 4), JSON))


def on_stage(one: Callable[[asyncio.Runner, Stage, Any], None], examples: int) -> None:
    """Many examples on one stage; a new one is set after an example that failed."""
    with asyncio.Runner() as runner:
        stages = [Stage()]
        runner.run(stages[0].begin())

        # No shrinking: a connector that has ended is waited for, and a further one is built, each time.
        @given(st.data())
        @settings(tried(examples), phases=[Phases.explicit, Phases.reuse, Phases.generate])
        @bounded
        def example(data: Any) -> None:
            try:
                one(runner, stages[0], data)
            except Exception:  # not what Hypothesis itself ends an example with
                runner.run(stages[0].end())
                stages[0] = Stage()
                runner.run(stages[0].begin())
                raise

        try:
            example()
        finally:
            runner.run(stages[0].end())


def test_the_connector_hears_the_next_message_after_any_events() -> None:
    def one(runner: asyncio.Runner, stage: Stage, data: Any) -> None:
        for event, payload in data.draw(st.lists(tampered_events(stage), min_size=1, max_size=4)):
            runner.run(stage.tell(event, payload))
        runner.run(stage.answered())

    on_stage(one, 10)


REPLIES = {
    "posts": ("POST", "/channels/{channel_id}/messages"),
    "history": ("GET", "/channels/{channel_id}/messages"),
    "edits": ("PATCH", "/channels/{channel_id}/messages/{message_id}"),
    "channels": ("GET", "/channels/{channel_id}"),
    "members": ("GET", "/guilds/{guild_id}/members/{user_id}"),
    "callbacks": ("POST", "/interactions/{interaction_id}/{interaction_token}/callback"),
}
STATUSES = st.sampled_from([200, 200, 200, 204, 400, 403, 404])
"""Not those that discord.py itself asks again after seconds."""


@st.composite
def tampered_replies(draw: Callable[[Any], Any], stage: Stage) -> Answer:
    _, payload = draw(st.sampled_from(stage.events))
    body = draw(st.one_of(JSON, mutated(payload, 3), mutated([payload], 3)))
    return Answer(draw(STATUSES), body)


def test_the_connector_hears_the_next_message_after_any_replies() -> None:
    async def with_replies(stage: Stage, names: list[tuple[str, Answer]], event: str, payload: Any) -> None:
        for name, answer in names:
            stage.world.faults.answer(*REPLIES[name], answer, times=2)
        await stage.answered()
        stage.home.dispatcher.hear(Connected(stage.world.bot.id, fresh=True))
        await stage.tell(event, payload)
        await stage.home.settle()
        stage.world.faults.clear()
        await stage.answered()

    def one(runner: asyncio.Runner, stage: Stage, data: Any) -> None:
        pairs = st.tuples(st.sampled_from(sorted(REPLIES)), tampered_replies(stage))
        event, payload = data.draw(st.sampled_from(stage.events))
        runner.run(with_replies(stage, data.draw(st.lists(pairs, min_size=1, max_size=4)), event, payload))

    on_stage(one, 8)
