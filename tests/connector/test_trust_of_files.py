"""What the agent could change (CONTRACT, Trust): seen by folder and by owner and mode."""

from pathlib import Path

import pytest

from connector.settings import Settings
from connector.trust import User, trust_findings

NOBODY = User(uid=54321, groups=frozenset({54321}))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with a configuration, a token, a program and a workspace, closed to others from the root on."""
    for name in ("etc", "program", "work"):
        (tmp_path / name).mkdir(mode=0o755)
    for name in ("etc/c.toml", "etc/token"):
        (tmp_path / name).touch(mode=0o644)
    return tmp_path


def settings(site: Path, **agent: object) -> Settings:
    return Settings.model_validate(
        {
            "source": site / "etc/c.toml",
            "discord": {"token_file": "token"},
            "agent": {"cwd": str(site / "work")} | agent,
        }
    )


def keys(settings: Settings, site: Path, user: User = NOBODY) -> list[tuple[str, str]]:
    found = trust_findings(settings, user=user, program=site / "program")
    assert {finding.level for finding in found} <= {"warning"}
    return [(finding.key, "inside" if "is inside agent.cwd" in finding.text else "writable") for finding in found]


def test_nothing_to_find(site: Path) -> None:
    assert keys(settings(site), site) == []


def test_all_three_inside_the_workspace(site: Path) -> None:
    inside = settings(site, cwd=str(site))
    assert keys(inside, site) == [("config", "inside"), ("discord.token_file", "inside"), ("program", "inside")]
    (link := site / "link").symlink_to(site, target_is_directory=True)
    assert keys(settings(site, cwd=str(link)), site) == keys(inside, site)


@pytest.mark.parametrize(
    ("name", "mode", "found"),
    [
        ("etc/c.toml", 0o646, ["config"]),
        ("etc/token", 0o602, ["discord.token_file"]),
        ("program", 0o757, ["program"]),
        ("etc", 0o757, ["config", "discord.token_file"]),  # who may write the folder may replace what is in it
        ("etc", 0o1777, []),  # not so in a sticky one, where all but the owner may only add
        (".", 0o757, ["config", "discord.token_file", "program"]),
        ("program", 0o1777, ["program"]),  # adding is enough to change a program
        ("etc/c.toml", 0o664, []),  # another group
    ],
)
def test_writable_by_the_agents_user(name: str, mode: int, found: list[str], site: Path) -> None:
    (site / name).chmod(mode)
    assert keys(settings(site), site) == [(key, "writable") for key in found]


def test_writable_through_a_group(site: Path) -> None:
    (site / "etc/c.toml").chmod(0o664)
    group = (site / "etc/c.toml").stat().st_gid
    assert keys(settings(site), site, User(54321, frozenset({group}))) == [("config", "writable")]


def test_the_owner_may_write_whatever_the_mode_says(site: Path) -> None:
    (site / "etc/c.toml").chmod(0o444)
    owner = User((site / "etc/c.toml").stat().st_uid, frozenset())
    assert ("config", "writable") in keys(settings(site), site, owner)


def test_a_remote_agent_reaches_none_of_them(site: Path) -> None:
    site.chmod(0o777)
    assert keys(settings(site, cwd=str(site), remote=True), site) == []


def test_token_from_elsewhere_is_no_file_to_judge(site: Path) -> None:
    for discord in ({}, {"token_file": "-"}):
        chosen = Settings.model_validate({"discord": discord, "agent": {"cwd": str(site / "etc")}})
        assert keys(chosen, site) == []


def test_root_is_a_finding(site: Path) -> None:
    (site / "etc/c.toml").chmod(0o400)
    chosen = settings(site)
    found = [finding.key for finding in trust_findings(chosen, user=User(0, frozenset()), program=site / "program")]
    assert found == ["user", "config", "discord.token_file", "program"]


@pytest.mark.parametrize(
    ("listen", "found"),
    [
        ("", False),
        ("127.0.0.1:1", False),
        ("[::1]:1", False),
        ("localhost:1", False),
        ("0.0.0.0:1", True),
        ("[::]:1", True),
    ],
)
def test_metrics_beyond_loopback(listen: str, found: bool, site: Path) -> None:
    chosen = settings(site).model_copy(
        update={"metrics": Settings.model_validate({"metrics": {"listen": listen}}).metrics}
    )
    lines = [finding.line() for finding in trust_findings(chosen, user=NOBODY, program=site / "program")]
    where = f" ({site / 'etc/c.toml'})"
    expected = f"warning: metrics.listen: {listen} is reachable from elsewhere; listen on 127.0.0.1{where}"
    assert lines == ([expected] if found else [])


def test_by_default_it_is_this_user_and_this_program() -> None:
    assert isinstance(trust_findings(Settings()), tuple)
