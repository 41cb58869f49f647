"""What is built of this repository: the same bytes each time, nothing but its files, and its types with it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from engine.events import Input

ROOT = Path(__file__).parents[2]
BOUND = 120.0
PACKAGES = ("connector/", "engine/", "fakes/")

CONSUMER = """\
from engine.child import ChildSpec
from engine.events import Effect, Ended, Limits, Submit, Text
from engine.runner import Engine


async def ask(spec: ChildSpec) -> list[Effect]:
    told = list[Effect]()
    engine = await Engine.start(spec, Limits(), generation=1, max_line=1 << 20, tell=lambda some, _: told.extend(some))
    engine.give(Submit("1", Text("hello")))
    reveal_type(engine.overdue())
    reveal_type([effect.outcome for effect in told if isinstance(effect, Ended)])
    engine.give("hello")
    reveal_type(await engine.stop())
    return told
"""
"""Somebody else's program: it asks a child one thing, and gets one thing wrong."""

pytestmark = pytest.mark.timeout(240)


def run(*command: str | Path, cwd: Path, environ: Mapping[str, str] | None = None, umask: int = -1) -> str:
    """Run a command to its good end; what it printed."""
    given = {"PATH": os.environ["PATH"], "HOME": str(cwd), **(environ or {})}
    done = subprocess.run(
        command, cwd=cwd, env=given, umask=umask, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """The files of this repository as they stand, without what git ignores."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("only a clone, and git, can tell which files belong to it")
    git = ("git", "-c", "core.fsmonitor=false", "-c", "safe.directory=*", "ls-files", "-z")
    told = run(*git, "--cached", "--others", "--exclude-standard", cwd=ROOT)
    return sorted({name for name in told.split("\0") if (ROOT / name).is_file()})


def copied(tracked: list[str], folder: Path, mode: int, changed: float) -> Path:
    """These files in another folder, of this mode (whoever may execute one still may) and age."""
    for name in tracked:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, path)
        path.chmod(mode | (0o100 if os.access(ROOT / name, os.X_OK) else 0))
        os.utime(path, (changed, changed))
    return folder


def built(source: Path, environ: Mapping[str, str], umask: int) -> dict[str, Path]:
    """What hatchling makes of a folder, by ending."""
    run(sys.executable, "-m", "hatchling", "build", "-d", "dist", cwd=source, environ=environ, umask=umask)
    return {path.suffix: path for path in (source / "dist").iterdir()}


@pytest.fixture(scope="module")
def builds(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Path], dict[str, Path]]:
    """Two builds of one state in other folders, modes, ages, places of the world; one has lain about for a while."""
    one = copied(tracked, tmp_path_factory.mktemp("one"), 0o644, time.time())
    other = copied(tracked[::-1], tmp_path_factory.mktemp("another-folder") / "deeper", 0o660, 1_000_000_000)
    for litter in ("engine/__pycache__/core.cpython-311.pyc", ".mypy_cache/x.json", "dist/old.whl", ".venv/bin/x"):
        path = other / litter
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("litter")
    (other / "dist" / "old.whl").unlink()
    first = built(one, {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "1"}, 0o022)
    second = built(other, {"LC_ALL": "C.UTF-8", "TZ": "Pacific/Chatham", "PYTHONHASHSEED": "2"}, 0o077)
    return first, second


def test_two_builds_are_the_same_bytes(builds: tuple[dict[str, Path], dict[str, Path]]) -> None:
    """Whoever builds a release again can compare it with the one that was given out."""
    one, other = ({path.name: path.read_bytes() for path in build.values()} for build in builds)
    assert sorted(one) == sorted(other)
    assert [name for name in one if one[name] != other[name]] == []
    assert len(one) == 2


def test_the_sdist_builds_the_same_wheel(builds: tuple[dict[str, Path], dict[str, Path]], tmp_path: Path) -> None:
    with tarfile.open(builds[0][".gz"]) as files:
        files.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    again = built(source, {}, 0o022)[".whl"]
    assert again.name == builds[0][".whl"].name
    assert again.read_bytes() == builds[0][".whl"].read_bytes()


def test_the_wheel_holds_the_packages_and_the_unit(
    builds: tuple[dict[str, Path], dict[str, Path]], tracked: list[str]
) -> None:
    """No cache, no picture of the README, no test."""
    with zipfile.ZipFile(builds[0][".whl"]) as files:
        names = files.namelist()
    own = {name for name in names if ".dist-info/" not in name}
    pictures = ("fakes/pictures/", "fakes/page/pictures/")
    expected = {name for name in tracked if name.startswith(PACKAGES) and not name.startswith(pictures)}
    assert own == expected | {"connector/pi-connector@.service"}
    assert {f"{package}py.typed" for package in PACKAGES} <= own
    rest = {name.partition(".dist-info/")[2] for name in names} - {""}
    assert rest == {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}


def test_the_sdist_holds_every_file(builds: tuple[dict[str, Path], dict[str, Path]], tracked: list[str]) -> None:
    """Whoever has it has all that a clone has, tests and recordings too, and nothing else."""
    with tarfile.open(builds[0][".gz"]) as files:
        names = {member.name.partition("/")[2] for member in files if member.isfile()}
    assert names == {*tracked, "PKG-INFO"}


def test_a_program_that_uses_the_installed_engine_is_typed(
    builds: tuple[dict[str, Path], dict[str, Path]], tmp_path: Path
) -> None:
    """From the wheel alone: what it takes and gives has its types, and what is wrong is found."""
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    [packages] = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    (packages / "rest.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = (sys.executable, "-m", "pip", "--python", tmp_path / "venv/bin/python", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", builds[0][".whl"], cwd=tmp_path)
    (tmp_path / "consumer.py").write_text(CONSUMER)
    judged = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", "venv/bin/python", "consumer.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    taken = f'expected "{" | ".join(kind.__name__ for kind in get_args(Input))}"'
    assert judged.stdout.splitlines() == [
        'consumer.py:10: note: Revealed type is "float"',
        'consumer.py:11: note: Revealed type is "list[engine.events.Outcome]"',
        f'consumer.py:12: error: Argument 1 to "give" of "Engine" has incompatible type "str"; {taken}  [arg-type]',
        'consumer.py:13: note: Revealed type is "engine.child.Exit"',
        "Found 1 error in 1 file (checked 1 source file)",
    ]
