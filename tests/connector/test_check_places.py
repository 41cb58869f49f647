"""`check --online` and the places: what the bot lacks in each allowed channel and guild, and the clock."""

import asyncio
from collections.abc import Iterator
from typing import Any

import discord
import pytest

from connector import permissions
from connector.check_online import clock_findings, online_findings
from connector.findings import Finding
from connector.permissions import Overwrite, in_channel, invite_link, lacking
from connector.settings import Settings
from connector.token import Secret, Token
from fakes.discord import FakeDiscord, FakeDiscordThread
from fakes.discord_faults import Answer

TOKEN = "a-token-of-a-fake-discord"
FLAGS = {
    "View Channels": "view_channel",
    "Send Messages": "send_messages",
    "Send Messages in Threads": "send_messages_in_threads",
    "Create Public Threads": "create_public_threads",
    "Read Message History": "read_message_history",
    "Add Reactions": "add_reactions",
    "Attach Files": "attach_files",
    "Embed Links": "embed_links",
}
GIVE = "give these to the bot's role there"


@pytest.fixture
def world() -> Iterator[FakeDiscordThread]:
    """At the end nothing was asked that the real Discord does not know."""
    with FakeDiscordThread(token=TOKEN) as world:
        yield world
        assert world.ask(lambda here: (here.unknown_routes, here.violations)) == ([], [])


def online(world: FakeDiscordThread, *, discord: dict[str, Any] | None = None, **access: Any) -> list[Finding]:
    api = {"api_base": world.ask(lambda here: here.rest_base), "gateway_url": "ws://127.0.0.1:1/"}
    sections = {"discord": api | (discord or {}), "access": access}
    return asyncio.run(online_findings(Settings.model_validate(sections), Token(Secret(TOKEN), "here")))


def channel(world: FakeDiscordThread, name: str, *forbidden: str) -> int:
    """The id of a channel in which the bot may not do these."""

    def make(here: FakeDiscord) -> int:
        place = here.channel(name)
        here.forbid(place, *forbidden)
        return place.id

    return world.ask(make)


# -- pure


def test_each_permission_is_discords_own_bit() -> None:
    """Held against discord.py's names for them."""
    bits = {one.name: one.bit for one in permissions.NEEDED}
    assert bits == {name: getattr(discord.Permissions, flag).flag for name, flag in FLAGS.items()}
    assert discord.Permissions.administrator.flag == permissions.ADMINISTRATOR


def test_the_invite_link_asks_for_exactly_these() -> None:
    wanted = discord.Permissions(**dict.fromkeys(FLAGS.values(), True))
    link = discord.utils.oauth_url(5, permissions=wanted, scopes=("bot", "applications.commands"))
    assert (
        invite_link(5)
        .replace("/oauth2/authorize?client_id=5&permissions=", "", 1)
        .endswith(f"{wanted.value}&scope=bot+applications.commands")
    )
    assert f"permissions={wanted.value}" in link


@pytest.mark.parametrize(
    ("overwrites", "may"),
    [
        ([], 0b0110),
        ([Overwrite(1, 0b1000, 0b0010)], 0b1100),  # everyone's
        ([Overwrite(1, 0, 0b0110), Overwrite(7, 0b0010, 0)], 0b0010),  # a role gives again
        ([Overwrite(7, 0, 0b0010), Overwrite(8, 0b0010, 0)], 0b0110),  # of two roles the one that gives wins
        ([Overwrite(7, 0b0010, 0), Overwrite(9, 0, 0b0010)], 0b0100),  # the member's own word is the last
        ([Overwrite(6, 0, 0b0110)], 0b0110),  # a role he has not
    ],
)
def test_what_a_member_may_do_in_a_channel(overwrites: list[Overwrite], may: int) -> None:
    """Discord's order: everyone, the roles together, the member."""
    assert in_channel(0b0110, overwrites, guild=1, roles=(7, 8), member=9) == may


def test_an_administrator_lacks_nothing_anywhere() -> None:
    everything = in_channel(permissions.ADMINISTRATOR, [Overwrite(1, 0, 1 << 10)], guild=1, roles=(), member=9)
    assert lacking(everything) == ()
    assert lacking(permissions.ADMINISTRATOR) == ()


def test_what_is_not_used_is_not_missed() -> None:
    nothing = {one.name for one in lacking(0)}
    assert nothing == set(FLAGS)
    assert nothing - {one.name for one in lacking(0, thread=True)} == {"Send Messages", "Create Public Threads"}
    assert nothing - {one.name for one in lacking(0, opens_threads=False)} == {"Create Public Threads"}
    assert nothing - {one.name for one in lacking(0, reacts=False)} == {"Add Reactions"}


@pytest.mark.parametrize(("ahead", "way"), [(31.0, "31 seconds ahead of"), (-200.4, "200 seconds behind")])
def test_a_clock_that_is_off(ahead: float, way: str) -> None:
    [found] = clock_findings(ahead)
    assert (found.level, found.key) == ("warning", "clock")
    assert found.text == f"this machine is {way} Discord, so waits are shown and kept wrongly"


@pytest.mark.parametrize("ahead", [None, 0.0, 30.0, -30.0])
def test_a_clock_that_is_near_enough(ahead: float | None) -> None:
    assert clock_findings(ahead) == []


# -- asked


def test_a_channel_in_which_the_bot_may_do_everything(world: FakeDiscordThread) -> None:
    assert online(world, channels=[channel(world, "general")]) == []


def test_what_is_missing_in_an_allowed_channel_is_named(world: FakeDiscordThread) -> None:
    mute, shy = channel(world, "mute", "send_messages", "add_reactions"), channel(world, "shy", "attach_files")
    assert online(world, channels=[mute, shy]) == [
        Finding(
            "error",
            "access.channels",
            f"in the channel mute ({mute}) the bot lacks Send Messages, Add Reactions: nothing can be answered there",
            GIVE,
        ),
        Finding(
            "warning",
            "access.channels",
            f"in the channel shy ({shy}) the bot lacks Attach Files: a long answer is cut",
            GIVE,
        ),
    ]


def test_a_permission_that_the_settings_have_no_use_for_is_not_missed(world: FakeDiscordThread) -> None:
    plain = channel(world, "plain", "create_public_threads", "add_reactions")
    assert len(online(world, channels=[plain])) == 1
    assert online(world, channels=[plain], discord={"reactions": False, "reply_in": "channel"}) == []


def test_channels_that_are_hidden_gone_or_private(world: FakeDiscordThread) -> None:
    hidden = channel(world, "hidden", "view_channel")
    private = world.ask(lambda here: here.dm(here.person("ann")).id)
    found = {finding.text: finding.level for finding in online(world, channels=[hidden, private, 77])}
    assert found == {
        f"the bot may not see the channel {hidden}: View Channels is missing": "error",
        f"{private} is a private conversation, to which this list does not apply": "warning",
        "there is no channel 77": "error",
    }


def test_a_thread_is_ruled_by_the_channel_it_is_in(world: FakeDiscordThread) -> None:
    def opened(here: FakeDiscord) -> int:
        place = here.channel("mute")
        thread = here.open_thread(here.person("ann"), place, "thread")
        here.forbid(place, "send_messages", "read_message_history")
        return thread.id

    [found] = online(world, channels=[world.ask(opened)])
    assert (found.level, found.text.partition(" lacks ")[2]) == (
        "warning",
        "Read Message History: messages sent while the connector is away are missed",
    )


def test_a_guild_the_bot_is_not_in_gets_the_link(world: FakeDiscordThread) -> None:
    application = world.ask(lambda here: here.mind.application()["id"])
    mend = f"open {invite_link(application)}, or take it out"
    assert online(world, guilds=[5]) == [Finding("error", "access.guilds", "the bot is not in the server 5", mend)]


def test_without_channels_the_roles_in_each_allowed_guild_count(world: FakeDiscordThread) -> None:
    def poor(here: FakeDiscord) -> int:
        guild = here.mind.sim.guilds[here.guild.id]
        for role in guild.roles.values():
            role.permissions &= ~discord.Permissions.attach_files.flag
        return here.guild.id

    guild = world.ask(poor)
    text = f"in the server Farm ({guild}) the bot lacks Attach Files: a long answer is cut"
    expected = [Finding("warning", "access.guilds", text, GIVE)]
    assert online(world) == expected
    assert online(world, guilds=[guild]) == expected


def test_a_role_that_no_allowed_server_has(world: FakeDiscordThread) -> None:
    """Whoever was to be let in by it is not heard, and nothing else would say why."""
    role, guild = world.ask(lambda here: (here.role("team"), here.guild.id))
    text, mend = "no allowed server has the role 77", "correct the id, or take it out"
    assert online(world, roles=[role, 77]) == [Finding("warning", "access.roles", text, mend)]
    assert online(world, roles=[role], guilds=[guild], channels=[channel(world, "general")]) == []


def test_a_bot_in_no_server_yet(world: FakeDiscordThread) -> None:
    world.ask(lambda here: here.mind.sim.remove_guild(here.guild.id))
    assert [(found.level, found.text) for found in online(world)] == [("warning", "the bot is in no server yet")]
    assert [found.level for found in online(world, dms=False)] == ["error"]


def test_the_clock_is_held_against_discords(world: FakeDiscordThread) -> None:
    past = Answer(503, {"message": "later"}, {"Date": "Mon, 03 Nov 2025 10:00:00 GMT"})
    world.ask(lambda here: here.faults.answer("GET", "/users/@me", past))
    found = {finding.key: finding for finding in online(world)}
    assert set(found) == {"discord.api_base", "clock"}
    assert " seconds ahead of Discord" in found["clock"].text
