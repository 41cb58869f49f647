"""A text is cut between letters and emojis, never inside one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector import queue_page
from connector.clusters import boundary, clip, excerpt

WHOLE = ["e\u0301", "👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "각", "นำ", "🏴\U000e0067\U000e007f", "\r\n"]


@pytest.mark.parametrize("cluster", WHOLE)
def test_a_cluster_is_never_cut(cluster: str) -> None:
    text = f"a{cluster}b"
    cuts = {boundary(text, at) for at in range(len(text) + 1)}
    assert cuts == {0, 1, 1 + len(cluster), 2 + len(cluster)}


def test_flags_are_pairs() -> None:
    flags = "🇩🇪🇫🇷🇮🇹"
    assert [boundary(flags, at) for at in range(7)] == [0, 0, 2, 2, 4, 4, 6]


def test_an_endless_cluster_is_cut_all_the_same() -> None:
    assert boundary("e" + "\u0301" * 500, 300) == 300


def test_an_excerpt_tells_that_it_is_one() -> None:
    assert [excerpt("abcdef", count) for count in (7, 6, 5, 1)] == ["abcdef", "abcdef", "abcd…", "…"]
    assert excerpt("abe\u0301f", 4) == "ab…"


def test_so_does_that_of_a_waiting_message() -> None:
    asked = "x" * 58 + "e\u0301" + "f" * 9
    assert queue_page.excerpt(f"header\n\n{asked}") == f": `{'x' * 58}e\u0301…`"
    assert queue_page.excerpt(f"header\n\nx{asked}") == f": `{'x' * 59}…`"


@given(st.text(), st.integers(min_value=1, max_value=40))
@settings(deadline=None)
def test_lengths_hold(text: str, count: int) -> None:
    assert text.startswith(clip(text, count))
    assert len(clip(text, count)) <= count
    assert len(excerpt(text, count)) <= count
