"""The shipped unit's numbers, held against the code's defaults and exit codes (CONTRACT, BEHAVIOUR §6)."""

import configparser
from pathlib import Path

import pytest

from connector.exits import ExitCode
from connector.settings import Settings

UNIT = Path(__file__).parents[1] / "systemd" / "pi-connector@.service"
SLACK = 10
"""Seconds that a stop may take beyond its own bounds on a slow machine."""


@pytest.fixture(scope="module")
def unit() -> configparser.ConfigParser:
    # Strict: a directive given twice would be one that the test and systemd may read differently.
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep the case of keys
    parser.read_string(UNIT.read_text())
    return parser


def test_a_stop_in_order_fits_into_the_stop_timeout(unit: configparser.ConfigParser) -> None:
    settings = Settings()
    settling = ladder = settings.engine.kill_after
    longest = settings.discord.stop_timeout + settling + ladder

    assert float(unit["Service"]["TimeoutStopSec"]) >= longest + SLACK


def test_sigterm_reaches_the_connector_alone(unit: configparser.ConfigParser) -> None:
    assert unit["Service"]["KillMode"] == "mixed"


def test_only_a_refusal_stays_down(unit: configparser.ConfigParser) -> None:
    """CONTRACT: 0 stays stopped, 1 restarts, 3 is never restarted."""
    service = unit["Service"]
    prevented = {int(status) for status in service["RestartPreventExitStatus"].split()}
    restarted = {code for code in ExitCode if service["Restart"] == "on-failure" and code and code not in prevented}

    assert prevented == {ExitCode.REFUSED}
    assert ExitCode.FAULT in restarted
    assert ExitCode.STOPPED not in restarted


def test_our_own_refusal_comes_long_before_the_start_limit(unit: configparser.ConfigParser) -> None:
    """BEHAVIOUR §6: the start after `max_wedges` exits in a row refuses with 3 and says why."""
    supervision = Settings().supervision
    starts_until_refusal = supervision.max_wedges + 1

    assert int(unit["Unit"]["StartLimitBurst"]) >= 2 * starts_until_refusal
    assert float(unit["Service"]["RestartSec"]) < supervision.wedge_gap


def test_the_start_limit_can_be_reached_at_all(unit: configparser.ConfigParser) -> None:
    burst, pause = int(unit["Unit"]["StartLimitBurst"]), float(unit["Service"]["RestartSec"])

    assert (burst, pause, float(unit["Unit"]["StartLimitIntervalSec"])) == (20, 15, 600)
    assert burst * pause < 600


def test_names_and_folders_are_those_of_the_contract(unit: configparser.ConfigParser) -> None:
    """CONTRACT "Commands": `--instance NAME`, its token and its state folder."""
    service = unit["Service"]

    assert service["ExecStart"].split()[1:] == ["run", "--instance", "%i"]
    assert service["StandardInput"] == "file:/etc/pi-connector/%i.token"
    assert service["Environment"] == "PI_CONNECTOR_DISCORD__TOKEN_FILE=-"
    assert service["StateDirectory"] == "pi-connector/%i"
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")


def test_every_directive_stands_under_a_reason() -> None:
    for section in UNIT.read_text().split("\n[")[1:]:
        for paragraph in section.partition("\n")[2].strip().split("\n\n"):
            assert paragraph.startswith("# "), paragraph
