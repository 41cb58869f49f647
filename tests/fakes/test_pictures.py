"""The pictures of the README: every kind of thing in a conversation can be drawn, and the ones there are small."""

from pathlib import Path
from typing import Any

import pytest

from fakes.picture_draw import WIDTH, picture

HERE = Path(__file__).parents[2] / "fakes" / "pictures"
NAMES = ("answer", "card", "dialog", "fence", "stop", "table")


def said(content: str, *, bot: bool = True, **more: Any) -> dict[str, Any]:
    return {"author": {"username": "pi" if bot else "ann", "bot": bot}, "content": content, **more}


def height(*messages: dict[str, Any]) -> int:
    drawn = picture(messages, {"5": "ann"}, 1_700)
    assert drawn.width == WIDTH
    return drawn.height


PLAIN = height(said("hello"))


@pytest.mark.parametrize(
    "more",
    [
        said("hello\n-# small"),
        said("# hello\nto all"),
        said("```py\nhello = 1\n```"),
        said("> quoted\n> twice"),
        said("hello " * 40),
        said("hello", components=[{"type": 1, "components": [{"type": 2, "style": 4, "label": "Stop"}]}]),
        said("hello", components=[{"type": 1, "components": [{"type": 3, "placeholder": "Choose one"}]}]),
        said("hello", reactions=[{"emoji": {"name": "👀"}, "count": 1}]),
        said("hello", referenced_message=said("a question", bot=False)),
        said("hello", flags=64),
    ],
)
def test_whatever_hangs_on_a_message_takes_room(more: dict[str, Any]) -> None:
    assert height(more) > PLAIN


def test_marks_people_and_instants_are_told_as_discord_tells_them() -> None:
    """The same pixels as the words they stand for."""
    marked = said("~~so~~ *is* [it](https://example.org), <@5>, <t:1705:R>, 👀 ⏳")
    words = said("so is it, <@!5>, in 5 seconds, 👀 ⏳")
    one, other = (picture([data], {"5": "ann"}, 1_700).tobytes() for data in (marked, words))
    assert one == other


def test_every_picture_is_there_and_small() -> None:
    assert sorted(path.stem for path in HERE.glob("*.png")) == list(NAMES)
    assert [path.name for path in HERE.iterdir() if path.stat().st_size > 60_000] == []
