"""Session files as the real pi writes them, read as evidence: lines from recordings, texts with our header put in."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from connector.sessions import Evidence, evidence, keep_aside, usable
from fakes.memory import MemoryChild
from fakes.pi_core import Options
from fakes.recordings import Recording, load

KILLED = "m_resume_after_kill"


@pytest.fixture(scope="module")
def killed() -> Recording:
    """pi, killed in a tool: its session file stands in the recording, long lines cut when that was saved."""
    return load(KILLED)


def saved(recording: Recording) -> list[str]:
    """The lines of the file."""
    return [step.data["session_file_line"] for step in recording.steps if "session_file_line" in (step.data or {})]


def whole(recording: Recording) -> list[dict[str, Any]]:
    """The file's entries, those that were cut made whole by the message that pi told when it wrote them."""
    told = [step.record["message"] for step in recording.out if step.type == "message_end"]
    entries = []
    for line in saved(recording):
        if '"type":"message"' not in line:
            entries.append(json.loads(line))
            continue
        head, _, rest = line.partition('"message":')
        message = told.pop(0)
        assert rest.startswith(f'{{"role":"{message["role"]}","content":')
        entries.append(json.loads(f'{head}"message":{json.dumps(message)}}}'))
    assert told == []
    return entries


def asked(entries: list[dict[str, Any]], *marks: str) -> list[dict[str, Any]]:
    """The same entries, the persons' lines as we write them."""
    left = list(marks)
    for entry in entries:
        if entry.get("message", {}).get("role") == "user":
            block = entry["message"]["content"][0]
            block["text"] = f"[discord] private · ann (5) · {left.pop(0)}\n\n{block['text']}"
    assert left == []
    return entries


def written(path: Path, entries: list[dict[str, Any]], end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) for entry in entries) + end)
    return path


def test_a_session_that_was_killed_in_a_tool(tmp_path: Path, killed: Recording) -> None:
    """PROTOCOL §10: after SIGKILL in a tool the file ends with the assistant's tool call."""
    entries = whole(killed)
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
    path = written(tmp_path / "s.jsonl", asked(entries, "70", "71"))
    assert usable(path)
    assert evidence(path, {"71", "72"}) == Evidence(frozenset({"71"}), frozenset({"71"}))
    assert evidence(path, {"72"}) == evidence(path, ()) == Evidence()


@pytest.mark.parametrize(("cut", "begun", "tooled"), [(1, "71", ""), (2, "", "")])
def test_one_that_was_killed_earlier(tmp_path: Path, killed: Recording, cut: int, begun: str, tooled: str) -> None:
    """Not begun: asked as new; begun without a tool: asked again, flagged."""
    entries = asked(whole(killed), "70", "71")[:-cut]
    told = evidence(written(tmp_path / "s.jsonl", entries), {"71"})
    assert (set(told.begun), set(told.tooled)) == ({begun} - {""}, {tooled} - {""})


def test_a_last_line_that_was_cut_tells_nothing(tmp_path: Path, killed: Recording) -> None:
    """SIGKILL in a write; pi itself leaves that line out."""
    path = written(tmp_path / "s.jsonl", asked(whole(killed), "70", "71"), end="")
    path.write_bytes(path.read_bytes()[:-20])
    assert evidence(path, {"71"}) == Evidence(frozenset({"71"}))
    assert usable(path)


def test_lines_that_are_no_longer_whole_hide_none_that_are(tmp_path: Path, killed: Recording) -> None:
    """The file as it was saved, cut lines and all."""
    path = tmp_path / "s.jsonl"
    lines = [line.replace("question 1", "[discord] private · ann (5) · 71") for line in saved(killed)]
    assert any("[trimmed" in line for line in lines)
    path.write_text("\n".join(lines) + "\n")
    assert usable(path)
    assert evidence(path, {"70", "71"}) == Evidence(frozenset({"71"}))


def test_the_stand_in_for_pi_writes_the_same_evidence() -> None:
    """So that every end-to-end test of a recovery reads what it would read of the real one."""
    child = MemoryChild(Options(session_dir="/sessions"))
    child.send({"id": "1", "type": "prompt", "message": "[discord] private · ann (5) · 70\n\necho hello"})
    child.settle()
    child.send({"id": "2", "type": "prompt", "message": "[discord] private · ann (5) · 71\n\ntool 60000"})
    child.advance(child.now + 1_000_000_000)
    (content,) = child.files.values()
    entries = [json.loads(line) for line in content.splitlines()]
    real = whole(load(KILLED))
    assert [entry["type"] for entry in entries if entry["type"] != "message"][:1] == ["session"]
    assert [one["message"]["role"] for one in entries if one["type"] == "message"][-2:] == ["user", "assistant"]
    assert {key for key in real[-1] if key != "message"} == {key for key in entries[-1] if key != "message"}
    assert [block["type"] for block in entries[-1]["message"]["content"]][-1] == "toolCall"
    assert [block["type"] for block in real[-1]["message"]["content"]] == ["toolCall"]


# -- usable, and kept aside ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "good"),
    [
        (b'{"type":"session","version":3}', True),
        (b'{"type":"session","version":3}\nnot json\n', True),
        (b"\n" + b'{"type":"session"}\n', False),
        (b"\x00" * 4096, False),
        (b'"session"\n', False),
        (b"\xff\xfe{}\n", False),
        (b"[" * 100_000, False),
    ],
)
def test_whether_pi_could_resume_it(tmp_path: Path, content: bytes, *, good: bool) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    assert usable(path) is good


def test_its_name_aside_is_the_first_free_number(tmp_path: Path) -> None:
    path, taken = tmp_path / "s.jsonl", tmp_path / "s.jsonl.damaged-1"
    taken.write_text("an older one")
    (tmp_path / "s.jsonl.damaged-3").write_text("a later one")
    path.write_text("half")
    assert keep_aside(path) == tmp_path / "s.jsonl.damaged-2"
    assert not path.exists()
    assert {item.name: item.read_text() for item in tmp_path.iterdir()} == {
        "s.jsonl.damaged-1": "an older one",
        "s.jsonl.damaged-2": "half",
        "s.jsonl.damaged-3": "a later one",
    }


def test_one_that_cannot_be_moved_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EROFS, "Read-only file system")

    path = tmp_path / "s.jsonl"
    path.write_text("half")
    monkeypatch.setattr(Path, "rename", refuse)
    assert keep_aside(path) is None
    assert path.read_text() == "half"


def test_a_folder_of_that_name_is_not_moved(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").mkdir()
    assert keep_aside(tmp_path / "s.jsonl") is None
    assert not usable(tmp_path / "s.jsonl")
