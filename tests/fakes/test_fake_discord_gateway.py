"""The fake gateway as an unmodified discord.py meets it: sessions, replay, and every way a connection can fail."""

import asyncio
import json

import aiohttp
import discord
import pytest
from aiohttp import web

from fakes.discord import FakeDiscord, FakeDiscordThread
from fakes.discord_client import Client, pointed, running
from fakes.discord_net import reset

pytestmark = pytest.mark.anyio


async def test_a_dropped_socket_is_resumed_and_what_was_missed_is_replayed(world: FakeDiscord) -> None:
    """NOTES: RESUME replays, follows resume_gateway_url, and fires on_resumed, not on_ready."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.say(ann, general, "one")
        await client.until("message")
        world.faults.drop()
        await world.say(ann, general, "two")
        await client.until("message", 2)
        await client.until("resumed")
        await world.say(ann, general, "three")
        await client.until("message", 3)
        assert client.texts() == ["one", "two", "three"]
        assert len(client.got("ready")) == 1
        assert [d for k, d in world.gateway.log if k == "connect"] == ["gw", "resume"]
        assert world.gateway.count("identify") == 1


async def test_a_socket_that_is_torn_in_a_frame_is_resumed(world: FakeDiscord) -> None:
    """The head of the last frame tells of more than comes; nothing of it is heard."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        world.faults.tear()
        await world.say(ann, general, "meanwhile")
        await client.until("resumed")
        await client.until("message")
        assert client.texts() == ["meanwhile"]
        assert [d for k, d in world.gateway.log if k == "connect"] == ["gw", "resume"]


async def test_a_stalled_socket_says_nothing_and_then_all_of_it_in_order(world: FakeDiscord) -> None:
    """Nor does it hold anybody who goes away meanwhile."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        world.faults.flowing.clear()
        await world.say(ann, general, "one")
        await world.say(ann, general, "two")
        await client.fetch_channel(general.id)
        assert client.texts() == []
        world.faults.flowing.set()
        await client.until("message", 2)
        assert client.texts() == ["one", "two"]
        world.faults.flowing.clear()
        await world.say(ann, general, "nobody waits for this")
    await world.wait_for(lambda: not world.gateway.lines, what="the end of the line")


async def test_op_7_is_followed_by_a_resume(world: FakeDiscord) -> None:
    client = Client()
    async with running(world, client):
        await world.faults.reconnect()
        await client.until("resumed")
        assert (world.gateway.count("identify"), world.gateway.count("resumed")) == (1, 1)


async def test_op_9_ends_the_session_and_loses_what_came_between(world: FakeDiscord) -> None:
    """NOTES: a fresh IDENTIFY loses what came between and fires on_ready again."""
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.faults.invalidate(resumable=False)
        await world.say(ann, general, "lost")
        await client.until("ready", 2)
        await world.say(ann, general, "heard")
        await client.until("message")
        assert client.texts() == ["heard"]
        assert [d for k, d in world.gateway.log if k == "connect"] == ["gw", "gw"]
        assert [m["content"] for m in world.history(general)] == ["lost", "heard"]


async def test_op_9_with_true_is_resumed(world: FakeDiscord) -> None:
    client = Client()
    async with running(world, client):
        await world.faults.invalidate(resumable=True)
        await client.until("resumed")
        assert world.gateway.count("identify") == 1


@pytest.mark.parametrize(("code", "event"), [(4000, "resumed"), (4008, "resumed"), (4009, "ready"), (4007, "ready")])
async def test_a_close_code_keeps_or_ends_the_session(world: FakeDiscord, code: int, event: str) -> None:
    client = Client()
    async with running(world, client):
        before = len(client.got(event))
        await world.faults.close(code)
        await client.until(event, before + 1)


async def test_a_bad_token_is_refused_by_rest_and_by_the_gateway(world: FakeDiscord) -> None:
    client = Client()
    with pointed(world):
        with pytest.raises(discord.LoginFailure):
            await client.login("wrong")
        await client.close()
    assert [(r.path, r.status, r.authorized) for r in world.requests] == [("/users/@me", 401, True)]
    assert await spoken(world, {"op": 2, "d": {"token": "wrong", "intents": 0}}) == 4004
    assert await spoken(world, {"op": 6, "d": {"token": "wrong", "session_id": "x", "seq": 1}}) == 4004


@pytest.mark.parametrize(("frame", "code"), [({"op": 3, "d": {}}, 4003), ({"op": 99}, 4003)])
async def test_speaking_before_identify_is_refused(world: FakeDiscord, frame: dict[str, object], code: int) -> None:
    assert await spoken(world, frame) == code


async def spoken(world: FakeDiscord, frame: dict[str, object]) -> int | None:
    """Say one frame to the gateway; the code it closes with."""
    async with aiohttp.ClientSession() as session, session.ws_connect(world.gateway_url) as socket:
        assert (await socket.receive_json())["op"] == 10
        await socket.send_json(frame)
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        return socket.close_code


async def test_a_missing_intent_closes_with_4014_and_the_application_tells() -> None:
    async with FakeDiscord(intents_allowed=False) as world:
        client = Client()
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with running(world, client):
                pytest.fail("it must not become ready")
        assert not discord.ApplicationFlags._from_value(world.mind.application()["flags"]).gateway_message_content
        allowed = Client(intents=discord.Intents.default())
        async with running(world, allowed):
            await world.say(world.person("ann"), world.channel("general"), "hidden")
            assert (await allowed.until("message")).content == ""


async def test_events_are_doubled_and_swallowed_on_cue(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        world.faults.double(1)
        twice = await world.say(ann, general, "twice")
        world.faults.swallow(1, "MESSAGE_CREATE")
        await world.say(ann, general, "never")
        world.faults.drop()
        await client.until("resumed")
        await world.say(ann, general, "once")
        await client.until("message", 3)
        assert client.texts() == ["twice", "twice", "once"]
        assert [m.id for m in client.got("message")][:2] == [twice, twice]
        world.faults.double()
        await world.say(ann, general, "a")
        await world.say(ann, general, "b")
        await client.until("message", 7)
        assert client.texts()[3:] == ["a", "a", "b", "b"]


async def test_a_deaf_gateway_acknowledges_and_says_nothing(world: FakeDiscord) -> None:
    """NOTES: the socket is healthy, REST is ahead of it."""
    ann, general = world.person("ann"), world.channel("general")
    async with aiohttp.ClientSession() as session, session.ws_connect(world.gateway_url) as socket:
        await socket.send_json({"op": 2, "d": {"token": world.token, "intents": 1 << 9 | 1 << 15}})
        frames = [await socket.receive_json() for _ in range(2)]
        assert [f["t"] for f in frames] == [None, "READY"]
        world.faults.deaf = True
        await world.say(ann, general, "lost")
        await socket.send_json({"op": 1, "d": 1})
        assert (await socket.receive_json())["op"] == 11
        world.faults.deaf = False
        await world.say(ann, general, "heard")
        assert (await socket.receive_json())["d"]["content"] == "heard"
        world.faults.mute_heartbeats = True
        await socket.send_json({"op": 1, "d": 1})
        await socket.send_json({"op": 8, "d": {"guild_id": str(world.guild.id), "query": "ann", "limit": 1}})
        assert (await socket.receive_json())["t"] == "GUILD_MEMBERS_CHUNK"


async def test_a_gateway_that_refuses_lets_the_client_back_in_later(world: FakeDiscord) -> None:
    client = Client()
    async with running(world, client):
        world.faults.refuse_gateway = True
        world.faults.drop()
        await world.wait_for(lambda: world.gateway.count("refused"))
        world.faults.refuse_gateway = False
        await client.until("resumed")


async def test_the_resume_host_alone_can_refuse(world: FakeDiscord) -> None:
    world.faults.refuse_resume = True
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.ws_connect(world.resume_url)
        async with session.ws_connect(world.gateway_url) as socket:
            assert (await socket.receive_json())["op"] == 10


async def test_the_server_goes_and_comes_back_on_its_port(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.faults.server_down()
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(f"{world.rest_base}/gateway")
        await world.say(ann, general, "meanwhile")
        await world.faults.server_up()
        await client.until("message")
        await client.until("resumed")
        assert client.texts() == ["meanwhile"]


async def test_a_replay_buffer_that_ran_over_refuses_the_resume() -> None:
    async with FakeDiscord(replay=3) as world:
        ann, general = world.person("ann"), world.channel("general")
        client = Client()
        async with running(world, client):
            world.faults.refuse_gateway = True
            world.faults.drop()
            for n in range(5):
                await world.say(ann, general, f"m{n}")
            world.faults.refuse_gateway = False
            await client.until("ready", 2)
            assert ("invalid", False) in world.gateway.log


async def test_members_are_chunked_for_who_asks(world: FakeDiscord) -> None:
    ann = world.person("ann")
    client = Client(intents=discord.Intents.all())
    async with running(world, client):
        guild = client.get_guild(world.guild.id)
        assert guild is not None
        assert [m.id for m in await guild.query_members("an")] == [ann.id]


def test_the_fake_runs_on_a_thread_for_tests_that_block() -> None:
    async def asked(address: str) -> int:
        async with aiohttp.ClientSession() as session, session.get(f"{address}/gateway") as reply:
            return reply.status

    with FakeDiscordThread(token="t") as fake:
        world = fake.world
        assert asyncio.run(asked(world.rest_base)) == 200
        ann = fake.ask(lambda w: w.person("ann"))
        said = fake.run(world.say(ann, fake.ask(lambda w: w.channel("general")), "hi"))
        assert fake.ask(lambda w: [m["id"] for m in w.history(w.channel("general"))]) == [str(said)]
        with pytest.raises(LookupError):
            fake.run(world.edit(1, "x"))


async def test_who_goes_away_while_a_connection_is_made_is_no_error(
    world: FakeDiscord, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepare = web.WebSocketResponse.prepare

    async def too_late(socket: web.WebSocketResponse, request: web.Request) -> object:
        reset(request)
        return await prepare(socket, request)

    async with aiohttp.ClientSession() as session:
        with monkeypatch.context() as patched:
            patched.setattr(web.WebSocketResponse, "prepare", too_late)
            with pytest.raises(aiohttp.ClientError):
                await session.ws_connect(world.gateway_url)
        async with session.ws_connect(world.gateway_url) as socket:
            assert json.loads((await socket.receive()).data)["op"] == 10
    assert caplog.messages == []
