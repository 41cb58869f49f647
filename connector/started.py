"""What `connector.started` tells of program, settings and child; it may take two seconds and may never fail a start."""

import hashlib
import json
import os
import platform
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import util
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from connector.distribution import UNKNOWN, installed
from connector.environment import child_environment, plain_environment
from connector.settings import Settings

PACKAGES = ("connector", "engine", "fakes")
SOURCES = (*PACKAGES, "pyproject.toml")
BOUND = 2.0
"""Seconds for everything that is asked of other processes, together."""

KILLED = 0.2
"""Seconds given to a process that was killed to be gone."""

LONGEST = 65_536
"""Bytes read of one answer; more than any of them needs."""

_VERSION = re.compile(r"(?:[\w@/.-]+ )?v?[0-9]+\.[0-9]+[\w.+-]*(?: \([\w .,+-]*\))?", re.ASCII)


class Facts(Struct, frozen=True):
    """The fields of `connector.started` that need no ledger; what could not be found out is "unknown"."""

    version: str
    head: str
    dirty: bool | str
    runtime_digest: str
    config_digest: str
    python: str
    child_version: str

    def fields(self) -> dict[str, bool | str]:
        """Return them as the log takes them."""
        return asdict(self)


class _Question(Struct, frozen=True):
    command: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]


def facts(settings: Settings, environ: Mapping[str, str], *, bound: float = BOUND) -> Facts:
    """Return what can be found out within `bound` seconds; blocks meanwhile, so call it before or beside the loop."""
    root = _root()
    plain = plain_environment(environ)
    git = ("git", "-c", "core.fsmonitor=false", "--no-optional-locks", "-C", str(root))
    tracked, status, child = _ask(
        (
            _Question((*git, "ls-files", "--error-unmatch", "--", "connector/__init__.py"), root, plain),
            _Question(
                (*git, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "--", *SOURCES), root, plain
            ),
            _Question(version_command(settings.agent.command), settings.cwd, child_environment(settings, environ)),
        ),
        bound,
    )
    # A program installed below somebody's repository is no part of it: that head would say nothing about us.
    head, dirty = _head(status) if tracked is not None and status is not None else (UNKNOWN, UNKNOWN)
    return Facts(
        version=installed(),
        head=head,
        dirty=dirty,
        runtime_digest=runtime_digest(_folders()),
        config_digest=config_digest(settings),
        python=platform.python_version(),
        child_version=_child_version(child),
    )


def version_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that asks a child for its version: `--mode rpc` taken out, `--version` at its end.

    So a wrapper (`ssh host pi --mode rpc`, `python -m NAME`) is asked for the child's version and not for its own.
    """
    words = list(command)
    for place in range(len(words) - 1):
        if words[place : place + 2] == ["--mode", "rpc"]:
            del words[place : place + 2]
            break
    return (*words, "--version")


def runtime_digest(folders: Iterable[Path]) -> str:
    """Return SHA-256 over names and bytes of the packages' files (no compiled ones); "unknown" if unreadable."""
    digest = hashlib.sha256()
    try:
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    content = path.read_bytes()
                    name = path.relative_to(folder.parent).as_posix()
                    digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
                    digest.update(content)
    except OSError:
        return UNKNOWN
    return digest.hexdigest()


def config_digest(settings: Settings) -> str:
    """Return SHA-256 over the settings as they hold, overrides included, in an order of their own."""
    plain = json.dumps(settings.model_dump(), sort_keys=True, default=sorted)
    return hashlib.sha256(plain.encode()).hexdigest()


def _root() -> Path:
    return Path(__file__).resolve().parent.parent


def _folders() -> Iterator[Path]:
    for name in PACKAGES:
        spec = util.find_spec(name)
        if spec and spec.origin:
            yield Path(spec.origin).parent


def _head(status: str) -> tuple[str, bool | str]:
    """Return the commit, and whether any listed file differs from it."""
    lines = status.splitlines()
    heads = [line.removeprefix("# branch.oid ") for line in lines if line.startswith("# branch.oid ")]
    if not heads or not re.fullmatch(r"[0-9a-f]{40,64}", heads[0]):
        return UNKNOWN, UNKNOWN
    return heads[0], any(not line.startswith("#") for line in lines)


def _child_version(answer: str | None) -> str:
    """Return the child's answer if it looks like a version: anything else is a program that went on to do its work."""
    text = (answer or "").strip()
    return text if len(text) <= 80 and _VERSION.fullmatch(text) else UNKNOWN


class _Asked:
    """One question under way: a process of its own session, what it has said, and its end."""

    def __init__(self, question: _Question) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - the operator's own command, and git
            question.command,
            cwd=question.cwd,
            env=dict(question.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdout  # noqa: S101 - PIPE above
        self.pipe = self.process.stdout
        self.said = b""
        self.finished = False

    def read(self) -> bool:
        """Take what there is; return whether more may follow."""
        read = os.read(self.pipe.fileno(), LONGEST)
        self.said += read
        self.finished = not read
        return bool(read) and len(self.said) < LONGEST

    def end(self, remaining: float) -> str | None:
        """Return the answer of a process that said all and ended well; end every other with its whole session."""
        code = self._wait(remaining) if self.finished else None
        if code is None:
            # Not ours to signal (it changed its user) or gone this instant: the start goes on in either case.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self._wait(KILLED)
        self.pipe.close()
        return self.said.decode(errors="replace") if code == 0 else None

    def _wait(self, seconds: float) -> int | None:
        try:
            return self.process.wait(timeout=max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None


def _ask(questions: tuple[_Question, ...], bound: float) -> list[str | None]:
    """Ask all at once; return each answer, None for what could not be started, failed or did not end in time."""
    until = time.monotonic() + bound
    asked = [_start(question) for question in questions]
    with selectors.DefaultSelector() as selector:
        for one in filter(None, asked):
            selector.register(one.pipe, selectors.EVENT_READ, one)
        while selector.get_map() and (remaining := until - time.monotonic()) > 0:
            for key, _ in selector.select(remaining):
                if not key.data.read():
                    selector.unregister(key.fileobj)
    return [one.end(until - time.monotonic()) if one else None for one in asked]


def _start(question: _Question) -> _Asked | None:
    try:
        return _Asked(question)
    except (OSError, ValueError):
        return None
