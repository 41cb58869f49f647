"""REST of the fake Discord: each fault does what it is told, nonces are kept, refusals are Discord's own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest

from fakes.discord import FakeDiscord, Place
from fakes.discord_client import Client, running

pytestmark = pytest.mark.anyio

MESSAGES = "/channels/{channel_id}/messages"
Said = tuple[int, Any, dict[str, str]]


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    """A Discord that is asked for what it has not, on purpose."""
    async with FakeDiscord(strict=False) as world:
        yield world
        assert world.mind.failures == []


class Bare:
    """A client that retries nothing."""

    def __init__(self, world: FakeDiscord, session: aiohttp.ClientSession) -> None:
        self.world, self.session = world, session

    async def __call__(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Said:
        headers = {"Authorization": f"Bot {token or self.world.token}"}
        url = self.world.rest_base + path
        async with self.session.request(method, url, json=body, headers=headers) as reply:
            kind = reply.headers.get("Content-Type")
            return reply.status, await reply.json() if kind == "application/json" else None, dict(reply.headers)

    async def post(self, channel: Place, text: str, **more: Any) -> Said:
        return await self("POST", f"/channels/{channel.id}/messages", {"content": text, **more})


@pytest.fixture
async def rest(world: FakeDiscord) -> AsyncIterator[Bare]:
    async with aiohttp.ClientSession() as session:
        yield Bare(world, session)


def contents(world: FakeDiscord, channel: Place) -> list[str]:
    return [post.content for post in world.posts(channel)]


async def test_replies_are_json_of_exactly_that_type(world: FakeDiscord, rest: Bare) -> None:
    """NOTES: a charset behind it leaves the body a string."""
    _, _, headers = await rest("GET", "/users/@me")
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("scope", ["user", "shared", "global"])
async def test_a_429_says_how_long_and_carries_via(world: FakeDiscord, rest: Bare, scope: str) -> None:
    general = world.channel("general")
    fault = world.faults.rate_limit("POST", MESSAGES, times=2, retry_after=0.5, scope=scope)
    for _ in range(2):
        status, body, headers = await rest.post(general, "x")
        assert (status, body["retry_after"], body["global"]) == (429, 0.5, scope == "global")
        assert (headers["X-RateLimit-Scope"], "Via" in headers) == (scope, True)
    assert ((await rest.post(general, "y"))[0], fault.hits, contents(world, general)) == (200, 2, ["y"])


async def test_discord_py_waits_a_429_out_and_takes_one_without_via_for_a_ban(world: FakeDiscord) -> None:
    ann, general = world.person("ann"), world.channel("general")
    client = Client()
    async with running(world, client):
        await world.say(ann, general, "x")
        channel = (await client.until("message")).channel
        world.faults.rate_limit("POST", MESSAGES, times=2, retry_after=0.01)
        await channel.send("once")
        world.faults.rate_limit("POST", MESSAGES, via=False)
        with pytest.raises(discord.HTTPException) as banned:
            await channel.send("never")
        assert banned.value.status == 429
        assert contents(world, general) == ["once"]
        assert [r.status for r in world.sent("POST", MESSAGES)] == [429, 429, 200, 429]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_5xx_stores_nothing_and_a_stored_one_does(world: FakeDiscord, rest: Bare, status: int) -> None:
    general = world.channel("general")
    world.faults.status("POST", MESSAGES, status)
    world.faults.stored_then("POST", MESSAGES, status)
    assert (await rest.post(general, "not"))[:2] == (status, None)
    assert (await rest.post(general, "stored"))[:2] == (status, None)
    assert contents(world, general) == ["stored"]
    assert [(r.status, r.stored, r.fault) for r in world.requests] == [
        (status, False, str(status)),
        (status, True, f"stored-then-{status}"),
    ]


async def test_a_reset_stores_nothing_and_a_stored_one_does(world: FakeDiscord, rest: Bare) -> None:
    general = world.channel("general")
    world.faults.reset("POST", MESSAGES)
    world.faults.stored_then_reset("POST", MESSAGES)
    for text in ("not", "stored"):
        with pytest.raises((aiohttp.ClientOSError, aiohttp.ServerDisconnectedError)):
            await rest.post(general, text)
    assert contents(world, general) == ["stored"]
    assert [(r.status, r.stored) for r in world.requests] == [(None, False), (None, True)]


@pytest.mark.parametrize("stored", [False, True])
async def test_a_hanging_request_goes_on_when_released(world: FakeDiscord, rest: Bare, stored: bool) -> None:
    general = world.channel("general")
    fault = world.faults.hang("POST", MESSAGES, stored=stored)
    asked = asyncio.create_task(rest.post(general, "slow"))
    await world.wait_for(lambda: fault.hits and world.requests and world.requests[0].stored == stored)
    assert (contents(world, general), world.requests[0].status) == (["slow"] if stored else [], None)
    fault.release()
    assert (await asked)[0] == 200
    assert contents(world, general) == ["slow"]


@pytest.mark.parametrize(
    ("code", "status"), [(10003, 404), (10008, 404), (50001, 403), (50013, 403), (50007, 403), (50083, 400)]
)
async def test_a_refusal_has_discords_code(world: FakeDiscord, rest: Bare, code: int, status: int) -> None:
    general = world.channel("general")
    world.faults.refuse("POST", r"/messages$", code)
    got, body, _ = await rest.post(general, "x")
    assert (got, body["code"], contents(world, general)) == (status, code, [])


async def test_a_fault_meets_only_what_it_is_meant_for(world: FakeDiscord, rest: Bare) -> None:
    general, other = world.channel("general"), world.channel("other")
    world.faults.status("POST", f"/channels/{other.id}/", 503, times=None)
    assert (await rest.post(general, "a"))[0] == 200
    assert (await rest("GET", f"/channels/{other.id}/messages"))[0] == 200
    assert [(await rest.post(other, "b"))[0] for _ in range(3)] == [503, 503, 503]
    world.faults.clear()
    assert (await rest.post(other, "c"))[0] == 200


async def test_a_bucket_counts_for_each_channel_and_says_so(world: FakeDiscord, rest: Bare) -> None:
    general, other = world.channel("general"), world.channel("other")
    world.faults.bucket("POST", MESSAGES, limit=2, per=60)
    seen = [await rest.post(general, str(n)) for n in range(3)] + [await rest.post(other, "x")]
    assert [(s, h["X-RateLimit-Remaining"]) for s, _, h in seen] == [(200, "1"), (200, "0"), (429, "0"), (200, "1")]
    world.advance(61)
    assert (await rest.post(general, "later"))[0] == 200


async def test_a_repeated_nonce_gives_the_old_message_while_it_is_remembered(world: FakeDiscord, rest: Bare) -> None:
    """NOTES: with enforce_nonce a repeated nonce returns the old message with 200."""
    general, other = world.channel("general"), world.channel("other")
    _, first, _ = await rest.post(general, "one", nonce="n", enforce_nonce=True)
    status, again, _ = await rest.post(general, "two", nonce="n", enforce_nonce=True)
    assert (status, again["id"], again["content"], again["nonce"]) == (200, first["id"], "one", "n")
    assert (await rest.post(other, "elsewhere", nonce="n", enforce_nonce=True))[1]["content"] == "elsewhere"
    assert (await rest.post(general, "not enforced", nonce="n"))[1]["content"] == "not enforced"
    world.advance(301)
    assert (await rest.post(general, "late", nonce="n", enforce_nonce=True))[1]["content"] == "late"
    assert contents(world, general) == ["one", "not enforced", "late"]


async def test_a_post_lost_on_the_wire_is_found_by_its_nonce(world: FakeDiscord, rest: Bare) -> None:
    general = world.channel("general")
    world.faults.stored_then_reset("POST", MESSAGES)
    with pytest.raises(aiohttp.ClientError):
        await rest.post(general, "once", nonce=7, enforce_nonce=True)
    assert (await rest.post(general, "once", nonce=7, enforce_nonce=True))[0] == 200
    assert contents(world, general) == ["once"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": ""}, 50006),
        ({"content": " \n"}, 50006),
        ({"embeds": []}, 50006),
        ({"content": "x" * 2001}, 50035),
        ({"content": "x", "nonce": "n" * 26}, 50035),
        ({"content": "x", "message_reference": {"message_id": 1}}, 50035),
        ({"content": 7}, 50035),
    ],
)
async def test_a_message_discord_would_refuse_is_refused(
    world: FakeDiscord, rest: Bare, body: dict[str, Any], code: int
) -> None:
    general = world.channel("general")
    status, reply, _ = await rest("POST", f"/channels/{general.id}/messages", body)
    assert (status, reply["code"], contents(world, general)) == (400, code, [])


async def test_an_edit_to_nothing_is_refused(world: FakeDiscord, rest: Bare) -> None:
    general = world.channel("general")
    _, post, _ = await rest.post(general, "x")
    status, reply, _ = await rest("PATCH", f"/channels/{general.id}/messages/{post['id']}", {"content": ""})
    assert (status, reply["code"], contents(world, general)) == (400, 50006, ["x"])


async def test_a_reply_to_what_is_gone_is_refused_or_sent_as_none(world: FakeDiscord, rest: Bare) -> None:
    general = world.channel("general")
    gone = await world.say(world.person("ann"), general, "x")
    await world.delete(gone)
    assert (await rest.post(general, "a", message_reference={"message_id": gone}))[0] == 400
    lenient = {"message_id": gone, "fail_if_not_exists": False}
    assert (await rest.post(general, "b", message_reference=lenient))[0] == 200
    assert [(p.content, p.reference) for p in world.posts(general)] == [("b", None)]


async def test_a_threads_starter_cannot_be_replied_to_inside_it(world: FakeDiscord, rest: Bare) -> None:
    """CONTRACT: inside a thread its starter message cannot be referred to."""
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "x")
    thread = world.open_thread(ann, general, "t", message_id=asked)
    assert (await rest.post(thread, "a", message_reference={"message_id": asked}))[0] == 400
    starter = int(world.history(thread)[0]["id"])
    assert (await rest.post(thread, "a", message_reference={"message_id": starter}))[1]["code"] == 50035


async def test_a_thread_created_with_a_lost_reply_is_there(world: FakeDiscord, rest: Bare) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "x")
    path = f"/channels/{general.id}/messages/{asked}/threads"
    world.faults.stored_then("POST", r"/threads$", 502)
    assert (await rest("POST", path, {"name": "t"}))[0] == 502
    status, body, _ = await rest("POST", path, {"name": "t"})
    assert (status, body["code"]) == (400, 160004)
    assert (await rest("GET", f"/channels/{asked}"))[1]["name"] == "t"


async def test_a_deleted_channel_is_unknown(world: FakeDiscord, rest: Bare) -> None:
    general = world.channel("general")
    world.delete_channel(general)
    status, body, _ = await rest.post(general, "x")
    assert (status, body["code"]) == (404, 10003)


async def test_the_token_is_asked_for_and_never_recorded(world: FakeDiscord, rest: Bare) -> None:
    status, body, _ = await rest("GET", "/users/@me", token="wrong")
    assert (status, body) == (401, {"message": "401: Unauthorized", "code": 0})
    await rest("GET", "/users/@me")
    assert [(r.authorized, r.status) for r in world.requests] == [(True, 401), (True, 200)]
    assert world.token not in repr(world.requests)


async def test_an_unknown_route_is_404_and_remembered(world: FakeDiscord, rest: Bare) -> None:
    """NOTES: unknown routes answer 404 and fail the test."""
    status, body, _ = await rest("GET", "/guilds/1/nonsense/2")
    assert (status, body["message"]) == (404, "404: Not Found")
    assert world.unknown_routes == ["GET /guilds/1/nonsense/2"]


async def test_the_small_routes_answer(world: FakeDiscord, rest: Bare) -> None:
    me = (await rest("GET", "/users/@me"))[1]
    assert (me["id"], me["bot"]) == (str(world.bot.id), True)
    for path in ("/applications/@me", "/oauth2/applications/@me"):
        assert (await rest("GET", path))[1]["bot"]["id"] == me["id"]
    for path in ("/gateway", "/gateway/bot"):
        assert (await rest("GET", path))[1]["url"] == world.gateway_url
    assert (world.unknown_routes, [str(v) for v in world.violations]) == ([], [])


async def test_waiting_fails_with_what_did_happen(world: FakeDiscord, rest: Bare) -> None:
    await rest("GET", "/users/@me")
    with pytest.raises(AssertionError, match=r"a miracle did not happen.*GET /users/@me -> 200"):
        await world.wait_for(lambda: False, timeout=0.01, what="a miracle")
