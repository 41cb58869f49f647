"""A process of its own that turns one picture of anybody into a plain, small PNG or JPEG; it knows nothing else.

`python -P -m connector.picture_worker` reads the picture from standard input (a file), writes the new one to standard
output (a file) and its form, `png` or `jpg`, to standard error. Any other end than 0 means that there is none.
It bounds its own memory, time and output before it looks at the first byte; who started it bounds the wall clock.
"""

import io
import math
import resource
import sys
import warnings
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL import Image

MEMORY = 1 << 30
SECONDS = 20
PIXELS = 50_000_000
"""Of what is unpacked: a JPEG is unpacked at a fraction of its size where that is enough."""
LARGEST = 1 << 20
"""Bytes of a picture that was made here; many of them go through one line to the child."""

FORMS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "AVIF")
SIZES = ((2000, 85), (2000, 70), (1400, 70), (900, 70), (500, 60))
"""Longest side and JPEG quality, tried until the result is small enough."""

_SMOOTH = frozenset({"L", "LA", "RGB", "RGBA", "CMYK", "YCbCr"})
"""Modes in which a picture can be made smaller as it is, before anything is unpacked any further."""


def confine() -> None:
    """Take from this process what it does not need; nothing gives it back."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 2 * LARGEST),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))


def redrawn(source: BinaryIO) -> tuple[str, bytes]:
    """Form and bytes of the picture as it is meant to be seen: upright, its first frame, without what it tells of us.

    Raises ValueError for what has too many pixels or cannot be made small enough, and whatever Pillow raises.
    """
    from PIL import Image, ImageOps  # noqa: PLC0415 - only after `confine`

    Image.init()
    largest = (SIZES[0][0], SIZES[0][0])
    with Image.open(source, formats=[form for form in FORMS if form in Image.OPEN]) as opened:
        photo = opened.format in {"JPEG", "WEBP", "AVIF"}
        opened.draft(None, largest)
        if math.prod(opened.size) > PIXELS:
            raise ValueError("too many pixels")
        opened.load()
        mode = "RGBA" if opened.has_transparency_data else "RGB"
        picture: Image.Image = opened if opened.mode in _SMOOTH else opened.convert(mode)
        picture.thumbnail(largest, reducing_gap=2.0)
        picture = ImageOps.exif_transpose(picture).convert(mode)
    picture.info = {}  # no place, no camera, no name
    if mode == "RGBA" or not photo:
        made = _saved(picture, "PNG")
        if len(made) <= LARGEST:
            return "png", made
    picture = _on_white(picture)
    for side, quality in SIZES:
        picture.thumbnail((side, side))
        made = _saved(picture, "JPEG", quality=quality)
        if len(made) <= LARGEST:
            return "jpg", made
    raise ValueError("it stays too large")


def _on_white(picture: "Image.Image") -> "Image.Image":
    """The same without transparency, which JPEG has not."""
    from PIL import Image  # noqa: PLC0415 - as above

    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGBA", picture.size, "white")
    return Image.alpha_composite(ground, picture).convert("RGB")


def _saved(picture: "Image.Image", form: str, **how: object) -> bytes:
    made = io.BytesIO()
    picture.save(made, form, **how)
    return made.getvalue()


def main() -> int:
    """0 and a picture, or 1."""
    confine()
    warnings.simplefilter("ignore")  # standard error is for the form alone
    try:
        form, data = redrawn(sys.stdin.buffer)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except Exception as error:  # noqa: BLE001 - whatever a stranger's bytes do to a decoder, there is no picture
        sys.stderr.write(f"{type(error).__name__}: {error}")
        return 1
    sys.stderr.write(form)
    return 0


if __name__ == "__main__":
    sys.exit(main())
