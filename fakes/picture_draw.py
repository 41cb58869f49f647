"""Draws messages of a Discord channel, as its API tells them, with the one font that Pillow brings; it runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image, ImageDraw, ImageFont

Json = dict[str, Any]

WIDTH, MARGIN, GUTTER = 760, 16, 52
SIZE, SMALL = 15, 12
LINE = 20
GROUND, CODE, INK, FAINT, LINK = "#313338", "#2b2d31", "#dbdee1", "#949ba4", "#c9cdfb"
BUTTONS = {1: "#5865f2", 2: "#4e5058", 3: "#248046", 4: "#da373c"}
DISCS = {
    "👀": "#e8e8e8",
    "✅": "#3ba55d",
    "⚠": "#f0b232",
    "🛑": "#da373c",
    "⏳": "#c49a6c",
    "👂": "#e0ac7e",
    "🔒": "#b9bbbe",
    "⚙": "#9aa4ad",
    "💭": "#cfd4da",
    "🔧": "#8fa3b5",
    "❓": "#da373c",
    "🗜": "#8d99a6",
}
"""Signs that the font has not, each as a disc of its colour."""
PLAIN = str.maketrans(
    {"–": "-", "—": "-", "•": "·", "─": "-", "│": "|", "┼": "+", "\ufe0f": None, "\u200b": None, "⏎": " ", "▸": ">"}
)
_INLINE = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`\n]+)`|<@!?(?P<who>\d+)>|<t:(?P<when>\d+):\w>|(?P<blank>\s+)")
_MARKS = re.compile(r"\[([^\]]+)\]\(https?:[^)]+\)|~~(.+?)~~|(?<!\*)\*([^*]+)\*(?!\*)")
_EPHEMERAL = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """A word and how it looks."""

    text: str
    bold: bool = False
    code: bool = False
    ink: str = INK


@dataclass
class Sheet:
    """A picture in the making: what is drawn goes to `y`. `names` are people by id, `now` seconds since the epoch."""

    names: Mapping[str, str]
    now: int
    image: Image.Image = field(default_factory=lambda: Image.new("RGB", (WIDTH, 4_000), GROUND))
    y: int = MARGIN

    def __post_init__(self) -> None:
        self.draw = ImageDraw.Draw(self.image)

    # -- words -----------------------------------------------------------------------------------------------------

    def pieces(self, text: str, ink: str = INK) -> Iterator[Piece]:
        """The words and blanks of one line."""
        at, text = 0, _MARKS.sub(lambda found: next(filter(None, found.groups())), text)
        for found in _INLINE.finditer(text):
            if found.start() > at:
                yield Piece(text[at : found.start()], ink=ink)
            at = found.end()
            match found.lastgroup:
                case "bold":
                    yield Piece(found["bold"], bold=True, ink=ink)
                case "code":
                    yield Piece(found["code"], code=True, ink=ink)
                case "who":
                    yield Piece("@" + self.names.get(found["who"], "someone"), ink=LINK)
                case "when":
                    yield Piece(self.relative(int(found["when"])), ink=ink)
                case _:
                    yield Piece(" ", ink=ink)
        if at < len(text):
            yield Piece(text[at:], ink=ink)

    def relative(self, when: int) -> str:
        """Discord's own way to tell an instant."""
        seconds = when - self.now
        return f"in {seconds} seconds" if seconds > 0 else f"{-seconds} seconds ago"

    def word(self, x: int, piece: Piece, size: int) -> int:
        """Draw one; where the next begins."""
        if piece.code:
            width = int(sum(self.advance(char, size) for char in piece.text)) + 6
            self.draw.rounded_rectangle((x, self.y - 1, x + width, self.y + size + 4), 4, CODE)
            x += 3
        for char in piece.text:
            x = self.char(x, char, size, piece.ink, bold=piece.bold)
        return x + 3 * piece.code

    def advance(self, char: str, size: int) -> float:
        """How wide a character is."""
        plain = char.translate(PLAIN)
        if char in DISCS:
            return size + 2
        return font(size).getlength(plain) if plain else 0

    def char(self, x: int, char: str, size: int, ink: str, *, bold: bool = False) -> int:
        """One character, or the disc that stands for it."""
        if char in DISCS:
            self.draw.ellipse((x + 1, self.y + 2, x + size - 1, self.y + size), fill=DISCS[char])
        elif plain := char.translate(PLAIN):
            for shift in range(1 + bold):
                self.draw.text((x + shift, self.y), plain, fill=ink, font=font(size))
        return round(x + self.advance(char, size))

    def line(self, text: str, *, size: int = SIZE, ink: str = INK, left: int = GUTTER) -> None:
        """A line of text, wrapped."""
        x = left
        for piece in self.pieces(text, ink):
            width = sum(self.advance(char, size) for char in piece.text)
            if x + width > WIDTH - MARGIN and x > left:
                x, self.y = left, self.y + size + 5
                if piece.text == " ":
                    continue
            x = self.word(x, piece, size)
        self.y += size + 5

    # -- blocks ----------------------------------------------------------------------------------------------------

    def text(self, content: str) -> None:
        """A message's text: fences, headings, small lines, quotes."""
        fence: list[str] | None = None
        for raw in content.split("\n"):
            if raw.startswith("```"):
                if fence is not None:
                    self.code(fence)
                fence = [] if fence is None else None
            elif fence is not None:
                fence.append(raw)
            elif raw.startswith("-# "):
                self.line(raw[3:], size=SMALL, ink=FAINT)
            elif heading := re.match(r"(#{1,3}) ", raw):
                self.line(f"**{raw[heading.end() :]}**", size=SIZE + 2 * (4 - len(heading[1])))
            elif raw.startswith("> "):
                top = self.y
                self.line(raw[2:], left=GUTTER + 12)
                self.draw.rectangle((GUTTER, top - 2, GUTTER + 3, self.y - 2), fill="#4e5058")
            elif raw.strip():
                self.line(raw.lstrip(), left=GUTTER + 8 * (len(raw) - len(raw.lstrip())))
            else:
                self.y += 8

    def code(self, lines: Sequence[str]) -> None:
        """A block with columns of one width."""
        cell = font(SIZE - 2).getlength("m") * 0.72
        height = len(lines) * (LINE - 3) + 12
        self.draw.rounded_rectangle((GUTTER, self.y, WIDTH - MARGIN, self.y + height), 5, CODE, "#1e1f22")
        self.y += 6
        for raw in lines:
            for column, char in enumerate(raw):
                x = GUTTER + 10 + column * cell + (cell - self.advance(char, SIZE - 2)) / 2
                if x < WIDTH - MARGIN - 10:
                    self.char(round(x), char, SIZE - 2, INK)
            self.y += LINE - 3
        self.y += 12

    def buttons(self, rows: Sequence[Json]) -> None:
        """Rows of buttons and menus."""
        for row in rows:
            x = GUTTER
            for one in row["components"]:
                label = one.get("label") or one.get("placeholder") or "Choose"
                width = round(font(SIZE - 1).getlength(label)) + 28
                colour = BUTTONS[one.get("style", 2)]
                self.draw.rounded_rectangle((x, self.y + 2, x + width, self.y + 30), 4, colour)
                self.draw.text((x + 14, self.y + 8), label.translate(PLAIN), fill="white", font=font(SIZE - 1))
                x += width + 8
            self.y += 36

    def reactions(self, found: Sequence[Json]) -> None:
        """The signs under a message."""
        x = GUTTER
        for one in found:
            self.draw.rounded_rectangle((x, self.y + 2, x + 40, self.y + 24), 8, "#373a53", "#5865f2")
            self.y += 5
            end = self.char(x + 7, one["emoji"]["name"][0], SIZE - 1, INK)
            self.draw.text((end + 4, self.y), str(one["count"]), fill=LINK, font=font(SMALL))
            self.y -= 5
            x += 46
        self.y += 30 if found else 0

    def message(self, data: Json) -> None:
        """One message with all that hangs on it."""
        author = data["author"]
        referred = data.get("referenced_message")
        if referred:
            short = referred["content"].split("\n")[0][:60]
            self.line(f"in reply to {referred['author']['username']}: {short}", size=SMALL, ink=FAINT)
        bot, private = bool(author.get("bot")), bool(data.get("flags", 0) & _EPHEMERAL)
        self.draw.ellipse((MARGIN - 4, self.y, MARGIN + 24, self.y + 28), fill="#5865f2" if bot else "#3ba55d")
        initial = author["username"][0].upper()
        self.draw.text((MARGIN + 5, self.y + 5), initial, fill="white", font=font(SIZE))
        self.line(f"**{author['username']}**" + (" · APP" if bot else ""), ink="#f2f3f5")
        self.text(data["content"])
        if private:
            self.line("Only the person who pressed can see this", size=SMALL, ink=FAINT)
        self.buttons(data.get("components") or [])
        self.reactions(data.get("reactions") or [])
        self.y += 12

    def cut(self) -> Image.Image:
        """The picture as high as what stands on it, in few colours."""
        return self.image.crop((0, 0, WIDTH, self.y)).quantize(64)


def font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own font."""
    found = ImageFont.load_default(size)
    assert isinstance(found, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return found


def picture(messages: Sequence[Json], names: Mapping[str, str], now: int) -> Image.Image:
    """These messages of one channel, oldest first."""
    sheet = Sheet(names, now)
    for data in messages:
        sheet.message(data)
    return sheet.cut()
