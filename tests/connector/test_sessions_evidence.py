"""A lane's session file as evidence (BEHAVIOUR §6): mark present is started, a tool call after it is tool opened."""

import json
from pathlib import Path

import pytest

from connector.sessions import Evidence, evidence, keep_aside, usable


def entry(role: str, *content: object) -> str:
    return json.dumps({"type": "message", "id": "x", "message": {"role": role, "content": list(content)}})


def asked(mark: int, text: str = "please") -> str:
    return entry("user", {"type": "text", "text": f"[discord] private · p (1) · {mark}\n\n{text}"})


SAID = entry("assistant", {"type": "text", "text": "done"})
CALLED = entry("assistant", {"type": "text", "text": "I look"}, {"type": "toolCall", "id": "c", "name": "bash"})
HEAD = json.dumps({"type": "session", "version": 3})


def told(path: Path, *lines: str, marks: tuple[str, ...] = ("7", "8")) -> Evidence:
    path.write_text("\n".join(lines) + "\n")
    return evidence(path, marks)


@pytest.mark.parametrize(
    ("lines", "begun", "tooled"),
    [
        ((HEAD,), "", ""),
        ((HEAD, asked(7)), "7", ""),
        ((HEAD, asked(7), SAID), "7", ""),
        ((HEAD, asked(7), CALLED), "7", "7"),
        ((HEAD, CALLED, asked(7), SAID), "7", ""),
        ((HEAD, asked(7), asked(8), CALLED), "78", "78"),
        ((HEAD, asked(7), CALLED, asked(8), SAID), "78", "7"),
        ((HEAD, asked(6), CALLED, asked(7)), "7", ""),
        ((HEAD, asked(6, "[discord] private · p (1) · 7"), CALLED), "", ""),
        ((HEAD, asked(7), entry("toolResult", {"type": "toolCall"})), "7", ""),
    ],
)
def test_what_became_of_each_message(tmp_path: Path, lines: tuple[str, ...], begun: str, tooled: str) -> None:
    """A call after a mark is evidence for every line that was in the run, the head and who was steered in."""
    assert told(tmp_path / "s.jsonl", *lines) == Evidence(frozenset(begun), frozenset(tooled))


def test_a_text_that_is_no_list_is_read_too(tmp_path: Path) -> None:
    line = json.dumps({"message": {"role": "user", "content": "[discord] private · p (1) · 7\n\nhi"}})
    assert told(tmp_path / "s.jsonl", line).begun == {"7"}


@pytest.mark.parametrize(
    "line", ["{", "[]", "5", '{"message":[]}', '{"message":{"role":"user","content":5}}', "[" * 9000]
)
def test_what_cannot_be_read_tells_nothing_and_hides_nothing(tmp_path: Path, line: str) -> None:
    """The last line of a killed process is often half a line."""
    assert told(tmp_path / "s.jsonl", HEAD, line, asked(7), CALLED, line[:-1]) == Evidence({"7"}, {"7"})  # type: ignore[arg-type]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xff\xfe\n" + asked(7).encode() + b"\n")
    assert evidence(path, ("7",)).begun == {"7"}


def test_no_file_is_no_evidence(tmp_path: Path) -> None:
    assert evidence(tmp_path / "none", ("7",)) == Evidence()
    assert evidence(tmp_path, ("7",)) == Evidence()


@pytest.mark.parametrize(("content", "good"), [(HEAD + "\n", True), ("[]\n", False), ("", False), ("{half", False)])
def test_usable(tmp_path: Path, content: str, *, good: bool) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(content)
    assert usable(path) is good


def test_what_is_no_file_is_not_usable_and_is_not_moved(tmp_path: Path) -> None:
    assert not usable(tmp_path)
    assert not usable(tmp_path / "none")
    assert keep_aside(tmp_path / "none") is None


def test_a_damaged_file_is_kept_beside_and_never_over_another(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for number in (1, 2):
        path.write_text(f"half {number}")
        assert keep_aside(path) == tmp_path / f"s.jsonl.damaged-{number}"
    assert [item.read_text() for item in sorted(tmp_path.iterdir())] == ["half 1", "half 2"]
