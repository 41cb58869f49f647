"""`check` apart from the child: state folder, token, working folder, and what Discord says; nothing is changed."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connector import check
from connector.check_online import online_findings
from connector.findings import Finding
from connector.settings import Settings
from connector.token import Secret, Token
from fakes.discord import FakeDiscordThread

TOKEN = "a-token-of-a-fake-discord"


def settings(**sections: Any) -> Settings:
    return Settings.model_validate(sections)


def state(folder: Path) -> list[Finding]:
    return check.state_findings(settings(state={"dir": str(folder)}), {})


# -- the state folder


def test_a_state_folder_that_run_would_make_is_no_finding_and_is_not_made(tmp_path: Path) -> None:
    assert state(tmp_path / "new" / "state") == []
    assert list(tmp_path.iterdir()) == []


def test_a_private_state_folder_is_no_finding(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert state(tmp_path) == []


def test_an_open_state_folder_is_left_open_and_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    mend = f"run chmod 700 {tmp_path}"
    assert state(tmp_path) == [Finding("warning", "state.dir", f"{tmp_path} is open to others", mend)]
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_file_where_the_state_folder_belongs(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert state(file) == [Finding("error", "state.dir", f"{file} is no folder", "name another one")]
    text = f"{file / 'below'} cannot be made: {file} is not this user's to write"
    assert state(file / "below") == [Finding("error", "state.dir", text, "make it for him, or name another folder")]


def test_a_state_folder_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root, who may write everything
    mend = "give it to the connector's user, or name another folder"
    assert state(tmp_path) == [Finding("error", "state.dir", f"{tmp_path} may not be written by this user", mend)]


def test_without_a_home_there_is_no_state_folder() -> None:
    assert [finding.key for finding in check.state_findings(settings(), {})] == ["state.dir"]


# -- the working folder


def test_a_working_folder_the_agent_may_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = settings(agent={"cwd": str(tmp_path)})
    assert check.cwd_findings(rules) == []
    monkeypatch.setattr(os, "access", lambda *_: False)
    [found] = check.cwd_findings(rules)
    assert (found.level, found.key) == ("warning", "agent.cwd")
    assert check.cwd_findings(settings(agent={"cwd": str(tmp_path), "remote": True})) == []


# -- the token


def token(rules: Settings, tmp_path: Path, *, online: bool = False, **environ: str) -> tuple[str | None, list[Finding]]:
    found = check.token_findings(rules, environ, online=online, etc=tmp_path)
    return (found.token.secret.reveal() if found.token else None), list(found.findings)


def file(path: Path, mode: int = 0o600) -> Path:
    path.write_text(f"{TOKEN}\n")
    path.chmod(mode)
    return path


def test_a_token_file_and_its_mode(tmp_path: Path) -> None:
    rules = settings(discord={"token_file": str(file(tmp_path / "t", 0o644))})
    text = f"{tmp_path / 't'} is open to others (mode 0644)"
    assert token(rules, tmp_path) == (
        TOKEN,
        [Finding("warning", "discord.token_file", text, f"run chmod 600 {tmp_path / 't'}")],
    )
    [missing] = token(settings(discord={"token_file": str(tmp_path / "no")}), tmp_path)[1]
    assert (missing.level, missing.text) == ("error", f"{tmp_path / 'no'} cannot be read: No such file or directory")


def test_the_variable_is_left_where_it_is(tmp_path: Path) -> None:
    environ = {"DISCORD_TOKEN": TOKEN}
    found = check.token_findings(settings(), environ, online=False, etc=tmp_path)
    assert found.token is not None
    assert (found.token.secret.reveal(), found.findings, environ) == (TOKEN, (), {"DISCORD_TOKEN": TOKEN})


def test_no_token_at_all_is_an_error_only_where_it_is_needed(tmp_path: Path) -> None:
    """CONTRACT `check`: `--online` also the token."""
    assert [finding.level for finding in token(settings(), tmp_path)[1]] == ["warning"]
    assert [finding.level for finding in token(settings(), tmp_path, online=True)[1]] == ["error"]


def test_standard_input_is_not_read_where_the_token_is_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "read_token", lambda *_, **__: pytest.fail("was read"))
    assert token(settings(discord={"token_file": "-"}), tmp_path) == (None, [])


@pytest.mark.parametrize("named", [{}, {"token_file": "-"}])
def test_an_instance_means_its_own_token_file(tmp_path: Path, named: dict[str, str]) -> None:
    """CONTRACT `discord.token_file`: `check --instance` reads NAME.token instead of standard input."""
    rules = settings(instance="main", discord=named)
    [missing] = token(rules, tmp_path)[1]
    assert (missing.level, missing.text) == ("error", f"there is no {tmp_path / 'main.token'}")
    file(tmp_path / "main.token")
    assert token(rules, tmp_path) == (TOKEN, [])


def test_it_is_said_where_the_instances_token_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file(tmp_path / "main.token")
    monkeypatch.setattr(os, "access", lambda *_: False)
    text = f"{tmp_path / 'main.token'} may not be read by this user, so the token was not checked"
    mend = "that is as it should be; run the check as root to have it read"
    expected = [Finding("warning", "discord.token_file", text, mend)]
    assert token(settings(instance="main"), tmp_path, online=True) == (None, expected)


# -- Discord


def at(world: FakeDiscordThread, **sections: Any) -> Settings:
    api = {"api_base": world.ask(lambda discord: discord.rest_base), "gateway_url": "ws://127.0.0.1:1/"}
    return settings(discord={**api, **sections.pop("discord", {})}, **sections)


def online(world: FakeDiscordThread, secret: str, **sections: Any) -> list[Finding]:
    return asyncio.run(online_findings(at(world, **sections), Token(Secret(secret), "$DISCORD_TOKEN")))


@pytest.fixture
def discord() -> Iterator[FakeDiscordThread]:
    with FakeDiscordThread(token=TOKEN) as world:
        yield world


def test_discord_takes_token_and_intent_and_is_only_asked(discord: FakeDiscordThread) -> None:
    assert online(discord, TOKEN) == []
    asked = discord.ask(lambda world: [(request.method, request.path) for request in world.requests])
    assert asked == [("GET", "/users/@me"), ("GET", "/applications/@me"), ("GET", "/users/@me/guilds")]
    assert discord.ask(lambda world: (world.unknown_routes, world.violations)) == ([], [])


def test_a_token_that_discord_refuses(discord: FakeDiscordThread) -> None:
    [found] = online(discord, "another-token")
    assert (found.level, found.key) == ("error", "discord.token_file")
    assert found.text == "Discord refuses the token of $DISCORD_TOKEN"
    assert "another-token" not in found.line()


def test_an_application_without_the_intent() -> None:
    with FakeDiscordThread(token=TOKEN, intents_allowed=False) as world:
        [found] = online(world, TOKEN)
    assert (found.level, found.text) == ("error", "the application may not read messages")
    assert "MESSAGE CONTENT INTENT" in found.mend


def test_a_discord_that_cannot_be_reached() -> None:
    with FakeDiscordThread(token=TOKEN) as world:
        gone = at(world)
    [found] = asyncio.run(online_findings(gone, Token(Secret(TOKEN), "here")))
    assert (found.level, found.key) == ("error", "discord.api_base")
    assert found.text == f"{gone.discord.api_base} cannot be reached: ClientConnectorError"


# -- all together


def test_all_findings_come_together_and_nothing_is_changed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    rules = settings(
        agent={"command": [sys.executable, "-c", "raise SystemExit(4)"], "cwd": str(tmp_path / "work")},
        state={"dir": str(tmp_path / "state")},
    )
    found = asyncio.run(check.check(rules, {"PATH": os.environ["PATH"]}, online=True, etc=tmp_path))
    errors = [(finding.key, finding.text) for finding in found if finding.level == "error"]
    assert errors == [
        ("access.users", "with users, roles and operators empty nobody is served"),
        ("discord.token_file", "there is no token"),
        ("agent.command", "exited with status 4 before it answered"),
    ]
    assert [path.name for path in tmp_path.rglob("*")] == ["work"]


def test_a_missing_working_folder_is_told_once(tmp_path: Path) -> None:
    rules = settings(access={"users": [1]}, agent={"cwd": str(tmp_path / "no")}, state={"dir": str(tmp_path / "s")})
    found = asyncio.run(check.check(rules, {"PATH": os.environ["PATH"]}, online=False, etc=tmp_path))
    errors = [(finding.key, finding.text) for finding in found if finding.level == "error"]
    assert errors == [("agent.cwd", f"there is no folder {tmp_path / 'no'}")]
