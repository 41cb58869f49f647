"""An answer's Markdown as Discord messages, or as a file when it would be too many; pure.

Lengths are code points, as Discord counts them (`connector.clusters`). Nothing of the text is lost or doubled: only
fence lines, quote marks and blanks are added or taken at the edges of parts.
"""

from dataclasses import dataclass

from connector.clusters import clip
from connector.render_pack import pack
from connector.render_rewrite import rewrite

LIMIT = 2_000
MAX_PARTS = 5
# Beyond this many times what the parts can hold, no rewriting brings a text back into them.
_HOPELESS = 2


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
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").strip()
    if not plain:
        return Parts(())
    if len(plain) > _HOPELESS * limit * max_parts:
        # Only what the first message can show is looked at, whatever the size of the rest.
        return AsFile(_first(_parts(plain[: 2 * limit], limit), plain, limit), text)
    parts = _parts(plain, limit)
    return Parts(tuple(parts)) if 0 < len(parts) <= max_parts else AsFile(_first(parts, plain, limit), text)


def _parts(plain: str, limit: int) -> list[str]:
    shown = rewrite(plain)
    return [shown] if len(shown) <= limit else pack(shown, limit)


def _first(parts: list[str], plain: str, limit: int) -> str:
    """The first part, or the raw beginning of a text that is nothing but quote marks."""
    return parts[0] if parts else clip(plain, limit).rstrip()
