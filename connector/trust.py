"""Whether the agent could change what governs it (CONTRACT, Trust): looks at modes and owners, changes nothing."""

import os
import stat
from pathlib import Path

from msgspec import Struct

import connector
from connector.findings import Finding
from connector.settings import Settings
from connector.settings_values import is_loopback
from connector.token import STANDARD_INPUT

PROGRAM_FOLDER = Path(connector.__file__).resolve().parent


class User(Struct, frozen=True):
    """Whom the child runs as: the same user as we do."""

    uid: int
    groups: frozenset[int]

    @classmethod
    def current(cls) -> "User":
        """Return the user this process acts as."""
        return cls(os.geteuid(), frozenset({os.getegid(), *os.getgroups()}))

    def may_write(self, path: Path) -> bool:
        """Return whether this user could change or replace `path`: it, or a folder on the way to it, is his to write.

        Who owns a file may change its mode, so that he may write it. Access-control lists are not looked at.
        """
        resolved = path.resolve()
        return any(self._may_change(step, target=step == resolved) for step in (resolved, *resolved.parents))

    def may_read(self, path: Path) -> bool:
        """Return whether this user could read the file `path`, where there is one.

        Who owns it may give himself the right. Access-control lists are not looked at.
        """
        try:
            status = path.stat()
        except OSError:
            return False
        if self.uid in {0, status.st_uid}:
            return True
        bit = stat.S_IRGRP if status.st_gid in self.groups else stat.S_IROTH
        return bool(status.st_mode & bit)

    def _may_change(self, path: Path, *, target: bool) -> bool:
        try:
            status = path.stat()
        except OSError:
            return False
        if self.uid in {0, status.st_uid}:
            return True
        # In a sticky folder (/tmp) one can replace only what is one's own, and that was asked of the step below.
        if not target and status.st_mode & stat.S_ISVTX:
            return False
        bit = stat.S_IWGRP if status.st_gid in self.groups else stat.S_IWOTH
        return bool(status.st_mode & bit)


def trust_findings(
    settings: Settings, *, user: User | None = None, program: Path = PROGRAM_FOLDER
) -> tuple[Finding, ...]:
    """Return a warning for each thing the agent could change, for running as root, and for metrics shown to others.

    `user` is whom the child runs as (this process's user by default), `program` the folder of our own code. A remote
    child (`agent.remote`) is another machine's user: its reach is not judged here.
    """
    user = user or User.current()
    where = str(settings.source or "")
    found: list[Finding] = []
    if user.uid == 0:
        mend = "run it as an ordinary user, one for each group of people who trust each other"
        found.append(Finding("warning", "user", "runs as root, and so do the agent and its tools", mend))
    if not settings.agent.remote:
        found += _governing(settings, user, program)
    address = settings.metrics.address
    if address and not is_loopback(address[0]):
        text = f"{settings.metrics.listen} is reachable from elsewhere"
        found.append(Finding("warning", "metrics.listen", text, "listen on 127.0.0.1", where))
    return tuple(found)


def _governing(settings: Settings, user: User, program: Path) -> list[Finding]:
    things = [("program", "the program folder", program)]
    if settings.source:
        things.insert(0, ("config", "the configuration", settings.source))
    named = settings.discord.token_file
    if named and named != STANDARD_INPUT:
        things.insert(-1, ("discord.token_file", "the token file", settings.beside(named)))
    workspace = settings.cwd.resolve()
    found = []
    for key, words, path in things:
        if path.resolve().is_relative_to(workspace):
            text = f"{words} {path} is inside agent.cwd ({workspace}), where the agent works"
            found.append(Finding("warning", key, text, "keep it, or agent.cwd, elsewhere"))
        elif user.may_write(path):
            text = f"{words} {path} can be changed by the agent's user"
            found.append(Finding("warning", key, text, "let another user own it and the folders above it"))
    return found
