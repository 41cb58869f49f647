"""Where files may come from (CONTRACT, FIELD "Doors"): Discord's own hosts, or the Discord that was configured."""

import io

import pytest

from connector.download import Doors, NotFetched, download, opened
from connector.notices_files import Why

pytestmark = pytest.mark.anyio
OWN = "https://discord.example.org/api/v10"
NEAR = "http://127.0.0.1:8080/api/v10"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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


async def test_behind_a_closed_door_nobody_is_asked() -> None:
    async with opened() as session:
        with pytest.raises(NotFetched) as closed:
            await download(session, "http://127.0.0.1:1/a", io.BytesIO(), most=1, doors=Doors())
    assert closed.value.why is Why.FAILED
