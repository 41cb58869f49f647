"""Lines packed into parts of a bounded length, block by block; pure, it rewrites nothing that need not be split.

A part neither begins nor ends with white space, which Discord would take away: a message must come back as it was
sent. A part that begins inside a list loses that list's indentation.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

from connector.clusters import boundary
from connector.render_blocks import FENCE, Block, continuation, tree
from connector.render_rewrite import APART

_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]{1,32}")
_TITLE = re.compile(r"\s*(?:#{1,3}\s|\*\*.*\*\*:?\s*$)")
_STARTS_BLOCK = re.compile(r"\s*(?:(?:#{1,6}|[-+*>]|\d{1,9}[.)]|-#)(?:\s|$)|>|`{3}|~{3})")
# Where a line looks like a fence; backticks behind it say that it is none, and a cut takes them away.
_LIKE_FENCE = re.compile(r"(?:[\s>]|[-+*]\s|\d{1,9}[.)]\s)*(?=`{3}|~{3})")
# What is kept in one piece where it fits: links, angle brackets, code; else a word or a run of blanks.
_ATOM = re.compile(
    r"!?\[[^\[\]\n]{0,400}\]\([^()\s]{0,1600}\)|https?://\S+|<[^<>\s]{1,400}>|`[^`\n]{1,200}`|[^\S\n]+|[^\s\[<`]+|."
)


class _Enough(Exception):  # noqa: N818 - no error: as many parts as anybody wants
    """There is one part more than was asked for."""


def pack(text: str, limit: int, most: int) -> list[str]:
    """The parts of a rewritten text, none over `limit` characters (100 at least), none blank; `most` + 1 at most.

    What would come after these is not looked at.
    """
    if limit < 100:
        raise ValueError("a part's limit is at least 100 characters")
    lines = text.split("\n")
    packer = _Packer(lines, limit, most)
    with suppress(_Enough):
        packer.place(tree(lines))
        packer.flush()
    return packer.parts


class _Packer:
    """The part being filled, and those that are done."""

    def __init__(self, source: Sequence[str], limit: int, most: int) -> None:
        self.source = source
        self.limit = limit
        self.most = most
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.length = -1  # of the lines joined, as `_size` counts
        self.indent = 0  # what the lines of this part lose on their left
        self.title_at: int | None = None  # where a heading begins that still waits for what it heads
        self.reached = 0  # the source line after the last one placed

    def place(self, block: Block) -> None:
        """Put a block into this part if it fits, else into the next if it fits there, else its pieces one by one."""
        lines = self.source[block.start : block.end]
        if self._fits(lines, block.start):
            self._add(lines, block)
        elif _size(lines) <= self.limit:
            self.flush(keep_title=True)
            if not self._fits(lines, block.start):
                self.flush()
            self._add(lines, block)
        elif block.children:
            for child in block.children:
                self.place(child)
        elif block.kind == "fence":
            self._place_fence(block)
        else:
            for number in range(block.start, block.end):
                self._place_line(self.source[number], Block("text", number, number + 1, block.quotes))

    def flush(self, *, keep_title: bool = False) -> None:
        """End the part; a heading that would end it moves on to the next one, with what follows it."""
        carried: list[str] = []
        if keep_title and self.title_at:
            carried = self.lines[self.title_at :]
            del self.lines[self.title_at :]
        part = "\n".join(self.lines).strip()
        if part:
            self.parts.append(part)
            if len(self.parts) > self.most:
                raise _Enough
        self.lines, self.length, self.indent, self.title_at = [], -1, 0, None
        if carried:
            self._append(carried)

    def _place_line(self, line: str, block: Block) -> None:
        """A line of a block that fits in no part: whole if it fits in one, else cut between words."""
        if len(line) <= self.limit:
            if not self._fits([line], block.start):
                self.flush(keep_title=True)
            if not self._fits([line], block.start):
                self.flush()
            self._add([line], block)
            return
        self._make_room(block.start)
        prefix = self._quoted(block)
        if (like := _LIKE_FENCE.match(line)) is not None:
            line = line[: like.end()] + APART + line[like.end() :]
        room, ours = self._room(block.start), 0
        while line:
            at = _cut(line, ours, room, self.limit - len(prefix)) if len(line) > room else len(line)
            self._add([line[:at].rstrip()], block)
            rest = line[at:].lstrip()
            if not rest:
                return
            self.flush()
            begin = prefix + (APART if rest.startswith((FENCE, "~~~")) else "")
            line, room, ours = begin + rest, self.limit, len(begin)

    def _place_fence(self, block: Block) -> None:
        """A fence that fits in no part: closed at each part's end and reopened with its language in the next."""
        opening = self.source[block.start]
        body = block.content.removesuffix("\n").split("\n")
        first, later = opening[: opening.index(FENCE)], self._quoted(block)
        if len(first) > self.limit // 8:
            # Too deep to be repeated on every line: what stands before the fence, a list's number, say, comes alone.
            self._place_line(" ".join(first.split()), Block("text", block.start, block.start, block.quotes))
            first, opening = later, later + opening.removeprefix(first)
        word = self._language(block.info)
        if len(opening) > self.limit // 4:
            # Discord shows an info string of several words as the block's first line; a long one becomes that.
            opening, body = f"{first}{FENCE}{word}", [block.info.strip().removeprefix(word).strip(), *body]
        self._make_room(block.start)
        room = self._room(block.start)
        prefix = continuation(first)
        widest = (
            self.limit - 2 * len(FENCE) - max(len(opening), len(later + word)) - 2 * max(len(prefix), len(later)) - 2
        )
        chunk: list[str] = []
        held = 0  # the length of the chunk's lines, each with its prefix and a line break
        for line in _narrowed(body, widest):
            if len(opening) + 1 + held + 2 * len(prefix) + len(line) + 1 + len(FENCE) > room:
                if self._add_chunk(opening, prefix, chunk, block):
                    opening, prefix = f"{later}{FENCE}{word}", later
                self.flush()
                chunk, held, room = [], 0, self.limit
            chunk.append(line)
            held += len(prefix) + len(line) + 1
        self._add_chunk(opening, prefix, chunk, block)

    def _add_chunk(self, opening: str, prefix: str, chunk: Sequence[str], block: Block) -> bool:
        """Put a piece of a fence into this part; not one that shows nothing, which Discord takes for no code block."""
        if not any(line.strip() for line in chunk):
            return False
        self._add([opening, *(prefix + line for line in chunk), prefix + FENCE], block)
        return True

    def _language(self, info: str) -> str:
        """The language a fence is reopened with: its info string's first word, where that is one."""
        first = info.split()[:1]
        return first[0] if first and _LANGUAGE.fullmatch(first[0]) and len(first[0]) <= self.limit // 8 else ""

    def _quoted(self, block: Block) -> str:
        """What the further pieces of a block begin with: its quote marks, unless they would take up too much."""
        return "> " * block.quotes if 2 * block.quotes <= self.limit // 8 else ""

    def _room(self, start: int) -> int:
        """The characters left for what begins at `start`, after the line break before it."""
        gap = self._gap(start)
        return self.limit - self.length - 1 - (_size(gap) + 1 if gap else 0)

    def _make_room(self, start: int) -> None:
        """Begin a new part where so little of this one is left that a piece in it would be a scrap."""
        if self._room(start) < self.limit // 4:
            self.flush(keep_title=True)

    def _gap(self, start: int) -> Sequence[str]:
        """The blank lines between what was placed last and `start`; none at the beginning of a part."""
        return self.source[self.reached : start] if self.lines else ()

    def _fits(self, lines: Sequence[str], start: int) -> bool:
        return _size(lines) <= self._room(start)

    def _add(self, lines: Sequence[str], block: Block) -> None:
        gap = self._gap(block.start)
        self._append(gap)
        is_title = block.end - block.start == 1 and _TITLE.match(lines[0]) is not None
        self.title_at = len(self.lines) if is_title else None
        self._append(lines)
        self.reached = block.end

    def _append(self, lines: Sequence[str]) -> None:
        if not self.lines:
            self.indent = _indent(lines)
        away = min(self.indent, _indent(lines))
        added = [line[away:] if line.strip() else line for line in lines]
        self.lines += added
        self.length += 1 + _size(added)


def _size(lines: Sequence[str]) -> int:
    """The length of the lines joined; -1 for none, as one more line then costs no line break."""
    return sum(map(len, lines)) + len(lines) - 1


def _indent(lines: Sequence[str]) -> int:
    return min((len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()), default=0)


def _narrowed(body: Sequence[str], widest: int) -> list[str]:
    """The lines of a fence, those wider than `widest` broken where they must."""
    narrow: list[str] = []
    for whole in body:
        line = whole
        while len(line) > widest:
            at = max(1, boundary(line, widest))
            narrow.append(line[:at])
            line = line[at:]
        narrow.append(line)
    return narrow


def _cut(line: str, ours: int, room: int, whole: int) -> int:
    """Where to end the first piece of a line longer than `room`; behind the first `ours` characters, so that it ends.

    Before the link, code or word that does not fit any more, unless a line of `whole` characters would not hold it
    either; not before what would begin a block of its own at the start of a line; never inside a cluster.
    """
    best = 0
    for atom in _ATOM.finditer(line):
        if ours < atom.start() <= room and not _STARTS_BLOCK.match(line, atom.start()):
            best = atom.start()
        if atom.end() > room:
            if best and len(atom[0]) <= whole:
                return best
            break
    return max(ours + 1, boundary(line, room))
