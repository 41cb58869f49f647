"""Every operation that clients ask the fake Discord for: its request and its reply held against the specification."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from fakes.discord import FakeDiscord
from fakes.discord_operations import RELIED_ON
from fakes.discord_records import Json
from fakes.discord_sim import routes
from fakes.discord_spec import BESIDE, OBJECTS, WITHOUT, absent, load

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(absent(), reason="Discord's openapi.json is not at hand"),
]

COMMANDS = [{"name": "ask", "description": "Ask something", "type": 1}]
EYES = "%F0%9F%91%80"


class Asker:
    """Asks one operation after the other, and expects to be answered well."""

    def __init__(self, world: FakeDiscord, session: aiohttp.ClientSession) -> None:
        self.world, self.session = world, session

    async def __call__(self, method: str, path: str, body: Any = None, files: dict[str, bytes] | None = None) -> Any:
        """The reply's body."""
        more: dict[str, Any] = {"json": body} if body is not None else {}
        if files:
            form = aiohttp.FormData()
            form.add_field("payload_json", json.dumps(body))
            for name, data in files.items():
                form.add_field(name, data, filename="a.txt")
            more = {"data": form}
        headers = {"Authorization": f"Bot {self.world.token}"}
        async with self.session.request(method, self.world.rest_base + path, headers=headers, **more) as reply:
            assert reply.status < 300, (method, path, await reply.text())
            return await reply.json() if reply.content_type == "application/json" else None


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    """A Discord that judges at its end."""
    async with FakeDiscord() as world:
        yield world


async def everything(world: FakeDiscord, ask: Asker) -> None:
    ann, general, bot = world.person("ann"), world.channel("general"), world.bot.id
    for path in ("/gateway", "/gateway/bot", "/users/@me", "/applications/@me", "/oauth2/applications/@me"):
        found = await ask("GET", path)
    application = found["id"]
    await ask("GET", "/users/@me/guilds?limit=5")
    await ask("GET", f"/users/{ann.id}")
    guild = f"/guilds/{world.guild.id}"
    for path in ("/channels", "/roles", f"/members/{ann.id}"):
        await ask("GET", guild + path)
    await ask("POST", "/users/@me/channels", {"recipient_id": str(ann.id)})
    channel = f"/channels/{general.id}"
    await ask("GET", channel)
    await ask("POST", f"{channel}/typing")
    asked = await world.say(ann, general, "hello")
    reply = {"content": "x", "nonce": "1", "enforce_nonce": True, "message_reference": {"message_id": str(asked)}}
    said = await ask("POST", f"{channel}/messages", reply)
    attached = {"content": "", "attachments": [{"id": "0", "filename": "a.txt", "description": "a file"}]}
    await ask("POST", f"{channel}/messages", attached, files={"files[0]": b"data"})
    await ask("GET", f"{channel}/messages?limit=5&after={asked}")
    message = f"{channel}/messages/{said['id']}"
    await ask("GET", message)
    await ask("PATCH", message, {"content": "y", "components": [row("more")], "allowed_mentions": {"parse": []}})
    await ask("PUT", f"{message}/reactions/{EYES}/@me")
    await ask("DELETE", f"{message}/reactions/{EYES}/@me")
    await ask("PUT", f"{message}/reactions/{EYES}/@me")
    await ask("DELETE", f"{message}/reactions/{EYES}/{bot}")
    thread = await ask("POST", f"{channel}/messages/{asked}/threads", {"name": "a thread", "auto_archive_duration": 60})
    await ask("PATCH", f"/channels/{thread['id']}", {"name": "renamed"})
    pressed = await world.click(ann, int(said["id"]), "more")
    await ask("POST", _callback(pressed.record), {"type": 6})
    await ask("DELETE", message)
    for commands in (f"/applications/{application}/commands", f"/applications/{application}{guild}/commands"):
        await ask("PUT", commands, COMMANDS)
        await ask("GET", commands)
    used = await world.slash(ann, general, "ask")
    await ask("POST", f"{_callback(used.record)}?with_response=true", {"type": 5, "data": {"flags": 64}})
    webhook = f"/webhooks/{application}/{used.record.token}"
    await ask("PATCH", f"{webhook}/messages/@original", {"content": "answer"})
    await ask("GET", f"{webhook}/messages/@original")
    further = await ask("POST", f"{webhook}?wait=true", {"content": "further"})
    await ask("PATCH", f"{webhook}/messages/{further['id']}", {"content": "still"})
    await ask("GET", f"{webhook}/messages/{further['id']}")
    await ask("DELETE", f"{webhook}/messages/{further['id']}")
    await ask("DELETE", f"{webhook}/messages/@original")


def row(name: str) -> Json:
    return {"type": 1, "components": [{"type": 2, "style": 1, "label": name, "custom_id": name}]}


def _callback(record: Any) -> str:
    return f"/interactions/{record.id}/{record.token}/callback"


async def test_each_operation_that_is_relied_on_is_seen_with_its_request_and_its_reply(world: FakeDiscord) -> None:
    spec = load(BESIDE)
    before = Counter(spec.validated)
    async with aiohttp.ClientSession() as session:
        await everything(world, Asker(world, session))
    seen = spec.validated - before
    for side in ("request", "reply"):
        assert {what[1:] for what in seen if what[0] == side} == set(RELIED_ON)
    assert len(RELIED_ON) == 35


def test_what_the_fake_serves_and_nobody_asks_for_is_known_by_number() -> None:
    """simcord knows more than any client here asks for: the rest is held against nothing, and is not relied on."""
    spec = load(BESIDE)
    served = {
        (method, spec.template(path.replace("{token}", "x").replace("{", "").replace("}", "")))
        for method, path in routes()
    }
    assert set(RELIED_ON) <= served
    assert len(served) > 100


def test_an_operation_nobody_has_tried_here_is_told() -> None:
    found = load(BESIDE).check_request("GET", "/channels/1/invites", None)
    assert [violation.problem for violation in found] == ["in no table of tried operations"]


async def test_a_world_that_was_spoken_to_wrongly_fails_where_it_ends() -> None:
    """Also what comes while the test is over already: the world judges once nobody can speak to it any more."""
    async with FakeDiscord(strict=False) as world, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bot {world.token}"}
        path = f"{world.rest_base}/channels/{world.channel('general').id}/messages"
        async with session.post(path, json={"content": "x", "nonce": "n" * 26}, headers=headers) as reply:
            assert reply.status == 400
    with pytest.raises(AssertionError, match=r"request POST \S+ at nonce: .* too long$"):
        world.judge()


async def test_an_unknown_parameter_a_part_of_another_name_and_an_event_in_no_table_are_told() -> None:
    spec = load(BESIDE)
    path = "/channels/1/messages"
    assert [v.problem for v in spec.check_request("GET", path, None, query={"limit": "ten"})] == ["'ten' is no integer"]
    assert [v.problem for v in spec.check_request("GET", path, None, query={"since": "1"})] == ["unknown parameter"]
    assert [v.problem for v in spec.check_request("POST", path, {"content": "x"}, parts=("file",))] == ["no such part"]
    wrong = spec.check_request("PUT", "/channels/1/messages/1/reactions/x/@me", None, parts=("files[0]",))
    assert [v.problem for v in wrong] == ["files where none are taken"]
    assert [v.problem for v in spec.check_event("MOON_PHASE", {})] == ["held against nothing"]


@pytest.mark.parametrize("event", sorted(OBJECTS))
def test_a_broken_object_in_an_event_is_told(event: str) -> None:
    path = OBJECTS[event][0][0]
    broken: Any = {"id": 5}
    for name in reversed(path.split(".") if path else []):
        inner = [broken] if name.endswith("[]") else {"1": broken} if name.endswith("{}") else broken
        broken = {name.rstrip("[]{}"): inner}
    assert load(BESIDE).check_event(event, broken) != []
    assert event not in WITHOUT
