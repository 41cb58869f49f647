"""An ordinary user to run the program as: whoever runs the tests, or, for root, `nobody` with a folder of his own."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from fakes.program import toml_tables

ROOT = Path(__file__).parents[2]
NOBODY = 65534
BOUND = 60.0


@dataclass(frozen=True)
class Ordinary:
    """A user with a home: `python` is an interpreter he may run, `packages` where it finds ours and all they need."""

    home: Path
    python: str
    packages: tuple[Path, ...]
    dropped: bool

    @property
    def who(self) -> dict[str, Any]:
        """Arguments for `subprocess`: root becomes him, anybody else is him."""
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if self.dropped else {}

    @property
    def environ(self) -> dict[str, str]:
        """A shell's environment of his."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(map(str, self.packages)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        """A file of his."""
        path = self.home / name
        path.write_text(text)
        path.chmod(mode)
        self.own(path)
        return path

    def folder(self, name: str) -> Path:
        """A folder of his."""
        path = self.home / name
        path.mkdir(0o700)
        self.own(path)
        return path

    def own(self, path: Path) -> None:
        """Give him a file or folder."""
        if self.dropped:
            os.chown(path, NOBODY, NOBODY)

    def run(self, command: Sequence[str], **more: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        given = {"env": self.environ, "cwd": self.home, "capture_output": True, "text": True, "timeout": BOUND}
        return subprocess.run(command, **{**given, **self.who, **more}, check=False)


@contextlib.contextmanager
def ordinary() -> Iterator[Ordinary]:
    """An ordinary user; the test is skipped with the reason where this machine has none who can read the program."""
    dropped = os.geteuid() == 0
    home = Path(tempfile.mkdtemp(prefix="ordinary-"))  # not below pytest's folder, which only its owner may enter
    try:
        if dropped:
            os.chown(home, NOBODY, NOBODY)
        packages = (ROOT, Path(sysconfig.get_path("purelib")))
        yield Ordinary(home, _interpreter(packages, dropped=dropped), packages, dropped)
    finally:
        shutil.rmtree(home)


@functools.cache
def _interpreter(packages: tuple[Path, ...], *, dropped: bool) -> str:
    """This one, else the system's of the same version: the compiled packages fit no other."""
    if not dropped:
        return sys.executable
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    said = ""
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        him = Ordinary(Path("/"), python, packages, dropped)
        try:
            tried = him.run([python, "-P", "-c", "import connector.app, fakes.pi"])
        except OSError as error:
            said = str(error)
            continue
        if tried.returncode == 0:
            return python
        said = tried.stderr.strip().rpartition("\n")[2] or f"status {tried.returncode}"
    pytest.skip(f"no {version} that an ordinary user may run finds the program here: {said}")


class Life:
    """One process of the connector as that user, its log read as far as somebody waits for; killed at the end."""

    def __init__(self, him: Ordinary, command: Sequence[str], *, token: IO[bytes] | int, **more: Any) -> None:
        given = {"env": him.environ, "cwd": him.home, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, stdin=token, text=True, **{**given, **him.who, **more})
        self.raw: list[str] = []

    def __enter__(self) -> "Life":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.rest()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def until(self, event: str) -> Mapping[str, Any]:
        """Read the log up to the next line with this event; a log that ends before fails the test with its text."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.raw.append(line)
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == event:
                return dict(told)
        pytest.fail(f"no {event} in:\n{''.join(self.raw)}")

    def rest(self) -> None:
        """Read the log to its end, once."""
        assert self.process.stderr is not None
        self.raw += self.process.stderr.readlines()

    def stop(self) -> int:
        """SIGTERM, the rest of the log, and the exit code."""
        self.process.terminate()
        self.rest()
        return self.process.wait(BOUND)


def config(him: Ordinary, api: Mapping[str, str], **sections: Mapping[str, object]) -> Path:
    """A configuration in his home for a fake Discord whose token comes on standard input."""
    base: dict[str, dict[str, object]] = {
        "discord": {**api, "token_file": "-", "progress": "off"},
        "agent": {"cwd": str(him.home / "work"), "env": {"PYTHONPATH": him.environ["PYTHONPATH"]}},
        "state": {"dir": str(him.home / "state")},
        "log": {"format": "json", "level": "debug"},
    }
    for name, keys in sections.items():
        base[name] = {**base.get(name, {}), **keys}
    him.folder("work")
    return him.write("connector.toml", toml_tables(base))
