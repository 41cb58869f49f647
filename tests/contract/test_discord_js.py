"""A second, independent client library takes the fake Discord for Discord: discord.js as it comes from npm."""

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fakes.discord import FakeDiscord, Upload
from fakes.waiting import Changes

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
BOT = Path(__file__).with_name("discord_js_bot.mjs")
BOUND = 30.0
"""Seconds that any one wait may take; a wait ends with what it waits for, never with this."""


def without(reason: str) -> NoReturn:
    """Skip, or fail where discord.js must be there."""
    if os.environ.get("REQUIRE_DISCORD_JS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def discord_js() -> tuple[str, Path]:
    """Node, and the folder of an installed discord.js."""
    folder, pins = ROOT / ".cache" / "discord-js", ROOT / ".ci" / "discord-js" / "package-lock.json"
    node = shutil.which("node")
    if node is None:
        without("node is not on PATH")
    if not (folder / ".done").is_file() or (folder / ".done").read_bytes() != pins.read_bytes():
        without("discord.js is not installed here as it is pinned: run .ci/discord-js-install")
    return node, folder


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    """A Discord whose token has a form that discord.js leaves alone: it takes "Bot" from the front of one."""
    async with FakeDiscord(token="MTA.fake.token") as world:
        yield world


class Bot:
    """The process of the bot, and what it told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.changes = Changes(lambda: f"told: {self.told}")

    def of(self, event: str) -> list[dict[str, Any]]:
        """What it told of one kind, in order, without its kind."""
        return [{key: told[key] for key in told if key != "event"} for told in self.told if told["event"] == event]

    async def tells(self, event: str, count: int = 1) -> dict[str, Any]:
        """The `count`-th of a kind, once it is told."""
        found = await self.changes.until(lambda: self.of(event)[count - 1 :], BOUND, f"{event} no. {count}")
        return found[0]

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Take what it tells until it ends."""
        async for line in stream:
            self.told.append(json.loads(line))
            self.changes.tell()


@contextlib.asynccontextmanager
async def bot(discord_js: tuple[str, Path], world: FakeDiscord) -> AsyncIterator[Bot]:
    """A bot on discord.js, logged in; at the end it leaves by itself, without a complaint."""
    node, folder = discord_js
    api = world.rest_base.removesuffix("/v10")
    process = await asyncio.create_subprocess_exec(
        *(node, str(BOT), str(folder), api),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    here = Bot()
    reading = asyncio.create_task(here.read(process.stdout))
    try:
        process.stdin.write(f"{world.token}\n".encode())
        await here.tells("ready")
        yield here
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), BOUND) == 0
        assert here.of("error") == here.of("warn") == []
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


async def test_it_logs_in_hears_replies_and_resumes_after_a_cut_connection(
    discord_js: tuple[str, Path], world: FakeDiscord
) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with bot(discord_js, world) as other:
        assert other.of("ready") == [{"user": str(world.bot.id), "guilds": ["Farm"]}]
        first = await world.say(ann, general, "hello")
        await other.tells("replied")
        (session,) = world.gateway.connected
        # Nobody gets back in before the second line has been said: it can only come by the replay.
        world.faults.refuse_gateway = True
        world.faults.drop()
        await other.tells("reconnecting")
        second = await world.say(ann, general, "while you were away")
        world.faults.refuse_gateway = False
        await other.tells("resumed")
        await other.tells("replied", 2)
        third = await world.say(ann, general, "and now")
        await other.tells("replied", 3)
        assert world.gateway.connected == [session]

    said = [(first, "hello"), (second, "while you were away"), (third, "and now")]
    assert other.of("message") == [
        {"id": str(message), "author": "ann", "place": "general", "content": text} for message, text in said
    ]
    replies = world.posts(general)
    assert [(post.reference, post.content) for post in replies] == [
        (message, f"heard: {text}") for message, text in said
    ]
    assert other.of("replied") == [{"id": str(post.id), "to": str(post.reference)} for post in replies]
    assert world.gateway.count("identify") == 1
    (replayed,) = [detail for kind, detail in world.gateway.log if kind == "resumed"]
    assert replayed >= 1


async def test_it_begins_anew_where_its_session_is_gone(discord_js: tuple[str, Path], world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with bot(discord_js, world) as other:
        (session,) = world.gateway.connected
        await world.faults.invalidate(resumable=False)
        await world.wait_for(lambda: world.gateway.connected not in ([], [session]), BOUND, "a new session")
        await world.say(ann, general, "hello again")
        await other.tells("replied")
    assert [post.content for post in world.posts(general)] == ["heard: hello again"]
    assert world.gateway.count("identify") == 2


async def test_it_uploads_and_reads_files_edits_deletes_reacts_and_reads_back(
    discord_js: tuple[str, Path], world: FakeDiscord
) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with bot(discord_js, world) as other:
        await world.say(ann, general, "file", attachments=[Upload("note.txt", b"hello", "text/plain")])
        sent = int((await other.tells("replied"))["id"])
        assert (world.post(sent).content, world.post(sent).files) == ("note.txt 5", ("back.txt",))
        assert world.file(sent, "back.txt") == b"back: hello"
        await world.say(ann, general, "edit")
        edited = int((await other.tells("replied", 2))["id"])
        assert (world.post(edited).content, world.post(edited).edited) == ("second", True)
        await world.say(ann, general, "deletes")
        await other.tells("replied", 3)
        asked = await world.say(ann, general, "react")
        await other.tells("replied", 4)
        assert (world.reactions(asked), world.typings(general)) == ([], 1)
        await world.say(ann, general, "history")
        told = world.post(int((await other.tells("replied", 5))["id"])).content
    assert told == "history: history, reacted, react, deleted, deletes"


async def test_it_opens_a_thread_and_is_asked_in_private(discord_js: tuple[str, Path], world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with bot(discord_js, world) as other:
        await world.say(ann, general, "thread")
        await other.tells("replied")
        (thread,) = world.threads(general)
        assert [post.content for post in world.posts(thread)] == ["in the thread"]
        await world.say(ann, thread, "and here?")
        await other.tells("replied", 2)
        await world.say(ann, world.dm(ann), "privately")
        await other.tells("replied", 3)
    assert [(told["place"], told["content"]) for told in other.of("message")] == [
        ("general", "thread"),
        ("renamed", "and here?"),
        ("private", "privately"),
    ]


async def test_it_registers_a_command_and_answers_every_kind_of_interaction(
    discord_js: tuple[str, Path], world: FakeDiscord
) -> None:
    """Slash command with autocompletion, deferral, edit and follow-up; button, modal, menu."""
    ann, general = world.person("ann"), world.channel("general")
    async with bot(discord_js, world) as other:
        await world.say(ann, general, "commands")
        await other.tells("replied")
        offered = await (await world.autocomplete(ann, general, "ask", "what", "why")).reply(BOUND)
        assert offered.choices == [{"name": "why\u2026", "value": "why and more"}]
        used = await world.slash(ann, general, "ask", {"what": "why"})
        await other.tells("answered", 2)
        assert (used.now().content, used.now().ephemeral) == ("asked: why", True)
        assert [world.post(each).content for each in used.followups] == ["further still"]
        await world.say(ann, general, "card")
        card = int((await other.tells("replied", 2))["id"])
        pressed = await world.click(ann, card, "more")
        assert (await pressed.reply(BOUND)).kind == "modal"
        filled = await (await world.submit_modal(ann, pressed, {"text": "words"})).reply(BOUND)
        assert filled.content == "filled in: words"
        await (await world.select(ann, card, "pick", ["green"])).reply(BOUND)
        await other.tells("answered", 5)
        assert (world.post(card).content, world.post(card).components) == ("picked green", [])


async def test_it_waits_a_429_out_and_sends_once(discord_js: tuple[str, Path], world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with bot(discord_js, world) as other:
        world.faults.rate_limit("POST", "/channels/{channel_id}/messages", times=1, retry_after=0.2)
        await world.say(ann, general, "hello")
        await other.tells("replied")
        assert [told["method"] for told in other.of("limited")] == ["POST"]
    assert [post.content for post in world.posts(general)] == ["heard: hello"]
    assert [request.status for request in world.sent("POST", "/channels/{channel_id}/messages")] == [429, 200]
