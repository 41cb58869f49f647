"""A lane's inbox folder: plain names, nothing followed, nothing half done left."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from connector.inbox import PART, Inbox, extension_of, name_of


@pytest.mark.parametrize(
    ("filename", "extension"),
    [
        ("notes.txt", "txt"),
        ("PHOTO.JPEG", "jpeg"),
        ("archive.tar.gz", "gz"),
        ("no extension", "bin"),
        (".bashrc", "bashrc"),
        ("a.verylongextension", "bin"),
        ("a.t/../xt", "bin"),
        ("a.é", "bin"),
        ("a.txt\n", "bin"),
        ("a.", "bin"),
        ("", "bin"),
    ],
)
def test_an_extension_is_short_and_plain_whatever_a_person_called_it(filename: str, extension: str) -> None:
    assert extension_of(filename) == extension
    assert name_of(7, 2, extension) == f"7-2.{extension}"


def put(inbox: Inbox, name: str, data: bytes, beside: int = 0) -> bool:
    part = inbox.part("11")
    part.write_bytes(data)
    return inbox.keep(part, "11", name, beside=beside)


def test_what_is_kept_can_be_read_and_measured(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, 100)
    assert put(inbox, "7-1.txt", b"hello")
    assert (inbox.read("11", "7-1.txt"), inbox.size("11", "7-1.txt")) == (b"hello", 5)
    assert (inbox.read("11", "7-2.txt"), inbox.size("11", "7-2.txt")) == (None, None)


def test_a_link_or_a_pipe_in_its_place_is_no_file(tmp_path: Path) -> None:
    """The agent may write there: what it puts in a picture's place is not sent to a model as one."""
    inbox = Inbox(tmp_path, 100)
    put(inbox, "7-1.txt", b"hello")
    folder = tmp_path / "inbox" / "11"
    (folder / "7-2.png").symlink_to(folder / "7-1.txt")
    os.mkfifo(folder / "7-3.png")
    (folder / "7-4.png").mkdir()
    for number in (2, 3, 4):
        assert inbox.read("11", f"7-{number}.png") is None
        assert inbox.size("11", f"7-{number}.png") is None


def test_half_done_files_of_an_earlier_life_go_and_those_of_this_one_stay(tmp_path: Path) -> None:
    left = Inbox(tmp_path, 100).part("11")
    inbox = Inbox(tmp_path, 100)
    own = inbox.part("11")
    inbox.part("11")
    assert (left.exists(), own.exists(), own.suffix) == (False, True, PART)
    inbox.discard(own)
    inbox.discard(own)
    assert not own.exists()


def test_the_files_of_the_message_itself_go_last(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, 10)
    for name in ("7-1.txt", "8-1.txt", "9-1.txt"):
        put(inbox, name, b"123")
    os.utime(tmp_path / "inbox" / "11" / "9-1.txt", ns=(0, 0))  # as old as can be
    assert put(inbox, "9-2.txt", b"123456", beside=9)
    assert sorted(path.name for path in (tmp_path / "inbox" / "11").iterdir()) == ["9-1.txt", "9-2.txt"]


def test_forgetting_a_message_leaves_every_other(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, 100)
    for name in ("7-1.txt", "7-2.png", "77-1.txt"):
        put(inbox, name, b"1")
    inbox.forget(7)
    assert [path.name for path in (tmp_path / "inbox" / "11").iterdir()] == ["77-1.txt"]


def test_the_messages_of_kept_files_are_known_by_their_names(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, 100)
    assert inbox.messages() == frozenset()
    assert put(inbox, "7-1.txt", b"hello")
    assert put(inbox, "8-12.png", b"hello")
    inbox.part("11")
    (tmp_path / "inbox" / "11" / "notes.txt").write_bytes(b"of somebody else")
    assert inbox.messages() == {7, 8}


def test_what_comes_after_its_message_was_deleted_is_not_kept(tmp_path: Path) -> None:
    """A thread cannot be given up: it may have just begun to give its file a name when the message is forgotten."""
    inbox = Inbox(tmp_path, 100)
    part = inbox.part("11")
    inbox.forget(7)
    assert not inbox.keep(part, "11", "7-1.txt", beside=7)
    assert list((tmp_path / "inbox" / "11").iterdir()) == []
    assert put(inbox, "8-1.txt", b"1", beside=8)


def test_a_files_first_part_survives_that_the_lane_is_begun_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of one message are brought at the same time."""
    Inbox(tmp_path, 100).part("11")
    inbox = Inbox(tmp_path, 100)
    glob, meanwhile = Path.glob, []

    def late(folder: Path, pattern: str) -> Iterator[Path]:
        meanwhile.append(inbox.part("11"))
        return glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", late)
    first = inbox.part("11")
    assert [path.exists() for path in (first, *meanwhile)] == [True, True]
    assert len(list((tmp_path / "inbox" / "11").iterdir())) == 2


def test_room_is_made_although_another_thread_makes_room_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(tmp_path, 4)
    put(inbox, "7-1.txt", b"123")
    scandir = os.scandir

    def late(folder: Path) -> Iterator["os.DirEntry[str]"]:
        for entry in list(scandir(folder)):
            if entry.name == "7-1.txt":
                (folder / entry.name).unlink()
            yield entry

    monkeypatch.setattr(os, "scandir", late)
    part = inbox.part("11")
    part.write_bytes(b"123")
    assert inbox.keep(part, "11", "8-1.txt", beside=8)
