"""The gateway's life under our own supervision: every way a connection begins, fails and comes back."""

import asyncio
from typing import Any

import pytest
import yarl
from discord.http import Route

from connector.exits import Refusal
from connector.gateway import Memory, Options
from connector.gateway_client import trusted
from connector.ports import Connected, Disconnected, Said
from fakes.discord import FakeDiscord
from fakes.living_gateway import Living, running
from fakes.waiting import BOUND

pytestmark = pytest.mark.anyio
S = 1_000_000_000


def connects(world: FakeDiscord) -> list[str]:
    """At which address the gateway was opened, in order."""
    return [detail for kind, detail in world.gateway.log if kind == "connect"]


async def test_a_first_session_is_fresh_and_asks_for_no_more_than_it_needs(world: FakeDiscord) -> None:
    """Intents: guilds, guild messages, private messages, message content."""
    async with running(world, ready_wait=3600) as living:
        assert living.facts == [Connected(world.bot.id, fresh=True)]
        states = [living.gateway.connected]
        assert [d for k, d in world.gateway.log if k == "identify"] == [1 | 1 << 9 | 1 << 12 | 1 << 15]
    assert [*states, living.gateway.connected] == [True, False]
    # A clean goodbye: with any other code Discord would show us online for minutes.
    await world.wait_for(lambda: ("close", 1000) in world.gateway.log)


async def test_what_is_said_before_the_guilds_are_known_is_told_after_connected(world: FakeDiscord) -> None:
    """Its channel and its roles would not be known before, and the listener would not know who we are."""
    ann, general = world.person("ann"), world.channel("general")
    world.mind.guild_creates = list  # type: ignore[method-assign] # an outage: the guild does not come
    async with running(world, ready=False, ready_wait=0.3) as living:
        await world.connected()
        await world.say(ann, general, "early")
        said = await living.heard(Said)
        assert [type(fact) for fact in living.facts] == [Connected, Said]
        assert said.message.place.name == "general"


async def test_a_dropped_socket_is_resumed_and_what_was_missed_is_told_before_connected(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        living.pacing.go.clear()
        world.faults.drop()
        await living.heard(Disconnected)
        await world.say(ann, general, "missed")
        living.pacing.go.set()
        await living.heard(Connected, 2)
        assert [type(fact) for fact in living.facts] == [Connected, Disconnected, Said, Connected]
        assert living.of(Connected)[1] == Connected(world.bot.id, fresh=False)
        assert connects(world) == ["gw", "resume"]


async def test_op_7_is_resumed(world: FakeDiscord) -> None:
    async with running(world) as living:
        await world.faults.reconnect()
        assert not (await living.heard(Connected, 2)).fresh


@pytest.mark.parametrize("code", [4000, 4008, 4009, 4007])
async def test_a_close_code_keeps_or_ends_the_session(world: FakeDiscord, code: int) -> None:
    async with running(world) as living:
        await world.faults.close(code)
        assert (await living.heard(Connected, 2)).fresh == (code in {4007, 4009})


async def test_a_lost_session_is_begun_anew_no_sooner_than_discord_asks_for(world: FakeDiscord) -> None:
    """Discord: after op 9 wait 1 to 5 seconds, then IDENTIFY. What came between is lost, so it is `fresh`."""
    async with running(world) as living:
        await world.faults.invalidate(resumable=False)
        assert (await living.heard(Connected, 2)).fresh
        assert living.pacing.slept[0] == 3.0
        assert connects(world) == ["gw", "gw"]


async def test_resumable_closes_are_paused_longer_and_longer_up_to_a_minute(world: FakeDiscord) -> None:
    """NOTES: discord.py retries them with no pause, 1,433 times in two seconds."""
    async with running(world) as living:
        living.pacing.slept.clear()
        for number in range(1, 10):
            await world.faults.close(4000)
            await living.heard(Disconnected, number)
            # A clock that stands still: no connection ever seems to last.
            living.pacing.now = 0
            await living.heard(Connected, number + 1)
        assert living.pacing.slept == [0.375, 0.75, 1.5, 3.0, 6.0, 12.0, 24.0, 45.0, 45.0]
        assert world.gateway.count("identify") == 1


async def test_a_connection_that_lasted_begins_the_pauses_anew(world: FakeDiscord) -> None:
    async with running(world) as living:
        for number in range(1, 4):
            living.pacing.now += 31 * S
            await world.faults.close(4000)
            await living.heard(Connected, number + 1)
        assert living.pacing.slept == [0.375, 0.375, 0.375]


async def test_a_gateway_that_is_down_at_the_first_connect_is_waited_for(world: FakeDiscord) -> None:
    """NOTES: AttributeError out of discord.py's `start()`."""
    world.faults.refuse_gateway = True
    async with running(world, ready=False) as living:
        await living.heard(Disconnected, 5)
        world.faults.refuse_gateway = False
        assert await living.heard(Connected) == Connected(world.bot.id, fresh=True)
        assert world.gateway.count("refused") >= 5


async def test_rest_that_is_down_at_login_is_waited_for(world: FakeDiscord) -> None:
    """NOTES: a raw ClientConnectorError out of discord.py's login."""
    await world.faults.server_down()
    async with running(world, ready=False) as living:
        await living.heard(Disconnected, 3)
        await world.faults.server_up()
        await living.heard(Connected)


@pytest.mark.parametrize("status", [500, 503])
async def test_a_login_that_discord_cannot_answer_is_tried_again(world: FakeDiscord, status: int) -> None:
    world.faults.status("GET", "/oauth2/applications/@me", 503, times=2)
    world.faults.rate_limit("GET", "/users/@me", via=False)
    async with running(world, ready=False) as living:
        await living.heard(Connected)
        assert len(living.of(Disconnected)) == 3


async def test_the_whole_server_may_go_and_come_back(world: FakeDiscord) -> None:
    async with running(world) as living:
        # A connection that asyncio has half accepted when its server closes is left open (3.11): none is, by then.
        await world.wait_for(lambda: world.commands)
        await world.faults.server_down()
        await living.heard(Disconnected, 4)
        await world.faults.server_up()
        assert (await living.heard(Connected, 2)).fresh


async def test_a_resume_host_that_refuses_three_times_is_dropped(world: FakeDiscord) -> None:
    async with running(world) as living:
        world.faults.refuse_resume = True
        world.faults.drop()
        assert (await living.heard(Connected, 2)).fresh
        # One for the drop and three for the attempts; aiohttp asks each time twice, so requests are not counted.
        assert len(living.of(Disconnected)) == 4
        assert connects(world) == ["gw", "gw"]


async def test_a_bad_token_is_refused_with_what_to_do(world: FakeDiscord) -> None:
    with pytest.raises(Refusal, match="token") as refused:
        async with running(world, token="wrong"):
            pass
    assert "Reset Token" in refused.value.mend


async def test_a_missing_intent_is_refused_with_what_to_click() -> None:
    async with FakeDiscord(intents_allowed=False) as world:
        with pytest.raises(Refusal, match="message content") as refused:
            async with running(world):
                pass
    assert "MESSAGE CONTENT INTENT" in refused.value.mend


@pytest.mark.parametrize("code", [4004, 4010, 4011, 4012, 4013, 4014])
async def test_a_close_that_no_attempt_would_change_is_a_refusal(world: FakeDiscord, code: int) -> None:
    async with running(world) as living:
        await world.faults.close(code)
        assert isinstance(await living.ended_with(), Refusal)
        assert world.gateway.count("identify") == 1


async def test_a_malformed_event_is_logged_and_survived(world: FakeDiscord) -> None:
    """NOTES: one missing key in one event ends discord.py's `start()` with KeyError."""
    ann, general = world.person("ann"), world.channel("general")
    async with running(world) as living:
        for _ in range(3):
            world.gateway.publish("CHANNEL_UPDATE", {"type": 0})
        await world.say(ann, general, "after")
        assert (await living.heard(Said)).message.text == "after"
        assert connects(world) == ["gw"]
        assert len([line for line in living.lines() if "gateway.malformed" in line]) == 1
    world.violations.clear()  # those events were broken on purpose


async def test_a_malformed_message_is_a_gap_and_history_is_read_once_a_minute(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    bad = {"id": "1", "channel_id": str(general.id), "guild_id": str(world.guild.id), "type": 0}
    async with running(world) as living:
        for _ in range(2):
            world.gateway.publish("MESSAGE_CREATE", bad)
        await world.say(ann, general, "after")
        await living.heard(Said)
        assert [type(fact) for fact in living.facts] == [Connected, Connected, Said]
        living.pacing.now += 61 * S
        world.gateway.publish("MESSAGE_CREATE", bad)
        assert (await living.heard(Connected, 3)).fresh
    world.violations.clear()  # those messages were broken on purpose


async def test_giving_a_session_up_begins_a_fresh_one(world: FakeDiscord) -> None:
    """Issue 3: a deaf gateway is answered with a reconnect and a backfill."""
    async with running(world) as living:
        world.faults.deaf = True
        await living.gateway.renew("deaf")
        world.faults.deaf = False
        assert (await living.heard(Connected, 2)).fresh
        assert living.of(Disconnected) == [Disconnected("deaf")]
        assert living.of(Disconnected)[0].pause > 0  # what the watchdog goes by


async def test_close_during_a_pause_ends_at_once(world: FakeDiscord) -> None:
    """NOTES: close() during a pause of discord.py raises AttributeError."""
    async with running(world) as living:
        living.pacing.go.clear()
        await world.faults.close(4000)
        await living.heard(Disconnected)
        await asyncio.wait_for(living.gateway.close(), BOUND)


async def test_the_hourly_budget_of_identifies_is_waited_for_and_each_is_remembered(world: FakeDiscord) -> None:
    """Discord takes the token away after 1,000 a day; the budget counts those of earlier processes too."""
    wall, told = 1_700_000_000 * S, list[int]()
    memory = Memory(identifies=tuple(wall - 1000 * S + n * S for n in range(40)), identified=told.append)
    async with running(world, memory=memory) as living:
        assert living.pacing.slept == [2600.0]
        # An hour without a word would look like a gateway that is tried no more.
        assert [heard.pause for heard in living.of(Disconnected)] == [2600.0]
        assert told == [wall + 2600 * S]


async def test_identifies_of_one_process_are_five_seconds_apart(world: FakeDiscord) -> None:
    async with running(world) as living:
        await world.faults.invalidate(resumable=False)
        await living.heard(Connected, 2)
        assert living.pacing.slept == [3.0, 2.0]


async def test_close_while_the_budget_is_waited_for_ends_at_once(world: FakeDiscord) -> None:
    memory = Memory(identifies=(1_700_000_000 * S,) * 40)
    living = Living(world, memory=memory)
    living.pacing.go.clear()
    base = Route.BASE
    try:
        task = asyncio.create_task(living.gateway.run())
        await living.changes.until(lambda: living.pacing.slept)
        await asyncio.wait_for(living.gateway.close(), BOUND)
        await task
    finally:
        Route.BASE = base
    assert world.gateway.count("identify") == 0


async def test_what_the_listener_raises_ends_the_run(world: FakeDiscord) -> None:
    async with running(world) as living:
        living.break_with = RuntimeError("the listener is broken")
        await world.faults.reconnect()
        assert await living.ended_with() is living.break_with


@pytest.mark.parametrize("given", [{"api_base": "http://127.0.0.1:1/api/v10"}, {"gateway_url": "ws://127.0.0.1:1/"}])
def test_one_address_without_the_other_is_refused(given: dict[str, Any]) -> None:
    """NOTES: with one of them alone the token goes to the real gateway."""
    with pytest.raises(ValueError, match="together"):
        Options("token", **given)


def test_the_token_is_in_no_representation() -> None:
    assert "s3cret" not in repr(Options("s3cret"))


@pytest.mark.parametrize(
    ("gateway", "resume", "used"),
    [
        (None, "wss://gateway-us-east1-b.discord.gg", "wss://gateway-us-east1-b.discord.gg"),
        (None, "wss://discord.gg.example.com/", "wss://gateway.discord.gg/"),
        (None, "ws://gateway.discord.gg/", "wss://gateway.discord.gg/"),
        ("ws://127.0.0.1:9/gw/", "ws://127.0.0.1:8/resume/", "ws://127.0.0.1:8/resume/"),
        ("ws://127.0.0.1:9/gw/", "wss://gateway.discord.gg/", "ws://127.0.0.1:9/gw/"),
    ],
)
async def test_the_token_goes_to_no_host_but_discords_or_the_one_that_was_set(
    gateway: str | None, resume: str, used: str
) -> None:
    assert trusted(yarl.URL(resume), custom=gateway) == yarl.URL(used)
