"""The facts of `connector.started`: what is told, that doubt says "unknown", and that nothing here fails a start."""

import os
import platform
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connector import started
from connector.distribution import UNKNOWN
from connector.settings import Settings
from connector.started import config_digest, facts, runtime_digest, version_command

Make = Callable[[str], tuple[str, ...]]


@pytest.fixture
def program(tmp_path: Path) -> Make:
    """Return a maker of small shell programs to stand for a child."""

    def make(script: str) -> tuple[str, ...]:
        path = tmp_path / "child"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return (str(path), "--mode", "rpc")

    return make


def settings(tmp_path: Path, command: tuple[str, ...], **agent: object) -> Settings:
    return Settings.model_validate({"agent": {"command": command, "cwd": str(tmp_path)} | agent})


ENVIRON = {"PATH": os.environ["PATH"], "DISCORD_TOKEN": "hush", "LANG": "C"}


def child_version(settings: Settings, bound: float = 5.0) -> str:
    return facts(settings, ENVIRON, bound=bound).child_version


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo 1.6.0", "1.6.0"),
        ("echo v1.6.0-beta.1", "v1.6.0-beta.1"),
        ("echo '@earendil-works/pi-coding-agent 1.6.0'", "@earendil-works/pi-coding-agent 1.6.0"),
        ("echo 1.6.0; exit 1", UNKNOWN),
        ("echo 1.6.0 >&2", UNKNOWN),
        ('echo \'{"type":"ready","version":"1.6.0"}\'', UNKNOWN),
        ("echo 1.6.0; echo and more", UNKNOWN),
        ("cat", UNKNOWN),  # it began its work: its input has ended
        ("kill -9 $$", UNKNOWN),
        ("cat /dev/zero", UNKNOWN),
        ("printf '\\377'", UNKNOWN),
    ],
)
def test_child_version(script: str, version: str, tmp_path: Path, program: Make) -> None:
    assert child_version(settings(tmp_path, program(script))) == version


def test_child_is_asked_with_its_own_arguments_folder_and_environment(tmp_path: Path, program: Make) -> None:
    command = program('echo "$@" >"$OUT"; pwd >>"$OUT"; env >>"$OUT"; echo 1.2.3')
    out = tmp_path / "out"
    chosen = settings(tmp_path, (*command[:1], "--mode", "rpc", "--model", "x"), env={"OUT": str(out)})
    assert child_version(chosen) == "1.2.3"
    arguments, folder, *environment = out.read_text().splitlines()
    assert (arguments, folder) == ("--model x --version", str(tmp_path))
    assert "LANG=C" in environment
    assert "hush" not in out.read_text()


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("pi --mode rpc", "pi --version"),
        ("ssh host pi --mode rpc --model x", "ssh host pi --model x --version"),
        ("python -m fakes.pi", "python -m fakes.pi --version"),
        ("pi --mode json rpc", "pi --mode json rpc --version"),
        ("pi --mode", "pi --mode --version"),
    ],
)
def test_version_command(command: str, asked: str) -> None:
    assert version_command(tuple(command.split())) == tuple(asked.split())


@pytest.mark.parametrize("command", [("/absent/program",), ("absent-program",), ("/",)])
def test_child_that_cannot_be_started_is_unknown(command: tuple[str, ...], tmp_path: Path) -> None:
    assert child_version(settings(tmp_path, command)) == UNKNOWN


def test_missing_working_folder_is_unknown(tmp_path: Path) -> None:
    assert child_version(settings(tmp_path, ("echo", "1.0"), cwd=str(tmp_path / "absent"))) == UNKNOWN


def test_child_that_does_not_end_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """A descendant holds the write end of a pipe of ours: its end of file proves that nobody is left."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    script = f"exec 3>{fifo}; (trap '' TERM HUP; cat /dev/zero >/dev/null) & echo 1.0; wait"
    chosen = settings(tmp_path, ("sh", "-c", script))
    assert child_version(chosen, bound=0.2) == UNKNOWN
    os.set_blocking(held, True)
    assert os.read(held, 1) == b""
    for fd in (reader, writer, held):
        os.close(fd)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with the runtime's folders, taken for the place the program is in."""
    root = tmp_path / "checkout"
    (root / "connector").mkdir(parents=True)
    (root / "connector" / "__init__.py").touch()
    (root / "pyproject.toml").touch()
    (root / "README.md").touch()
    (root / ".gitignore").write_text("__pycache__/\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x")
    monkeypatch.setattr(started, "_root", lambda: root)
    return root


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ("git", "-C", str(root), *arguments), check=True, capture_output=True, text=True, env=ENVIRON
    ).stdout


def head_and_dirty(tmp_path: Path, environ: dict[str, str] = ENVIRON) -> tuple[str, bool | str]:
    found = facts(settings(tmp_path, ("echo", "1.0")), environ, bound=5.0)
    return found.head, found.dirty


def test_clean_checkout(checkout: Path, tmp_path: Path) -> None:
    assert head_and_dirty(tmp_path) == (git(checkout, "rev-parse", "HEAD").strip(), False)


@pytest.mark.parametrize(
    ("name", "dirty"),
    [
        ("connector/__init__.py", True),
        ("connector/new.py", True),
        ("engine/new.py", True),
        ("fakes/new.py", True),
        ("pyproject.toml", True),
        ("connector/__pycache__/x.pyc", False),
        ("README.md", False),
        ("tests/new.py", False),
    ],
)
def test_dirty_is_of_the_runtime_alone(name: str, dirty: bool, checkout: Path, tmp_path: Path) -> None:
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("changed\n")
    assert head_and_dirty(tmp_path)[1] is dirty


def test_somebody_elses_repository_around_us_says_nothing(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "rm", "-q", "--cached", "connector/__init__.py")
    assert head_and_dirty(tmp_path) == (UNKNOWN, UNKNOWN)


def test_no_commit_no_repository_and_no_git_are_unknown(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert head_and_dirty(tmp_path, {"PATH": str(tmp_path)}) == (UNKNOWN, UNKNOWN)
    (tmp_path / "plain").mkdir()
    monkeypatch.setattr(started, "_root", lambda: tmp_path / "plain")
    assert head_and_dirty(tmp_path) == (UNKNOWN, UNKNOWN)
    git(tmp_path / "plain", "init", "-q")
    (tmp_path / "plain" / "connector").mkdir()
    (tmp_path / "plain" / "connector" / "__init__.py").touch()
    git(tmp_path / "plain", "add", ".")
    assert head_and_dirty(tmp_path) == (UNKNOWN, UNKNOWN)


def test_a_repositorys_own_monitor_is_not_run(checkout: Path, tmp_path: Path) -> None:
    """CONTRACT, Token isolation: the agent may write `.git/config`, and what it names would run as us."""
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\nenv >{tmp_path}/ran\n")
    monitor.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(monitor))
    assert head_and_dirty(tmp_path)[1] is False
    assert not (tmp_path / "ran").exists()


def test_git_gets_the_allowed_environment_alone(checkout: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\nenv >>{tmp_path}/env\necho $* >>{tmp_path}/arguments\n")
    (folder / "git").chmod(0o755)
    environ = ENVIRON | {"PATH": f"{folder}:{ENVIRON['PATH']}", "OPENAI_API_KEY": "hush"}
    chosen = settings(tmp_path, ("echo", "1.0"), env_pass=["OPENAI_API_KEY"])
    assert facts(chosen, environ, bound=5.0).head == UNKNOWN
    assert "LANG=C" in (tmp_path / "env").read_text()
    assert "hush" not in (tmp_path / "env").read_text()
    for line in (tmp_path / "arguments").read_text().splitlines():
        assert line.startswith("-c core.fsmonitor=false ")


def test_runtime_digest_is_over_names_and_bytes_not_over_compiled_files(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "a.py").write_text("x")
    first = runtime_digest([folder])
    (folder / "__pycache__" / "a.pyc").write_text("y")
    assert runtime_digest([folder]) == first
    seen = {first}
    for change in (
        lambda: (folder / "a.py").write_text("y"),
        lambda: (folder / "a.py").rename(folder / "b.py"),
        lambda: (folder / "c.py").write_text(""),
    ):
        change()
        seen.add(runtime_digest([folder]))
    assert len(seen) == 4
    (copy := tmp_path / "elsewhere").mkdir()
    folder.rename(copy / "package")
    assert runtime_digest([copy / "package"]) in seen
    assert all(len(digest) == 64 for digest in seen)


def test_config_digest_is_over_the_settings_that_hold(tmp_path: Path) -> None:
    def digest(**values: Any) -> str:
        return config_digest(Settings.model_validate(values))

    ids = [3, 1, 2, *range(1000, 1100)]
    assert digest(access={"users": ids}) == digest(access={"users": [str(one) for one in reversed(ids)]})
    assert digest(source=tmp_path / "a.toml") == digest(source=tmp_path / "b.toml") == digest()
    assert len({digest(), digest(lanes={"capacity": 1}), digest(agent={"env": {"A": "1"}})}) == 3


def test_all_fields(tmp_path: Path, program: Make) -> None:
    found = facts(settings(tmp_path, program("echo 1.6.0")), ENVIRON, bound=5.0).fields()
    assert list(found) == ["version", "head", "dirty", "runtime_digest", "config_digest", "python", "child_version"]
    assert found["python"] == platform.python_version()
    assert found["child_version"] == "1.6.0"
