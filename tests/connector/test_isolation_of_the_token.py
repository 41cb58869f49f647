"""`check` on the token's place: what of the isolation does not hold outside the shipped unit (CONTRACT)."""

import os
from pathlib import Path
from typing import Any

import pytest

from connector import check
from connector.findings import Finding
from connector.isolation import isolation_findings
from connector.settings import Settings
from connector.trust import User

KEY = "discord.token_file"
SERVICE = "run it as the shipped service, which hands the token over on standard input"
STRANGER = User(uid=54321, groups=frozenset({54321}))


def found(
    environ: dict[str, str] | None = None, user: User = STRANGER, platform: str = "linux", **sections: Any
) -> list[Finding]:
    return isolation_findings(Settings.model_validate(sections), environ or {}, user=user, platform=platform)


def token(tmp_path: Path, mode: int = 0o600) -> Path:
    path = tmp_path / "token"
    path.touch()
    path.chmod(mode)
    return path


def owner(path: Path) -> User:
    return User(path.stat().st_uid, frozenset())


def test_under_the_shipped_unit_nothing_is_found() -> None:
    assert found(discord={"token_file": "-"}) == []
    assert found(instance="home") == []


def test_a_token_file_the_agent_can_read(tmp_path: Path) -> None:
    file = token(tmp_path)
    expected = [Finding("warning", KEY, f"the token file {file} can be read by the agent", SERVICE)]
    assert found(discord={"token_file": str(file)}) == []
    assert found(discord={"token_file": str(file)}, user=owner(file)) == expected
    file.chmod(0o604)
    assert found(discord={"token_file": str(file)}) == expected
    file.chmod(0o640)
    assert found(discord={"token_file": str(file)}) == []
    assert found(discord={"token_file": str(file)}, user=User(1, frozenset({file.stat().st_gid}))) == expected


def test_a_variable_and_a_credential(tmp_path: Path) -> None:
    [variable] = found({"DISCORD_TOKEN": "x"})
    assert variable.text == "the token in $DISCORD_TOKEN can be read by the agent in the process that started this one"
    (tmp_path / "discord-token").touch(mode=0o644)
    [credential] = found({"CREDENTIALS_DIRECTORY": str(tmp_path)})
    assert credential.text == "the credential discord-token can be read by the agent"
    assert found({"CREDENTIALS_DIRECTORY": str(tmp_path / "none")}) == []


def test_what_init_left_for_a_try_is_found_beside_an_instance(tmp_path: Path) -> None:
    (tmp_path / "pi-connector").mkdir()
    file = token(tmp_path / "pi-connector")
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    text = f"{file} can be read by the agent, and is not what this instance uses"
    assert found(environ, user=owner(file), instance="home") == [Finding("warning", KEY, text, f"remove it: rm {file}")]
    assert found(environ, user=owner(file)) == []
    assert found(environ, instance="home") == []


def test_another_system_cannot_hide_memory() -> None:
    [told] = found(discord={"token_file": "-"}, platform="darwin")
    assert (told.key, told.mend) == (KEY, "run it on Linux")


def test_a_remote_agent_is_another_machines_user(tmp_path: Path) -> None:
    file = token(tmp_path)
    remote = {"remote": True}
    assert found(discord={"token_file": str(file)}, user=owner(file), agent=remote, platform="darwin") == []


@pytest.mark.parametrize("home", [True, False])
def test_without_a_configuration_the_places_are_named(tmp_path: Path, home: bool) -> None:
    """Issue, `check`: every finding with key and mend."""
    environ = {"HOME": str(tmp_path)} if home else {}
    [told] = check.config_findings(Settings(), environ, etc=Path("/etc/x"))
    own = f"{tmp_path}/.config/pi-connector/connector.toml and " if home else ""
    assert told.text == f"there is none in {own}/etc/x/connector.toml, and $PI_CONNECTOR_CONFIG names none"
    assert (told.level, told.key) == ("warning", "config")
    assert check.config_findings(Settings(source=tmp_path / "c.toml"), environ) == []


def test_systemd_makes_the_units_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # as below /var/lib, where only root may make one
    made = tmp_path / "made"
    assert check.state_findings(Settings(), {"STATE_DIRECTORY": str(made)}) == []
    made.mkdir()
    assert [told.level for told in check.state_findings(Settings(), {"STATE_DIRECTORY": str(made)})] == ["error"]
