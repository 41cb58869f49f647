"""Markdown that Discord shows wrongly, rewritten as Markdown it shows; pure, and a second pass changes nothing.

Tables become aligned code blocks where they fit and lists where not, headings deeper than `###` become bold, and
every fence becomes three backticks with a closing line. Discord ends a code block at the first three backticks
wherever they stand, so a longer run inside one is held apart by zero-width spaces, which nobody sees.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from connector.render_blocks import FENCE, blank, closed, continuation, quote_prefix, tokens

if TYPE_CHECKING:  # brought by the first text that is shown (`render_blocks`)
    from markdown_it.token import Token

TABLE_WIDTH = 72
APART = "\u200b"

_NEEDED = re.compile(r"[`~|]|#{4}")
"""Without one of these a text has no fence, no table and no heading that is too deep."""

_RUN = re.compile(r"`{3,}")
_BARS = re.compile(r"(?<!\\)\|")
_CODE_OR_BOLD = re.compile(r"(`[^`]*`)|\*\*|__")
_LINK = re.compile(r"\]\(|https?://")
_MARKERS = re.compile(r"(?:[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+)*[ \t]*")


def rewrite(text: str) -> str:
    """The text as Discord can show it; unchanged, to the character, where nothing of it needs rewriting."""
    if not _NEEDED.search(text):
        return text
    lines = text.split("\n")
    changed = False
    quotes = 0
    # From the end, so that a replacement moves no line that is still to be looked at.
    for token in reversed(tokens(lines)):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quotes -= token.nesting
        new = _rewritten(token, lines, quotes)
        if new is not None and token.map is not None:
            lines[token.map[0] : token.map[1]] = new
            changed = True
    return "\n".join(lines) if changed else text


def _rewritten(token: "Token", lines: Sequence[str], quotes: int) -> list[str] | None:
    """The lines that replace a token's lines, or None to leave them."""
    if token.map is None:
        return None
    span = lines[token.map[0] : token.map[1]]
    if token.type == "fence":
        return _fence(token, span)
    if token.type == "heading_open" and len(token.markup) > 3:
        return _heading(span[0])
    if token.type == "table_open":
        return _table(span, token.level, quotes)
    return None


def _fence(token: "Token", span: Sequence[str]) -> list[str] | None:
    is_closed = closed(token)
    if token.markup == FENCE and is_closed and FENCE not in token.content:
        return None
    prefix = span[0][: span[0].index(token.markup[0])]
    body = [_apart(line) for line in span[1 : -1 if is_closed else None]]
    if is_closed:
        closing = span[-1][: span[-1].index(token.markup[0])] + FENCE
    else:
        while body and blank(body[-1]):
            body.pop()
        closing = continuation(prefix) + FENCE
    info = token.info.replace("`", "'")
    return [f"{prefix}{FENCE}{info}".rstrip(), *body, closing]


def _heading(line: str) -> list[str] | None:
    prefix, mark, rest = line.partition("#")
    title = rest.lstrip("#").strip()
    if (bare := title.rstrip("#")).endswith((" ", "\t")):
        title = bare.strip()
    return [f"{prefix}**{_without_bold(title)}**"] if mark and title.strip("#") else None


def _table(span: Sequence[str], level: int, quotes: int) -> list[str] | None:
    first, later = "", ""
    if level:
        quoted = quote_prefix(span[0], quotes)
        markers = _MARKERS.match(span[0], len(quoted))
        first = quoted + (markers[0] if markers else "")
        later = continuation(first)
    rows = [
        _cells(line[len(first if number == 0 else quote_prefix(line, quotes)) :]) for number, line in enumerate(span)
    ]
    header, ruler, body = rows[0], rows[1], [row for row in rows[2:] if any(row)]
    columns = max(map(len, [header, *body]))
    header += [""] * (columns - len(header))
    new = None
    if columns + 2 * (columns - 1) <= TABLE_WIDTH:  # else it is too wide whatever it holds, and padding would not end
        rows = [[*row, *[""] * (columns - len(row))] for row in [header, *body]]
        new = _aligned(rows[0], ruler, rows[1:]) if _fits(rows) else None
    new = new or _listed(header, body)
    if not new:
        return None
    return [(first if number == 0 else later) + line for number, line in enumerate(new)]


def _cells(line: str) -> list[str]:
    cells = [_apart(cell.strip().replace("\\|", "|")) for cell in _BARS.split(line.strip())]
    inner = cells[1 if cells and not cells[0] else 0 :]
    return inner[:-1] if inner and not inner[-1] else inner


def _fits(rows: Iterable[Sequence[str]]) -> bool:
    """Whether rows can stand in a code block: narrow enough, and without links or fences, which are dead there."""
    rows = list(rows)
    if any(_LINK.search(cell) or APART in cell for row in rows for cell in row):
        return False
    return sum(_widths(rows)) + 2 * (len(rows[0]) - 1) <= TABLE_WIDTH


def _aligned(header: Sequence[str], ruler: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    widths = _widths([header, *body])
    places = [_place(mark) for mark in ruler] + [_left] * (len(header) - len(ruler))

    def line(cells: Sequence[str]) -> str:
        shown = [place(_bare(cell), width) for cell, place, width in zip(cells, places, widths, strict=True)]
        return "  ".join(shown).rstrip()

    rule = "  ".join("─" * width for width in widths)
    return [FENCE, line(header), rule, *map(line, body), FENCE]


def _listed(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """One item a row, its further cells below it, each with its column's name."""
    items: list[str] = []
    if not body:
        return [f"- {_tame(name)}" for name in header if name]
    for row in body:
        named = [
            f"**{_without_bold(name)}:** {cell}" if name else _tame(cell)
            for name, cell in zip(header, row, strict=False)  # a row may be shorter
            if cell
        ]
        items += [("  - " if number else "- ") + cell for number, cell in enumerate(named)]
    return items


def _tame(cell: str) -> str:
    """A cell that opens no fence where it begins a list item."""
    return APART + cell if cell.startswith("~~~") else cell


def _apart(text: str) -> str:
    return _RUN.sub(lambda run: APART.join(run[0]), text)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(1, *(_width(_bare(cell)) for cell in column)) for column in zip(*rows, strict=True)]


def _width(text: str) -> int:
    """Columns of a fixed-width face: two for a wide character, none for one that joins its neighbour."""
    return sum(
        0
        if unicodedata.combining(char) or unicodedata.category(char) == "Cf"
        else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def _place(mark: str) -> Callable[[str, int], str]:
    if mark.endswith(":"):
        return _centre if mark.startswith(":") else _right
    return _left


def _left(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _right(cell: str, width: int) -> str:
    return " " * (width - _width(cell)) + cell


def _centre(cell: str, width: int) -> str:
    return _left(" " * ((width - _width(cell)) // 2) + cell, width)


def _bare(cell: str) -> str:
    """A cell as it reads in a code block, where emphasis and backticks would stand as characters."""
    return _CODE_OR_BOLD.sub(lambda found: (found[1] or "")[1:-1], cell)


def _without_bold(text: str) -> str:
    """The text without bold marks of its own, code apart: bold within bold would end the outer one."""
    return _CODE_OR_BOLD.sub(lambda found: found[1] or "", text)
