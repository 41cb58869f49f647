"""Streaming text is gathered for a moment; order and everything else stay as the engine told them."""

import asyncio
from collections.abc import Callable

import pytest

from connector import gathering
from connector.gathering import Gathering
from engine.events import Effect, Progress, Started, ToolClosed

Told = list[tuple[tuple[Effect, ...], bool]]


def told(talk: Callable[[Gathering], None], wait_for: int = 0) -> Told:
    """What was told in the end, after so many tells."""

    async def work() -> Told:
        heard: Told = []
        news = asyncio.Event()

        def tell(effects: tuple[Effect, ...], busy: bool) -> None:
            heard.append((effects, busy))
            news.set()

        talk(Gathering(tell))
        while len(heard) < wait_for:
            news.clear()
            await asyncio.wait_for(news.wait(), 20)
        return list(heard)

    return asyncio.run(work())


def pieces(to: Gathering, *texts: str, thinking: bool = False, turn: str = "a", busy: bool = True) -> None:
    for text in texts:
        to.hear((Progress(turn, text, thinking),), busy)


def test_pieces_are_told_together_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "PAUSE", 0.0)

    def talk(to: Gathering) -> None:
        pieces(to, "one ", "two ", "three")

    assert told(talk, wait_for=1) == [((Progress("a", "one two three"),), True)]


def test_whatever_else_is_told_goes_at_once_behind_what_was_gathered() -> None:
    def talk(to: Gathering) -> None:
        pieces(to, "one ", "two ", "three")
        to.hear((ToolClosed("a", "call"),), True)
        pieces(to, "four")

    assert told(talk) == [((Progress("a", "one two three"), ToolClosed("a", "call")), True)]


@pytest.mark.parametrize(
    "other",
    [pytest.param({"thinking": True}, id="text after thinking"), pytest.param({"turn": "b"}, id="another turn")],
)
def test_a_piece_of_another_kind_sends_on_what_was_gathered(other: dict[str, object]) -> None:
    def talk(to: Gathering) -> None:
        pieces(to, "one ", "two")
        pieces(to, "other", **other)  # type: ignore[arg-type]  # of the table above
        to.flush()

    last = Progress(str(other.get("turn", "a")), "other", thinking="thinking" in other)
    assert told(talk) == [((Progress("a", "one two"),), True), ((last,), True)]


def test_a_piece_after_which_nobody_is_waited_for_any_more_goes_at_once() -> None:
    def talk(to: Gathering) -> None:
        pieces(to, "one ", "two")
        pieces(to, "other", busy=False)

    assert told(talk) == [((Progress("a", "one two"), Progress("a", "other")), False)]


def test_a_batch_of_more_than_one_is_no_piece() -> None:
    def talk(to: Gathering) -> None:
        pieces(to, "one ")
        to.hear((Progress("a", "two"), Started("b")), True)

    assert told(talk) == [((Progress("a", "one "), Progress("a", "two"), Started("b")), True)]


def test_what_is_left_at_the_end_is_told_once() -> None:
    def talk(to: Gathering) -> None:
        pieces(to, "one ", "two")
        to.flush()
        to.flush()

    assert told(talk) == [((Progress("a", "one two"),), True)]
