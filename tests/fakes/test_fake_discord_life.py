"""An unmodified discord.py lives in the fake Discord: it is told, it answers, and Discord's specification holds."""

from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from discord import app_commands

from fakes.discord import FakeDiscord, Upload
from fakes.discord_client import Client, running

pytestmark = pytest.mark.anyio

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x03\x00\x00\x00\x02\x08\x02\x00\x00\x00\x12\x16\xf1M"
    b"\x00\x00\x00\x0bIDATx\x9cc`@\x07\x00\x00\x12\x00\x01\xc4\xa9v~\x00\x00\x00\x00IEND\xaeB`\x82"
)


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    """A Discord in which no test may miss a route, break the simulation or leave the specification."""
    async with FakeDiscord() as world:
        yield world


async def test_a_mention_is_heard_and_answered_with_a_nonce(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        asked = await world.say(ann, general, "hello", mention=True)
        message = await client.until("message")
        assert (message.id, message.author.id, message.channel.id, message.guild.id) == (
            asked,
            ann.id,
            general.id,
            world.guild.id,
        )
        assert message.content == f"<@{world.bot.id}> hello"
        assert [m.id for m in message.mentions] == [world.bot.id]
        assert message.guild.me.id == world.bot.id
        assert message.guild.self_role.id == world.bot_role

        sent = await message.reply("hi", nonce="n-1", allowed_mentions=discord.AllowedMentions.none())
        (post,) = world.posts(general)
        assert (post.id, post.content, post.nonce, post.reference, post.edited) == (sent.id, "hi", "n-1", asked, False)
        assert post.allowed_mentions == {"parse": []}
        echo = await client.until("message", 2)
        assert (echo.id, echo.nonce, echo.author.id) == (sent.id, "n-1", world.bot.id)
        assert echo.reference.message_id == asked

        await sent.edit(content="hi there")
        assert (world.posts(general)[0].content, world.posts(general)[0].edited) == ("hi there", True)
        await sent.delete()
        assert world.posts(general) == []


async def test_reactions_and_typing_are_seen(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        asked = await world.say(ann, general, "hello")
        message = await client.until("message")
        await message.add_reaction("👀")
        await message.add_reaction("✅")
        await message.remove_reaction("👀", message.guild.me)
        async with message.channel.typing():
            pass
        assert world.reactions(asked) == ["✅"]
        assert world.typings(general) == 1
        await world.react(ann, asked, "👍")
        payload = await client.until("raw_reaction_add", 3)
        assert (str(payload.emoji), payload.user_id) == ("👍", ann.id)
        await world.type(ann, general)
        await client.until("typing", 1)


async def test_a_thread_on_a_message_has_its_id_and_is_opened_once(world: FakeDiscord) -> None:
    """NOTES: a lost reply to a thread's creation is found by the message's id."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        asked = await world.say(ann, general, "hello")
        message = await client.until("message")
        thread = await message.create_thread(name="about hello")
        assert thread.id == asked
        assert [(t.id, t.name, t.parent_id) for t in world.threads(general)] == [(asked, "about hello", general.id)]
        with pytest.raises(discord.HTTPException) as again:
            await message.create_thread(name="twice")
        assert again.value.code == 160004
        await thread.send("inside")
        place = world.place(thread.id)
        assert [p.content for p in world.posts(place)] == ["inside"]
        said = await world.say(ann, place, "more")
        await client.changes.until(lambda: said in [m.id for m in client.got("message")])
        heard = client.got("message")[-1]
        assert (heard.id, heard.channel.id, heard.channel.parent_id) == (said, asked, general.id)
        fetched = await client.fetch_channel(asked)
        assert isinstance(fetched, discord.Thread)
        starter = await general_of(client, general.id).fetch_message(asked)
        assert starter.flags.has_thread
        assert world.history(general)[0]["thread"]["id"] == str(asked)


def general_of(client: discord.Client, channel_id: int) -> discord.TextChannel:
    found = client.get_channel(channel_id)
    assert isinstance(found, discord.TextChannel)
    return found


async def test_an_archived_thread_opens_for_a_message_and_a_locked_one_refuses(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    thread, older = world.open_thread(ann, general, "old"), world.open_thread(ann, general, "older")
    world.archive(older)
    client = Client()
    async with running(world, client):
        assert client.get_channel(older.id) is None
        channel = client.get_channel(thread.id)
        assert isinstance(channel, discord.Thread)
        first = await channel.send("one")
        world.archive(thread)
        with pytest.raises(discord.HTTPException) as refused:
            await first.edit(content="no")
        assert refused.value.code == 50083
        await channel.send("two")
        world.archive(thread, locked=True)
        with pytest.raises(discord.HTTPException) as locked:
            await channel.send("three")
        assert locked.value.code == 50083
        assert [p.content for p in world.posts(thread)] == ["one", "two"]


async def test_a_private_message_arrives_and_is_answered(world: FakeDiscord) -> None:
    ann = world.person("ann")
    client = Client()
    async with running(world, client):
        await world.say(ann, world.dm(ann), "psst")
        message = await client.until("message")
        assert (message.guild, message.content, message.channel.id) == (None, "psst", world.dm(ann).id)
        await message.channel.send("yes?")
        assert [p.content for p in world.posts(world.dm(ann))] == ["yes?"]
        user = await client.fetch_user(ann.id)
        await (await user.create_dm()).send("again")
        assert len(world.posts(world.dm(ann))) == 2


async def test_bots_webhooks_replies_and_forwards_arrive_as_what_they_are(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    other, hook = world.person("other", bot=True), world.webhook("ci", general)
    client = Client()
    async with running(world, client):
        first = await world.say(ann, general, "one")
        await world.say(other, general, "two", reply_to=first)
        await world.say(hook, general, "three")
        await world.forward(ann, general, first)
        await client.until("message", 4)
        one, two, three, four = client.got("message")
        assert (two.author.bot, two.reference.message_id, [m.id for m in two.mentions]) == (True, first, [ann.id])
        assert two.reference.resolved == one
        assert isinstance(two.mentions[0], discord.Member)
        assert (three.webhook_id, three.author.id) == (hook.id, hook.id)
        assert [s.content for s in four.message_snapshots] == ["one"]
        quiet = await world.say(ann, general, "four", reply_to=first, ping=False)
        heard = await client.until("message", 5)
        assert (heard.id, heard.mentions) == (quiet, [])


async def test_an_edit_has_a_time_and_a_link_preview_has_none(world: FakeDiscord) -> None:
    """NOTES: link previews fire MESSAGE_UPDATE; an edit is a changed text with a new edited_timestamp."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        asked = await world.say(ann, general, "see example.org")
        await world.link_preview(asked)
        await world.edit(asked, "see it")
        await client.until("raw_message_edit", 2)
        seen = [(u.data["content"], u.data["edited_timestamp"] is None) for u in client.got("raw_message_edit")]
        assert seen == [("see example.org", True), ("see it", False)]
        await world.delete(asked)
        assert (await client.until("raw_message_delete")).message_id == asked


async def test_files_go_both_ways_and_a_liar_is_played(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        liar = Upload("big.txt", b"x" * 100, "text/plain", size=3)
        gone = Upload("gone.txt", b"x", status=404)
        await world.say(ann, general, "look", attachments=[("dot.png", PNG, "image/png"), liar, gone])
        message = await client.until("message")
        picture, big, lost = message.attachments
        assert (picture.width, picture.height, picture.content_type) == (3, 2, "image/png")
        assert await picture.read() == PNG
        assert (big.size, len(await big.read())) == (3, 100)
        with pytest.raises(discord.NotFound):
            await lost.read()
        world.expire_files()
        with pytest.raises(discord.NotFound):
            await big.read()
        again = await message.channel.fetch_message(message.id)
        assert len(await again.attachments[1].read()) == 100
        files = [discord.File(__file__, "test.py", description="a test"), discord.File(__file__, "again.py")]
        sent = await message.channel.send("mine", files=files)
        assert world.post(sent.id).files == ("test.py", "again.py")
        with open(__file__, "rb") as source:  # noqa: ASYNC230, PTH123 - a small file, read once in a test
            assert world.file(sent.id, "again.py") == source.read()
        assert world.sent("POST", "/channels/{channel_id}/messages")[-1].files == ("test.py", "again.py")


class Panel(discord.ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)

    @discord.ui.button(label="Stop", custom_id="stop:1")
    async def stop_it(self, interaction: discord.Interaction, _button: Any) -> None:
        await interaction.response.send_message("Stopped", ephemeral=True)
        await interaction.followup.send("and more", ephemeral=True)

    @discord.ui.button(label="Form", custom_id="form:1")
    async def form(self, interaction: discord.Interaction, _button: Any) -> None:
        await interaction.response.send_modal(Form())

    @discord.ui.select(
        custom_id="menu:1", options=[discord.SelectOption(label="A", value="a"), discord.SelectOption(label="B")]
    )
    async def menu(self, interaction: discord.Interaction, select: Any) -> None:
        await interaction.response.edit_message(content=f"chose {select.values}")


class Form(discord.ui.Modal, title="Tell"):
    name = discord.ui.TextInput["Form"](label="Name", custom_id="name")

    def __init__(self) -> None:
        super().__init__(custom_id="form:modal")

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.edit_original_response(content=f"hello {self.name.value}")


async def test_buttons_menus_and_modals_are_answered(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.say(ann, general, "panel")
        message = await client.until("message")
        panel = await message.channel.send("panel", view=Panel())
        assert world.post(panel.id).custom_ids() == ["stop:1", "form:1", "menu:1"]

        pressed = await world.click(ann, panel.id, "stop:1")
        reply = await pressed.reply()
        assert (reply.kind, reply.content, reply.ephemeral) == ("message", "Stopped", True)
        await world.wait_for(lambda: pressed.followups)
        assert world.post(pressed.followups[0]).content == "and more"
        assert [p.content for p in world.posts(general)] == ["panel"]

        chosen = await world.select(ann, panel.id, "menu:1", ["a"])
        assert (await chosen.reply()).kind == "update"
        assert world.post(panel.id).content == "chose ['a']"

        form = await world.click(ann, panel.id, "form:1")
        assert (await form.reply()).kind == "modal"
        sent = await world.submit_modal(ann, form, {"name": "Ann"})
        said = await sent.message()
        assert (said.kind, said.content, said.ephemeral) == ("message", "hello Ann", True)
        assert [r.interaction_id for r in world.interaction_replies] == [pressed.id, chosen.id, form.id, sent.id]

        with pytest.raises(LookupError, match="stop:2"):
            await world.click(ann, panel.id, "stop:2")
        forged = await world.click(ann, panel.id, "stop:2", force=True)
        assert not forged.acknowledged


async def test_commands_menus_and_autocomplete_are_answered(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()

    @client.tree.command(name="stop")
    async def stop(interaction: discord.Interaction, scope: str = "turn") -> None:
        """Stop."""
        await interaction.response.send_message(f"Stopped {scope}")

    @stop.autocomplete("scope")
    async def scopes(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=s, value=s) for s in ("turn", "lane") if s.startswith(typed)]

    @client.tree.context_menu(name="Ask pi")
    async def ask(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(f"asked {message.content}", ephemeral=True)

    async with running(world, client):
        with pytest.raises(LookupError, match="stop"):
            await world.slash(ann, general, "stop")
        await client.tree.sync()
        assert [(c["name"], c["type"]) for c in world.commands] == [("stop", 1), ("Ask pi", 3)]
        assert [c.name for c in await client.tree.fetch_commands()] == ["stop", "Ask pi"]

        used = await world.slash(ann, general, "stop", {"scope": "lane"})
        assert (await used.reply()).content == "Stopped lane"
        typed = await world.autocomplete(ann, general, "stop", "scope", "l")
        assert (await typed.reply()).choices == [{"name": "lane", "value": "lane"}]
        asked = await world.say(ann, general, "what?")
        menu = await world.context_menu(ann, general, "Ask pi", asked)
        assert (await menu.reply()).content == "asked what?"
        assert [p.content for p in world.posts(general)] == ["Stopped lane"]
        callback = world.sent("POST", "/interactions/{interaction_id}/{token}/callback")[0]
        assert (callback.query["with_response"], callback.status, callback.authorized) == ("1", 200, False)


async def test_an_interaction_answered_late_or_twice_is_refused(world: FakeDiscord) -> None:
    """NOTES: 3 s to acknowledge (10062), twice is 40060."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.say(ann, general, "x")
        message = await client.until("message")
        panel = await message.channel.send("panel", view=discord.ui.View(timeout=None))
        await world.click(ann, panel.id, "any", force=True)
        late = await client.until("interaction")
        world.advance(3.1)
        with pytest.raises(discord.NotFound) as expired:
            await late.response.send_message("late")
        assert expired.value.code == 10062
        await world.click(ann, panel.id, "any", force=True)
        twice = await client.until("interaction", 2)
        await twice.response.defer()
        twice.response._response_type = None
        with pytest.raises(discord.HTTPException) as again:
            await twice.response.defer()
        assert again.value.code == 40060


async def test_history_is_read_from_an_id_on(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    ids = [await world.say(ann, general, f"m{n}") for n in range(5)]
    client = Client()
    async with running(world, client):
        channel = general_of(client, general.id)
        after = [m.content async for m in channel.history(after=discord.Object(ids[1]), oldest_first=True)]
        assert after == ["m2", "m3", "m4"]
        assert (await channel.fetch_message(ids[0])).content == "m0"


async def test_what_the_bot_may_not_see_is_not_told(world: FakeDiscord) -> None:
    ann, secret, general = world.person("ann"), world.channel("secret"), world.channel("general")
    world.forbid(secret, "view_channel")
    world.forbid(general, "send_messages")
    client = Client()
    async with running(world, client):
        await world.say(ann, secret, "hidden")
        await world.say(ann, general, "shown")
        assert (await client.until("message")).content == "shown"
        with pytest.raises(discord.Forbidden) as mute:
            await general_of(client, general.id).send("x")
        assert mute.value.code == 50013
        with pytest.raises(discord.Forbidden) as blind:
            await general_of(client, secret.id).send("x")
        assert blind.value.code == 50001


async def test_roles_are_those_of_the_member(world: FakeDiscord) -> None:
    ops = world.role("ops")
    ann, general = world.person("ann", roles=[ops]), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.say(ann, general, f"<@&{world.bot_role}> hi <@&{ops}>")
        message = await client.until("message")
        assert [r.id for r in message.author.roles][1:] == [ops]
        assert [r.id for r in message.role_mentions] == [world.bot_role, ops]
        world.set_roles(ann, [])
        await world.say(ann, general, "now?")
        assert len((await client.until("message", 2)).author.roles) == 1
