"""The fake pi as a real process: its streams, signals, tools, session files and log (PROTOCOL §10)."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from fakes.waiting import BOUND

ROOT = Path(__file__).resolve().parents[2]


class Child:
    """One process and its lines; every wait has one bound."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.records: list[dict[str, Any]] = []
        self._rest = b""

    def send(self, *commands: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(c).encode() + b"\n" for c in commands))
        self.process.stdin.flush()

    def prompt(self, text: str, name: str = "p1") -> None:
        self.send({"id": name, "type": "prompt", "message": text})

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Reads on to the first record that is wanted; AssertionError at the end of its output."""
        end = time.monotonic() + BOUND
        while True:
            line = self._line(end)
            assert line is not None, f"its output ended; it said {[r.get('type') for r in self.records]}"
            with suppress(ValueError):
                self.records.append(json.loads(line.decode(errors="replace")))
                if wanted(self.records[-1]):
                    return self.records[-1]

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.until(lambda r: r.get("type") == kind and all(r.get(k) == v for k, v in fields.items()))

    def answer(self) -> str:
        """The text of the next message that ended `stop`."""
        message = self.until(lambda r: r.get("type") == "message_end" and r["message"].get("stopReason") == "stop")
        return "".join(part.get("text", "") for part in message["message"]["content"])

    def rest(self) -> list[str]:
        """The types of what it still writes, to the end of its output."""
        end, types = time.monotonic() + BOUND, []
        while (line := self._line(end)) is not None:
            types.append(json.loads(line)["type"])
        return types

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def exit(self) -> int:
        return self.process.wait(BOUND)

    def _line(self, end: float) -> bytes | None:
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            assert left > 0, f"nothing more came; it said {[r.get('type') for r in self.records]}"
            if select.select([self.process.stdout], [], [], left)[0]:
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    return None
                self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line


@contextmanager
def child(*arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> Iterator[Child]:
    command = [sys.executable, "-m", "fakes.pi", "--mode", "rpc", *arguments]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(env or {})}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        try:
            yield Child(process)
        finally:
            process.kill()
            with suppress(BrokenPipeError):
                process.stdin.close()  # type: ignore[union-attr]  # it was asked for above


class Watched:
    """A process that is not our child: its death is an event of its pidfd."""

    def __init__(self, stack: ExitStack, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid)
        stack.callback(os.close, self._fd)
        stack.callback(self.end)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def died(self, bound: float = BOUND) -> bool:
        return bool(select.select([self._fd], [], [], bound)[0])


@pytest.fixture
def watch() -> Iterator[Callable[[Child], list[Watched]]]:
    """Watches all descendants that a child has now; what is left of them is ended by pid."""
    with ExitStack() as stack:
        yield lambda it: [Watched(stack, p.pid) for p in psutil.Process(it.process.pid).children(recursive=True)]


def entries(path: Path, kind: str) -> list[dict[str, Any]]:
    return [e for e in map(json.loads, path.read_text().splitlines()) if e["kind"] == kind]


# ---- start and end
def test_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fakes.pi", "--version"], cwd=ROOT, capture_output=True, check=True, timeout=BOUND
    )
    assert done.stdout == b"1.6.0\n"


def test_an_unknown_option_is_refused() -> None:
    """r_wrong_flag."""
    with child("--no-such-flag") as it:
        assert it.exit() == 1
        assert it.process.stderr is not None
        assert it.process.stderr.read() == b"Error: Unknown option: --no-such-flag\n"


def test_it_answers_and_exits_at_end_of_input() -> None:
    with child() as it:
        it.send({"id": "g1", "type": "get_state"})
        assert it.event("response", id="g1")["data"]["isStreaming"] is False
        it.prompt("hello")
        assert it.answer() == "echo: hello"
        it.event("agent_settled")
        it.close_stdin()
        assert (it.exit(), it.rest()) == (0, [])


def test_commands_before_an_end_of_input_are_answered() -> None:
    """j_eof_at_startup, k_last_line_without_newline."""
    with child() as it:
        assert it.process.stdin is not None
        it.process.stdin.write(b'{"id":"g1","type":"get_state"}\n{"id":"g2","type":"get_session_stats"}')
        it.close_stdin()
        assert it.rest() == ["response", "response"]
        assert it.exit() == 0


def test_standard_input_may_be_a_file(tmp_path: Path) -> None:
    commands = tmp_path / "commands"
    commands.write_bytes(b'{"id":"g1","type":"get_state"}\n')
    with commands.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "fakes.pi"], cwd=ROOT, stdin=file, capture_output=True, check=True, timeout=BOUND
        )
    assert done.stdout.startswith(b'{"id":"g1","type":"response"')


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, -2), (signal.SIGKILL, -9)],
)
def test_signals_end_it(number: signal.Signals, code: int) -> None:
    with child() as it:
        it.prompt("hang")
        it.event("agent_start")
        it.process.send_signal(number)
        assert it.exit() == code


@pytest.mark.parametrize("how", ["eof", "term"])
def test_its_tools_die_with_it(how: str, watch: Callable[[Child], list[Watched]]) -> None:
    """PROTOCOL §10: in a session of its own, killed on SIGTERM and at the end of input."""
    with child() as it:
        it.prompt("tool 60000")
        it.event("tool_execution_update")
        (tool,) = watch(it)
        assert os.getsid(tool.pid) == tool.pid
        it.close_stdin() if how == "eof" else it.process.terminate()
        assert it.exit() == (0 if how == "eof" else 143)
        assert tool.died()


def test_its_tools_outlive_a_kill(watch: Callable[[Child], list[Watched]]) -> None:
    """j_sigkill_bash."""
    with child() as it:
        it.prompt("tool 60000")
        it.event("tool_execution_update")
        (tool,) = watch(it)
        it.process.kill()
        assert it.exit() == -9
        assert not tool.died(0)


def test_an_abort_kills_the_tool(watch: Callable[[Child], list[Watched]]) -> None:
    with child() as it:
        it.prompt("tool 60000")
        it.event("tool_execution_update")
        (tool,) = watch(it)
        it.send({"id": "a1", "type": "abort"})
        it.event("response", id="a1")
        assert tool.died()


def test_exitmid_leaves_its_tool_behind(watch: Callable[[Child], list[Watched]]) -> None:
    with child() as it:
        it.prompt("exitmid 5")
        it.event("tool_execution_update")
        (tool,) = watch(it)
        assert it.exit() == 5
        assert not tool.died(0)


def test_setsid_leaves_a_grandchild_behind(watch: Callable[[Child], list[Watched]]) -> None:
    """j_setsid_grandchild: another session than the tool's, so killing the tool's group misses it."""
    with child() as it:
        it.prompt("setsid 60000")
        it.event("tool_execution_update")
        descendants = watch(it)
        sessions = {d.pid: os.getsid(d.pid) for d in descendants}
        it.process.terminate()
        assert it.exit() == 143
        tool, grandchild = descendants
        assert (tool.died(), grandchild.died(0)) == (True, False)
        assert sessions[grandchild.pid] != sessions[tool.pid]


def test_holdstdout_is_an_exit_without_an_end_of_output() -> None:
    """BEHAVIOUR §1.17: the exit is the process's exit, not the end of its output."""
    with child() as it:
        it.prompt("holdstdout 4")
        assert it.exit() == 4
        assert it.process.stdout is not None
        it.until(lambda r: r.get("type") == "message_end" and "holdstdout" in str(r["message"].get("content")))
        assert select.select([it.process.stdout], [], [], 0)[0] == []
        holders = [p for p in psutil.process_iter() if _holds(p, it.process.stdout.fileno())]
        assert len(holders) == 1
        holders[0].kill()
        assert it.rest() == []


def _holds(process: psutil.Process, ours: int) -> bool:
    """Whether another process has the other end of this pipe as its standard output."""
    pipe = Path(f"/proc/self/fd/{ours}").readlink()
    with suppress(OSError):
        return process.pid != os.getpid() and Path(f"/proc/{process.pid}/fd/1").readlink() == pipe
    return False


def test_ignoreterm_has_to_be_killed() -> None:
    with child() as it:
        it.prompt("ignoreterm")
        it.event("agent_settled")
        it.process.terminate()
        it.send({"id": "g1", "type": "get_state"})
        it.event("response", id="g1")
        it.prompt("slow 300", "p2")
        it.close_stdin()
        it.event("agent_settled")
        assert it.process.poll() is None
        it.process.kill()
        assert it.exit() == -9


def test_a_dialog_keeps_it_from_the_first_sigterm() -> None:
    """l_confirm_pending_two_sigterms."""
    with child() as it:
        it.prompt("tooldialog")
        it.event("extension_ui_request")
        it.process.terminate()
        it.send({"id": "g1", "type": "get_state"})
        it.event("response", id="g1")
        it.process.terminate()
        assert it.exit() == 143


@pytest.mark.parametrize(("text", "code"), [("exit 7", 7), ("exitnow 3", 3), ("die", -9), ("die TERM", -15)])
def test_words_that_end_it(text: str, code: int) -> None:
    with child() as it:
        it.prompt(text)
        assert it.exit() == code
        assert (it.rest() == []) == (text == "exitnow 3")


# ---- streams
def test_a_client_that_reads_late_gets_everything() -> None:
    """PROTOCOL §2: backpressure, nothing lost; meanwhile input is read."""
    with child() as it:
        it.prompt("huge 1000000")
        it.send(*({"id": f"g{n}", "type": "get_state", "filler": "x" * 50_000} for n in range(20)))
        assert len(it.answer()) == 1_000_000
        it.event("agent_settled")
        it.event("response", id="g19")
        assert sum(r["type"] == "response" for r in it.records) == 21


def test_noread_lets_the_pipe_fill() -> None:
    with child() as it:
        it.prompt("noread")
        it.event("agent_settled")
        assert it.process.stdin is not None
        fd = it.process.stdin.fileno()
        os.set_blocking(fd, False)
        written = 0
        with suppress(BlockingIOError):
            while written < 10_000_000:
                written += os.write(fd, b" " * 65536)
        assert written < 10_000_000


def test_stderr_is_flooded() -> None:
    with child() as it:
        it.prompt("stderr 60000")
        it.event("agent_settled")
        it.close_stdin()
        assert it.process.stderr is not None
        assert len(it.process.stderr.read()) == 60_000


def test_half_lines_arrive_in_pieces() -> None:
    with child() as it:
        it.prompt("half")
        assert it.answer() == "echo: half ½ äöü"


# ---- environment
def test_the_log_counts_over_processes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        with child(env={"FAKE_PI_LOG": str(log)}) as it:
            it.prompt("hello")
            it.event("agent_settled")
            it.close_stdin()
            it.exit()
    assert [e["command"]["message"] for e in entries(log, "command")] == ["hello", "hello"]
    assert [e["type"] for e in entries(log, "event")].count("agent_settled") == 2
    assert [e["code"] for e in entries(log, "exit")] == [0, 0]
    assert len({e["pid"] for e in entries(log, "start")}) == 2


def test_the_scale_divides_retry_delays() -> None:
    with child(env={"FAKE_PI_SCALE": "1000"}) as it:
        it.prompt("err429")
        it.event("agent_settled")
        assert [r["delayMs"] for r in it.records if r["type"] == "auto_retry_start"] == [2, 4, 8]


@pytest.mark.parametrize("how", ["switch", "continue", "agent folder"])
def test_a_session_is_on_disk(tmp_path: Path, how: str) -> None:
    """m_resume_after_kill: appended message by message, so that a kill loses none."""
    arguments = [] if how == "agent folder" else ["--session-dir", str(tmp_path)]
    env = {"PI_CODING_AGENT_DIR": str(tmp_path)} if how == "agent folder" else {}
    with child(*arguments, env=env) as it:
        it.prompt("my name is Ada")
        it.answer()
        it.prompt("hang", "p2")
        it.until(lambda r: r.get("type") == "message_end" and "hang" in str(r["message"].get("content")))
        it.process.kill()
        it.exit()
    (path,) = tmp_path.rglob("*.jsonl")
    with child(*arguments, *(["--continue"] if how == "continue" else []), env=env) as it:
        if how != "continue":
            it.send({"id": "w1", "type": "switch_session", "sessionPath": str(path)})
            it.event("response", id="w1")
        it.send({"id": "g1", "type": "get_state"})
        state = it.event("response", id="g1")["data"]
        assert (state["sessionFile"], state["messageCount"]) == (str(path), 4)
        it.prompt("recall")
        assert it.answer() == "I remember:\nmy name is Ada\nhang\nrecall"


def test_attach_makes_its_file_only_inside_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    with child(cwd=tmp_path / "ws") as it:
        for name in ("notes.txt", "../outside.txt"):
            it.prompt(f"attach {name}")
            assert it.answer() == f"Here it is.\n\nattach: {name}"
            it.event("agent_settled")
    assert sorted(p.name for p in tmp_path.rglob("*.txt")) == ["notes.txt"]
