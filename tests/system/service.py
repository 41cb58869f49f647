"""One instance of the shipped unit in a booted systemd, against a fake Discord out here; it judges nothing."""

import asyncio
import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any, Self

from fakes.discord import FakeDiscord
from fakes.program import toml_tables
from tests.system.boot import BOUND, SOURCE, Boot, Journal

UNIT = SOURCE / "systemd" / "pi-connector@.service"
CHILD = ("/opt/pi-connector/bin/python", "-P", "-m", "fakes.pi", "--mode", "rpc")
SOON = "[Service]\nRestartSec=100ms\n"
"""What the tests change of the unit: they do not wait as long between two starts."""

WATCHED = "WatchdogSec=1500ms\n"
PERIODS = 15_000_000
"""Microseconds that ten periods of such a watchdog last."""


class Service:
    """`pi-connector@NAME`, an async context: set up, not started; stopped at its end if a test left it running.

    `dropin`: further lines of the `[Service]` section; `token`: another one than Discord knows.
    """

    def __init__(
        self, boot: Boot, name: str, world: FakeDiscord, *, dropin: str = "", token: str = "", **sections: Any
    ) -> None:
        self.boot, self.name, self.world = boot, name, world
        self.unit = f"pi-connector@{name}.service"
        self.state = f"/var/lib/pi-connector/{name}"
        self._home = f"/home/pi/{name}"
        self._dropin = SOON + dropin
        self._token = token or world.token
        self.journal = Journal(boot, self.unit)
        env = {"FAKE_PI_LOG": f"{self._home}/child.log", "PI_CODING_AGENT_DIR": f"{self._home}/agent"}
        self._sections: dict[str, dict[str, Any]] = {
            "discord": {"api_base": world.rest_base, "gateway_url": world.gateway_url, "progress": "off"},
            "access": {"users": [world.person("ann").id]},
            "agent": {"command": CHILD, "cwd": self._home, "env": env},
            "lanes": {"busy": "queue"},
            "log": {"level": "debug"},
        }
        for section, keys in sections.items():
            self._sections.setdefault(section, {}).update(keys)

    async def __aenter__(self) -> Self:
        etc, units = self.boot.path("/etc/pi-connector"), self.boot.path("/etc/systemd/system")
        etc.mkdir(exist_ok=True)
        (etc / f"{self.name}.toml").write_text(toml_tables(self._sections))
        token = etc / f"{self.name}.token"
        token.touch(0o600)
        token.write_text(f"{self._token}\n")
        shutil.copy(UNIT, units)
        dropin = units / f"{self.unit}.d" / "test.conf"
        dropin.parent.mkdir()
        dropin.write_text(self._dropin)
        self._own(self._home)
        await self.systemctl("daemon-reload")
        await self.journal.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.run("systemctl", "kill", "--signal=KILL", self.unit)
        await self.systemctl("stop", self.unit)
        await self.journal.__aexit__(None, None, None)

    @property
    def uid(self) -> int:
        """The number of the user `pi`, and of his group."""
        lines = self.boot.path("/etc/passwd").read_text().splitlines()
        return int(next(line.split(":")[2] for line in lines if line.startswith("pi:")))

    def _own(self, folder: str) -> None:
        """Make a folder of the user's."""
        made = self.boot.path(folder)
        made.mkdir(parents=True)
        os.chown(made, self.uid, self.uid)

    async def small_disk(self) -> None:
        """A disk of a megabyte as the state folder."""
        self._own(self.state)
        options = f"size=1m,mode=700,uid={self.uid}"
        code, said = await self.run("mount", "-t", "tmpfs", "-o", options, "tmpfs", self.state)
        assert code == 0, said

    def fill_disk(self) -> Path:
        """Leave no byte free on it; the file that holds them."""
        ballast = self.boot.path(self.state) / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                pass
        return ballast

    async def run(self, *command: str) -> tuple[int, str]:
        """Run it in there, beside everything else: how it ended, and what it wrote."""
        process = await asyncio.create_subprocess_exec(
            *self.boot.inside(*command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await asyncio.wait_for(process.communicate(), BOUND)
        assert process.returncode is not None
        return process.returncode, said.decode()

    async def systemctl(self, *words: str) -> str:
        """`systemctl …`, which must end well."""
        code, said = await self.run("systemctl", *words)
        assert code == 0, said
        return said

    async def begin(self) -> None:
        """Order the start; it is waited for elsewhere."""
        await self.systemctl("start", "--no-block", self.unit)

    async def start(self) -> None:
        """Order the start, and wait until systemd knows that it is up."""
        await self.systemctl("start", self.unit)

    async def shown(self, *names: str) -> dict[str, str]:
        """These properties of the unit."""
        said = await self.systemctl("show", "--property", ",".join(names), self.unit)
        return dict(line.split("=", 1) for line in said.splitlines())

    async def status(self) -> str:
        """What `systemctl status` shows an operator."""
        return (await self.run("systemctl", "status", "--no-pager", "--full", self.unit))[1]

    async def main_pid(self) -> str:
        """The process id of the connector, in there; 0 while there is none."""
        return (await self.shown("MainPID"))["MainPID"]

    async def signal(self, name: str, pid: str | int) -> None:
        """Send it to one process in there."""
        code, said = await self.run("kill", f"-{name}", str(pid))
        assert code == 0, said

    def alive(self, pid: int) -> bool:
        """Whether a process runs in there."""
        try:
            stat = self.boot.path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"

    def child_of(self, prompt: str) -> int:
        """The process id, in there, of the child that was given a prompt that ends in this text."""
        lines = [json.loads(line) for line in self.boot.path(f"{self._home}/child.log").read_text().splitlines()]
        given = (line for line in lines if line["kind"] == "command" and line["command"].get("type") == "prompt")
        return int(next(line["pid"] for line in given if line["command"]["message"].endswith(prompt)))
