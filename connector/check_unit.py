"""The installed unit against the shipped one, and against what the settings need; reads files, changes nothing."""

from pathlib import Path

from connector.findings import Finding
from connector.settings import Settings
from connector.token import CREDENTIAL, KEY, VARIABLE
from connector.unit_files import Installed, shipped_file
from connector.unit_text import Drift, drifts, read, seconds, variables, words

UNIT = "unit"
SLACK = 10.0
"""Seconds that a stop may take beyond its own bounds on a slow machine."""


def unit_findings(installed: Installed, shipped: Path | None = None) -> list[Finding]:
    """Return what of the installed unit is not as shipped, and what in it would break the token's isolation."""
    source = shipped or shipped_file()
    unit = installed.unit
    differing = drifts(read([(str(source), source.read_text())]), unit)
    found = []
    of_file = [drift for drift in differing if drift.file in {"", str(installed.file)}]
    if of_file:
        mend = f"write it anew with pi-connector init, or install {source} and set User= by systemctl edit"
        found.append(Finding("warning", UNIT, f"in {installed.file} {_told(of_file)}", mend))
    for file in sorted({drift.file for drift in differing} - {"", str(installed.file)}):
        theirs = [drift for drift in differing if drift.file == file]
        found.append(Finding("warning", UNIT, f"in {file} {_told(theirs)}", "take that line out by systemctl edit"))
    if VARIABLE in variables(word for value in unit.all("Environment") for word in words(value)):
        mend = "take it out; the shipped unit hands the token over on standard input"
        found.append(Finding("warning", KEY, f"Environment= holds ${VARIABLE}, which the agent can read", mend))
    for name in ("LoadCredential", "LoadCredentialEncrypted", "SetCredential", "SetCredentialEncrypted"):
        if any(value.partition(":")[0] == CREDENTIAL for value in unit.all(name)):
            mend = "take it out; the shipped unit hands the token over on standard input"
            found.append(
                Finding("warning", KEY, f"{name}= makes the token a credential, which the agent can read", mend)
            )
    return found + _start_findings(installed)


def _told(drifts_: list[Drift]) -> str:
    return ", ".join(drift.words() for drift in drifts_)


def _start_findings(installed: Installed) -> list[Finding]:
    command = words(installed.unit.last("ExecStart"))
    if command[-3:] != ["run", "--instance", "%i"] and command[-2:] != ["run", "--instance=%i"]:
        text = f"in {installed.file} ExecStart= does not end in run --instance %i"
        return [Finding("error", UNIT, text, "write it anew with pi-connector init")]
    return []


def stop_findings(installed: Installed, settings: Settings) -> list[Finding]:
    """Return whether systemd would kill a stop that is still within the bounds of these settings."""
    given = seconds(installed.unit.last("TimeoutStopSec"))
    needed = settings.discord.stop_timeout + 2 * settings.engine.kill_after + SLACK
    if given is None or given >= needed:
        return []
    text = f"a stop may take {needed:g} seconds with these settings, and TimeoutStopSec= allows {given:g}"
    return [Finding("warning", UNIT, text, f"set TimeoutStopSec={needed:g} by systemctl edit")]
