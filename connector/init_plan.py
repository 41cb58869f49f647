"""`init`: answers turned into files to write and privileged lines to print; pure, it writes and runs nothing."""

import shlex
from collections.abc import Mapping
from pathlib import PurePath

from msgspec import Struct

from connector.toml_text import document
from connector.unit_text import with_lines

TEMPLATE = "pi-connector@.service"
CONFIG_MODE = 0o600
"""The configuration may hold keys in `agent.env`."""

HEAD = "# Written by pi-connector init. It holds no token. Run init again to change it, or change it by hand.\n\n"
SECTIONS = ("discord", "access", "lanes", "agent")
"""The sections `init` writes to, in CONTRACT's order; others that were there follow."""


class Answers(Struct, frozen=True):
    """What the person said. `path`: PATH for the agent, "" for none; `keys`: the names in `agent.env_pass`."""

    guilds: tuple[int, ...]
    channels: tuple[int, ...]
    users: tuple[int, ...]
    operators: tuple[int, ...]
    command: tuple[str, ...]
    path: str
    cwd: str
    keys: tuple[str, ...]
    instance: str


class Site(Struct, frozen=True):
    """Where things are. `existing`: the configuration there was; `program`: our console script, an absolute path.

    `trusted` says that the agent's user cannot change that program, so that root may run it.
    """

    config: PurePath
    token: PurePath
    program: PurePath
    user: str
    group: str
    shipped_unit: str
    existing: Mapping[str, Mapping[str, object]]
    trusted: bool


class File(Struct, frozen=True):
    """A file to write: `mode` as in chmod."""

    path: PurePath
    text: str
    mode: int


class Plan(Struct, frozen=True):
    """What there is to do: files in the order of writing, and lines for a shell of somebody who may use sudo."""

    files: tuple[File, ...]
    lines: tuple[str, ...]


def plan(answers: Answers, site: Site, *, has_token: bool) -> Plan:
    """Return what these answers come to. The token itself is no part of it; `has_token`: there is a file with it."""
    unit = site.config.parent / TEMPLATE
    files = (
        File(site.config, HEAD + document(tables(answers, site)), CONFIG_MODE),
        File(unit, unit_text(site), 0o644),
    )
    return Plan(files, privileged(answers, site, unit, has_token=has_token))


def tables(answers: Answers, site: Site) -> dict[str, dict[str, object]]:
    """Return the sections of the configuration: the answers over what was there; a key nobody asked for stays."""
    old = {name: dict(keys) for name, keys in site.existing.items()}
    found: dict[str, dict[str, object]] = {name: old.pop(name, {}) for name in SECTIONS}
    found["discord"]["token_file"] = str(site.token.name if site.token.parent == site.config.parent else site.token)
    for key in ("guilds", "channels", "users", "operators"):
        ids = getattr(answers, key)
        if ids or key in found["access"]:
            found["access"][key] = list(ids)
    agent = found["agent"]
    agent["command"], agent["cwd"] = list(answers.command), answers.cwd
    if answers.path:
        env = agent.get("env")
        agent["env"] = (dict(env) if isinstance(env, Mapping) else {}) | {"PATH": answers.path}
    if answers.keys or "env_pass" in agent:
        agent["env_pass"] = list(answers.keys)
    return {name: keys for name, keys in (found | old).items() if keys}


def unit_text(site: Site) -> str:
    """Return the shipped unit for this user and this program."""
    run = f"{_quoted(site.program)} run --instance %i"
    return with_lines(site.shipped_unit, {"User": site.user, "ExecStart": run})


def privileged(answers: Answers, site: Site, unit: PurePath, *, has_token: bool) -> tuple[str, ...]:
    """Return the lines that need root: unit, configuration, token (out of the agent's reach), keys, start."""
    etc = f"/etc/pi-connector/{answers.instance}"
    token, config, program = (shlex.quote(str(path)) for path in (site.token, site.config, site.program))
    lines = [
        f"sudo install -Dm 644 {shlex.quote(str(unit))} /etc/systemd/system/{TEMPLATE}",
        f"sed '/^token_file/d' {config} | sudo install -Dm 640 -g {shlex.quote(site.group)} /dev/stdin {etc}.toml",
        f"sudo install -Dm 600 {token} {etc}.token && rm {token}"
        if has_token
        else f"sudo install -Dm 600 /dev/stdin {etc}.token    # paste the token, Enter, Ctrl-D",
    ]
    if answers.keys:
        lines.append(f"env | grep -E '^({'|'.join(answers.keys)})=' | sudo install -Dm 600 /dev/stdin {etc}.env")
    lines += [
        "sudo systemctl daemon-reload",
        f"{'sudo ' if site.trusted else ''}{program} check --instance {answers.instance} --online",
        f"sudo systemctl enable --now pi-connector@{answers.instance}",
    ]
    return tuple(lines)


def _quoted(path: PurePath) -> str:
    """A path as a word of ExecStart=: systemd reads quotes, backslashes, `%` and `$`."""
    text = str(path).replace("%", "%%").replace("$", "$$")
    return text if not set(text) & set(" \t\"'\\;") else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
