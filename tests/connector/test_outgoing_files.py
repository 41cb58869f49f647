"""What an answer may carry: the working folder and the lane's own outbox, reached by no link, and nothing else."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from connector import notices_outgoing as notices
from connector.outgoing import Bounds, Outgoing
from tests.connector.outgoing_ground import LANE, SECRET, Ground, owed


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def link(to: str) -> Callable[[Path], object]:
    return lambda path: path.symlink_to(to)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def door(path: Path) -> None:
    """A socket; bound by its short name, since paths of sockets are bounded."""
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


WITHIN: list[tuple[str, str, Callable[[Path], object] | None, bytes | str]] = [
    ("a plain file", "sub/a.txt", None, b"one"),
    ("by way of a dot", "./sub//a.txt", None, b"one"),
    ("by its whole name", "{work}/sub/a.txt", None, b"one"),
    ("in the outbox", "{outbox}/made.txt", None, b"made"),
    ("a hard link", "hard.txt", lambda path: path.hardlink_to(path.parent / "sub/a.txt"), b"one"),
    ("an empty file", "empty", lambda path: path.write_bytes(b""), b""),
    ("a name with a blank at its end and a bidi sign", "odd\u202e name", lambda path: path.write_bytes(b"x"), b"x"),
    ("nothing there", "none.txt", None, notices.MISSING),
    ("a file as a folder", "sub/a.txt/b", None, notices.MISSING),
    ("a name too long", "x" * 300, None, notices.MISSING),
    ("a name with a NUL", "a\0b", None, notices.MISSING),
    ("a name that is no UTF-8", "\ud800x", None, notices.MISSING),
    ("a folder", "sub", None, notices.IRREGULAR),
    ("the working folder", ".", None, notices.IRREGULAR),
    ("a pipe that nobody writes to", "pipe", pipe, notices.IRREGULAR),
    ("a socket", "door", door, notices.IRREGULAR),
    ("a link to a file inside", "link", link("sub/a.txt"), notices.LINK),
    ("a link out", "link", link("../outside.txt"), notices.LINK),
    ("a link to a device", "link", link("/dev/zero"), notices.LINK),
    ("a link to nothing", "link", link("/nowhere"), notices.LINK),
    ("a folder that is a link", "to/outside.txt", lambda path: path.parent.symlink_to(".."), notices.LINK),
    ("a folder that is a link inside", "to/a.txt", lambda path: path.parent.symlink_to("sub"), notices.LINK),
]


@pytest.mark.parametrize(("path", "make", "expected"), [row[1:] for row in WITHIN], ids=[row[0] for row in WITHIN])
def test_what_is_within_is_sent_if_it_is_a_file_and_no_link(
    ground: Ground, path: str, make: Callable[[Path], object] | None, expected: bytes | str
) -> None:
    if make is not None:
        make(ground.work / path)
    assert ground.one(path.format(work=ground.work, outbox=ground.outbox)) == expected


WITHOUT = [
    ("a step up", "../outside.txt", notices.OUTSIDE),
    ("a step up and down again", "../work/sub/a.txt", notices.OUTSIDE),
    ("a step up inside", "sub/../sub/a.txt", notices.OUTSIDE),
    ("a step up from the outbox", "{outbox}/../43/theirs.txt", notices.OUTSIDE),
    ("a whole name", "{folder}/outside.txt", notices.OUTSIDE),
    ("a whole name of nothing", "{folder}/nothing.txt", notices.OUTSIDE),
    ("a folder whose name begins alike", "{work}er/a.txt", notices.OUTSIDE),
    ("a device", "/dev/zero", notices.OUTSIDE),
    ("the home folder", "~/x", notices.MISSING),
    ("a dot-file", ".env", notices.HIDDEN),
    ("a dot-file that is not there", ".nothing", notices.HIDDEN),
    ("below a dot-folder", ".git/config", notices.HIDDEN),
    ("a dot-file in the outbox", "{outbox}/.x", notices.HIDDEN),
    ("three dots", ".../x", notices.HIDDEN),
]


@pytest.mark.parametrize(("path", "why"), [row[1:] for row in WITHOUT], ids=[row[0] for row in WITHOUT])
def test_what_is_without_is_refused_whether_it_is_there_or_not(ground: Ground, path: str, why: str) -> None:
    (ground.work / ".env").write_text("KEY=1")
    (ground.work / ".git").mkdir()
    (ground.work / ".git" / "config").write_text("x")
    (ground.folder / "worker").mkdir()
    (ground.folder / "worker" / "a.txt").write_text("x")
    whole = path.format(folder=ground.folder, work=ground.work, outbox=ground.outbox)
    assert ground.one(whole) == why


STATE = [
    ("the ledger", "{state}/ledger.db"),
    ("the copies", "{state}/outgoing/x/0"),
    ("another lane's outbox", "{state}/outbox/43/theirs.txt"),
    ("the outboxes", "{state}/outbox"),
    ("nothing", "{state}/nothing"),
]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("path", [row[1] for row in STATE], ids=[row[0] for row in STATE])
def test_nothing_of_the_state_folder_is_sent_but_the_outbox(tmp_path: Path, inside: bool, path: str) -> None:
    """CONTRACT; also where the state folder lies in the working folder, by a whole name or a short one."""
    ground = Ground(tmp_path, inside=inside)
    why = notices.OURS if inside else notices.OUTSIDE
    assert ground.one(path.format(state=ground.state)) == why
    if inside:
        assert ground.one(path.format(state="state")) == why
        assert ground.one("state/outbox/42/made.txt") == b"made"


def test_a_working_folder_within_the_state_folder_has_nothing_to_send(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    within = ground.state / "work"
    within.mkdir()
    (within / "a.txt").write_text("x")
    outgoing = Outgoing(ground.state, within, Bounds(1000, 10), remote=False)
    assert outgoing.pack(owed("a.txt")).refused == (f"could not attach a.txt: {notices.OURS}",)
    assert ground.sent(outgoing.pack(owed(f"{ground.outbox}/made.txt", key="8/answer/1")))[0] == [("made.txt", b"made")]


def test_a_working_folder_that_becomes_the_state_folder_in_between_is_not_entered(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def swapping(name: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == ground.work:
            ground.work.rename(ground.folder / "moved")
            ground.work.symlink_to(ground.state)
        return real(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("connector.beneath.os.open", swapping)
    assert ground.one("ledger.db") == notices.OURS


def test_folders_that_are_links_by_the_operators_will_are_their_own_names(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    (tmp_path / "to-work").symlink_to("work")
    (tmp_path / "to-state").symlink_to("state")
    outgoing = Outgoing(tmp_path / "to-state", tmp_path / "to-work", Bounds(1000, 10), remote=False)
    told = str(outgoing.outbox(LANE) / "made.txt")
    packed = outgoing.pack(owed("sub/a.txt", f"{ground.work}/sub/a.txt", told, f"{ground.outbox}/made.txt"))
    assert ground.sent(packed) == ([("a.txt", b"one")] * 2 + [("made.txt", b"made")] * 2, ())


@pytest.mark.parametrize("lane", ["", "..", "43/../42", "."])
def test_an_answer_without_a_lane_has_no_outbox(ground: Ground, lane: str) -> None:
    assert ground.one(f"{ground.outbox}/made.txt", lane) == notices.OUTSIDE


def test_the_outbox_itself_may_not_be_a_link(ground: Ground) -> None:
    (ground.outbox / "made.txt").unlink()
    ground.outbox.rmdir()
    ground.outbox.symlink_to(ground.folder)
    assert ground.one(f"{ground.outbox}/outside.txt") == notices.LINK


@pytest.mark.parametrize("swapped", ["sub", "deep", "a.txt"])
def test_a_link_put_in_between_is_not_followed(ground: Ground, monkeypatch: pytest.MonkeyPatch, swapped: str) -> None:
    """Each name is opened beneath the folder that was opened before it: what comes into its place later is not met."""
    (ground.work / "sub" / "deep").mkdir()
    (ground.work / "sub" / "deep" / "a.txt").write_bytes(b"deep")
    trap = ground.folder / "trap"
    (trap / "deep").mkdir(parents=True)
    (trap / "a.txt").write_bytes(SECRET)
    (trap / "deep" / "a.txt").write_bytes(SECRET)
    real = os.open
    places = {"sub": ground.work / "sub", "deep": ground.work / "sub" / "deep"}
    places["a.txt"] = places["deep"] / "a.txt"

    def swapping(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == swapped and dir_fd is not None:
            place = places[swapped]
            place.rename(place.with_name("moved"))
            place.symlink_to(trap / "a.txt" if swapped == "a.txt" else trap)
        return real(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("connector.beneath.os.open", swapping)
    assert ground.one("sub/deep/a.txt") == notices.LINK


def test_a_folder_that_is_moved_away_after_it_was_opened_is_still_the_one(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = ground.folder / "trap"
    trap.mkdir()
    (trap / "a.txt").write_bytes(SECRET)
    real = os.open

    def swapping(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "a.txt":
            (ground.work / "sub").rename(ground.work / "moved")
            (ground.work / "sub").symlink_to(trap)
        return real(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("connector.beneath.os.open", swapping)
    assert ground.one("sub/a.txt") == b"one"


def test_a_file_that_is_too_large_already_is_not_read(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    (ground.work / "big").write_bytes(b"x" * 1001)
    monkeypatch.delattr("connector.outgoing.os.read")
    assert ground.one("big") == "it is larger than 1000 bytes"


@pytest.mark.parametrize(("size", "fits"), [(1000, True), (1001, False)])
def test_a_file_is_bounded_by_its_size(ground: Ground, size: int, fits: bool) -> None:
    (ground.work / "big").write_bytes(b"x" * size)
    assert ground.one("big") == (b"x" * size if fits else "it is larger than 1000 bytes")


def test_a_file_that_grows_while_it_is_read_is_bounded_by_what_is_read(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ground.work / "grows"
    path.write_bytes(b"x")
    real, asked = os.read, []

    def growing(descriptor: int, count: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"y" * 400)
        asked.append(count)
        return real(descriptor, count)

    monkeypatch.setattr("connector.outgoing.os.read", growing)
    assert ground.one("grows") == "it is larger than 1000 bytes"
    assert asked[0] == 1001


def test_a_file_that_may_not_be_read_is_said(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_descriptor: int, _count: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("connector.outgoing.os.read", failing)
    assert ground.one("sub/a.txt") == notices.UNREADABLE


def test_no_descriptor_is_left_open(ground: Ground) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted, not walked
    for path in ("sub/a.txt", "sub", "none", "sub/none", "../x", ".x", "sub/a.txt/b"):
        ground.one(path)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


@pytest.mark.parametrize("path", ["a.txt", "/etc/passwd"])
def test_a_working_folder_that_became_a_circle_of_links_ends_nothing_else(ground: Ground, path: str) -> None:
    """The agent may own the folder above it: a fault here would come back with the same answer at every start."""
    ground.work.rename(ground.folder / "was")
    ground.work.symlink_to("work")
    assert ground.one(path) in {notices.UNREADABLE, notices.LINK, notices.OUTSIDE, notices.OURS}
    assert ground.one(str(ground.outbox / "made.txt")) == b"made"
