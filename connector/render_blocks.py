"""The blocks of a Markdown text as Discord sees them, found by markdown-it-py; pure, it changes no text.

Discord knows no indented code, HTML blocks, underlined headings or link definitions, so neither does this parser:
a fence is one at any depth, and every other line is a line of a paragraph. A quote ends with its last marked line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the parser is brought by the first text: a start need not wait for it
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

FENCE = "```"
MAX_NESTING = 20

_QUOTE_MARK = re.compile(r"[ \t]*>[ ]?")


@cache
def _parser(*, tables: bool) -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.core.ruler.enableOnly(["block"])
    parser.disable(["code", "html_block", "lheading", "reference"])
    parser.block.ruler.before("paragraph", "unmarked", _unmarked, {"alt": ["blockquote"]})
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    return parser.enable("table") if tables else parser


def _unmarked(state: "StateBlock", _start: int, _end: int, silent: bool) -> bool:
    """A rule that ends a quote at a line without its mark: at Discord such a line is outside.

    CommonMark would go on, and each of the quotes around one line would look at every later line of the text.
    """
    return silent and state.parentType == "blockquote"


def _table(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """A table's first and last line, and no cells: padded to the columns of the header, these outgrow any text."""
    from markdown_it.rules_block import table  # noqa: PLC0415 - as in `_parser`

    begins = table(state, start, end, True)
    if silent or not begins:
        return begins
    outer, state.parentType = state.parentType, "table"
    ends = state.md.block.ruler.getRules("blockquote")
    line = start + 2
    while line < end and state.sCount[line] >= state.blkIndent and not state.isEmpty(line):
        if any(rule(state, line, end, True) for rule in ends):
            break
        line += 1
    state.push("table_open", "table", 1).map = [start, line]
    state.push("table_close", "table", -1)
    state.parentType, state.line = outer, line
    return True


@dataclass(slots=True)
class Block:
    """Lines `start` to before `end` of a text; `kind` is markdown-it's name, `document` or `text` (no token names it).

    `quotes` counts the block quotes around it; `info` and `content` are a fence's, the latter without what belongs
    to the lists and quotes around it.
    """

    kind: str
    start: int
    end: int
    quotes: int = 0
    info: str = ""
    content: str = ""
    children: list["Block"] = field(default_factory=list)


def tokens(lines: Sequence[str]) -> list["Token"]:
    """The block tokens of the lines, tables included; their maps are line numbers."""
    return _parser(tables=True).parse("\n".join(lines) + "\n")


def tree(lines: Sequence[str]) -> Block:
    """The document block of the lines: every line that is not blank lies in exactly one leaf of it."""
    document = Block("document", 0, len(lines))
    open_blocks = [document]
    for token in _parser(tables=False).parse("\n".join(lines) + "\n"):
        parent = open_blocks[-1]
        if token.nesting < 0:
            open_blocks.pop()
        elif token.map is not None and token.type != "inline":
            kind = token.type.removesuffix("_open")
            quotes = parent.quotes + (kind == "blockquote")
            block = Block(kind, token.map[0], min(token.map[1], len(lines)), quotes, token.info, token.content)
            parent.children.append(block)
            if token.nesting > 0:
                open_blocks.append(block)
    _cover(document, lines)
    return document


def blank(line: str) -> bool:
    """Whether a line shows nothing: blank, or only quote marks."""
    return not line.strip("> \t")


def closed(fence: "Token") -> bool:
    """Whether a fence token ends with its own closing line, not with the text or the list or quote around it."""
    first, end = fence.map or (0, 0)
    return end - first - 1 > fence.content.count("\n")


def continuation(prefix: str) -> str:
    """The prefix of a container's later lines, from that of its first: quote marks stay, list markers are blanks."""
    return re.sub(r"[^>\s]", " ", prefix)


def quote_prefix(line: str, quotes: int) -> str:
    """The beginning of a line that belongs to `quotes` block quotes around it."""
    at = 0
    for _ in range(quotes):
        found = _QUOTE_MARK.match(line, at)
        if found is None:
            break
        at = found.end()
    return line[:at]


def _cover(block: Block, lines: Sequence[str]) -> None:
    """Trim blank ends; lines that no child holds (a bare marker, nested too deep to parse) become leaves."""
    while block.end > block.start and blank(lines[block.end - 1]):
        block.end -= 1
    if not block.children:
        return
    covered: list[Block] = []
    at = block.start
    for child in [*block.children, Block("end", block.end, block.end)]:
        loose = [number for number in range(at, child.start) if not blank(lines[number])]
        covered += [Block("text", number, number + 1, block.quotes) for number in loose]
        if child.kind != "end":
            _cover(child, lines)
            covered += [child] if child.end > child.start else []
            at = max(at, child.end)
    block.children = covered
