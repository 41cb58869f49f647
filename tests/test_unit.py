"""The shipped unit's numbers, held against the code's defaults and exit codes (CONTRACT, BEHAVIOUR §6)."""

import configparser
from pathlib import Path

import pytest

from connector import watch
from connector.exits import ExitCode
from connector.settings import Settings
from engine import processes
from engine.sweep import UNKILLABLE

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


def test_a_stop_that_meets_what_cannot_be_killed_fits_too(unit: configparser.ConfigParser) -> None:
    """The ladder gives up on such a process some seconds after SIGKILL; it must not be systemd who ends the rest."""
    settings = Settings()
    longest = settings.discord.stop_timeout + 2 * settings.engine.kill_after + UNKILLABLE

    assert float(unit["Service"]["TimeoutStopSec"]) > longest


def test_the_watchdog_is_told_of_and_leaves_a_stack(unit: configparser.ConfigParser) -> None:
    """SIGABRT is what faulthandler answers with every stack; the start may wait for Discord as long as it takes."""
    service = unit["Service"]

    assert (service["Type"], service["NotifyAccess"], service["WatchdogSignal"]) == ("notify", "main", "SIGABRT")
    assert service["TimeoutStartSec"] == "infinity"


def test_the_watchdog_waits_longer_than_anything_that_may_hold_the_loop(unit: configparser.ConfigParser) -> None:
    """Fed at a third of its period; a disk counts as silent, and excused, before a meal could be missed."""
    period = float(unit["Service"]["WatchdogSec"])

    assert period / 3 >= 2 * watch.SLOW_DISK
    assert period / 3 >= watch.OVERDUE
    assert period <= watch.LANES_LATE


def test_a_watchdog_that_bites_again_and_again_is_no_start_limit(unit: configparser.ConfigParser) -> None:
    period, pause = float(unit["Service"]["WatchdogSec"]), float(unit["Service"]["RestartSec"])
    bites = float(unit["Unit"]["StartLimitIntervalSec"]) / (period + pause)

    assert bites < int(unit["Unit"]["StartLimitBurst"])


def test_memory_is_taken_from_the_tools_and_not_from_the_connector(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]

    assert service["OOMPolicy"] == "continue"
    assert int(service["OOMScoreAdjust"]) < 0 < processes.OOM_SCORE <= 1000
    assert "MemoryHigh" not in service  # it would slow the connector as well
    assert 0 < int(service["MemoryMax"].removesuffix("%")) < 100
    assert int(service["TasksMax"]) >= 1024


def test_an_agent_can_work_behind_the_hardening(unit: configparser.ConfigParser) -> None:
    """What would keep it from its folder, Node from compiling, or a browser from its sandbox is not there."""
    service = unit["Service"]

    assert service["ProtectSystem"] == "full"
    for hinders in ("ProtectHome", "MemoryDenyWriteExecute", "RestrictNamespaces", "PrivateNetwork", "ProcSubset"):
        assert hinders not in service
    assert "@debug" not in service["SystemCallFilter"]
    assert "@mount" not in service["SystemCallFilter"]


def test_every_process_is_seen_by_the_connector(unit: configparser.ConfigParser) -> None:
    """Behind ProtectProc= a child whose exec is not over yet is not there: it would be recorded as one already gone."""
    assert "ProtectProc" not in unit["Service"]


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
