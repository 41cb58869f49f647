"""The table of CONTRACT, Settings, copied as data: every key, its default, its override and its wrong values."""

import json
from pathlib import Path
from typing import Any

import pytest

from connector.exits import Refusal
from connector.settings import Settings, allowed
from connector.settings_load import keys, load, variable

USERS = "[access]\nusers = [1]\n"
API = "https://discord.com/api/v10"
OTHER_API = "http://127.0.0.1:8080/api/v10"
OTHER_GATEWAY = "ws://127.0.0.1:8080/gw"
NO_IDS: frozenset[int] = frozenset()

# key: default, another value as TOML and JSON write it, that value as the settings hold it, values to be refused
TABLE: dict[str, tuple[object, object, object, list[object]]] = {
    "discord.token_file": (None, "/run/token", "/run/token", ["", " ", 5, ["x"], "a\0b", "~stranger/token"]),
    "discord.reactions": (True, False, False, ["no", 0, 1, []]),
    "discord.api_base": (API, OTHER_API, OTHER_API, ["http://example.org/api/v10", "https://example.org/api/v9"]),
    "discord.gateway_url": (None, OTHER_GATEWAY, OTHER_GATEWAY, ["ws://example.org/", "http://127.0.0.1/", "", 5]),
    "discord.progress": ("live", "off", "off", ["on", True, 1, "LIVE"]),
    "discord.reply_in": ("thread", "channel", "channel", ["threads", 1, ""]),
    "discord.stop_timeout": (10.0, 2.5, 2.5, [-1, "10", True, 1e300, []]),
    "access.guilds": (NO_IDS, [5, "6"], frozenset({5, 6}), [5, "5", [True], [1.0], ["<@5>"], {}]),
    "access.channels": (NO_IDS, ["7"], frozenset({7}), [[0], [-1], [2**63]]),
    "access.users": (NO_IDS, [8], frozenset({8}), [["x"], [[1]], [""]]),
    "access.roles": (NO_IDS, [9, "9"], frozenset({9}), [["1.5"], ["-1"], ["٣"]]),
    "access.operators": (NO_IDS, [10], frozenset({10}), [False, [{}]]),
    "access.dms": (True, False, False, ["false", 0]),
    "access.bots": (NO_IDS, [11], frozenset({11}), [[None], "all"]),
    "access.bot_turns": (5, 0, 0, [-1, 1.5, "5", True]),
    "lanes.respond": ("mention", "all", "all", ["mentions", 1]),
    "lanes.busy": ("auto", "steer", "steer", ["steering", False]),
    "lanes.capacity": (500, 1, 1, [0, -1, 1.5, "1", True]),
    "lanes.per_person": (20, 1, 1, [0, "1"]),
    "agent.command": (
        ("pi", "--mode", "rpc"),
        ["ssh", "host", "pi"],
        ("ssh", "host", "pi"),
        [[], "pi", [""], [" ", "x"], [1], ["pi\0"], {}],
    ),
    "agent.cwd": (".", "/srv/work", "/srv/work", ["", 5, "a\0"]),
    "agent.env": ({}, {"A": "1"}, {"A": "1"}, [[], {"A": 1}, {"": "x"}, {"A=B": "x"}, {"DISCORD_TOKEN": "x"}, "A=1"]),
    "agent.env_pass": ((), ["AWS_REGION"], ("AWS_REGION",), ["A", ["A*"], [""], [1], ["DISCORD_TOKEN"], ["A=B"]]),
    "agent.remote": (False, True, True, ["yes", 1]),
    "agent.max_children": (4, 1, 1, [0, -1, 2.5, True]),
    "agent.idle_timeout": (900.0, 1, 1.0, [-0.5, "x"]),
    "agent.dialog_timeout": (300.0, 1, 1.0, [-1]),
    "engine.turn_timeout": (180.0, 0.5, 0.5, [0, -1, "180"]),
    "engine.tool_timeout": (1800.0, 0.5, 0.5, [0, -1]),
    "engine.turn_limit": (7200.0, 0, 0.0, [-1]),
    "engine.abort_grace": (30.0, 0, 0.0, [-1]),
    "engine.run_grace": (60.0, 0, 0.0, [-1]),
    "engine.kill_after": (5.0, 0.25, 0.25, [-1]),
    "engine.max_line": (67108864, 1000, 1000, [0, 1.5]),
    "retry.backoff": ((5.0, 15.0, 45.0), [0, 1.5], (0.0, 1.5), [5, [-1], ["5"], [True], {}]),
    "retry.max_attempts": (3, 1, 1, [0]),
    "retry.quota_hold": (21600.0, 0, 0.0, [-1]),
    "steering.long_wait": (60.0, 0, 0.0, [-1]),
    "supervision.drain": (120.0, 0, 0.0, [-1]),
    "supervision.max_wedges": (5, 1, 1, [0]),
    "supervision.wedge_gap": (900.0, 0, 0.0, [-1]),
    "files.max_bytes": (10485760, 0, 0, [-1, 1.5]),
    "files.max_message": (10, 0, 0, [-1]),
    "files.max_lane": (268435456, 0, 0, [-1]),
    "spend.person_day": (0.0, 2.5, 2.5, [-1, "2"]),
    "spend.lane_day": (0.0, 2.5, 2.5, [-1]),
    "spend.total_day": (0.0, 2.5, 2.5, [-1]),
    "state.dir": (None, "/srv/state", "/srv/state", ["", 5]),
    "state.keep": (30.0, 0, 0.0, [-1]),
    "log.level": ("info", "debug", "debug", ["verbose", 10]),
    "log.format": ("auto", "json", "json", ["text", 1]),
    "metrics.listen": ("", "127.0.0.1:9464", "127.0.0.1:9464", ["9464", "host", "host:99999", ":1", 9464, "::1:80"]),
}
BESIDE = {
    "discord.api_base": {"discord.gateway_url": OTHER_GATEWAY},
    "discord.gateway_url": {"discord.api_base": OTHER_API},
}
WRONG = [(key, value) for key, row in TABLE.items() for value in row[3]]


def get(settings: Settings, key: str) -> object:
    section, name = key.split(".")
    value: object = getattr(getattr(settings, section), name)
    return value


def toml(value: Any) -> str:
    """Return a value as TOML writes it: JSON's form, tables apart."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write(path: Path, values: dict[str, object]) -> Path:
    lines = []
    for section in {key.split(".")[0]: None for key in values}:
        lines.append(f"[{section}]")
        lines += [
            f"{key.split('.')[1]} = {toml(value)}" for key, value in values.items() if key.split(".")[0] == section
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def environment(values: dict[str, object]) -> dict[str, str]:
    return {
        variable(*key.split(".")): value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
    }


def test_every_key_of_the_contract_is_known_and_no_other() -> None:
    assert {f"{section}.{key}" for section, key in keys()} == set(TABLE)


@pytest.mark.parametrize("key", TABLE)
def test_default(key: str) -> None:
    value = get(Settings(), key)
    assert (value, type(value)) == (TABLE[key][0], type(TABLE[key][0]))


@pytest.mark.parametrize("key", TABLE)
def test_set_in_the_file(key: str, tmp_path: Path) -> None:
    path = write(tmp_path / "c.toml", {key: TABLE[key][1]} | BESIDE.get(key, {}))
    settings = load(path, None, {})
    assert (get(settings, key), type(get(settings, key))) == (TABLE[key][2], type(TABLE[key][2]))
    assert settings.source == path


@pytest.mark.parametrize("key", TABLE)
def test_overridden_by_its_variable(key: str, tmp_path: Path) -> None:
    beside = BESIDE.get(key, {})
    # The file says something else, so that it is the variable that counts.
    path = tmp_path / "c.toml"
    path.write_text(USERS)
    if TABLE[key][0] is not None and not beside:
        default = TABLE[key][0]
        in_file = (
            sorted(default)
            if isinstance(default, frozenset)
            else list(default)
            if isinstance(default, tuple)
            else default
        )
        write(path, {key: in_file})
    settings = load(path, None, environment({key: TABLE[key][1]} | beside))
    assert get(settings, key) == TABLE[key][2]


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, value in WRONG if "null" not in json.dumps(value)])
def test_wrong_value_in_the_file_is_refused_naming_key_file_and_mend(key: str, value: object, tmp_path: Path) -> None:
    beside = {} if key == "access.users" else {"access.users": [1]}
    path = write(tmp_path / "c.toml", {key: value} | BESIDE.get(key, {}) | beside)
    with pytest.raises(Refusal) as refusal:
        load(path, None, {})
    # A broken api_base takes nothing else down with it: one error, one line.
    (line,) = refusal.value.lines()
    assert line.startswith(f"error: {key}: ")
    assert line.endswith(f"; give {allowed(*key.split('.'))} ({path})")


def says_the_same_in_a_variable(key: str, value: object) -> bool:
    """Return whether a wrong value is wrong as a variable too: all text there, a number's text is the number."""
    default = TABLE[key][0]
    if isinstance(value, str):
        is_json = value.isdigit() or value == "false"
        return "\0" not in value and (default is None or isinstance(default, str) or not is_json)
    return (
        default is not None
        and not (isinstance(default, str) and key == "agent.cwd")
        and "\\u0000" not in json.dumps(value)
    )


@pytest.mark.parametrize(("key", "value"), [row for row in WRONG if says_the_same_in_a_variable(*row)])
def test_wrong_value_in_a_variable_is_refused_naming_key_variable_and_mend(key: str, value: object) -> None:
    environ = environment({key: value} | BESIDE.get(key, {}))
    with pytest.raises(Refusal) as refusal:
        load(None, None, environ)
    (line,) = refusal.value.lines()
    assert line.startswith(f"error: {key}: ")
    assert line.endswith(f"; give {allowed(*key.split('.'))} (${variable(*key.split('.'))})")


def test_a_secret_in_the_childs_environment_is_not_repeated(tmp_path: Path) -> None:
    path = write(tmp_path / "c.toml", {"agent.env": {"KEY": 123456789, "DISCORD_TOKEN": "abcdefgh"}})
    with pytest.raises(Refusal) as refusal:
        load(path, None, {})
    assert "123456789" not in str(refusal.value)
    assert "abcdefgh" not in str(refusal.value)


@pytest.mark.parametrize(
    ("listen", "address"),
    [("", None), ("127.0.0.1:9464", ("127.0.0.1", 9464)), ("[::1]:80", ("::1", 80)), ("localhost:0", ("localhost", 0))],
)
def test_metrics_address(listen: str, address: tuple[str, int] | None) -> None:
    assert Settings.model_validate({"metrics": {"listen": listen}}).metrics.address == address
