"""Outbox, posting task, gateway and an unmodified discord.py together: through every fault each part stands once."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from connector import facts
from connector.logs import Logs
from connector.posting import Posting
from connector.settings import LogSettings
from fakes.discord import FakeDiscord
from fakes.living_gateway import Living, running
from fakes.waiting import Changes

pytestmark = pytest.mark.anyio
MESSAGES = "/channels/{channel_id}/messages"


class Told:
    """What the posting task told, in order."""

    def __init__(self) -> None:
        self.facts: list[Any] = []
        self.changes = Changes(lambda: f"told: {self.facts}")

    def __call__(self, fact: Any) -> None:
        self.facts.append(fact)
        self.changes.tell()

    async def count(self, number: int) -> None:
        await self.changes.until(lambda: len(self.facts) >= number)


@asynccontextmanager
async def posting(living: Living, told: Told) -> AsyncIterator[Posting]:
    log = Logs(LogSettings(level="debug", format="console"), io.StringIO()).log
    made = Posting(living.gateway, told, log, living.pacing.clock())
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def owed(number: int, channel: int, **wanted: Any) -> facts.Owed:
    given: dict[str, Any] = {"kind": "answer", "text": f"answer {number}", "reply_to": 0, "round": f"r{number}"}
    return facts.Owed(key=f"r{number}:answer:0", channel=channel, **{**given, **wanted})


@pytest.mark.parametrize(
    "fault", ["stored then 503", "503", "stored then reset", "reset", "429", "hang", "stored hang"]
)
async def test_twenty_answers_through_faults_stand_once_each_and_in_order(world: FakeDiscord, fault: str) -> None:
    general, told = world.channel("general"), Told()
    async with running(world, commands=(), request_limit=0.2) as living, posting(living, told) as box:
        match fault:
            case "stored then 503":
                world.faults.stored_then("POST", MESSAGES, 503, times=4)
            case "503":
                world.faults.status("POST", MESSAGES, 503, times=4)
            case "stored then reset":
                world.faults.stored_then_reset("POST", MESSAGES, times=4)
            case "reset":
                world.faults.reset("POST", MESSAGES, times=4)
            case "429":
                world.faults.rate_limit("POST", MESSAGES, times=4)
            case "hang":
                world.faults.hang("POST", MESSAGES, times=2)
            case _:
                world.faults.hang("POST", MESSAGES, times=2, stored=True)
        for number in range(20):
            box.owe(owed(number, general.id))
        await told.count(20)
        assert [post.content for post in world.posts(general)] == [f"answer {number}" for number in range(20)]
        assert told.facts == [
            facts.Posted(f"r{number}:answer:0", 0, 1, post.id) for number, post in enumerate(world.posts(general))
        ]


async def test_after_a_restart_what_was_stored_is_found_and_the_rest_is_posted(world: FakeDiscord) -> None:
    """Issue 3: a crash between the store and the fact; the nonce is long forgotten."""
    ann, general, told = world.person("ann"), world.channel("general"), Told()
    asked = await world.say(ann, general, "a question")
    long = owed(1, general.id, text="a" * 1500 + "\n\n" + "b" * 1500, reply_to=asked, retry=True)
    async with running(world, commands=()) as living, posting(living, Told()) as box:
        world.faults.hang("POST", MESSAGES, stored=True)
        box.owe(long)
        await world.wait_for(lambda: world.posts(general))
    world.faults.clear()
    world.advance(3600)
    async with running(world, commands=()) as living, posting(living, told) as box:
        box.owe(long, fresh=False)
        await told.count(2)
    first, second = world.posts(general)
    assert told.facts == [facts.Posted(long.key, 0, 2, first.id), facts.Posted(long.key, 1, 2, second.id)]
    assert (first.reference, second.reference, second.custom_ids()) == (asked, None, ["retry:r1"])


async def test_a_channel_that_is_gone_ends_its_posts_and_no_others(world: FakeDiscord) -> None:
    gone, general, told = world.channel("gone"), world.channel("general"), Told()
    async with running(world, commands=()) as living, posting(living, told) as box:
        world.delete_channel(gone)
        box.owe(owed(1, gone.id))
        box.owe(owed(2, general.id))
        await told.count(2)
        assert {fact.key: type(fact) for fact in told.facts} == {
            "r1:answer:0": facts.Dropped,
            "r2:answer:0": facts.Posted,
        }


async def test_an_answer_too_long_for_messages_is_a_file(world: FakeDiscord) -> None:
    general, told = world.channel("general"), Told()
    text = "\n\n".join(f"{n} " + "x" * 1500 for n in range(9))
    async with running(world, commands=()) as living, posting(living, told) as box:
        box.owe(owed(1, general.id, text=text))
        await told.count(1)
        (post,) = world.posts(general)
        assert world.file(post.id, "answer.md").decode() == text


async def test_a_card_is_edited_to_its_last_content(world: FakeDiscord) -> None:
    general, told = world.channel("general"), Told()
    async with running(world, commands=()) as living, posting(living, told) as box:
        for number in range(10):
            box.show("r1:card", general.id, f"working {number}")
        box.finish("r1:card")
        box.show("r2:card", general.id, "first")
        await world.wait_for(lambda: world.posts(general))
        box.show("r2:card", general.id, "last")
        await world.wait_for(lambda: [post.content for post in world.posts(general)] == ["last"])
