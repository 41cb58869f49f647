"""Files and pictures through the whole program: from Discord's CDN to the child, over a kill, and past a stop."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from connector import notices_files
from connector.lane_events import Missed
from connector.notices_files import Why, reason
from fakes.discord import FakeDiscord, Upload
from fakes.program import Home, posts

pytestmark = pytest.mark.anyio

Make = Callable[..., Home]


def png() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(made, "PNG")
    return made.getvalue()


async def test_a_picture_and_a_file_reach_the_child_and_what_is_too_large_is_said(
    world: FakeDiscord, home: Make
) -> None:
    here = home(files={"max_bytes": 5000}, discord={"reply_in": "channel"})
    ann, general = world.person("ann"), world.channel("general")
    files = [Upload("red.png", png(), "image/png"), Upload("a.txt", b"hello"), Upload("big.bin", b"x" * 6000)]
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "seen", mention=True, attachments=files)
        notice, answer = await posts(world, general, 2)
        assert await run.stop() == 0
    assert (notice.content, notice.reference) == (
        notices_files.missed([Missed("big.bin", reason(Why.TOO_LARGE, 5000))]),
        asked,
    )
    inbox = here.state / "inbox" / str(general.id)
    picture, text = inbox / f"{asked}-1.png", inbox / f"{asked}-2.txt"
    assert text.read_bytes() == b"hello"
    *lines, image = answer.content.split("\n")[1:]
    assert lines == [
        f"picture: red.png, image 1 of this message, a copy at {picture}",
        f"file: a.txt, 5 bytes, text/plain, saved as {text}",
        "file: big.bin, 6000 bytes, application/octet-stream, not given: larger than 4.9 KiB",
    ]
    assert image.startswith(f"image/png, {picture.stat().st_size} bytes, ")


async def test_killed_while_it_fetches_the_next_start_does(world: FakeDiscord, home: Make) -> None:
    here = home(discord={"reply_in": "channel"})
    ann, general = world.person("ann"), world.channel("general")
    slow = world.faults.hang("GET", "/attachments/")
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "seen", mention=True, attachments=[Upload("a.txt", b"hello")])
        await world.wait_for(lambda: slow.hits == 1, what="the download to begin")
        await run.kill()
    slow.release()
    world.expire_files()
    async with here.running() as run:
        (answer,) = await posts(world, general, 1)
        assert await run.stop() == 0
    path = here.state / "inbox" / str(general.id) / f"{asked}-1.txt"
    assert answer.content == f"I see:\nfile: a.txt, 5 bytes, text/plain, saved as {path}"
    assert left(path.parent) == [path.name]


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
