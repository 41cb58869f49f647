"""Where files may come from (CONTRACT, FIELD "Doors"): Discord's own hosts, or the Discord that was configured."""

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from connector.download import Doors, NotFetched, download, opened
from connector.notices_files import Why

pytestmark = pytest.mark.anyio
OWN = "https://discord.example.org/api/v10"
NEAR = "http://127.0.0.1:8080/api/v10"


@pytest.mark.parametrize(
    ("address", "api_base", "open_for"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", None, True),
        ("https://media.discordapp.net/attachments/1/2/a.png", None, True),
        ("https://cdn.discordapp.com:443/a", None, True),
        ("https://cdn.discordapp.com:8443/a", None, False),
        ("http://cdn.discordapp.com/a", None, False),
        ("https://cdn.discordapp.com.example.org/a", None, False),
        ("https://user:pass@cdn.discordapp.com/a", None, False),
        ("https://cdn.discordapp.com@example.org/a", None, False),
        ("https://discord.example.org/a", None, False),
        ("http://127.0.0.1:8080/a", None, False),
        ("http://169.254.169.254/latest", None, False),
        ("file:///etc/passwd", None, False),
        ("not an address", None, False),
        ("http://[half/a", None, False),
        ("https://discord.example.org/a", OWN, True),
        ("http://discord.example.org/a", OWN, False),
        ("https://cdn.discordapp.com/a", OWN, True),
        ("https://other.example.org/a", OWN, False),
        ("http://127.0.0.1:9090/a", NEAR, True),
        ("http://localhost/a", NEAR, True),
        ("http://10.0.0.1/a", NEAR, False),
    ],
)
def test_a_door(address: str, api_base: str | None, *, open_for: bool) -> None:
    assert Doors(api_base).open_for(address) is open_for


@dataclass
class Server:
    """Answers `/moved` with a redirect to `/file`; `asked` is what it was asked for."""

    address: str = ""
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path == "/moved":
            return web.Response(status=302, headers={"Location": f"{self.address}/file"})
        return web.Response(body=b"hello")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    app = web.Application()
    app.router.add_get("/{tail:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


async def at_once(_seconds: float) -> None:
    pass


async def got(address: str, doors: Doors) -> bytes | Why:
    file = io.BytesIO()
    async with opened() as session:
        try:
            size = await download(session, address, file, most=100, doors=doors, pause=at_once)
        except NotFetched as error:
            return error.why
    assert size == len(file.getvalue())
    return file.getvalue()


async def test_behind_a_closed_door_nobody_is_asked(server: Server) -> None:
    assert await got(f"{server.address}/file", Doors()) is Why.FAILED
    assert server.asked == []
    assert await got(f"{server.address}/file", Doors(NEAR)) == b"hello"


async def test_no_door_leads_to_another(server: Server) -> None:
    assert await got(f"{server.address}/moved", Doors(NEAR)) is Why.FAILED
    assert set(server.asked) == {"/moved"}
