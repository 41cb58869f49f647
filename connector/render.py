"""An answer's Markdown as Discord messages, or as a file when it would be too many; pure.

Lengths are code points, as Discord counts them (`connector.clusters`). Nothing of the text is lost or doubled: only
fence lines, quote marks and blanks are added or taken at the edges of parts.
"""

import re
from dataclasses import dataclass

from connector.clusters import clip
from connector.render_pack import pack
from connector.render_rewrite import rewrite

LIMIT = 2_000
MAX_PARTS = 5
# Beyond this many times what the parts can hold, no rewriting brings a text back into them.
_HOPELESS = 2
# Lines that are rendered in a few milliseconds whatever they hold.
_QUICK = 40
# What no rewriting takes away: neither blanks nor a mark of a quote, a heading, bold, code or an escape.
_STAYS = re.compile(r"[^\s>#*_`~\\]+")


@dataclass(frozen=True, slots=True)
class Parts:
    """The messages to post, in order; none for a text that shows nothing."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AsFile:
    """An answer of too many parts: `beginning` is one message, `file_text` the whole as it was written."""

    beginning: str
    file_text: str


def render(text: str, limit: int = LIMIT, max_parts: int = MAX_PARTS) -> Parts | AsFile:
    """The parts of an answer, none over `limit` characters (100 at least) or blank, every fence closed (CONTRACT).

    A short text without tables, deep headings or fences that Discord cannot show comes back as it is, white space
    around it apart, which Discord would take away.
    """
    most = _HOPELESS * limit * max_parts
    plain = text.strip()
    vast = len(plain) > 2 * most  # and so too long whatever its line ends are
    plain = (plain[: 4 * limit] if vast else plain).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    if not plain:
        return Parts(())
    if vast or _hopeless(plain, limit, max_parts):
        # Only what the first message can show is looked at, whatever the size of the rest.
        return AsFile(_first(_parts(plain[: 2 * limit], limit, 1), plain, limit), text)
    parts = _parts(plain, limit, max_parts)
    return Parts(tuple(parts)) if 0 < len(parts) <= max_parts else AsFile(_first(parts, plain, limit), text)


def costly(text: str) -> bool:
    """Whether `render` of it may take so long (tens of milliseconds) that it belongs beside the event loop."""
    return len(text) > _HOPELESS * LIMIT * MAX_PARTS or text.count("\n") > _QUICK


def _hopeless(plain: str, limit: int, max_parts: int) -> bool:
    """Whether it is sure without a look at its blocks, which costs most by the line, that a text becomes a file."""
    if len(plain) > _HOPELESS * limit * max_parts:
        return True
    return sum(map(_least, plain.split("\n"))) > max_parts * (limit + 1)


def _least(line: str) -> int:
    """Characters that are left of a line, its line break included, whatever it is rewritten to and wherever cut."""
    if not line.strip("> \t|:-"):
        return 0  # quote marks, or a table's ruler
    if "|" in line:
        return 2  # of a table's header and its first row one line of four is left at the least
    return 1 + sum(map(len, _STAYS.findall(line)))


def _parts(plain: str, limit: int, most: int) -> list[str]:
    shown = rewrite(plain)
    return [shown] if len(shown) <= limit else pack(shown, limit, most)


def _first(parts: list[str], plain: str, limit: int) -> str:
    """The first part, or the raw beginning of a text that is nothing but quote marks."""
    return parts[0] if parts else clip(plain, limit).rstrip()
