"""One instance a state folder: a second one is refused, and whoever dies lets go."""

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import structlog
from structlog.testing import LogCapture

from connector import patience
from connector.exits import ExitCode, Refusal
from connector.lock import FILE, StateLock

ROOT = Path(__file__).parents[2]

HOLDER = """
import subprocess, sys
from pathlib import Path
from connector.lock import StateLock

with StateLock(Path(sys.argv[1])):
    tool = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"], start_new_session=True)
    print("held", flush=True)
    sys.stdin.read()
"""
"""Another instance, with something below it that outlives it and shares its standard input."""


@contextmanager
def other_instance(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder


def refused(folder: Path) -> Refusal:
    with pytest.raises(Refusal) as found, StateLock(folder):
        pass
    return found.value


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_second_instance_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    with other_instance(tmp_path) as holder:
        found = refused(tmp_path)
        assert found.code is ExitCode.REFUSED
        what = f"another instance holds the state folder {tmp_path}"
        mend = "stop it first, or give this one another folder (state.dir, or --instance)"
        assert found.lines() == (f"error: {what}; {mend}",)
        before = open_files()
        refused(tmp_path)
        assert open_files() == before
        assert holder.poll() is None


def test_it_is_free_again_when_the_process_was_killed_though_what_it_started_lives(tmp_path: Path) -> None:
    with other_instance(tmp_path) as holder:
        holder.kill()
        holder.wait(5)
        assert holder.stdout is not None
        with StateLock(tmp_path):
            refused(tmp_path)


def test_it_is_free_again_when_it_was_given_back(tmp_path: Path) -> None:
    with StateLock(tmp_path):
        refused(tmp_path)
    with StateLock(tmp_path):
        pass


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_does_not_take_its_file_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A start must not end for it: the reason passes, and exit 1 again and again would end in systemd's start limit."""
    monkeypatch.setattr(patience, "OPENING_PAUSE", 0.0)
    really, told, left = os.open, list[str](), [1]

    def full(path: Path, flags: int, mode: int) -> int:
        if left[0]:
            left[0] -= 1
            raise OSError(code, os.strerror(code), str(path))
        return really(path, flags, mode)

    monkeypatch.setattr("connector.lock.os.open", full)
    log = structlog.wrap_logger(None, processors=[LogCapture()]).bind()
    with ExitStack() as held:
        asyncio.run(patience.locked(held, tmp_path, log, told.append))
        monkeypatch.undo()
        refused(tmp_path)
    assert told == [f"Starting: waiting for the disk: {tmp_path / FILE} cannot be opened: {os.strerror(code)}"]


def test_a_file_of_another_user_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a run by root in the service's folder leaves it."""

    def foreign(path: Path, flags: int, mode: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("connector.lock.os.open", foreign)
    mend = "give the folder and all in it to the connector's user, or name another one"
    assert refused(tmp_path).lines() == (
        f"error: state.dir: {tmp_path / FILE} cannot be opened: Permission denied; {mend}",
    )


def test_two_folders_are_two_instances(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with StateLock(tmp_path / "a"), StateLock(tmp_path / "b"):
        pass


def test_its_file_is_private_and_nothing_is_written_into_it(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("whatever stood here")
    (tmp_path / FILE).chmod(0o600)
    with StateLock(tmp_path):
        assert (tmp_path / FILE).read_text() == "whatever stood here"
    (tmp_path / FILE).unlink()
    with StateLock(tmp_path):
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
