"""What stands at a question of an extension: one line of ours each, and only Stop's begin with `Stopped`."""

import inspect

import pytest

from connector import notices_dialogs

WORDS = {
    "asks": (),
    "waits": (5, 300),
    "answered": (5, "`yes`"),
    "cancelled": (5,),
    "timed_out": (),
    "stopped": (),
    "turn_over": (),
    "restarted": (),
    "restarting": (),
    "too_long": (12_345,),
    "uneditable": (12_345,),
}
BY_A_PERSON = {"waits", "answered", "cancelled"}


def test_every_line_is_tried() -> None:
    assert set(WORDS) == {name for name, _ in inspect.getmembers(notices_dialogs, inspect.isfunction)}


@pytest.mark.parametrize("name", WORDS)
def test_a_line(name: str) -> None:
    line = getattr(notices_dialogs, name)(*WORDS[name])
    assert "\n" not in line
    assert 10 < len(line) <= 150
    assert not line.startswith("Stopped")
    assert ("<@5>" in line) == (name in BY_A_PERSON)
