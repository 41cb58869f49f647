"""`pi-connector init`: asks, writes configuration, token file and unit, prints the privileged lines, ends with `check`.

It runs nothing as root, overwrites nothing without asking, and writes nothing before the last question.
"""

import grp
import os
import pwd
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connector import init_words as words
from connector import loop
from connector.check import check
from connector.exits import Refusal
from connector.findings import Finding
from connector.hidden import hide_process
from connector.init_ask import Asker, Script, Terminal, yes
from connector.init_plan import File, Plan, Site, plan
from connector.init_questions import Asked, Known, questions
from connector.isolation import OWN_FILE
from connector.settings import Settings
from connector.settings_load import CONFIG_VARIABLE, PREFIX, load, usual_places
from connector.token import STANDARD_INPUT
from connector.trust import PROGRAM_FOLDER, User
from connector.unit_files import shipped_file

PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Target:
    """The configuration to write, the settings that hold there now, and its sections as they stand in the file."""

    config: Path
    settings: Settings
    existing: dict[str, dict[str, Any]]

    @property
    def token(self) -> Path:
        """Where the token goes: the file the configuration names, else beside it."""
        named = self.settings.discord.token_file
        if named is None or named == STANDARD_INPUT:
            return self.config.parent / OWN_FILE
        return self.settings.beside(named)


def run(
    config: Path | None,
    instance: str | None,
    environ: MutableMapping[str, str],
    *,
    offline: bool,
    asker: Asker | None = None,
) -> None:
    """Ask and write. Raises Refusal where an answer of a script is no good or a file cannot be written."""
    hide_process()
    asker = asker or (Terminal() if sys.stdin.isatty() else Script(sys.stdin))
    target = find_target(config, environ)
    asker.say(words.HELLO)
    if os.geteuid() == 0:
        asker.say(words.ROOT)
    program = _program()
    has_token = target.token.is_file()
    known = Known(target.settings, instance or "home", target.token if has_token else None, program.parent)
    asked = questions(asker, known, environ, offline=offline)
    has_token = has_token or asked.secret is not None
    site = _site(target, program, environ)
    todo = plan(asked.answers, site, has_token=has_token)
    _write(asker, _agreed(asker, todo, target, asked))
    folder = Path(asked.answers.cwd).expanduser()
    if not folder.exists():
        folder.mkdir(parents=True)
        asker.say(f"made {folder}")
    _tell(asker, todo, site, config)
    _check(asker, target.config, environ, online=has_token and not offline)


def find_target(config: Path | None, environ: Mapping[str, str]) -> Target:
    """Return where the configuration goes and what stands there. Raises Refusal for one that cannot be read."""
    named = config or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    path = (named or usual_places(environ)[0]).absolute()
    ours = {name: value for name, value in environ.items() if name.startswith(PREFIX) and name != CONFIG_VARIABLE}
    if not path.exists():
        # Nothing lies below a file that is not there: the system's configuration is no default for this one.
        return Target(path, load(None, None, ours, etc=path), {})
    return Target(path, load(path, None, ours), tomllib.loads(path.read_text("utf-8-sig")))


def _program() -> Path:
    """The console script that runs, else the one beside the interpreter."""
    called = Path(sys.argv[0])
    beside = Path(sys.executable).with_name("pi-connector")
    return called.absolute() if called.name == "pi-connector" and called.is_file() else beside


def _site(target: Target, program: Path, environ: Mapping[str, str]) -> Site:
    """Whom the service runs as: this user, or whoever became root by sudo."""
    who = environ.get("SUDO_USER") if os.geteuid() == 0 else None
    person = pwd.getpwnam(who) if who else pwd.getpwuid(os.geteuid())
    agent = User(person.pw_uid, frozenset(os.getgrouplist(person.pw_name, person.pw_gid)))
    return Site(
        config=target.config,
        token=target.token,
        program=program,
        user=person.pw_name,
        group=grp.getgrgid(person.pw_gid).gr_name,
        shipped_unit=shipped_file().read_text(),
        existing=target.existing,
        trusted=not (agent.may_write(PROGRAM_FOLDER) or agent.may_write(program)),
    )


def _agreed(asker: Asker, todo: Plan, target: Target, asked: Asked) -> list[File]:
    """The files that are new, the same, or may be replaced; all this is asked before the first is written."""
    files = list(todo.files)
    if asked.secret is not None:
        files.insert(0, File(target.token, f"{asked.secret.reveal()}\n", PRIVATE))
    agreed = []
    for file in files:
        path = Path(file.path)
        question = f"{path} is there and differs. Replace it? Comments of yours in it would be lost"
        if not path.exists() or _same(path, file.text) or yes(asker, question, default=False):
            agreed.append(file)
        else:
            asker.say(f"kept {path}")
    return agreed


def _same(path: Path, text: str) -> bool:
    return path.read_bytes() == text.encode()


def _write(asker: Asker, files: Iterable[File]) -> None:
    for file in files:
        path = Path(file.path)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path.resolve(), file.text.encode(), file.mode)
        except OSError as error:
            raise Refusal(
                f"{path} cannot be written: {error.strerror or error}", "mend that, then run init again"
            ) from None
        asker.say(f"wrote {path}")


def _replace(path: Path, content: bytes, mode: int) -> None:
    """Whole or not at all, and never readable by more than `mode` says."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(fd, mode)
        file.write(content)
        file.flush()
        os.fsync(fd)
    new.replace(path)


def _tell(asker: Asker, todo: Plan, site: Site, config: Path | None) -> None:
    named = f" --config {shlex.quote(str(site.config))}" if config else ""
    asker.say("")
    asker.say(words.TRY.format(program=shlex.quote(str(site.program)), config=named))
    asker.say("")
    if not site.trusted:
        asker.say(words.UNTRUSTED.format(program=site.program))
    asker.say(words.LINES)
    for line in todo.lines:
        asker.say(f"  {line}")
    asker.say("")


def _check(asker: Asker, config: Path, environ: MutableMapping[str, str], *, online: bool) -> None:
    """What `check` says of what is there now; the wizard has done its part whatever that is."""
    found: tuple[Finding, ...]
    try:
        found = loop.run(check(load(config, None, environ), environ, online=online))
    except Refusal as refusal:
        found = refusal.findings
    asker.say(f"pi-connector check{' --online' if online else ''} says:")
    for finding in found:
        asker.say(finding.line())
    if not found:
        asker.say("ok")
