"""`check --instance` as root: it becomes the unit's user, in the unit's environment, and judges with his eyes."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connector.unit_files import TEMPLATE, shipped_file
from connector.unit_text import with_lines
from fakes.discord import FakeDiscordThread
from fakes.program import toml_tables
from tests.system.ordinary import Ordinary, ordinary

TOKEN = "unit-token.of-a-fake-discord"
NOBODY = "nobody"
CHILDLESS = {"command": ["/bin/false"]}
"""Quickly found wanting: for what is judged before the child."""

CHECK = """
import asyncio, json, os, sys
from pathlib import Path
from connector import check, check_as, check_online
from connector.exits import Refusal
from connector.settings_load import load
units, etc, state, online = sys.argv[1:]
places = check_as.Places((Path(units),), Path(etc), Path(state))
found = []
try:
    shoes = check_as.step_in("home", os.environ, places)
    found += shoes.findings
    settings = load(None, "home", os.environ, etc=Path(etc))
    found += shoes.of_settings(settings)
    found += asyncio.run(check.check(settings, os.environ, online=bool(online), handed=shoes.token, etc=Path(etc)))
except Refusal as refusal:
    found += refusal.findings
print(json.dumps({
    "uid": os.getresuid(), "groups": os.getgroups(), "cwd": os.getcwd(), "environ": dict(os.environ),
    "found": [(one.level, one.key, one.text) for one in found],
}))
"""


class Machine:
    """Folders as systemd and the instances have them, in a place of this test."""

    def __init__(self, him: Ordinary, folder: Path) -> None:
        self.him = him
        self.units, self.etc, self.state = (folder / name for name in ("units", "etc", "state"))
        for path in (folder, self.units, self.etc, self.state):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        program = folder / "pi-connector"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        text = with_lines(shipped_file().read_text(), {"User": NOBODY, "ExecStart": f"{program} run --instance %i"})
        (self.units / TEMPLATE).write_text(text.replace("/etc/pi-connector/%i.env", f"{self.etc}/%i.env"))
        self.drop_in(f"[Service]\nWorkingDirectory={him.home}\nEnvironment=PATH=/usr/bin:/bin\n")
        (self.etc / "home.token").write_text(f"{TOKEN}\n")
        (self.etc / "home.token").chmod(0o600)

    def drop_in(self, text: str) -> None:
        folder = self.units / f"{TEMPLATE}.d"
        folder.mkdir(exist_ok=True)
        (folder / f"{len(list(folder.iterdir()))}.conf").write_text(text)

    def settings(self, **sections: dict[str, Any]) -> None:
        child = [self.him.python, "-P", "-m", "fakes.pi", "--mode", "rpc"]
        base: dict[str, dict[str, Any]] = {
            "access": {"users": [1]},
            "agent": {
                "command": child,
                "cwd": str(self.him.home),
                "env": {"PYTHONPATH": self.him.environ["PYTHONPATH"]},
            },
        }
        for name, keys in sections.items():
            base[name] = {**base.get(name, {}), **keys}
        (self.etc / "home.toml").write_text(toml_tables(base))
        (self.etc / "home.toml").chmod(0o644)

    def check(self, *, online: bool = False, uid: int = 0) -> dict[str, Any]:
        """What was found, and who looked."""
        places = [str(self.units), str(self.etc), str(self.state / "pi-connector"), "1" if online else ""]
        environ = {**os.environ, "PYTHONPATH": self.him.environ["PYTHONPATH"], "OPENAI_API_KEY": "of-the-shell"}
        done = self.him.run([self.him.python, "-P", "-c", CHECK, *places], env=environ, user=uid, group=uid)
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told


@pytest.fixture
def machine() -> Iterator[Machine]:
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("only root can become the unit's user")
    with ordinary() as him:
        folder = Path(f"{him.home}-machine")  # root's, where everybody may enter
        folder.mkdir()
        try:
            yield Machine(him, folder)
        finally:
            shutil.rmtree(folder)


def test_it_looks_with_the_eyes_of_the_units_user(machine: Machine) -> None:
    (machine.etc / "home.env").write_text('# keys\nGEMINI_API_KEY="from root\'s file"\n')
    (machine.etc / "home.env").chmod(0o600)
    machine.settings()
    told = machine.check()
    assert (set(told["uid"]), told["cwd"]) == ({65534}, str(machine.him.home))
    assert 0 not in told["groups"]
    known = {name: told["environ"].get(name) for name in ("PATH", "USER", "STATE_DIRECTORY", "GEMINI_API_KEY")}
    assert known == {
        "PATH": "/usr/bin:/bin",
        "USER": NOBODY,
        "STATE_DIRECTORY": str(machine.state / "pi-connector" / "home"),
        "GEMINI_API_KEY": "from root's file",
    }
    assert "OPENAI_API_KEY" not in told["environ"]  # the shell's, which the service has not
    assert [one for one in told["found"] if one[0] == "error"] == []
    assert {key for _, key, _ in told["found"]} == {"unit"}  # WorkingDirectory= and %i.env are this test's


def test_root_reads_the_token_that_the_user_may_not(machine: Machine) -> None:
    with FakeDiscordThread(token=TOKEN) as world:
        base, gateway = world.ask(lambda here: (here.rest_base, here.gateway_url))
        machine.settings(discord={"api_base": base, "gateway_url": gateway})
        assert [one for one in machine.check(online=True)["found"] if one[1] != "unit"] == []
        asked = world.ask(lambda here: [request.path for request in here.requests])
        assert asked == ["/users/@me", "/applications/@me", "/users/@me/guilds"]


@pytest.mark.parametrize("kind", ["open", "his"])
def test_a_token_file_that_is_not_roots_alone(machine: Machine, kind: str) -> None:
    machine.settings(agent=CHILDLESS)
    file = machine.etc / "home.token"
    file.chmod(0o644 if kind == "open" else 0o600)
    os.chown(file, 65534 if kind == "his" else 0, 0)
    said = {
        "open": f"{file} is open to others (mode 0644)",
        "his": f"{file} belongs to nobody, whose processes can read it",
    }
    assert ["warning", "discord.token_file", said[kind]] in machine.check()["found"]


def test_what_the_user_may_not_read_or_write_is_found(machine: Machine) -> None:
    """As root everything would seem well."""
    machine.settings()
    (machine.etc / "home.toml").chmod(0o600)
    assert ["error", "config", "cannot be read: Permission denied"] in machine.check()["found"]
    machine.settings(agent={"cwd": str(machine.etc)})
    text = f"{machine.etc} may not be written by this user: the agent can change nothing there"
    assert ["warning", "agent.cwd", text] in machine.check()["found"]


def test_a_token_left_in_his_home_is_found(machine: Machine) -> None:
    """What `init` wrote for a try: the agent could read it there."""
    machine.settings()
    machine.drop_in(f"[Service]\nEnvironment=HOME={machine.him.home}\n")
    (machine.him.home / ".config" / "pi-connector").mkdir(parents=True)
    left = machine.him.home / ".config" / "pi-connector" / "token"
    left.write_text(TOKEN)
    os.chown(left, 65534, 65534)
    for folder in (left.parent, left.parent.parent):
        machine.him.own(folder)
    said = [text for _, key, text in machine.check()["found"] if key == "discord.token_file"]
    assert said == [f"{left} can be read by the agent, and is not what this instance uses"]


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("User=no-such-user", ("error", "unit", "User=no-such-user: there is no such user")),
        (
            "ExecStart=\nExecStart=/no/such/pi-connector run --instance %i",
            ("error", "unit", "ExecStart= names /no/such/pi-connector, which is not there or may not be executed"),
        ),
        (
            "WorkingDirectory=/no/such",
            ("error", "unit", "WorkingDirectory=/no/such cannot be entered: No such file or directory"),
        ),
        (
            "DynamicUser=yes",
            (
                "warning",
                "unit",
                "the unit has a user only while it runs, so this shell's user and environment were judged",
            ),
        ),
    ],
)
def test_a_unit_that_cannot_be_stepped_into(machine: Machine, line: str, finding: tuple[str, str, str]) -> None:
    machine.settings(agent=CHILDLESS)
    machine.drop_in(f"[Service]\n{line}\n")
    assert list(finding) in machine.check()["found"]


def test_without_a_unit_it_says_whom_it_judged(machine: Machine) -> None:
    machine.settings(agent=CHILDLESS)
    (machine.units / TEMPLATE).unlink()
    text = "pi-connector@home.service is not installed here, so this shell's user and environment were judged"
    assert ["warning", "unit", text] in machine.check()["found"]


def test_whoever_is_not_root_is_told_what_he_does_not_see(machine: Machine) -> None:
    machine.settings(agent=CHILDLESS)
    machine.drop_in("[Service]\nUser=daemon\n")
    (machine.etc / "home.env").write_text("GEMINI_API_KEY=x\n")
    (machine.etc / "home.env").chmod(0o600)
    told = machine.check(uid=65534)
    assert (set(told["uid"]), told["environ"]["PATH"]) == ({65534}, "/usr/bin:/bin")
    warned = [text for level, _, text in told["found"] if level == "warning"]
    for text in (
        "the service runs as daemon, so files, folders and the agent were judged for another user",
        f"{machine.etc}/home.env cannot be read (Permission denied), so the variables in it were not seen",
        f"{machine.etc}/home.token may not be read by this user, so the token was not checked",
    ):
        assert text in warned
