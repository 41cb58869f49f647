"""What the page shows and does: told as changes, each person his own, with an unmodified bot on the other side."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fakes.discord import FakeDiscord
from fakes.discord_client import running
from fakes.page.server import Page
from tests.fakes.page_bot import Panel, bot
from tests.fakes.page_visitor import Json, entered, visiting

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as world:
        yield world


async def test_only_what_changed_is_told_and_a_second_look_shows_the_same(world: FakeDiscord) -> None:
    ada, general = world.person("ada"), world.channel("general")
    async with visiting(world, ada) as visitor:
        await visitor.look(ada, general.id)
        first = await world.say(ada, general, "one")
        await visitor.until(lambda: visitor.texts() == ["one"])
        second = await world.say(ada, general, "two")
        await visitor.until(lambda: visitor.texts() == ["one", "two"])
        await world.edit(first, "one, said better")
        await visitor.until(lambda: visitor.texts() == ["one, said better", "two"])
        assert visitor.frames[-1].keys() == {"order"}  # and this one message
        await world.delete(second)
        await visitor.until(lambda: visitor.texts() == ["one, said better"])
        folded = visitor.messages
        await visitor.look(ada, general.id)
        await visitor.until(lambda: visitor.messages)
        assert visitor.messages == folded
        assert [one["name"] for one in visitor.seen["places"]] == ["general", "pi"]


async def test_an_address_of_another_run_begins_as_a_new_one(world: FakeDiscord) -> None:
    ada, other = world.person("ada"), world.person("somebody else")
    async with visiting(world, ada) as visitor:
        await visitor.look(other, 12345)
        assert visitor.seen["look"] == {"as": str(ada.id), "in": str(world.dm(ada).id)}


async def test_what_a_person_may_do(world: FakeDiscord) -> None:
    ada, ben, general = world.person("ada"), world.person("ben"), world.channel("general")
    async with visiting(world, ada, ben) as visitor:
        await visitor.look(ada, general.id)
        said = await visitor.act("say", text="hello @PI and @ben, not x@ben.org")
        await visitor.until(lambda: visitor.messages)
        assert visitor.texts() == [f"hello {world.bot.mention} and {ben.mention}, not x@ben.org"]
        reply = await visitor.act("say", [("a.txt", b"abc")], text="", reply_to=said["message"])
        await visitor.until(lambda: len(visitor.messages) == 2)
        shown = visitor.messages[reply["message"]]
        assert (shown["reply"]["id"], shown["files"][0]["name"], shown["mine"]) == (said["message"], "a.txt", True)

        for _ in range(2):
            await visitor.act("react", message=said["message"], emoji="👍")
        await visitor.act("react", message=reply["message"], emoji="👀")
        await visitor.until(lambda: visitor.messages[reply["message"]]["reactions"])
        assert visitor.messages[said["message"]]["reactions"] == []
        assert visitor.messages[reply["message"]]["reactions"] == [{"emoji": "👀", "count": 1, "mine": True}]

        await visitor.act("edit", message=said["message"], text="better")
        await visitor.act("delete", message=reply["message"])
        await visitor.until(lambda: visitor.texts() == ["better"])


async def test_what_discords_client_would_not_do_is_refused_with_its_reason(world: FakeDiscord) -> None:
    ada, ben, general = world.person("ada"), world.person("ben"), world.channel("general")
    theirs = await world.say(ben, general, "ben's")
    async with visiting(world, ada, ben) as visitor:
        await visitor.look(ada, general.id)
        refused = [
            await visitor.act("say", text="  "),
            await visitor.act("say", text="x" * 2001),
            await visitor.act("say", text="x", **{"in": str(world.dm(ben).id)}),
            await visitor.act("say", text="x", **{"as": str(world.bot.id)}),
            await visitor.act("edit", message=str(theirs), text="mine"),
            await visitor.act("delete", message=str(theirs)),
            await visitor.act("delete", message="1"),
            await visitor.act("slash", name="nothing", options={}),
            await visitor.act("submit", form="1", values={}),
            await visitor.act("fly"),
            await visitor.act("click"),
            await visitor.act("say", text="x", **{"in": None}),
        ]
        assert [one["error"] for one in refused] == [
            "There is nothing to send.",
            "Discord takes 2,000 characters a message; this has 2,001.",
            "This is no place of yours.",
            "This is nobody who may act here.",
            "This message is somebody else's.",
            "This message is somebody else's.",
            "no message 1",
            "no command 'nothing' is registered, only []",
            "This form is not open any more.",
            "There is no act 'fly'.",
            "message",
            "This is no place of yours.",
        ]
        async with visitor.session.post(
            f"{visitor.origin}/act", data="no json", headers={"Origin": visitor.origin}
        ) as response:
            assert (response.status, await response.json()) == (409, {"error": "That is no act."})


async def test_buttons_menus_forms_and_commands_of_a_bot(world: FakeDiscord) -> None:
    ada, ben, general = world.person("ada"), world.person("ben"), world.channel("general")
    client = bot()
    async with visiting(world, ada, ben) as visitor, running(world, client):
        await client.tree.sync()
        channel: Any = client.get_channel(general.id)
        posted = await channel.send("a panel", view=Panel(timeout=None))
        panel = str(posted.id)
        await visitor.look(ada, general.id)
        await visitor.until(lambda: panel in visitor.messages)
        assert [one["name"] for one in visitor.seen["commands"]] == ["greet", "Count"]

        def said(text: str) -> Json:
            return next((one for one in visitor.messages.values() if one["text"] == text), {})

        opened = await visitor.act("click", message=panel, custom_id="open")
        assert opened["modal"]["title"] == "A form"
        stolen = await visitor.act("submit", form=opened["form"], values={"word": "x"}, **{"as": str(ben.id)})
        assert stolen == {"error": "This form is not open any more."}
        await visitor.act("submit", form=opened["form"], values={"word": "pear"})
        await visitor.until(lambda: said("you wrote pear"))
        assert said("you wrote pear")["ephemeral"] is True

        await visitor.act("select", message=panel, custom_id="pick", values=["Blue"])
        await visitor.until(lambda: visitor.messages[panel]["text"] == "picked Blue")

        offered = await visitor.act("complete", name="greet", option="name", typed="be", options={"name": "be"})
        assert offered == {"choices": [{"name": "be!", "value": "be"}]}
        await visitor.act("slash", name="greet", options={"name": "ben"})
        await visitor.until(lambda: said("hello ben"))
        assert said("hello ben")["used"] == {"by": "ada", "name": "/greet"}
        await visitor.act("menu", name="Count", message=panel)
        await visitor.until(lambda: said("11 characters"))

        private = said("hello ben")["id"]
        await visitor.look(ben, general.id)
        await visitor.until(lambda: panel in visitor.messages)
        assert visitor.texts() == ["picked Blue"]
        assert await visitor.act("menu", name="Count", message=private) == {
            "error": "This message is for somebody else."
        }


async def test_who_types_is_shown_until_he_has_spoken(world: FakeDiscord) -> None:
    ada, ben, general = world.person("ada"), world.person("ben"), world.channel("general")
    async with visiting(world, ada, ben) as visitor:
        await visitor.look(ada, general.id)
        await world.type(ben, general)
        world.changes.tell()
        await visitor.until(lambda: visitor.seen["typing"])
        assert [one["name"] for one in visitor.seen["typing"]] == ["ben"]
        await world.say(ben, general, "there")
        await visitor.until(lambda: visitor.texts() == ["there"] and not visitor.seen["typing"])


async def test_the_look_inside_is_taken_while_somebody_has_it_open_and_the_end_is_told(world: FakeDiscord) -> None:
    ada, looks = world.person("ada"), list[int]()

    def inside() -> Json:
        looks.append(len(looks))
        return {"looks": len(looks)}

    async with contextlib.AsyncExitStack() as later:
        async with Page(world, [ada], inside=inside, about=lambda: {"state": "up"}) as page:
            visitor = await later.enter_async_context(entered(page.url))
            await visitor.look(ada)
            assert (visitor.seen.get("inside"), looks) == (None, [])
            await visitor.look(ada, inside=True)
            await visitor.until(lambda: visitor.seen.get("inside", {}).get("looks", 0) >= 2)
            told = asyncio.create_task(visitor.until(lambda: visitor.seen.get("end")))
        await told
        assert visitor.seen["about"] == {"state": "up"}
