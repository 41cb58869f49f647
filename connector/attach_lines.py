"""The lines of an answer that name files to send, `attach: PATH`, and the text without them; pure, it opens nothing.

A line counts where it stands by itself and outside fences, as CommonMark counts them: in a fence it is a program's.
"""

import re
import unicodedata
from collections.abc import Collection

from msgspec import Struct

from connector.header import clean
from connector.render_blocks import tokens

WORD = "attach:"

_LINE = re.compile(r" {0,3}attach:[ \t]+(\S(?:.*\S)?)[ \t]*")
_UNSENDABLE = re.compile(r'["\\/:*?<>|`\ufffd]')
_NAME_LIMIT = 100
_SUFFIX_LIMIT = 20


class Named(Struct, frozen=True):
    """An answer's `text` without the lines that name files, and the `paths` they name, each once, in order."""

    text: str
    paths: tuple[str, ...] = ()


def named(text: str) -> Named:
    """What an answer says, and which files it names; a text that names none comes back as it is."""
    if WORD not in text:
        return Named(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = {number: match[1] for number, line in enumerate(lines) if (match := _LINE.fullmatch(line))}
    if found:
        fenced = _fenced(lines)
        found = {number: path for number, path in found.items() if number not in fenced}
    if not found:
        return Named(text)
    return Named("\n".join(_without(lines, found.keys())), tuple(dict.fromkeys(found.values())))


def shown_name(path: str) -> str:
    """A file's name as a person reads it in a line of ours."""
    return clean(_last(path)).strip() or "a file without a name"


def sent_name(path: str) -> str:
    """A file's name as it is given to Discord: nothing in it can end its place in the request, or turn it around."""
    plain = "".join("_" if unicodedata.category(char)[0] == "C" else char for char in _last(path))
    plain = _UNSENDABLE.sub("_", plain).strip() or "file"
    stem, dot, suffix = plain.rpartition(".")
    if len(plain) <= _NAME_LIMIT:
        return plain
    if not dot or len(suffix) > _SUFFIX_LIMIT:
        return plain[:_NAME_LIMIT]
    return f"{stem[: _NAME_LIMIT - len(suffix) - 1]}.{suffix}"


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _fenced(lines: list[str]) -> set[int]:
    inside: set[int] = set()
    for token in tokens(lines):
        if token.type == "fence" and token.map is not None:
            inside |= set(range(*token.map))
    return inside


def _without(lines: list[str], gone: Collection[int]) -> list[str]:
    """The other lines; where two blank ones would meet, one of them goes too."""
    kept: list[str] = []
    met = False
    for number, line in enumerate(lines):
        if number in gone:
            met = True
        elif met and not line.strip() and (not kept or not kept[-1].strip()):
            continue
        else:
            kept.append(line)
            met = False
    return kept
