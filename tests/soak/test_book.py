"""What the soak's book demands of each Stop, told from what the bot answered to it."""

from types import SimpleNamespace

import pytest

from connector import notices
from fakes.discord import FakeDiscord, Place
from fakes.program import discord
from tests.soak.book import Asked, Book
from tests.soak.spoken import Said

TARGET, WORD = 7, 8


def _book(world: FakeDiscord) -> tuple[Book, Place]:
    place = world.channel("one")
    book = Book(world, None)  # type: ignore[arg-type]  # no home is looked into here
    book.said[WORD] = Said(WORD, place, 1, ["stop"], word=True)
    return book, place


def _act(content: str) -> SimpleNamespace:
    return SimpleNamespace(now=lambda: SimpleNamespace(content=content), followups=[])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("told", "firm", "demanded", "how"),
    [
        (notices.stopping(1), False, [TARGET], "Stops honoured"),
        (notices.nothing_to_stop(), True, [], "Stops with nothing left to stop"),
        ("", False, [], "Stops lost on the way"),
        ("", True, [TARGET], "Stops lost on the way"),
    ],
)
async def test_a_stop_that_was_acknowledged_or_had_to_be_is_demanded(
    told: str, firm: bool, demanded: list[int], how: str
) -> None:
    async with discord() as world:
        book, _ = _book(world)
        book.stops.append(Asked(TARGET, _act(told), firm=firm))  # type: ignore[arg-type]  # as an act answers
        assert (book.pressed(), book.stopped()) == (demanded, {"Stops asked": 1, how: 1})


@pytest.mark.anyio
async def test_the_word_is_demanded_too() -> None:
    async with discord() as world:
        book, _ = _book(world)
        book.stops.append(Asked(TARGET, word=WORD, firm=True))
        assert (book.pressed(), book.stopped()) == ([TARGET], {"Stops asked": 1, "Stops honoured": 1})
