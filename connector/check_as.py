"""`check --instance` steps into the service's shoes: the unit's user, environment and working folder, for this process.

As root it becomes that user for good, having read the token first, as systemd does. Anybody else can take over the
environment alone, and is told what he does not see.
"""

import grp
import os
import pwd
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from connector.admin import SYSTEM_STATE
from connector.check import TokenFound
from connector.check_unit import UNIT, stop_findings, unit_findings
from connector.exits import Refusal
from connector.findings import Finding
from connector.hidden import hide_process
from connector.settings import Settings
from connector.settings_load import ETC, instance_file
from connector.token import KEY, STANDARD_INPUT, read_token
from connector.trust import PROGRAM_FOLDER
from connector.unit_files import SYSTEM_UNITS, Installed, installed, unit_of
from connector.unit_text import Unit, expand, variables, words

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""What systemd gives a service as PATH (systemd.exec, Environment variables)."""

KEPT = ("LANG", "TZ")
"""Names that systemd gives every service of this machine, as this shell has them."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where things of systemd and of the instances lie; others for tests."""

    units: tuple[Path, ...] = SYSTEM_UNITS
    etc: Path = ETC
    state: Path = SYSTEM_STATE


@dataclass(frozen=True, slots=True)
class Shoes:
    """What was found on the way in: findings, the unit, and the token, where root could read it."""

    findings: tuple[Finding, ...]
    installed: Installed | None = None
    token: TokenFound | None = None

    def of_settings(self, settings: Settings) -> list[Finding]:
        """What can be judged only once the settings are read."""
        return stop_findings(self.installed, settings) if self.installed else []


def step_in(instance: str, environ: MutableMapping[str, str], places: Places = Places()) -> Shoes:
    """Become what the unit of `instance` would be, as far as this user may; `environ` is changed in place.

    Raises Refusal where the program could not even be read by the unit's user.
    """
    try:
        unit = installed(instance, places.units)
    except OSError as error:
        return Shoes((_warning(f"{error.filename} cannot be read: {error.strerror}", "run the check as root"),))
    if unit is None:
        text = f"{unit_of(instance)} is not installed here, so this shell's user and environment were judged"
        return Shoes((_warning(text, "install it: pi-connector init writes it and prints how"),))
    name = unit.unit.last("User")
    if unit.unit.last("DynamicUser").casefold() in {"yes", "true", "1", "on"}:
        text = "the unit has a user only while it runs, so this shell's user and environment were judged"
        return Shoes(
            (*unit_findings(unit), _warning(text, "name an ordinary user by User=, the one who set pi up")), unit
        )
    try:
        person = _person(name or "root")
    except KeyError:
        text, mend = f"User={name}: there is no such user", "name the one who set pi up, by systemctl edit"
        return Shoes((*unit_findings(unit), Finding("error", UNIT, text, mend)), unit)
    given, told = environment(unit.unit, instance, person, environ, places)
    token = None
    if os.geteuid() == 0 and person.pw_uid != 0:
        token = _token_as_root(instance, places)
        _become(person, unit.unit.last("Group"))
        hide_process()
        _refuse_unreadable_program(person)
    elif os.geteuid() != person.pw_uid:
        text = f"the service runs as {person.pw_name}, so files, folders and the agent were judged for another user"
        told.append(_warning(text, f"run it as root: sudo {sys.argv[0]} check --instance {instance}"))
        given |= {name: environ[name] for name in ("HOME", "USER", "LOGNAME", "SHELL") if name in environ}
    environ.clear()
    environ.update(given)
    told += _enter(unit.unit, person)
    return Shoes((*unit_findings(unit), *_program_findings(unit.unit), *told), unit, token)


def environment(
    unit: Unit, instance: str, person: pwd.struct_passwd, environ: Mapping[str, str], places: Places
) -> tuple[dict[str, str], list[Finding]]:
    """Return what systemd would start the unit with, and what of it this user cannot know."""
    specifiers = {"i": instance, "I": instance, "n": unit_of(instance), "h": "/root", "u": "root", "U": "0"}
    given = {name: environ[name] for name in KEPT if name in environ}
    given |= {"PATH": SYSTEM_PATH, "HOME": person.pw_dir, "SHELL": person.pw_shell}
    given |= dict.fromkeys(("USER", "LOGNAME"), person.pw_name)
    if state := unit.last("StateDirectory"):
        given["STATE_DIRECTORY"] = str(places.state.parent / expand(words(state)[0], specifiers))
    given |= variables(expand(word, specifiers) for value in unit.all("Environment") for word in words(value))
    told: list[Finding] = []
    for value in unit.all("EnvironmentFile"):
        path = Path(expand(value.removeprefix("-"), specifiers))
        read, found = _from_file(path, may_lack=value.startswith("-"))
        given |= read
        told += found
    return given, told


def _from_file(path: Path, *, may_lack: bool) -> tuple[dict[str, str], list[Finding]]:
    """The variables of an environment file, and what is to be said where this user may not read it."""
    try:
        lines = path.read_text(errors="replace").split("\n")
    except FileNotFoundError:
        mend = "write it, or put a - before its name"
        return {}, [] if may_lack else [
            Finding("error", UNIT, f"EnvironmentFile= names {path}, which is not there", mend)
        ]
    except OSError as error:
        text = f"{path} cannot be read ({error.strerror}), so the variables in it were not seen"
        return {}, [_warning(text, "run the check as root")]
    kept = (line.strip().partition("=") for line in lines if not line.lstrip().startswith(("#", ";")))
    return variables(f"{name.strip()}={' '.join(words(value))}" for name, equals, value in kept if equals), []


def _person(name: str) -> pwd.struct_passwd:
    return pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)


def _token_as_root(instance: str, places: Places) -> TokenFound:
    """What systemd would hand over on standard input, read while we still may."""
    hide_process()
    file = instance_file(instance, "token", etc=places.etc)
    if not file.exists():
        text, mend = f"there is no {file}", "write the bot's token there, as root, with mode 600"
        return TokenFound(None, (Finding("error", KEY, text, mend),))
    rules = Settings.model_validate({"discord": {"token_file": STANDARD_INPUT}})
    try:
        token = read_token(rules, {}, instead_of_input=file)
    except Refusal as refusal:
        return TokenFound(None, refusal.findings)
    found = token.findings
    status = file.stat()
    if status.st_uid != 0:
        text = f"{file} belongs to {_owner(status.st_uid)}, whose processes can read it"
        found = (*found, Finding("warning", KEY, text, f"run chown root:root {file}"))
    return TokenFound(token, found)


def _owner(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _become(person: pwd.struct_passwd, group: str) -> None:
    gid = person.pw_gid
    if group:
        gid = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    os.initgroups(person.pw_name, gid)
    os.setgid(gid)
    os.setuid(person.pw_uid)


def _refuse_unreadable_program(person: pwd.struct_passwd) -> None:
    """Nothing more can be imported then, and the service could not start either."""
    for path in (PROGRAM_FOLDER, Path(sys.executable)):
        if not os.access(path, os.R_OK | os.X_OK):
            text = f"{path} cannot be read by {person.pw_name}, so the service cannot start"
            raise Refusal.of(
                (Finding("error", "program", text, "install the program where he can, such as below /opt"),)
            )


def _program_findings(unit: Unit) -> list[Finding]:
    program = expand((words(unit.last("ExecStart")) or [""])[0].lstrip("@-:+!"), {}).replace("$$", "$")
    if not program or os.access(program, os.X_OK):
        return []
    text = f"ExecStart= names {program}, which is not there or may not be executed"
    return [Finding("error", UNIT, text, "name the installed pi-connector by systemctl edit")]


def _enter(unit: Unit, person: pwd.struct_passwd) -> list[Finding]:
    """The working folder, from which a relative agent.cwd counts."""
    named = unit.last("WorkingDirectory").removeprefix("-")
    folder = person.pw_dir if named == "~" else named or "/"
    try:
        os.chdir(folder)
    except OSError as error:
        text = f"WorkingDirectory={named} cannot be entered: {error.strerror}"
        return [Finding("error", UNIT, text, "name a folder of that user")]
    return []


def _warning(text: str, mend: str) -> Finding:
    return Finding("warning", UNIT, text, mend)
