"""Files of an answer: several of them, the copies that are sent, and what becomes of those afterwards."""

import os
import stat
from pathlib import Path

import pytest

from connector import notices_outgoing as notices
from connector.outgoing import Bounds, Outgoing
from connector.ports import Attached, Part
from connector.post_parts import Packed
from tests.connector.outgoing_ground import LANE, Ground, owed


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_each_file_goes_or_is_said_and_the_text_has_none_of_the_lines(ground: Ground) -> None:
    packed = ground.outgoing().pack(owed("sub/a.txt", "none", "sub/a.txt", f"{ground.outbox}/made.txt", "/etc/passwd"))
    assert packed.text == "Here.\n"
    assert ground.sent(packed) == (
        [("a.txt", b"one"), ("made.txt", b"made")],
        (f"could not attach none: {notices.MISSING}", f"could not attach passwd: {notices.OUTSIDE}"),
    )


def test_an_answer_carries_so_many_files_and_says_how_many_more_it_named(ground: Ground) -> None:
    for n in range(5):
        (ground.work / str(n)).write_bytes(b"x")
    packed = ground.outgoing(files=3).pack(owed(*map(str, range(5))))
    assert [file.name for file in packed.files] == ["0", "1", "2"]
    assert packed.refused == ("could not attach 2 more: an answer carries at most 3 files",)


def test_where_the_agents_files_are_out_of_reach_none_is_looked_at(ground: Ground) -> None:
    """CONTRACT, `agent.remote`: refused with a notice."""
    packed = ground.outgoing(remote=True).pack(owed("sub/a.txt", "../x"))
    lines = tuple(f"could not attach {name}: {notices.REMOTE}" for name in ("a.txt", "x"))
    assert packed == Packed("Here.\n", refused=lines)


def test_an_answer_that_names_none_touches_nothing(ground: Ground) -> None:
    before = sorted(ground.state.iterdir())
    assert ground.outgoing().pack(owed()) == Packed("Here.\n")
    assert sorted(ground.state.iterdir()) == before


def test_what_was_copied_once_is_sent_after_a_restart_whatever_became_of_the_files(ground: Ground) -> None:
    first = ground.outgoing().pack(owed("sub/a.txt", "none"))
    (ground.work / "sub" / "a.txt").write_bytes(b"changed")
    (ground.work / "none").write_bytes(b"late")
    again = ground.outgoing().pack(owed("sub/a.txt", "none"))
    assert again == first
    assert ground.sent(again)[0] == [("a.txt", b"one")]


@pytest.mark.parametrize("damage", ["cut", "gone", "list"])
def test_copies_that_are_not_whole_are_made_again(ground: Ground, damage: str) -> None:
    """A power cut may leave anything: then what there is now is sent, and what is gone is said."""
    (file,) = ground.outgoing().pack(owed("sub/a.txt")).files
    copy = Path(file.kept)
    match damage:
        case "cut":
            copy.write_bytes(b"")
        case "gone":
            copy.unlink()
        case _:
            (copy.parent / "list.json").write_bytes(b"\0\0\0")
    (ground.work / "sub" / "a.txt").unlink()
    packed = ground.outgoing().pack(owed("sub/a.txt"))
    assert packed == Packed("Here.\n", refused=(f"could not attach a.txt: {notices.MISSING}",))


def test_a_copy_that_is_lost_is_an_error_and_not_a_shorter_file(ground: Ground) -> None:
    packed = ground.outgoing().pack(owed("sub/a.txt"))
    Path(packed.files[0].kept).write_bytes(b"o")
    with pytest.raises(OSError, match="has 1 bytes, not 3"):
        ground.outgoing().loaded(Part(1, "", "", files=packed.files))


def test_a_copy_is_for_us_alone_and_goes_when_it_is_not_owed(ground: Ground) -> None:
    outgoing = ground.outgoing()
    kept = [
        Path(outgoing.pack(owed("sub/a.txt", key=key)).files[0].kept) for key in ("7/answer/1", "8/answer/1", "9/x")
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    folders = {folder for path in kept for folder in (path.parent, path.parent.parent)}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    outgoing.forget("7/answer/1")
    assert [path.exists() for path in kept] == [False, True, True]
    outgoing.sweep({"9/x"})
    assert [path.exists() for path in kept] == [False, False, True]


def test_a_copy_that_fails_half_way_is_said_and_the_next_one_is_made(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [OSError(28, "No space left on device")]
    real = os.fsync

    def failing(descriptor: int) -> None:
        if failures:
            raise failures.pop()
        real(descriptor)

    monkeypatch.setattr("connector.outgoing.os.fsync", failing)
    packed = ground.outgoing().pack(owed("sub/a.txt", f"{ground.outbox}/made.txt"))
    assert ground.sent(packed) == ([("made.txt", b"made")], (f"could not attach a.txt: {notices.UNKEPT}",))


def test_a_disk_that_takes_no_copy_is_said(ground: Ground) -> None:
    (ground.state / "outgoing").write_text("a file where the folder should be")
    assert ground.one("sub/a.txt") == notices.UNKEPT


def test_an_outbox_is_for_us_alone_and_stays_what_it_is(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    ground.outgoing().prepare(LANE)
    assert (ground.outbox / "made.txt").read_bytes() == b"made"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (ground.outbox, ground.outbox.parent)} == {0o700}
    Outgoing(tmp_path / "far", tmp_path, Bounds(1, 1), remote=True).prepare(LANE)
    assert not (tmp_path / "far").exists()


def test_a_file_in_memory_needs_no_loading(ground: Ground) -> None:
    part = Part(1, "x", "n", files=(Attached("answer.md", b"# all"),))
    assert ground.outgoing().loaded(part) == part
