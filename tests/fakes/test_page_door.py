"""Who may use the page: this run's key, this host, this page's own requests; everybody else is refused everywhere."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import pytest

from fakes.discord import FakeDiscord
from fakes.page.server import Page
from tests.fakes.page_visitor import visiting

pytestmark = pytest.mark.anyio

PATHS = ("/", "/web/main.js", "/live", "/files/attachments/1/2/a.txt", "/nowhere")


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as world:
        yield world


@pytest.fixture
async def page(world: FakeDiscord) -> AsyncIterator[Page]:
    async with Page(world, [world.person("ada")]) as page:
        yield page


def origin_of(page: Page) -> str:
    parts = urlsplit(page.url)
    return f"{parts.scheme}://{parts.netloc}"


async def asked(url: str, method: str = "GET", **options: object) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.request(method, url, allow_redirects=False, **options) as response,  # type: ignore[arg-type]  # by name
    ):
        return response.status, await response.text()


async def test_the_key_becomes_a_cookie_that_no_script_and_no_other_site_can_use(page: Page) -> None:
    async with aiohttp.ClientSession() as session, session.get(page.url, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (303, "/")
        (cookie,) = response.headers.getall("Set-Cookie")
        assert cookie.split("; ")[1:] == ["HttpOnly", "Path=/", "SameSite=Strict"]
        assert len(page.url.rsplit("/", 1)[1]) >= 32


async def test_without_this_runs_key_there_is_nothing(page: Page) -> None:
    origin = origin_of(page)
    name = f"demo-{urlsplit(origin).port}"
    for headers in ({}, {"Cookie": f"{name}=guessed"}, {"Cookie": f"{name}="}):
        for path in PATHS:
            assert await asked(origin + path, headers=headers) == (403, "Open the address that the demo printed.\n")
    assert (await asked(f"{origin}/enter/guessed"))[0] == 403
    assert (await asked(f"{origin}/enter/"))[0] == 403
    assert (await asked(f"{origin}/act", "POST", headers={"Origin": origin}, json={}))[0] == 403


async def test_under_another_host_name_there_is_nothing(page: Page) -> None:
    """A name that some other site lets lead here (DNS rebinding), with the key or without."""
    port = urlsplit(page.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}"):
        assert (await asked(page.url, headers={"Host": host}))[0] == 421


async def test_another_page_can_ask_for_nothing(world: FakeDiscord) -> None:
    """Even with the cookie: not to act, not to look, and no request that names its page as another."""
    async with visiting(world, world.person("ada")) as visitor:
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", visitor.origin.replace("http", "https")):
            headers = {"Origin": origin}
            for path in PATHS:
                async with visitor.session.get(visitor.origin + path, headers=headers) as response:
                    assert response.status == 403
            async with visitor.session.post(f"{visitor.origin}/act", headers=headers, json={}) as response:
                assert response.status == 403
        async with visitor.session.post(f"{visitor.origin}/act", json={}) as response:
            assert response.status == 403  # a form of another page may come without an origin
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await visitor.session.ws_connect(f"{visitor.origin}/live")


async def test_every_answer_forbids_what_is_not_of_the_page(world: FakeDiscord) -> None:
    async with visiting(world, world.person("ada")) as visitor:
        for path in ("/", "/web/main.js", "/nowhere"):
            async with visitor.session.get(visitor.origin + path) as response:
                policy = response.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
                assert response.headers["X-Content-Type-Options"] == "nosniff"
        for path in ("/web/../server.py", "/web/%2e%2e/server.py", "/web/%2Fetc%2Fpasswd", "/web/__init__.py"):
            async with visitor.session.get(visitor.origin + path) as response:
                assert response.status == 404


async def test_a_file_of_the_agent_is_downloaded_and_never_shown_as_a_page(world: FakeDiscord) -> None:
    ada = world.person("ada")
    async with visiting(world, ada) as visitor:
        await visitor.look(ada)
        await visitor.act("say", [("x.html", b"<script>"), ("x.svg", b"<svg/>"), ("x.png", b"no picture")])
        await visitor.until(lambda: visitor.messages)
        (message,) = visitor.messages.values()
        told = []
        for file in message["files"]:
            async with visitor.session.get(visitor.origin + file["url"]) as response:
                told.append((response.content_type, response.headers["Content-Disposition"], await response.read()))
        assert told == [
            ("application/octet-stream", "attachment", b"<script>"),
            ("application/octet-stream", "attachment", b"<svg/>"),
            ("image/png", "inline", b"no picture"),
        ]


async def test_discords_own_port_is_for_bots_alone(world: FakeDiscord) -> None:
    """No page can reach it, not even with the bot's token: what a browser sends has an origin or another host."""
    url = f"{world.rest_base}/users/@me"
    bot = {"Authorization": f"Bot {world.token}"}
    assert (await asked(url, headers=bot))[0] == 200
    assert (await asked(url, headers=bot | {"Origin": "http://evil.example"}))[0] == 403
    assert (await asked(url, headers=bot | {"Host": "evil.example"}))[0] == 403


async def test_what_no_browser_sends_is_refused_as_anything_else(page: Page) -> None:
    """Bytes that are no text come from whoever finds the port: a refusal, and no trace of a fault in the terminal."""
    port = urlsplit(page.url).port or 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    cookie = b"Cookie: demo-%d=\xff\xfe" % port
    writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\nConnection: close\r\n\r\n" % (port, cookie))
    assert (await reader.readline()).split()[1] == b"403"
    writer.close()


@pytest.mark.parametrize("number", ["1e999", "[" * 50_000], ids=["no number", "too deep"])
async def test_nonsense_with_the_key_is_no_act_and_no_look(world: FakeDiscord, number: str) -> None:
    ada = world.person("ada")
    async with visiting(world, ada) as visitor:
        headers = {"Origin": visitor.origin, "Content-Type": "application/json"}
        act = f'{{"as": "{ada.id}", "act": "react", "emoji": "x", "message": {number}}}'
        async with visitor.session.post(f"{visitor.origin}/act", data=act, headers=headers) as response:
            assert response.status == 409
        async with visitor.session.ws_connect(f"{visitor.origin}/live", headers={"Origin": visitor.origin}) as socket:
            await socket.send_str(f'{{"in": {number}}}')
            async for _ in socket:
                pass
            assert socket.close_code == 1008
