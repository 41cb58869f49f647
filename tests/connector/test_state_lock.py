"""One instance a state folder: a second one is refused, and whoever dies lets go."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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
