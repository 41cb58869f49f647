"""Where the settings are found (CONTRACT, Settings), and what stands beside them; never the working folder."""

from pathlib import Path

import pytest

from connector.exits import Refusal
from connector.settings import Settings
from connector.settings_load import find, load


def file(path: Path, capacity: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[lanes]\ncapacity = {capacity}\n")
    return path


def test_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    for name in ("connector.toml", "pi-connector/connector.toml", ".config/pi-connector/connector.toml", "one.toml"):
        file(work / name, 99)
    monkeypatch.chdir(work)
    etc = tmp_path / "etc"
    environ = {
        "PI_CONNECTOR_CONFIG": str(file(tmp_path / "named.toml", 3)),
        "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
        "HOME": str(tmp_path / "home"),
    }
    config = file(tmp_path / "config.toml", 1)
    file(etc / "one.toml", 2)
    file(tmp_path / "xdg/pi-connector/connector.toml", 4)
    file(tmp_path / "home/.config/pi-connector/connector.toml", 5)
    file(etc / "connector.toml", 6)

    def capacity(config: Path | None, instance: str | None) -> int:
        return load(config, instance, environ, etc=etc).lanes.capacity

    assert capacity(config, "one") == 1
    assert capacity(None, "one") == 2
    assert capacity(None, None) == 3
    del environ["PI_CONNECTOR_CONFIG"]
    assert capacity(None, None) == 4
    environ["XDG_CONFIG_HOME"] = "pi-connector"  # a relative one counts as unset
    assert capacity(None, None) == 5
    del environ["HOME"], environ["XDG_CONFIG_HOME"]
    assert capacity(None, None) == 6
    (etc / "connector.toml").unlink()
    settings = load(None, None, environ, etc=etc)
    assert settings == Settings()
    assert settings.source is None


def test_xdg_folder_stands_for_the_home_one(tmp_path: Path) -> None:
    file(tmp_path / "home/.config/pi-connector/connector.toml", 5)
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path / "home")}
    assert find(None, None, environ, etc=tmp_path / "etc") is None


@pytest.mark.parametrize("named", ["config", "instance", "variable"])
def test_a_file_named_and_missing_is_refused_rather_than_the_next_taken(named: str, tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    file(etc / "connector.toml", 6)
    config = tmp_path / "absent.toml" if named == "config" else None
    instance = "absent" if named == "instance" else None
    environ = {"PI_CONNECTOR_CONFIG": str(tmp_path / "absent.toml")} if named == "variable" else {}
    with pytest.raises(Refusal, match=r"absent\.toml"):
        load(config, instance, environ, etc=etc)


@pytest.mark.parametrize("instance", ["", ".", "..", "../x", "a/b", "-x", "a b", "a\n", "é"])
def test_no_instance_leaves_its_folder(instance: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="error: --instance: "):
        load(None, instance, {}, etc=tmp_path)


def test_instance_and_source_are_kept(tmp_path: Path) -> None:
    path = file(tmp_path / "team-1.toml", 2)
    settings = load(None, "team-1", {}, etc=tmp_path)
    assert (settings.instance, settings.source) == ("team-1", path)


def test_nothing_comes_from_the_process_or_a_dotenv_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("PI_CONNECTOR_LANES__CAPACITY=98\n")
    monkeypatch.setenv("PI_CONNECTOR_LANES__CAPACITY", "99")
    monkeypatch.setenv("PI_CONNECTOR_UNKNOWN", "1")
    assert Settings().lanes.capacity == 500
    assert load(None, None, {}, etc=tmp_path).lanes.capacity == 500
    assert load(None, None, {"PI_CONNECTOR_LANES__CAPACITY": "7"}, etc=tmp_path).lanes.capacity == 7


def test_a_variable_replaces_a_table_of_the_file_and_leaves_the_keys_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[agent]\nmax_children = 2\nenv = { A = "1" }\n')
    agent = load(path, None, {"PI_CONNECTOR_AGENT__ENV": '{"B": "2"}'}).agent
    assert (agent.env, agent.max_children) == ({"B": "2"}, 2)


def test_relative_paths_stand_beside_the_file_not_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    settings = Settings(source=tmp_path / "etc" / "c.toml")
    assert settings.beside("token") == tmp_path / "etc" / "token"
    assert settings.beside("/run/token") == Path("/run/token")
    assert settings.beside("~/token") == tmp_path / "home" / "token"
    assert Settings().beside("token") == tmp_path / "work" / "token"
    assert settings.cwd == tmp_path / "work"
