"""CONTRACT, What the child sees: the Discord token is in nothing that the child or its tools can read.

The connector runs as the shipped unit runs it: an ordinary user, the token on standard input from a file that only
root may read. The child looks wherever a process of the same user can, with its own environment and with none, before
it becomes a fake pi. The same connector without its cloak is the control: there the same eyes find the token.
"""

import hashlib
import json
import os
import re
import resource
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.discord import FakeDiscordThread
from tests.system.ordinary import Life, Ordinary, config, ordinary
from tests.system.prying import SECRET, memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and prctl are Linux's")

PRYING = Path(__file__).with_name("prying.py")
HIDDEN = ("-m", "connector")
UNCLOAKED = (
    "-c",
    "import connector.hidden; connector.hidden.hide_process = lambda: False; from connector.cli import main; main()",
)
WAYS = {"environ", "cmdline", "auxv", "descriptors", "memory", "vm_read", "traced", "stolen", "files"}


@pytest.fixture
def him() -> Iterator[Ordinary]:
    with ordinary() as him:
        yield him


@pytest.fixture
def token() -> str:
    return f"isolated-token.{secrets.token_hex(16)}"


@pytest.fixture
def world(token: str) -> Iterator[FakeDiscordThread]:
    with FakeDiscordThread(token=token) as world:
        yield world


class Setting:
    """A connector whose child pries, and what it reported."""

    def __init__(self, him: Ordinary, world: FakeDiscordThread, token: str, vault: Path, *, pries: bool = True) -> None:
        self.him, self.world, self.token = him, world, token
        self.vault = vault / "home.token"
        self.vault.write_text(f"{token}\n")
        self.vault.chmod(0o600)
        self.reports = him.folder("reports")
        api, ann = world.ask(lambda here: ((here.rest_base, here.gateway_url), here.person("ann").id))
        # Without root the tests themselves, which know the token, are the same user: nobody looks above the connector.
        levels = "0" if him.dropped else "1"
        places = [str(him.home), *([str(self.vault)] if him.dropped else [])]
        looks = [str(PRYING), f"{self.reports}/seen", levels, *places, "--then"] if pries else []
        child = [him.python, "-P", *looks, "-m", "fakes.pi"]
        self.config = config(
            him,
            {"api_base": api[0], "gateway_url": api[1]},
            agent={"command": [*child, "--mode", "rpc"]},
            access={"users": [ann]},
        )

    def live(self, program: tuple[str, ...], **more: Any) -> Life:
        """The connector, its token handed over as systemd does it."""
        with self.vault.open("rb") as file:
            return Life(
                self.him, [self.him.python, "-P", *program, "run", "--config", str(self.config)], token=file, **more
            )

    def seen(self) -> list[dict[str, Any]]:
        """The reports so far."""
        return [json.loads(path.read_text()) | {"name": path.name} for path in sorted(self.reports.iterdir())]

    def answer(self, life: Life) -> None:
        """A turn from the message to its end: by then a child has pried while the connector was in full use."""
        life.until("connector.ready")

        async def say() -> int:
            here = self.world.world
            return await here.say(here.person("ann"), here.dm(here.person("ann")), "echo hello")

        self.world.run(say())
        life.until("turn.ended")


def leaks(reports: list[dict[str, Any]], token: str) -> set[tuple[str, str]]:
    """The ways by which the token itself was found, and where."""
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {(way, where) for report in reports for way, where, seen in report["found"] if seen == digest}


@pytest.mark.timeout(180)
def test_the_child_finds_the_token_nowhere(him: Ordinary, world: FakeDiscordThread, token: str, tmp_path: Path) -> None:
    here = Setting(him, world, token, tmp_path)
    with here.live(HIDDEN) as life:
        here.answer(life)
        connector = life.process.pid
        if him.dropped:  # root sees through the cloak: the token is there to be found
            held = [data for data in memory(connector) if token.encode() in data]
            assert held, "the connector does not hold the token at all"
        reports = here.seen()
        assert life.stop() == 0
    assert leaks(reports, token) == set()
    assert {report["name"].split("-")[1] for report in reports} == {"with", "without"}
    for report in reports:
        assert connector in report["ancestors"]
        assert set(report["tried"]) >= WAYS
        refused = {
            way: why for way, why in report["failed"].items() if way in {"memory", "traced", "stolen", "environ"}
        }
        assert set(refused) == {"memory", "traced", "stolen", "environ"}
    assert not SECRET.search("".join(life.raw).encode())


@pytest.mark.timeout(180)
def test_without_the_cloak_the_same_eyes_find_it(
    him: Ordinary, world: FakeDiscordThread, token: str, tmp_path: Path
) -> None:
    """The control: what the test above relies on would be seen if it were not so."""
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    if yama.exists() and yama.read_text().strip() != "0":
        pytest.skip("this kernel lets nobody read its ancestors' memory (yama), cloak or not")
    here = Setting(him, world, token, tmp_path)
    with here.live(UNCLOAKED) as life:
        here.answer(life)
        found = leaks(here.seen(), token)
        assert life.stop() == 0
    # The second look also finds what the first one copied, in the process between the two.
    assert {way for way, where in found if where == str(life.process.pid)} == {"memory", "vm_read", "traced"}


def dumping() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.timeout(180)
@pytest.mark.parametrize("program", [HIDDEN, UNCLOAKED])
def test_a_crash_lays_the_token_on_no_disk(
    him: Ordinary, world: FakeDiscordThread, token: str, tmp_path: Path, program: tuple[str, ...]
) -> None:
    """Beside the unit's `LimitCORE=0`: the child may signal the connector, and read the dump, were there one."""
    if not re.fullmatch(r"[\w.%-]+", Path("/proc/sys/kernel/core_pattern").read_text().strip()):
        pytest.skip("core dumps of this machine go elsewhere than to the working folder")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY and os.geteuid() != 0:
        pytest.skip("this user may write no core dumps at all")
    here = Setting(him, world, token, tmp_path, pries=False)
    place = him.folder("cores")
    with here.live(program, preexec_fn=dumping, cwd=place) as life:
        life.until("connector.ready")
        life.process.send_signal(signal.SIGABRT)
        life.rest()
        assert life.process.wait() == -signal.SIGABRT
    cores = [path for path in place.iterdir() if path.is_file()]
    assert [token.encode() in path.read_bytes() for path in cores] == ([True] if program == UNCLOAKED else [])
