"""The state folder: where it is (CONTRACT `state.dir`), and that it is this user's alone."""

import stat
from pathlib import Path

import pytest

from connector.exits import Refusal
from connector.settings import Settings
from connector.state_folder import prepare_state_folder, state_folder


def settings(tmp_path: Path, folder: str | None = None, instance: str | None = None) -> Settings:
    return Settings.model_validate(
        {"state": {"dir": folder}, "source": tmp_path / "etc" / "c.toml", "instance": instance}
    )


def test_order(tmp_path: Path) -> None:
    environ = {"STATE_DIRECTORY": "/var/lib/one:/var/lib/two", "XDG_STATE_HOME": "/xdg", "HOME": "/home/ann"}
    assert state_folder(settings(tmp_path, "/srv/state"), environ) == Path("/srv/state")
    assert state_folder(settings(tmp_path, "state"), environ) == tmp_path / "etc" / "state"
    assert state_folder(settings(tmp_path, instance="team"), environ) == Path("/var/lib/one")
    del environ["STATE_DIRECTORY"]
    assert state_folder(settings(tmp_path), environ) == Path("/xdg/pi-connector")
    assert state_folder(settings(tmp_path, instance="team"), environ) == Path("/xdg/pi-connector/team")
    environ["XDG_STATE_HOME"] = "relative"
    assert state_folder(settings(tmp_path), environ) == Path("/home/ann/.local/state/pi-connector")
    with pytest.raises(Refusal, match=r"error: state\.dir: "):
        state_folder(settings(tmp_path), {})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_with_its_parents_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "pi-connector" / "team"
    assert prepare_state_folder(folder) == ()
    assert (mode(folder), mode(folder.parent)) == (0o700, 0o700)
    assert prepare_state_folder(folder) == ()


def test_empty_one_is_tightened(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert prepare_state_folder(tmp_path) == ()
    assert mode(tmp_path) == 0o700


def test_one_with_something_in_it_may_be_somebodys_and_is_only_reported(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    tmp_path.chmod(0o755)
    (finding,) = prepare_state_folder(tmp_path)
    assert finding.line() == f"warning: state.dir: {tmp_path} is open to others; run chmod 700 {tmp_path}"
    assert mode(tmp_path) == 0o755


def test_one_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(Refusal, match=rf"error: state\.dir: {folder} cannot be used: "):
            prepare_state_folder(folder)
