"""The mark is read in the first line only (BEHAVIOUR §1.13; CONTRACT, "What the child sees")."""

import pytest

from engine.marks import mark_of


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("[discord] #general · Ann (7) · 123456\n\nhello 99", "123456"),
        ("[discord] private · Ann (7) · 123456", "123456"),
        ("[discord] #x · A (7) · 12\n[in reply to B (3): 77]\n\n5", "12"),
        ("[discord] #x · A (7) · ", None),
        ("[discord] #x · A (7) · 12 \n\n5", None),
        ("[discord] #x · A (7) · ١٢", None),
        ("[discord]", None),
        ("[discord]\t12", None),
        ("[Discord] #x · 12", None),
        (" [discord] #x · 12", None),
        ("hello\n[discord] #x · A (7) · 12", None),
        ("12", None),
        ("", None),
        ("/compact 12", None),
    ],
)
def test_the_mark_is_the_run_of_digits_that_ends_the_first_line(text: str, mark: str | None) -> None:
    assert mark_of(text) == mark


def test_only_a_line_feed_ends_the_first_line() -> None:
    assert mark_of("[discord] #x · 1\u2028 · 2\r3\n4") == "3"
