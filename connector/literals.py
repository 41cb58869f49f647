"""Somebody's text shown as it is, in each of the places that Discord has for texts; pure.

It makes no Markdown, mentions nobody and ends nothing around it.
"""

import re

from connector import clusters

LOOKED = 1_000
"""Characters of a text that `plain` looks at: more than any place of one line shows, however long a child's text is."""

_LITERAL = re.compile(r"(https?://[^\s<>]+)|([\\`*_~|\[\]<>])|^([ \t]*)(#{1,3}|-#?|\+|\d+[.)])(?=[ \t])", re.MULTILINE)


def literal(text: str) -> str:
    """Somebody's text as Markdown that shows just that; addresses stay as they are."""
    plain = "".join(char if char.isprintable() or char in "\n\t\u200d" else " " for char in text.replace("\r\n", "\n"))
    return _LITERAL.sub(_escaped, plain).replace("@everyone", "@\u200beveryone").replace("@here", "@\u200bhere")


def _escaped(found: re.Match[str]) -> str:
    address, char, blanks, mark = found.groups()
    if address:
        return str(address)
    if char:
        return f"\\{char}"
    return f"{blanks}{mark[:-1]}\\{mark[-1]}" if mark[0].isdigit() else f"{blanks}\\{mark}"


def plain(text: str) -> str:
    """The text's beginning on one line, for places that know no Markdown."""
    looked = text.strip()[:LOOKED]
    return " ".join("".join(char if char.isprintable() or char == "\u200d" else " " for char in looked).split())


def code(text: str, count: int) -> str:
    """Somebody's text on one line as code: it mentions nobody and ends nothing around it."""
    flat = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * count]).split())
    return f"`{clusters.excerpt(flat.replace('`', 'ˋ'), count)}`" if flat else "(nothing)"
