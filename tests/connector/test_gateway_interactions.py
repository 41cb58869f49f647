"""Buttons, menus, modals, commands and autocomplete: acknowledged at once, told whole, answered later."""

import asyncio
import re

import pytest

from connector import notices
from connector.gateway import Memory
from connector.interactions import COMMANDS, CommandSpec, Completing, Hooks, OptionSpec, digest
from connector.messages import Author, Place
from connector.modals import Modal, TextField
from connector.ports import Button, Commanded, Connected, Part, Pressed, Said
from fakes.discord import FakeDiscord
from fakes.living_gateway import Living, running

pytestmark = pytest.mark.anyio
CALLBACK = r"^/interactions/\d+/[^/]+/callback$"
REGISTER = "/applications/{application_id}/commands"
MORE = (
    *COMMANDS,
    CommandSpec("model", "Choose the model", (OptionSpec("name", "Which", autocomplete=True, required=True),)),
    CommandSpec("loud", "Seen by all", private=False),
)


async def post(living: Living, channel: int, *names: str) -> int:
    buttons = tuple(Button(name, "press") for name in names)
    return await living.gateway.post(Part(channel, "a card", names[0][:25], buttons=buttons))


def place(world: FakeDiscord) -> Place:
    general = world.channel("general")
    return Place(general.id, "general", world.guild.id)


# -- buttons -------------------------------------------------------------------------------------------------------


async def test_a_button_is_told_whole_and_acknowledged_without_a_word(world: FakeDiscord) -> None:
    role = world.role("helpers")
    ann, general = world.person("ann", roles=[role]), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "stop:r1")
        act = await world.click(ann, card, "stop:r1")
        pressed = await living.heard(Pressed)
        author = Author(ann.id, "ann", roles=frozenset({world.guild.id, role}))
        assert pressed == Pressed("stop:r1", author, place(world), card, pressed.answer)
        assert (await act.reply()).kind == "deferred_update"
        await pressed.answer("Stopped.")
        await pressed.answer("And this all may see.", private=False)
        shown = [world.post(message) for message in act.followups]
        assert [(p.content, p.ephemeral) for p in shown] == [("Stopped.", True), ("And this all may see.", False)]


async def test_a_button_is_told_before_its_acknowledgement_has_come_back(world: FakeDiscord) -> None:
    """Issue 4: from Stop pressed to `abort` waits for no round trip; an answer waits for the acknowledgement."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "stop:r1")
        hang = world.faults.hang("POST", CALLBACK)
        act = await world.click(ann, card, "stop:r1")
        pressed = await living.heard(Pressed)
        answer = asyncio.create_task(pressed.answer("Stopped."))
        await world.wait_for(lambda: any(re.search(CALLBACK, request.path) for request in world.requests))
        # A whole exchange later: an answer that waits for nothing would be there.
        await living.gateway.typing(general.id)
        assert not [request for request in world.requests if request.path.startswith("/webhooks/")]
        hang.release()
        await answer
        assert len(act.followups) == 1


async def test_a_button_from_before_a_restart_works(world: FakeDiscord) -> None:
    """No view is registered: raw components, told by their `custom_id`."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "retry:r1")
    async with running(world) as living:
        await world.click(ann, card, "retry:r1")
        assert (await living.heard(Pressed)).custom_id == "retry:r1"


async def test_an_unknown_button_is_acknowledged_all_the_same(world: FakeDiscord) -> None:
    """NOTES: an unknown component gets no acknowledgement and no log from discord.py."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "elsewhere:1")
        act = await world.click(ann, card, "elsewhere:1")
        reply = await act.message()
        assert (reply.content, reply.ephemeral) == (notices.outdated(), True)
        assert living.of(Pressed) == []


async def test_a_menu_brings_its_values(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "dialog:7:menu")
        await world.select(ann, card, "dialog:7:menu", ["0", "2"], force=True)
        assert (await living.heard(Pressed)).values == ("0", "2")


async def test_an_interaction_that_is_over_is_logged_and_its_fact_stands(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "stop:r1")
        world.faults.refuse("POST", CALLBACK, 10062)
        await world.click(ann, card, "stop:r1")
        pressed = await living.heard(Pressed)
        world.advance(3600)
        await pressed.answer("Stopped.")
        assert "10062" in await living.logged("interaction.lost")
        assert await living.logged("interaction.unanswered")
        assert living.gateway.connected


async def test_a_long_answer_comes_in_parts(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        await world.wait_for(lambda: world.commands)
        act = await world.slash(ann, general, "status")
        await (await living.heard(Commanded)).answer("a" * 1500 + "\n\n" + "b" * 1500)
        assert [act.now().content[0], *(world.post(m).content[0] for m in act.followups)] == ["a", "b"]


async def test_who_cannot_write_there_is_known(world: FakeDiscord) -> None:
    """CONTRACT: Stop of a turn for anyone with access, where he can write."""
    ann, general = world.person("ann"), world.channel("general")
    world.forbid(general, "send_messages", person=ann)
    async with running(world) as living:
        card = await post(living, general.id, "stop:r1")
        await world.click(ann, card, "stop:r1")
        assert not (await living.heard(Pressed)).can_write


async def test_interactions_keep_the_order_of_their_channel(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        world.faults.swallow(event="THREAD_CREATE")
        thread = world.open_thread(ann, general, "unknown")
        card = await post(living, thread.id, "stop:r1")
        hang = world.faults.hang("GET", "/channels/{channel_id}")
        await world.say(ann, thread, "first")
        act = await world.click(ann, card, "stop:r1")
        await act.reply()
        assert [type(fact) for fact in living.facts] == [Connected]
        hang.release()
        await living.heard(Pressed)
        said = [fact for fact in living.facts if not isinstance(fact, Said) or not fact.message.author.bot]
        assert [type(fact) for fact in said] == [Connected, Said, Pressed]
        assert living.of(Pressed)[0].place.parent == general.id


# -- modals --------------------------------------------------------------------------------------------------------


async def test_a_form_opens_and_comes_back_with_what_was_written(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked: list[Pressed] = []

    def modal(pressed: Pressed) -> Modal:
        asked.append(pressed)
        return Modal("dialog:7:text", "A question of the agent", (TextField("Your answer", "so far", long=True),))

    async with running(world, hooks=Hooks(modal=modal)) as living:
        card = await post(living, general.id, "dialog:7:open")
        act = await world.click(ann, card, "dialog:7:open")
        reply = await act.reply()
        assert reply.kind == "modal"
        assert [(p.custom_id, p.author.id, p.message) for p in asked] == [("dialog:7:open", ann.id, card)]
        filled = await world.submit_modal(ann, act, {"text": "forty-two"})
        pressed = await living.heard(Pressed)
        assert (pressed.custom_id, pressed.values) == ("dialog:7:text", ("forty-two",))
        assert (await filled.reply()).kind == "deferred_update"


async def test_a_form_of_something_that_is_over_does_not_open(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        card = await post(living, general.id, "dialog:7:open")
        reply = await (await world.click(ann, card, "dialog:7:open")).message()
        assert (reply.content, reply.ephemeral) == (notices.outdated(), True)
        assert living.of(Pressed) == []


async def test_a_forged_form_is_told_like_any_other(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        await world.forge_modal(ann, general, "dialog:9:text", {"text": "made up"})
        pressed = await living.heard(Pressed)
        assert (pressed.custom_id, pressed.values, pressed.message) == ("dialog:9:text", ("made up",), 0)


# -- commands ------------------------------------------------------------------------------------------------------


async def test_a_command_is_deferred_privately_told_and_answered_in_its_place(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        await world.wait_for(lambda: world.commands)
        act = await world.slash(ann, general, "stop", {"scope": "lane"})
        told = await living.heard(Commanded)
        author = Author(ann.id, "ann", roles=frozenset({world.guild.id}))
        assert told == Commanded("stop", {"scope": "lane"}, author, place(world), told.answer, id=act.id)
        await told.answer("Stopped.")
        await told.answer("Further.")
        reply = act.now()
        assert (reply.content, reply.ephemeral) == ("Stopped.", True)
        assert [world.post(message).content for message in act.followups] == ["Further."]


async def test_a_command_for_all_is_deferred_for_all(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world, commands=MORE) as living:
        await world.wait_for(lambda: world.commands)
        act = await world.slash(ann, general, "loud")
        await (await living.heard(Commanded)).answer("hello")
        assert (act.now().content, act.now().ephemeral) == ("hello", False)


async def test_a_command_in_private_brings_no_guild(world: FakeDiscord) -> None:
    ann = world.person("ann")
    async with running(world) as living:
        await world.wait_for(lambda: world.commands)
        where = world.dm(ann)
        await world.slash(ann, where, "status")
        told = await living.heard(Commanded)
        assert (told.place, told.author) == (Place(where.id, "private", kind="private"), Author(ann.id, "ann"))


async def test_a_menu_entry_of_a_message_brings_the_message(world: FakeDiscord) -> None:
    ann, bob, general = world.person("ann"), world.person("bob"), world.channel("general")
    async with running(world, commands=MORE) as living:
        await world.wait_for(lambda: world.commands)
        message = await world.say(bob, general, "what is this")
        await world.context_menu(ann, general, "Ask pi", message)
        told = await living.heard(Commanded)
        assert told.target is not None
        assert (told.name, told.author.id) == ("Ask pi", ann.id)
        assert (told.target.id, told.target.author.id, told.target.text) == (message, bob.id, "what is this")


async def test_a_command_that_is_gone_is_acknowledged(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world, commands=MORE):
        await world.wait_for(lambda: world.commands)
    async with running(world, commands=()) as living:
        reply = await (await world.slash(ann, general, "loud")).message()
        assert (reply.content, reply.ephemeral) == (notices.outdated(), True)
        assert living.of(Commanded) == []


async def test_an_option_is_completed_by_the_hook(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked: list[Completing] = []

    def complete(completing: Completing) -> list[tuple[str, str]]:
        asked.append(completing)
        return [(f"Model {n}", f"m{n}") for n in range(30)]

    async with running(world, commands=MORE, hooks=Hooks(complete=complete)):
        await world.wait_for(lambda: world.commands)
        reply = await (await world.autocomplete(ann, general, "model", "name", "mo")).reply()
        assert [choice["value"] for choice in reply.choices] == [f"m{n}" for n in range(25)]
        author = Author(ann.id, "ann", roles=frozenset({world.guild.id}))
        assert asked == [Completing("model", "name", "mo", {}, author, place(world))]


# -- registration --------------------------------------------------------------------------------------------------


async def test_commands_are_registered_when_they_changed_and_only_then(world: FakeDiscord) -> None:
    kept: list[str] = []
    memory = Memory(registered=lambda: kept[-1] if kept else "", register=kept.append)
    for commands in (COMMANDS, COMMANDS, MORE):
        async with running(world, commands=commands, memory=memory) as living:
            if commands is MORE or not kept:
                await living.logged("gateway.commands_registered")
            # A whole exchange later: whatever the start would have asked for has been asked for.
            await living.gateway.typing(world.channel("general").id)
        assert [command["name"] for command in world.commands] == [spec.name for spec in commands]
    assert len(world.sent("PUT", REGISTER)) == 2
    application = int(world.commands[0]["application_id"])
    assert kept == [digest(COMMANDS, application), digest(MORE, application)]


async def test_commands_are_registered_through_faults_and_once_a_process(world: FakeDiscord) -> None:
    world.faults.status("PUT", REGISTER, 503, times=2)
    async with running(world) as living:
        await world.wait_for(lambda: world.commands)
        await world.faults.invalidate(resumable=False)
        await living.heard(Connected, 2)
        assert len(world.sent("PUT", REGISTER)) == 3


async def test_commands_that_discord_refuses_are_logged_and_everything_else_works(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    world.faults.refuse("PUT", REGISTER, 50035)
    async with running(world) as living:
        await world.say(ann, general, "hello")
        await living.heard(Said)
        await world.wait_for(lambda: world.sent("PUT", REGISTER))
        assert "50035" in await living.logged("gateway.commands_refused")
