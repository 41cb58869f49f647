"""What is heard from Discord: whole facts, in the order of their channel, edits and deletions, places and roles."""

from typing import Any

import pytest
from simcord.enums import MessageType

from connector.messages import Attachment, Author, Forward, Message, Place, Reply
from connector.ports import Changed, Connected, Disconnected, Gone, Said
from fakes.discord import FakeDiscord
from fakes.discord_records import Person
from fakes.discord_records import Place as Where
from fakes.living_gateway import running

pytestmark = pytest.mark.anyio


def sent_at_ns(message: int) -> int:
    return ((message >> 22) + 1_420_070_400_000) * 1_000_000


def said_by(person: Person, world: FakeDiscord, *roles: int) -> Author:
    return Author(person.id, person.name, roles=frozenset({world.guild.id, *roles}))


def place(where: Where, world: FakeDiscord) -> Place:
    return Place(where.id, where.name, world.guild.id)


# -- messages ------------------------------------------------------------------------------------------------------


async def test_a_message_is_told_whole(world: FakeDiscord) -> None:
    role, other = world.role("helpers"), world.role("readers")
    ann, bob, general = world.person("ann", roles=[role]), world.person("bob"), world.channel("general")
    async with running(world) as living:
        text = f"<@{world.bot.id}> {bob.mention} <@&{other}> look"
        message = await world.say(ann, general, text, attachments=[("a.txt", b"12345", "text/plain")])
        told = (await living.heard(Said)).message
        (file,) = told.attachments
        assert file.url.startswith("http://127.0.0.1")
        assert told == Message(
            id=message,
            place=place(general, world),
            author=said_by(ann, world, role),
            text=text,
            mentions=frozenset({world.bot.id, bob.id}),
            role_mentions=frozenset({other}),
            attachments=(Attachment(file.id, "a.txt", 5, "text/plain", file.url),),
            sent_at_ns=sent_at_ns(message),
        )


async def test_a_reply_carries_what_it_replies_to_and_whether_that_is_ours(world: FakeDiscord) -> None:
    ann, bob, general = world.person("ann"), world.person("bob"), world.channel("general")
    async with running(world) as living:
        first = await world.say(ann, general, "a question")
        await world.say(bob, general, "an answer", reply_to=first, ping=False)
        told = (await living.heard(Said, 2)).message
        assert told.reply == Reply(first, ann.id, "ann", "a question", to_us=False)
        assert told.mentions == frozenset()
        await world.say(bob, general, "and yours", reply_to=first)
        assert (await living.heard(Said, 3)).message.mentions == frozenset({ann.id})


async def test_a_forward_is_unpacked_with_its_files_and_is_no_reply(world: FakeDiscord) -> None:
    ann, general, other = world.person("ann"), world.channel("general"), world.channel("other")
    async with running(world) as living:
        first = await world.say(ann, other, "far away", attachments=[("b.txt", b"1")])
        await world.forward(ann, general, first)
        told = (await living.heard(Said, 2)).message
        ((forward),) = told.forwards
        assert forward == Forward("far away", forward.attachments)
        assert [(file.filename, file.size) for file in forward.attachments] == [("b.txt", 1)]
        assert told.reply is None


async def test_a_webhook_and_another_bot_are_known_as_such(world: FakeDiscord) -> None:
    general = world.channel("general")
    hook, robot = world.webhook("hook", general), world.person("robot", bot=True)
    async with running(world, roles=frozenset({1})) as living:
        await world.say(hook, general, "from a hook")
        await world.say(robot, general, "from a bot")
        first, second = (await living.heard(Said)).message, (await living.heard(Said, 2)).message
        assert first.author == Author(hook.id, "hook", bot=True, webhook=True)
        assert (second.author.id, second.author.bot, second.author.webhook) == (robot.id, True, False)


async def test_what_discord_itself_says_is_no_message(world: FakeDiscord) -> None:
    """A thread's opening stands in its channel as a line of the person's, with the thread's name as its text."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        world.mind.sim.create_message(general.id, ann.id, "renamed", message_type=MessageType.CHANNEL_NAME_CHANGE)
        await world.say(ann, general, "said")
        await living.heard(Said)
        assert [fact.message.text for fact in living.of(Said)] == ["said"]


async def test_the_same_event_twice_is_told_twice_and_kept_apart_by_its_id(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        world.faults.double(1)
        message = await world.say(ann, general, "once")
        await living.heard(Said, 2)
        assert [fact.message.id for fact in living.of(Said)] == [message, message]


async def test_a_hundred_quick_messages_are_told_in_order(world: FakeDiscord) -> None:
    ann, channels = world.person("ann"), [world.channel(name) for name in "ab"]
    async with running(world) as living:
        for number in range(100):
            await world.say(ann, channels[number % 2], str(number))
        await living.heard(Said, 100)
        assert [fact.message.text for fact in living.of(Said)] == [str(number) for number in range(100)]


# -- edits and deletions -------------------------------------------------------------------------------------------


async def test_an_edit_is_a_changed_text_and_a_link_preview_is_none(world: FakeDiscord) -> None:
    """NOTES: link previews fire MESSAGE_UPDATE; an edit is a changed text with a new `edited_timestamp`."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        message = await world.say(ann, general, "see https://example.com")
        await world.link_preview(message)
        await world.edit(message, "see https://example.org")
        await world.link_preview(message)
        await world.edit(message, "see nothing")
        await living.heard(Changed, 2)
        texts = [fact.message.text for fact in living.of(Changed)]
        assert texts == ["see https://example.org", "see nothing"]
        assert living.of(Changed)[0].message.author.id == ann.id


async def test_an_edit_of_a_message_from_before_the_start_is_told(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    message = await world.say(ann, general, "before")
    async with running(world) as living:
        await world.link_preview(message)
        await world.edit(message, "changed")
        assert (await living.heard(Changed)).message.text == "changed"


async def test_our_own_edits_are_not_told(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    card = world.mind.sim.create_message(general.id, world.bot.id, "working").id
    async with running(world) as living:
        await living.gateway.edit(general.id, card, "done")
        await world.say(ann, general, "after")
        await living.heard(Said)
        assert living.of(Changed) == []


async def test_deletions_are_told(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        first = await world.say(ann, general, "one")
        await world.delete(first)
        assert await living.heard(Gone) == Gone(general.id, (first,))
        ids = {"ids": ["11", "12"], "channel_id": str(general.id), "guild_id": str(world.guild.id)}
        world.gateway.publish("MESSAGE_DELETE_BULK", ids)
        assert await living.heard(Gone, 2) == Gone(general.id, (11, 12))


# -- places --------------------------------------------------------------------------------------------------------


async def test_a_thread_names_its_channel_and_whether_we_opened_it(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        hers = world.open_thread(ann, general, "hers")
        await world.say(ann, hers, "one")
        mine = await living.gateway.open_thread(general.id, await world.say(ann, general, "two"), "mine")
        await world.say(ann, world.place(mine), "three")
        await living.heard(Said, 3)
        guild = world.guild.id
        assert {fact.message.text: fact.message.place for fact in living.of(Said)} == {
            "one": Place(hers.id, "hers", guild, general.id, kind="thread"),
            "two": Place(general.id, "general", guild),
            "three": Place(mine, "mine", guild, general.id, kind="thread", ours=True),
        }


async def test_an_unknown_thread_is_asked_for_once_and_its_messages_keep_their_order(world: FakeDiscord) -> None:
    """NOTES: a message in an uncached thread has a `PartialMessageable` channel: fetch it."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        world.faults.swallow(event="THREAD_CREATE")
        thread = world.open_thread(ann, general, "unknown")
        hang = world.faults.hang("GET", "/channels/{channel_id}")
        first = await world.say(ann, thread, "one")
        await world.wait_for(lambda: world.sent("GET", "/channels/{channel_id}"))
        await world.say(ann, thread, "two")
        await world.edit(first, "one, changed")
        await world.say(ann, general, "elsewhere")
        await living.heard(Said)
        hang.release()
        await living.heard(Changed)
        told = [(type(f), f.message.text) for f in living.facts if isinstance(f, Said | Changed)]
        assert told == [(Said, "elsewhere"), (Said, "one"), (Said, "two"), (Changed, "one, changed")]
        place = Place(thread.id, "unknown", world.guild.id, general.id, kind="thread")
        assert {f.message.place for f in living.of(Said)[1:]} == {place}
        assert len(world.sent("GET", "/channels/{channel_id}")) == 1


async def test_a_thread_that_cannot_be_asked_for_now_is_asked_for_again(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        world.faults.swallow(event="THREAD_CREATE")
        thread = world.open_thread(ann, general, "unknown")
        world.faults.status("GET", "/channels/{channel_id}", 503, times=2)
        world.faults.reset("GET", "/channels/{channel_id}", times=2)
        await world.say(ann, thread, "one")
        assert (await living.heard(Said)).message.place.parent == general.id


async def test_a_thread_that_discord_will_not_describe_belongs_to_no_channel(world: FakeDiscord) -> None:
    """Told rather than lost; without its parent no list of channels admits it."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        world.faults.swallow(event="THREAD_CREATE")
        thread = world.open_thread(ann, general, "unknown")
        world.faults.refuse("GET", "/channels/{channel_id}", 50001)
        await world.say(ann, thread, "one")
        assert (await living.heard(Said)).message.place == Place(thread.id, "", world.guild.id)


async def test_the_channels_are_those_we_can_read_and_their_threads(world: FakeDiscord) -> None:
    ann, general, hidden = world.person("ann"), world.channel("general"), world.channel("hidden")
    world.forbid(hidden, "view_channel")
    thread = world.open_thread(ann, general, "a thread")
    async with running(world) as living:
        assert await living.gateway.channels() == [
            place(general, world),
            Place(thread.id, "a thread", world.guild.id, general.id, kind="thread"),
        ]


async def test_our_own_role_is_known(world: FakeDiscord) -> None:
    async with running(world) as living:
        assert living.gateway.managed_role(world.guild.id) == world.bot_role
        assert living.gateway.managed_role(None) is None
        assert living.gateway.managed_role(1) is None


# -- private messages ----------------------------------------------------------------------------------------------


async def test_a_private_message_needs_no_question_where_no_role_gives_access(world: FakeDiscord) -> None:
    ann = world.person("ann")
    async with running(world) as living:
        where = world.dm(ann)
        message = await world.say(ann, where, "psst")
        told = (await living.heard(Said)).message
        private = Place(where.id, "private", kind="private")
        assert told == Message(message, private, Author(ann.id, "ann"), "psst", sent_at_ns=sent_at_ns(message))
        assert world.sent("GET", "/guilds/{guild_id}/members/{user_id}") == []


async def test_a_private_message_brings_the_roles_held_in_the_allowed_guilds(world: FakeDiscord) -> None:
    """CONTRACT, `access.roles`: in private, those the person holds in the allowed guilds; asked for once a minute."""
    role = world.role("helpers")
    ann, eve = world.person("ann", roles=[role]), world.person("eve", member=False)
    elsewhere = world.mind.make_role(world.add_guild("Elsewhere").id, "admins", mentionable=True)
    options: dict[str, Any] = {"roles": frozenset({role, elsewhere}), "guilds": frozenset({world.guild.id})}
    async with running(world, **options) as living:
        await world.say(ann, world.dm(ann), "one")
        await world.say(ann, world.dm(ann), "two")
        await world.say(eve, world.dm(eve), "three")
        await living.heard(Said, 3)
        roles = {fact.message.text: fact.message.author.roles for fact in living.of(Said)}
        hers = frozenset({world.guild.id, role})
        assert roles == {"one": hers, "two": hers, "three": frozenset()}
        asked = world.sent("GET", "/guilds/{guild_id}/members/{user_id}")
        assert [int(r.path.split("/")[-1]) for r in asked] == [ann.id, eve.id]
        world.set_roles(ann, [])
        living.pacing.now += 61_000_000_000
        await world.say(ann, world.dm(ann), "four")
        assert (await living.heard(Said, 4)).message.author.roles == frozenset({world.guild.id})


async def test_facts_come_in_the_order_of_their_events_over_a_lost_connection(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        message = await world.say(ann, general, "one")
        await world.edit(message, "two")
        await world.delete(message)
        await living.heard(Gone)
        world.faults.drop()
        await living.heard(Connected, 2)
        assert [type(fact) for fact in living.facts] == [Connected, Said, Changed, Gone, Disconnected, Connected]
