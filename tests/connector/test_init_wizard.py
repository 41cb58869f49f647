"""`init` as a person or a script meets it: questions, defaults, Discord's word on token and ids, what is written."""

import io
import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from connector import init
from connector.exits import Refusal
from connector.init_ask import Script, ids
from fakes.discord import FakeDiscordThread

TOKEN = "bot.token.of-a-fake-discord"
BOUND = 30.0


@dataclass(frozen=True)
class House:
    """A home folder with a pi on its PATH, and a Discord."""

    folder: Path
    world: FakeDiscordThread

    @property
    def environ(self) -> dict[str, str]:
        """A shell's environment."""
        base, gateway = self.world.ask(lambda here: (here.rest_base, here.gateway_url))
        return {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "PI_CONNECTOR_DISCORD__API_BASE": base,
            "PI_CONNECTOR_DISCORD__GATEWAY_URL": gateway,
        }

    @property
    def own(self) -> Path:
        """Where the files go."""
        return self.folder / ".config" / "pi-connector"

    def run(self, *answers: str, offline: bool = False, more: Mapping[str, str] = MappingProxyType({})) -> None:
        """`init` with a script's answers."""
        script = Script(io.StringIO("".join(f"{answer}\n" for answer in answers)))
        init.run(None, None, {**self.environ, **more}, offline=offline, asker=script)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Nothing was asked of Discord that the real one does not know."""
    monkeypatch.setattr(init, "hide_process", lambda: True)  # this process is the tests'
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pi").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m fakes.pi "$@"\n')
    (tmp_path / "bin" / "pi").chmod(0o755)
    with FakeDiscordThread(token=TOKEN) as world:
        yield House(tmp_path, world)


def config(house: House) -> dict[str, dict[str, object]]:
    return tomllib.loads((house.own / "connector.toml").read_text())


def files(house: House) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in house.own.iterdir()}


def test_a_script_that_only_gives_the_token_gets_the_owner_as_user_and_operator(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.run(TOKEN)
    owner, guild = house.world.ask(
        lambda here: (int(here.mind.application()["owner"]["id"]), here.guild.id),
    )
    assert config(house) == {
        "discord": {"token_file": "token"},
        "access": {"guilds": [guild], "users": [owner], "operators": [owner]},
        "agent": {
            "command": [str(house.folder / "bin" / "pi"), "--mode", "rpc"],
            "cwd": "~/pi-work",
            "env": {"PATH": config(house)["agent"]["env"]["PATH"]},  # type: ignore[index]  # see test_init_plan.py
        },
    }
    assert files(house) == {"connector.toml": 0o600, "token": 0o600, "pi-connector@.service": 0o644}
    assert (house.own.stat().st_mode & 0o777, (house.folder / "pi-work").is_dir()) == (0o700, True)
    assert (house.own / "token").read_text() == f"{TOKEN}\n"
    said = capsys.readouterr().out
    assert TOKEN not in said
    application = house.world.ask(lambda here: here.mind.application()["id"])
    assert f"client_id={application}&permissions=309237763136&scope=bot+applications.commands" in said
    assert "sudo systemctl enable --now pi-connector@home" in said
    found = said.partition("pi-connector check --online says:\n")[2].splitlines()
    assert [line for line in found if line.startswith("error: ")] == []


def test_of_a_team_its_owner_is_proposed(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    ann = house.world.ask(lambda here: here.person("ann").id)

    def of_a_team(ann: int) -> None:
        real = house.world.world.mind.application
        user = house.world.world.mind.user(ann)
        member = {"user": user, "team_id": "5", "membership_state": 2, "role": "admin", "permissions": ["*"]}
        team = {"id": "5", "icon": None, "name": "Us", "owner_user_id": str(ann), "members": [member]}
        house.world.world.mind.application = lambda: real() | {"team": team}  # type: ignore[method-assign]

    house.world.ask(lambda _: of_a_team(ann))
    house.run(TOKEN)
    assert (config(house)["access"]["users"], config(house)["access"]["operators"]) == ([ann], [ann])
    assert "owned by ann" in capsys.readouterr().out


def test_answers_become_the_defaults_and_nothing_is_overwritten_unasked(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    ann, bob = house.world.ask(lambda here: (here.person("ann").id, here.person("bob").id))
    house.run(TOKEN, "-", "", f"{ann}, {bob}", str(bob), "", "~/elsewhere", "work")
    first = config(house)
    assert (first["access"], first["agent"]["cwd"]) == ({"users": [ann, bob], "operators": [bob]}, "~/elsewhere")
    with (house.own / "connector.toml").open("a") as file:
        file.write("[spend]\nperson_day = 2.5\n# mine\n")
    text = (house.own / "connector.toml").read_text()

    house.run("", "", "", str(ann), str(ann))  # what differs is kept where the script says nothing of it
    assert (house.own / "connector.toml").read_text() == text
    assert f"kept {house.own / 'connector.toml'}" in capsys.readouterr().out

    house.run("", "", "", str(ann), str(ann), "", "", "", "y")
    assert config(house)["access"] == {"users": [ann], "operators": [ann]} | {"guilds": first_guild(house)}
    assert config(house)["spend"] == {"person_day": 2.5}
    assert (house.own / "token").read_text() == f"{TOKEN}\n"


def first_guild(house: House) -> list[int]:
    return [house.world.ask(lambda here: here.guild.id)]


def test_another_token_replaces_the_one_there_only_when_agreed(house: House) -> None:
    house.run(TOKEN)
    other = "another.token.of-the-same-bot"
    house.run(other, offline=True)
    assert (house.own / "token").read_text() == f"{TOKEN}\n"
    house.run(other, "", "", "", "", "", "", "", "y", offline=True)
    assert (house.own / "token").read_text() == f"{other}\n"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (("wrong.token",), "Discord refuses this token; press Reset Token and take the new one"),
        (("Bot token",), 'that is no token: it is one word, without "Bot" in front'),
        ((TOKEN, "77"), "Discord knows no server with the bot in it, 77"),
        ((TOKEN, "", "77"), "Discord knows no channel 77"),
        ((TOKEN, "", "", "77"), "Discord knows no user 77"),
        ((TOKEN, "", "", "ann"), '"ann" is no Discord id, which is a number of about 18 digits'),
        ((TOKEN, "", "", "", "", "", "here"), "name it from the root (/…) or from the home folder (~/…)"),
        ((TOKEN, "", "", "", "", "", "", "a/b"), "use letters, digits, _ . : and -"),
    ],
)
def test_a_wrong_answer_of_a_script_ends_it_with_nothing_written(
    house: House, answers: Sequence[str], why: str
) -> None:
    with pytest.raises(Refusal) as refused:
        house.run(*answers)
    assert refused.value.reason.endswith(f": {why}, so nothing was written")
    assert not house.own.exists()


def test_offline_nothing_is_asked_of_discord_and_somebody_must_be_named(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Refusal, match="at least one is needed"):
        house.run(TOKEN, offline=True)
    house.run("", "5", "6", "7", "7", offline=True)
    assert house.world.ask(lambda here: here.requests) == []
    assert (config(house)["access"], "token" in files(house)) == (
        {"guilds": [5], "channels": [6], "users": [7], "operators": [7]},
        False,
    )
    said = capsys.readouterr().out
    assert "client_id=APPLICATION_ID&" in said
    assert f"error: discord.token_file: {house.own / 'token'} cannot be read" in said
    assert "/etc/pi-connector/home.token    # paste the token" in said


def test_a_discord_that_cannot_be_reached_is_told_and_stops_nobody(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.run(TOKEN, "", "", "7", more={"PI_CONNECTOR_DISCORD__API_BASE": "http://127.0.0.1:9/api/v10"})
    assert config(house)["access"] == {"users": [7], "operators": [7]}
    assert (
        "Not checked: error: discord.api_base: http://127.0.0.1:9/api/v10 cannot be reached" in capsys.readouterr().out
    )


def test_each_key_in_the_environment_is_offered_and_its_value_written_nowhere(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"OPENAI_API_KEY": "sk-hush-hush-hush", "GEMINI_API_KEY": "another-hush"}
    house.run(TOKEN, "", "", "", "", "", "", "n", "y", more=keys)
    assert config(house)["agent"]["env_pass"] == ["GEMINI_API_KEY"]
    written = "".join(path.read_text() for path in house.own.iterdir()) + capsys.readouterr().out
    assert [value for value in keys.values() if value in written] == []


@pytest.mark.parametrize("named", ["option", "variable"])
def test_another_place_for_the_configuration_takes_everything_along(
    house: House, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = house.folder / "else where" / "bot.toml"
    environ = house.environ | ({"PI_CONNECTOR_CONFIG": str(file)} if named == "variable" else {})
    script = Script(io.StringIO("\n\n\n7\n"))
    init.run(file if named == "option" else None, "work", environ, offline=True, asker=script)
    assert {path.name for path in file.parent.iterdir()} == {"bot.toml", "pi-connector@.service"}
    assert not house.own.exists()
    said = capsys.readouterr().out
    assert (f" run --config '{file}' " in said) == (named == "option")
    assert f"sed '/^token_file/d' '{file}' | sudo install -Dm 640 " in said
    assert "pi-connector@work" in said


def test_a_configuration_that_cannot_be_read_is_neither_guessed_at_nor_replaced(house: House) -> None:
    house.own.mkdir(parents=True)
    (house.own / "connector.toml").write_text("[access]\nusr = [1]\n")
    with pytest.raises(Refusal, match=r"access\.usr: unknown key"):
        house.run(TOKEN)
    assert (house.own / "connector.toml").read_text() == "[access]\nusr = [1]\n"


@pytest.mark.parametrize(("text", "read"), [("", ()), ("1 2,3,\t2", (1, 2, 3))])
def test_ids(text: str, read: tuple[int, ...]) -> None:
    assert ids(text) == read


@pytest.mark.parametrize("text", ["0", "-1", "x", "9223372036854775808", "1;2"])
def test_no_ids(text: str) -> None:
    with pytest.raises(ValueError, match="is no Discord id"):
        ids(text)


def test_at_a_terminal_the_token_is_not_echoed_and_a_wrong_answer_is_asked_again(house: House) -> None:
    """Issue: token file of mode 600, never echoed."""
    here, there = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "connector", "init"],
        env=house.environ,
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,  # or getpass would turn to the terminal of whoever runs the tests
    ) as process:
        os.close(there)
        said = b""
        # Each answer waits for its question: what is typed before getpass has switched echo off would be seen.
        for question, answer in (
            (b"leave it for later): ", "wrong.token"),
            (b"leave it for later): ", TOKEN),
            (b"in your server.", ""),
            (b"every server it is in)", ""),
            (b"every channel it can see)", "xyz"),
            (b"no Discord id", ""),
            (b"who may speak to it (ids)", ""),
            (b"Operators", ""),
            (b"starts it", ""),
            (b"works in", ""),
            (b"Name of the instance", ""),
        ):
            heard = _until(here, question)
            said += heard
            os.write(here, f"{answer}\n".encode())
        said += _rest(here)
        os.close(here)
        assert process.wait(BOUND) == 0
    assert b"Discord refuses this token" in said
    assert (TOKEN.encode() in said, b"wrong.token" in said, b"xyz" in said) == (False, False, True)
    assert (house.own / "token").read_text() == f"{TOKEN}\n"


def _until(fd: int, words: bytes) -> bytes:
    said = b""
    while words not in said:
        said += os.read(fd, 1 << 16)
    return said


def _rest(fd: int) -> bytes:
    said = b""
    try:
        while more := os.read(fd, 1 << 16):
            said += more
    except OSError:  # the other end is closed
        return said
    return said
