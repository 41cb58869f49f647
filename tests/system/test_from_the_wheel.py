"""A fresh virtual environment from the wheel, an ordinary user, `init` answered by a script, `check`, `run`: no more.

Not one step by hand: what `init` wrote is what `check` and `run` find by themselves. The wheel's dependencies are those
of the environment that runs the tests, so that no network is needed.
"""

import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.discord import FakeDiscord, FakeDiscordThread
from tests.system.ordinary import BOUND, ROOT, Life, Ordinary, ordinary

TOKEN = "wheel-token.of-a-fake-discord"
UNIT = "pi-connector@.service"


@pytest.fixture
def him() -> Iterator[Ordinary]:
    with ordinary() as him:
        yield him


@pytest.fixture
def world() -> Iterator[FakeDiscordThread]:
    """At the end nothing was asked that the real Discord does not know."""
    with FakeDiscordThread(token=TOKEN) as world:
        yield world
        assert world.ask(lambda here: (here.unknown_routes, here.violations)) == ([], [])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="builds the wheel; comes with the dev group")
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    [wheel] = folder.iterdir()
    return wheel


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND, check=False)
    assert done.returncode == 0, done.stderr


def install(him: Ordinary, wheel: Path) -> Path:
    """A virtual environment of his with the wheel in it; its `bin`."""
    made = him.run([him.python, "-m", "venv", "--without-pip", "venv"])
    assert made.returncode == 0, made.stderr
    [packages] = (him.home / "venv" / "lib").glob("python3*/site-packages")
    him.write(f"venv/lib/{packages.parent.name}/site-packages/rest.pth", f"{sysconfig.get_path('purelib')}\n", 0o644)
    pip("--python", str(him.home / "venv/bin/python"), "install", "--no-deps", "--no-index", str(wheel))
    return him.home / "venv" / "bin"


def test_the_wheel_brings_the_unit(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        assert files.read(f"connector/{UNIT}") == (ROOT / "systemd" / UNIT).read_bytes()


@pytest.mark.timeout(240)
def test_from_the_wheel_to_an_answer(him: Ordinary, world: FakeDiscordThread, wheel: Path) -> None:
    programs = install(him, wheel)
    him.folder("bin")
    him.write("bin/pi", f'#!/bin/sh\nexec {programs}/python -P -m fakes.pi "$@"\n', 0o755)
    base, gateway, ann = world.ask(lambda here: (here.rest_base, here.gateway_url, here.person("ann").id))
    environ = {
        "PATH": f"{him.home / 'bin'}:/usr/bin:/bin",
        "HOME": str(him.home),
        "LANG": "C.UTF-8",
        "PI_CONNECTOR_DISCORD__API_BASE": base,
        "PI_CONNECTOR_DISCORD__GATEWAY_URL": gateway,
    }
    program = str(programs / "pi-connector")

    done = him.run([program, "init"], input=f"{TOKEN}\n\n\n{ann}\n", env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert TOKEN not in done.stdout
    own = him.home / ".config" / "pi-connector"
    assert {path.name: path.stat().st_mode & 0o777 for path in own.iterdir()} == {
        "connector.toml": 0o600,
        "token": 0o600,
        UNIT: 0o644,
    }
    assert tomllib.loads((own / "connector.toml").read_text())["access"]["users"] == [ann]
    assert f"\nExecStart={program} run --instance %i\n" in (own / UNIT).read_text()

    done = him.run([program, "check", "--online"], env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert {line.partition(":")[0] for line in done.stdout.splitlines()} == {"warning"}  # it is no service yet

    async def say(here: FakeDiscord) -> int:
        return await here.say(here.person("ann"), here.channel("general"), "hello", mention=True)

    with Life(him, [program, "run"], token=subprocess.DEVNULL, env=environ) as life:
        life.until("connector.ready")
        world.run(say(world.world))
        life.until("turn.ended")
        [thread] = world.ask(lambda here: here.threads(here.channel("general")))
        assert [post.content for post in world.ask(lambda here: here.posts(thread))][-1:] == ["echo: hello"]
        assert life.stop() == 0
