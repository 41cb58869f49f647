"""The contract that keeps the fake pi honest: every recording of pi 1.6.0, played by the fake, tells the same story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from fakes.memory import MemoryChild
from fakes.recordings import THINNED, Recording, load, names
from fakes.replay import replay
from fakes.story import same, story
from tests.fakes.story_table import LEFT_OUT, ROWS


def play(name: str, files: dict[str, bytes] | None = None) -> tuple[Recording, MemoryChild]:
    row, recording = ROWS[name], load(name)
    files = {} if files is None else files
    options = row.make()
    if row.after:
        play(row.after, files)
        options = replace(options, session_file=max(files))
    child = MemoryChild(options, files=files)
    replay(recording, child, row.instead, eof_after=row.eof_after)
    return recording, child


def differences(recording: Recording, child: MemoryChild) -> list[tuple[int, Any, Any]]:
    told, played = story(step.record for step in recording.out), story(child.records())
    length = max(len(told), len(played))
    pairs = zip([*told, *[None] * length], [*played, *[None] * length], range(length), strict=False)
    return [(n, a, b) for a, b, n in pairs if not same(a, b)]


@pytest.mark.parametrize("name", sorted(ROWS))
def test_the_fake_tells_the_recorded_story(name: str) -> None:
    """PROTOCOL: names, order and the fields a client reads; only the number of updates is free."""
    recording, child = play(name)
    assert differences(recording, child)[:3] == []
    assert child.code == recording.exit


def test_every_recording_is_played_or_left_out_for_a_reason() -> None:
    assert sorted([*ROWS, *LEFT_OUT]) == names("1.6.0")
    assert all(LEFT_OUT.values())


def test_another_answer_is_another_story() -> None:
    """The comparison must see what it is for: one word changed in one answer."""
    options = replace(ROWS["a_plain"].make(), source=ROWS["a_empty_and_length"].make().source)
    child = MemoryChild(options)
    recording = load("a_plain")
    replay(recording, child)
    assert [n for n, _, _ in differences(recording, child)] != []


def test_another_order_is_another_story() -> None:
    recording, child = play("x_D_2")
    records = child.records()
    swapped = [records[1], records[0], *records[2:]]
    assert not all(same(a, b) for a, b in zip(story(records), story(swapped), strict=True))
    assert differences(recording, child) == []


# what may differ in the names of fields, and why
FREE = (
    "sections",  # of the system prompt
    "args",
    "arguments",
    "message_update.usage",  # known from the first piece, if the provider is quick
    "tool_execution_update.partialResult",  # the first one is empty, and which comes when is the tool's affair
    "truncation",
    "parameters",
)
EXTRA = {"responseModel", "baseDir"}  # of a model that is not in the list, of a project's own extension


def shapes(path: str, recorded: Any, played: Any) -> Iterator[tuple[str, set[str]]]:
    """Where the field names of two values differ."""
    if path.endswith(FREE):
        return
    if isinstance(recorded, dict) and isinstance(played, dict):
        if missing := (recorded.keys() ^ played.keys()) - EXTRA:
            yield path, missing
        for key in recorded.keys() & played.keys():
            yield from shapes(f"{path}.{key}", recorded[key], played[key])
    elif isinstance(recorded, list) and isinstance(played, list):
        for a, b in zip(recorded, played, strict=False):
            yield from shapes(path, a, b)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_the_fake_writes_the_recorded_fields(name: str) -> None:
    """A client that reads a field pi has finds it in the fake, and none that pi has not."""
    recording, child = play(name)
    found: list[tuple[str, set[str]]] = []
    for thin in (True, False):
        recorded = [s.record for s in recording.out if s.record is not None and (s.type in THINNED) == thin]
        played = [r for r in child.records() if isinstance(r, dict) and (r.get("type") in THINNED) == thin]
        if thin:  # only the first few were kept
            recorded, played = recorded[:2], played[:2]
        for a, b in zip(recorded, played, strict=False):
            found += shapes(str(a.get("type")), a, b)
    assert found == []


def test_updates_add_up_to_the_message() -> None:
    """PROTOCOL §4: the deltas between a message's start and its end are its text."""
    child = MemoryChild(replace(ROWS["a_plain"].make(), source=ROWS["d_busy_refusal"].make().source))
    child.send({"id": "p1", "type": "prompt", "message": "hello"})
    child.settle()
    events = [r["assistantMessageEvent"] for r in child.records() if r["type"] == "message_update"]
    said = "".join(e["delta"] for e in events if e["type"] == "text_delta")
    assert said == "first answer being streamed slowly to the client"
    assert [e["content"] for e in events if e["type"] == "text_end"] == [said]
