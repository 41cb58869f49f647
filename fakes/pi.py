"""A child process that speaks the recorded protocol of pi 1.6.0: `python -m fakes.pi --mode rpc [OPTION]...`.

The script words are in `fakes.script`. Standard library only, and quick to start. Options are pi's: `--version`,
`--no-session`, `--session-dir DIR`, `--session FILE`, `--continue`, `--model ID`, `--provider NAME`. Session files are
written to `--session-dir`, else below `$PI_CODING_AGENT_DIR`, else not at all.

FAKE_PI_LOG     a file that gets one JSON line for each command, event, signal and end (`pid`, `ns` monotonic, `kind`)
FAKE_PI_SCALE   divides the delays of pi's own retries (2, 4, 8 s)
$PI_CODING_AGENT_DIR/settings.json, models.json: of pi's own settings those in `_CONFIGURED`, and the model's window
FAKE_PI_KILL    `WHEN:NAME:N`: kill -9 of the process that started this one at the N-th command or record NAME here, a
                command when it is read, a record `before` or `after` it is written
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import stat
import sys
import time
from typing import Any

from fakes.effects import (
    Append,
    Create,
    Die,
    Effect,
    EndTool,
    Exit,
    Heard,
    HoldStdout,
    ResumeReading,
    StartTool,
    Stderr,
    StopReading,
    Write,
)
from fakes.pi_core import Options, PiCore

__all__ = ["VERSION", "main"]

VERSION = "1.6.0"
READ_SIZE, WRITE_SIZE = 1 << 20, 1 << 16
FLUSH_BOUND = 2.0  # s to get the last lines out to a client that does not read
WITH_VALUE = ("--mode", "--provider", "--model", "--session", "--session-dir", "--thinking", "-e", "--extension")
ALONE = ("--no-session", "--continue", "-c", "--approve", "--no-approve")
SIGNALS = {signal.SIGTERM: "TERM", signal.SIGHUP: "HUP"}


def main(argv: list[str] | None = None) -> None:
    """Runs the child; does not return."""
    arguments = sys.argv[1:] if argv is None else argv
    if "--version" in arguments:
        sys.stdout.write(f"{VERSION}\n")
        sys.stdout.flush()
        os._exit(0)
    _Process(_options(_parsed(arguments)), arguments).run()


def _parsed(arguments: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in WITH_VALUE and rest:
            found[word] = rest.pop(0)
        elif word in ALONE:
            found[word] = ""
        else:
            sys.stderr.write(f"Error: Unknown option: {word}\n")
            sys.stderr.flush()
            os._exit(1)
    if found.get("--mode", "rpc") != "rpc":
        sys.stderr.write("Error: this stand-in for pi knows only --mode rpc\n")
        sys.stderr.flush()
        os._exit(1)
    return found


def _options(found: dict[str, str]) -> Options:
    cwd = os.getcwd()  # noqa: PTH109  # pathlib costs a third of the start-up time
    folder = found.get("--session-dir")
    if folder is None and (agent := os.environ.get("PI_CODING_AGENT_DIR")):
        folder = os.path.join(agent, "sessions", f"--{cwd.strip('/').replace('/', '-')}--")  # noqa: PTH118  # as above
    if "--no-session" in found:
        folder = None
    last = found.get("--session")
    if last is None and folder is not None and ("--continue" in found or "-c" in found):
        with contextlib.suppress(FileNotFoundError):
            names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))  # noqa: PTH208  # as above
            last = os.path.join(folder, names[-1]) if names else None  # noqa: PTH118  # as above
    seed = (time.time_ns() ^ os.getpid() << 32) & 0xFFFF_FFFF_FFFF
    configured = _configured(agent) if (agent := os.environ.get("PI_CODING_AGENT_DIR")) else {}
    base = configured.pop("retry_base_ms", 2000)
    return Options(
        session_dir=folder,
        session_file=last,
        read=_content,
        cwd=cwd,
        wall=time.time_ns(),
        seed=f"{seed:012x}",
        retry_base_ms=base / float(os.environ.get("FAKE_PI_SCALE", "1")),
        model=found.get("--model", "scripted"),
        **configured,
    )


_CONFIGURED = {
    ("retry", "baseDelayMs"): "retry_base_ms",
    ("retry", "maxRetries"): "retry_max",
    ("compaction", "reserveTokens"): "reserve",
    ("compaction", "keepRecentTokens"): "keep_recent",
}


def _configured(agent: str) -> dict[str, Any]:
    """What pi's own files set, as fields of `Options`; nothing where there are none."""
    settings = json.loads(_content(os.path.join(agent, "settings.json")) or "{}")  # noqa: PTH118  # as above
    found = {field: settings[part][key] for (part, key), field in _CONFIGURED.items() if key in settings.get(part, {})}
    models = json.loads(_content(os.path.join(agent, "models.json")) or "{}")  # noqa: PTH118  # as above
    for provider in models.get("providers", {}).values():
        found["context_window"] = provider["models"][0]["contextWindow"]
    return found


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # as above
            return file.read()
    except OSError:
        return None


class _Process:
    """The core's hands: standard streams, signals, clock and processes."""

    def __init__(self, options: Options, argv: list[str]) -> None:
        self._core = PiCore(options, time.monotonic_ns())
        self._pending = bytearray()
        self._tools: dict[str, int] = {}
        self._log_file = os.environ.get("FAKE_PI_LOG")
        self._parent = os.getppid()
        self._kill_at, _, count = os.environ.get("FAKE_PI_KILL", "::0").rpartition(":")
        self._kill_in = int(count)
        self._selector = selectors.DefaultSelector()
        self._reading = self._plain = False
        self._signals, wakeup = os.pipe()
        os.set_blocking(self._signals, False)
        os.set_blocking(wakeup, False)
        for number in SIGNALS:
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # pi has no handler: it dies of it (PROTOCOL §10)
        signal.set_wakeup_fd(wakeup)
        self._selector.register(self._signals, selectors.EVENT_READ)
        if stat.S_ISFIFO(os.fstat(1).st_mode) or stat.S_ISSOCK(os.fstat(1).st_mode):
            os.set_blocking(1, False)
        self._log("start", argv=argv)
        self._listen(True)

    def run(self) -> None:
        """Until the end of the process."""
        while True:
            self._perform()
            due = self._core.deadline()
            wait = None if due is None else max(0, due - time.monotonic_ns()) / 1e9
            if self._plain and self._reading:
                self._read()
                wait = 0
            for key, _ in self._selector.select(wait):
                if key.fd == 0:
                    self._read()
                elif key.fd == 1:
                    self._drain()
                else:
                    self._signalled()
            self._core.tick(time.monotonic_ns())

    # ---- in
    def _listen(self, wanted: bool) -> None:  # a switch, and private
        if wanted and not self._reading:
            try:
                self._selector.register(0, selectors.EVENT_READ)
            except PermissionError:  # a plain file cannot be waited for, it is always ready
                self._plain = True
        elif self._reading and not wanted and not self._plain:
            self._selector.unregister(0)
        self._reading = wanted

    def _read(self) -> None:
        data = os.read(0, READ_SIZE)
        if data:
            self._core.receive(data, time.monotonic_ns())
            return
        self._log("eof")
        self._listen(False)
        self._core.eof(time.monotonic_ns())

    def _signalled(self) -> None:
        for number in os.read(self._signals, 64):
            name = SIGNALS.get(signal.Signals(number))
            if name is not None:
                self._log("signal", name=name)
                self._core.signal(name, time.monotonic_ns())

    # ---- out
    def _perform(self) -> None:
        for effect in self._core.take():
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Write(data, names):
                for name in names:
                    self._reached(f"before:{name}")
                    self._log("event", type=name)
                self._pending += data
                self._drain()
                for name in names:
                    self._reached(f"after:{name}")
            case Heard(command):
                self._heard(command)
                self._reached(f"before:{command.get('type')}")
            case Stderr(data):
                with contextlib.suppress(OSError):
                    _write_all(2, data)
            case Append(path, data):
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)  # noqa: PTH103, PTH120  # as above
                _append(path, data)
            case Create(path, data):
                self._create(path, data)
            case StartTool(key, ms, leaves_ms):
                self._tools[key] = _spawn_tool(ms, leaves_ms)
            case EndTool(key):
                self._end_tool(key)
            case HoldStdout(ms):
                _hold_stdout(ms)
            case StopReading():
                self._listen(False)
            case ResumeReading():
                self._listen(True)
            case Exit(code):
                self._exit(code)
            case Die(name):
                self._flush()
                self._log("die", name=name)
                number = signal.Signals[f"SIG{name}"]
                if number != signal.SIGKILL:
                    signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
                signal.pause()

    def _reached(self, point: str) -> None:
        """Kills the process that started us and passed the order on; whoever took its place is no target."""
        if point != self._kill_at:
            return
        self._kill_in -= 1
        if self._kill_in == 0 and os.getppid() == self._parent:
            with open(f"/proc/{self._parent}/environ", "rb") as file:  # noqa: PTH123  # as above
                told = b"FAKE_PI_KILL=" in file.read()
            if told:
                os.kill(self._parent, signal.SIGKILL)

    def _heard(self, command: dict[str, Any]) -> None:
        if self._log_file:
            short = {k: v[:2000] if isinstance(v, str) else v for k, v in command.items() if k != "images"}
            self._log("command", command=short)

    def _drain(self) -> None:
        try:
            while self._pending:
                del self._pending[: os.write(1, self._pending[:WRITE_SIZE])]
        except BlockingIOError:
            with contextlib.suppress(KeyError):
                self._selector.register(1, selectors.EVENT_WRITE)
            return
        except OSError:  # nobody reads any more; as pi, go on until the end of input
            self._pending.clear()
        with contextlib.suppress(KeyError):
            self._selector.unregister(1)

    def _flush(self) -> None:
        """Gets out what is pending, to a client that reads."""
        end = time.monotonic() + FLUSH_BOUND
        while self._pending and (left := end - time.monotonic()) > 0:
            self._drain()
            if self._pending:
                self._selector.select(min(left, 0.05))

    def _exit(self, code: int) -> None:
        if code not in {143, 129}:  # a signal's exit does not flush (PROTOCOL §10)
            self._flush()
        self._log("exit", code=code)
        os._exit(code)

    def _create(self, path: str, data: bytes) -> None:
        here = os.path.realpath(".")  # as above
        there = os.path.realpath(path)
        if there.startswith(here + os.sep) and not os.path.exists(there):  # noqa: PTH110  # as above
            os.makedirs(os.path.dirname(there), exist_ok=True)  # noqa: PTH103, PTH120  # as above
            _append(there, data)

    def _end_tool(self, key: str) -> None:
        pid = self._tools.pop(key, None)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def _log(self, kind: str, **fields: Any) -> None:
        if self._log_file:
            line = {"pid": os.getpid(), "ns": time.monotonic_ns(), "kind": kind, **fields}
            _append(self._log_file, json.dumps(line).encode() + b"\n")


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise
            time.sleep(0.001)  # standard error set non-blocking by whoever shares it; there is no event for that


def _append(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        _write_all(fd, data)
    finally:
        os.close(fd)


def _hold_stdout(ms: int) -> None:
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
    os.posix_spawnp("sleep", ["sleep", f"{ms / 1000}"], os.environ, setsid=True, file_actions=null)


def _spawn_tool(ms: int, leaves_ms: int) -> int:
    """A process in a session of its own; with a child in yet another one that outlives it."""
    started, ours = os.pipe()  # its far end is closed when they have become what they are to be
    pid = os.fork()
    if pid:
        os.close(ours)
        os.read(started, 1)
        os.close(started)
        return pid
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        if leaves_ms and os.fork() == 0:
            os.setsid()
            ms = leaves_ms
        os.execvp("sleep", ["sleep", f"{ms / 1000}"])  # noqa: S606, S607  # the system's own, wherever it is
    finally:
        os._exit(127)  # the copy of a process that could not become another one


if __name__ == "__main__":
    main()
