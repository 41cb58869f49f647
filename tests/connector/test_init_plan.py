"""`init` without a person: answers into files and lines, what is found on a machine, TOML that reads back the same."""

import os
import shlex
import tomllib
from pathlib import Path, PurePath
from typing import Any

import pytest
from msgspec.structs import replace

from connector.init_find import Found, agent_path, find, keys_seen
from connector.init_plan import Answers, Site, plan, tables, unit_text
from connector.settings_load import load
from connector.unit_files import shipped_file
from connector.unit_text import drifts, read, words

ANSWERS = Answers(
    guilds=(1,),
    channels=(),
    users=(2, 3),
    operators=(2,),
    command=("/opt/node/bin/pi", "--mode", "rpc"),
    path="/opt/node/bin:/usr/bin",
    cwd="~/pi-work",
    keys=(),
    instance="home",
)
HOME = PurePath("/home/ann/.config/pi-connector")
SHIPPED = shipped_file().read_text()


def site(
    existing: dict[str, dict[str, Any]] | None = None,
    *,
    trusted: bool = True,
    program: str = "/opt/c/bin/pi-connector",
) -> Site:
    return Site(
        config=HOME / "connector.toml",
        token=HOME / "token",
        program=PurePath(program),
        user="ann",
        group="staff",
        shipped_unit=SHIPPED,
        existing=existing or {},
        trusted=trusted,
    )


def test_the_configuration_is_what_was_answered_and_one_that_run_takes(tmp_path: Path) -> None:
    config, unit = plan(ANSWERS, site(), has_token=True).files
    assert (config.path, config.mode, unit.path, unit.mode) == (
        HOME / "connector.toml",
        0o600,
        HOME / "pi-connector@.service",
        0o644,
    )
    assert tomllib.loads(config.text) == {
        "discord": {"token_file": "token"},
        "access": {"guilds": [1], "users": [2, 3], "operators": [2]},
        "agent": {
            "command": ["/opt/node/bin/pi", "--mode", "rpc"],
            "cwd": "~/pi-work",
            "env": {"PATH": "/opt/node/bin:/usr/bin"},
        },
    }
    (tmp_path / "connector.toml").write_text(config.text)
    assert load(tmp_path / "connector.toml", None, {}).access.users == {2, 3}


def test_what_nobody_asked_for_stays_and_what_was_emptied_is_empty() -> None:
    before: dict[str, dict[str, Any]] = {
        "access": {"guilds": [7], "channels": [8], "dms": False},
        "agent": {"env": {"PI_OFFLINE": "1", "PATH": "/old"}, "env_pass": ["OLD_API_KEY"], "max_children": 2},
        "spend": {"person_day": 1.5},
    }
    after = tables(ANSWERS, site(before))
    assert after == {
        "discord": {"token_file": "token"},
        "access": {"guilds": [1], "channels": [], "dms": False, "users": [2, 3], "operators": [2]},
        "agent": {
            "env": {"PI_OFFLINE": "1", "PATH": "/opt/node/bin:/usr/bin"},
            "env_pass": [],
            "max_children": 2,
            "command": ["/opt/node/bin/pi", "--mode", "rpc"],
            "cwd": "~/pi-work",
        },
        "spend": {"person_day": 1.5},
    }
    assert before["agent"]["env_pass"] == ["OLD_API_KEY"]


def test_the_unit_is_the_shipped_one_for_this_user_and_this_program() -> None:
    unit = read([("new", unit_text(site(program="/home/ann/my venv/$50%/pi-connector")))])
    assert (unit.last("User"), words(unit.last("ExecStart"))) == (
        "ann",
        ["/home/ann/my venv/$$50%%/pi-connector", "run", "--instance", "%i"],
    )
    assert drifts(read([("shipped", SHIPPED)]), unit) == ()


def test_the_privileged_lines_take_the_token_out_of_the_agents_reach() -> None:
    config = f"{HOME}/connector.toml"
    assert plan(ANSWERS, site(), has_token=True).lines == (
        f"sudo install -Dm 644 {HOME}/pi-connector@.service /etc/systemd/system/pi-connector@.service",
        f"sed '/^token_file/d' {config} | sudo install -Dm 640 -g staff /dev/stdin /etc/pi-connector/home.toml",
        f"sudo install -Dm 600 {HOME}/token /etc/pi-connector/home.token && rm {HOME}/token",
        "sudo systemctl daemon-reload",
        "sudo /opt/c/bin/pi-connector check --instance home --online",
        "sudo systemctl enable --now pi-connector@home",
    )


def test_root_is_not_asked_to_run_a_program_that_the_agent_can_change() -> None:
    lines = plan(ANSWERS, site(trusted=False), has_token=True).lines
    assert [line for line in lines if "check" in line] == ["/opt/c/bin/pi-connector check --instance home --online"]


def test_without_a_token_the_line_takes_it_by_hand() -> None:
    [line] = [line for line in plan(ANSWERS, site(), has_token=False).lines if ".token" in line]
    assert shlex.split(line, comments=True) == [
        "sudo",
        *("install", "-Dm", "600", "/dev/stdin", "/etc/pi-connector/home.token"),
    ]


def test_keys_are_named_and_never_shown() -> None:
    """Issue: offers each provider key to `agent.env_pass`, by name; the service gets the values from root's file."""
    made = plan(replace(ANSWERS, keys=("OPENAI_API_KEY", "HF_TOKEN")), site(), has_token=True)
    assert tomllib.loads(made.files[0].text)["agent"]["env_pass"] == ["OPENAI_API_KEY", "HF_TOKEN"]
    grep = "env | grep -E '^(OPENAI_API_KEY|HF_TOKEN)=' | sudo install -Dm 600 /dev/stdin /etc/pi-connector/home.env"
    assert grep in made.lines
    assert read([("shipped", SHIPPED)]).all("EnvironmentFile") == ("-/etc/pi-connector/%i.env",)


# -- what is found


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder / name


def test_pi_on_the_path_with_the_node_beside_it(tmp_path: Path) -> None:
    own, pi = tmp_path / "venv", program(tmp_path / "bin", "pi")
    own.mkdir()
    node = program(tmp_path / "bin", "node")
    path = os.pathsep.join(("relative", str(own), str(tmp_path / "bin"), str(tmp_path / "gone")))
    assert find({"PATH": path}, own) == Found(pi, node, f"{tmp_path}/bin:/usr/local/bin:/usr/bin:/bin")


@pytest.mark.parametrize(
    "place", [".npm-global/bin", ".local/bin", ".nvm/versions/node/v22.19.0/bin", ".volta/bin", "own prefix/bin"]
)
def test_pi_where_npm_puts_it(tmp_path: Path, place: str) -> None:
    (tmp_path / ".npmrc").write_text("audit=false\nprefix = ${HOME}/own prefix\n")
    program(tmp_path / ".nvm/versions/node/v9.9.9/bin", "other")
    pi, node = program(tmp_path / place, "pi"), program(tmp_path / place, "node")
    found = find({"PATH": str(tmp_path / "nothing"), "HOME": str(tmp_path)}, tmp_path)
    assert (found.pi, found.node) == (pi, node)
    assert found.path.split(":")[0] == str(tmp_path / place)


def test_of_several_nodes_the_newest_has_pi(tmp_path: Path) -> None:
    for version in ("v9.1.0", "v22.20.1", "v22.3.0"):
        program(tmp_path / f".nvm/versions/node/{version}/bin", "pi")
    found = find({"HOME": str(tmp_path)}, tmp_path)
    assert found.pi == tmp_path / ".nvm/versions/node/v22.20.1/bin/pi"


def test_another_node_in_front_is_put_behind_pis_own(tmp_path: Path) -> None:
    pi, node = program(tmp_path / "new", "pi"), program(tmp_path / "new", "node")
    program(tmp_path / "old", "node")
    path = agent_path(pi, node, [tmp_path / "old", tmp_path / "new"])
    assert path.split(":")[:2] == [str(tmp_path / "new"), str(tmp_path / "old")]


def test_keys_are_seen_by_name() -> None:
    assert keys_seen({"OPENAI_API_KEY": "x", "GEMINI_API_KEY": "", "DISCORD_TOKEN": "y"}) == ("OPENAI_API_KEY",)
