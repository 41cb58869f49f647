"""Pictures of strangers, redrawn by a process of its own: upright, small, told nothing of us, bounded."""

import asyncio
import io
import json
import os
import random
import struct
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from connector.facts_files import File
from connector.logs import Logs
from connector.picture_worker import LARGEST, redrawn
from connector.pictures import WORKER, Worker, is_picture
from connector.settings import LogSettings

pytestmark = pytest.mark.anyio


def encoded(picture: Image.Image, form: str, **how: object) -> io.BytesIO:
    made = io.BytesIO()
    picture.save(made, form, **how)
    return io.BytesIO(made.getvalue())


def claiming(width: int, height: int) -> io.BytesIO:
    """A small PNG that says of itself that it is that large."""
    data = bytearray(encoded(Image.new("L", (9, 9)), "PNG").getvalue())
    data[16:24] = struct.pack(">II", width, height)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return io.BytesIO(data)


def drawn(source: io.BytesIO) -> tuple[str, Image.Image]:
    form, data = redrawn(source)
    assert len(data) <= LARGEST
    return form, Image.open(io.BytesIO(data))


@pytest.mark.parametrize(
    ("form", "mode", "into"),
    [
        ("PNG", "RGB", ("png", "RGB")),
        ("PNG", "RGBA", ("png", "RGBA")),
        ("PNG", "P", ("png", "RGB")),
        ("PNG", "I;16", ("png", "RGB")),
        ("GIF", "P", ("png", "RGB")),
        ("BMP", "RGB", ("png", "RGB")),
        ("JPEG", "RGB", ("jpg", "RGB")),
        ("JPEG", "CMYK", ("jpg", "RGB")),
        ("WEBP", "RGB", ("jpg", "RGB")),
        ("WEBP", "RGBA", ("png", "RGBA")),
    ],
)
def test_every_form_that_people_send_becomes_one_of_two(form: str, mode: str, into: tuple[str, str]) -> None:
    made, picture = drawn(encoded(Image.new(mode, (30, 20)), form))
    assert ((made, picture.mode), picture.size) == (into, (30, 20))


def test_a_large_one_becomes_small() -> None:
    form, picture = drawn(encoded(Image.new("RGB", (4100, 2050), "red"), "JPEG"))
    assert (form, picture.size) == ("jpg", (2000, 1000))


def test_one_that_cannot_be_packed_becomes_smaller_until_it_can() -> None:
    noise = Image.frombytes("RGBA", (900, 900), random.Random(1).randbytes(3_240_000))
    form, picture = drawn(encoded(noise, "PNG", compress_level=0))
    assert (form, picture.mode) == ("jpg", "RGB")


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_it_is_turned_upright_and_tells_nothing_of_place_and_camera(form: str) -> None:
    told = Image.Exif()
    told[0x0112], told[0x010F] = 6, "a camera"
    wide = Image.new("RGB", (40, 20), "red")
    written = PngInfo()
    written.add_text("Author", "Ann")
    how = {"exif": told, "dpi": (300, 300), **({"pnginfo": written} if form == "PNG" else {"comment": "Ann"})}
    _, picture = drawn(encoded(wide, form, **how))
    picture.load()
    assert (picture.size, dict(picture.getexif())) == ((20, 40), {})
    assert set(picture.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def test_of_a_moving_one_the_first_frame_is_shown() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    _, picture = drawn(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert (picture.getpixel((0, 0)), getattr(picture, "n_frames", 1)) == ((255, 0, 0), 1)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda: io.BytesIO(b""), id="empty"),
        pytest.param(lambda: io.BytesIO(b"no picture at all"), id="junk"),
        pytest.param(lambda: io.BytesIO(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), id="a drawing in text"),
        pytest.param(lambda: encoded(Image.new("RGB", (9, 9)), "TIFF"), id="a form that nobody sends"),
        pytest.param(lambda: claiming(60000, 60000), id="a bomb"),
        pytest.param(
            lambda: io.BytesIO(encoded(Image.new("RGB", (900, 900), "red"), "BMP").getvalue()[:5000]), id="cut off"
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_what_is_no_picture_for_us_raises(source: object) -> None:
    with pytest.raises((OSError, ValueError, Image.DecompressionBombError)):
        redrawn(source())  # type: ignore[operator]  # one of the makers above


def test_too_many_pixels_are_not_even_begun() -> None:
    with pytest.raises(ValueError, match="too many pixels"):
        redrawn(claiming(8000, 7000))


# -- the process -------------------------------------------------------------------------------------------------------


@dataclass
class Drawing:
    """A worker and what it logged."""

    folder: Path
    log: io.StringIO = field(default_factory=io.StringIO)

    async def of(self, data: bytes, *command: str, patience: float = 30.0) -> str | None:
        (self.folder / "in").write_bytes(data)
        log = Logs(LogSettings(format="json"), self.log).log
        worker = Worker({"PATH": os.environ["PATH"]}, log, asyncio.Semaphore(1), command or WORKER, patience)
        return await worker.redraw(self.folder / "in", self.folder / "out")

    @property
    def reason(self) -> str:
        """Why there is no picture."""
        return str(json.loads(self.log.getvalue())["reason"])


@pytest.fixture
def drawing(tmp_path: Path) -> Drawing:
    return Drawing(tmp_path)


async def test_the_process_redraws_and_says_in_which_form(drawing: Drawing) -> None:
    assert await drawing.of(encoded(Image.new("RGB", (30, 20), "red"), "BMP").getvalue()) == "png"
    with Image.open(drawing.folder / "out") as picture:
        assert picture.size == (30, 20)


async def test_what_it_cannot_read_is_no_picture(drawing: Drawing) -> None:
    assert await drawing.of(b"no picture") is None
    assert drawing.reason.startswith("UnidentifiedImageError")


async def test_where_no_process_can_be_had_there_is_no_picture(drawing: Drawing) -> None:
    assert await drawing.of(b"", "/no/such/program") is None
    assert "No such file" in drawing.reason


async def test_it_bounds_its_own_memory_before_it_reads_anything(drawing: Drawing) -> None:
    """A decoder that wants everything gets nothing."""
    greedy = (
        "from connector import picture_worker as worker; worker.redrawn = lambda source: bytearray(worker.MEMORY);"
        "raise SystemExit(worker.main())"
    )
    assert await drawing.of(b"", sys.executable, "-P", "-c", greedy) is None
    assert drawing.reason.startswith("MemoryError")


async def test_it_knows_nothing_of_our_environment(drawing: Drawing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "a secret")
    telling = "import os, sys; sys.exit(' '.join(sorted(os.environ)))"
    assert await drawing.of(b"", sys.executable, "-P", "-c", telling) is None
    assert "PATH" in drawing.reason
    assert "DISCORD_TOKEN" not in drawing.reason


async def test_one_that_takes_too_long_is_killed(drawing: Drawing) -> None:
    assert await drawing.of(b"", sys.executable, "-c", "import time; time.sleep(600)", patience=0.0) is None
    assert drawing.reason == "it took too long"


@pytest.mark.parametrize(
    ("name", "kind", "picture"),
    [
        ("a.png", "image/png", True),
        ("a.png", "", True),
        ("a.heic", "image/heic", True),
        ("a.heic", "", False),
        ("a.svg", "image/svg+xml", False),
        ("a.png", "text/plain", False),
        ("a.txt", "", False),
    ],
)
def test_what_says_of_itself_that_it_is_a_picture(name: str, kind: str, *, picture: bool) -> None:
    assert is_picture(File(1, name, 1, kind)) is picture
