"""`pi-connector demo` as a person starts it: the real connector, unmodified discord.py and a child, all processes."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

BOUND = 50.0
GONE = 5.0

WITHOUT_TEST_TOOLS = """
import sys
for name in ("jsonschema", "hypothesis", "pytest"):
    sys.modules[name] = None
from connector.cli import main
main()
"""
"""The console script where only the extra `demo` is installed."""


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    # What belongs to another connector must not reach this one.
    return kept | {"TMPDIR": str(tmp_path), "PI_CONNECTOR_ACCESS__USERS": "[]", "DISCORD_TOKEN": "the real one"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-c", WITHOUT_TEST_TOOLS, "demo", *arguments]


def demo(tmp_path: Path, *arguments: str, given: str = "", **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments),
        env=environment(tmp_path) | env,
        input=given,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )


def test_say_prints_the_answers_in_order_and_nothing_else(tmp_path: Path) -> None:
    """CONTRACT `demo --say`: sends, prints the child's answer, exits 0; everything is gone at the end."""
    done = demo(tmp_path, "--say", "good morning", "--say", "tool 20", "--say", "huge 12000")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"echo: good morning\necho: tool 20\n{'y' * 12000}\n"
    assert list(tmp_path.iterdir()) == []


def test_the_demo_starts_the_connector_again_as_systemd_would(tmp_path: Path) -> None:
    """CONTRACT, exit code 1: what happened stands in Discord, and the next message is answered."""
    done = demo(tmp_path, "--say", "exitmid 3", "--say", "and now?")
    notice = "This turn was cut off after it had begun to act; it is not repeated by itself. Press Retry to ask again."
    assert (done.returncode, done.stdout) == (0, f"{notice}\necho: and now?\n")
    said = "demo: the connector exited with 1 (child exit 3 in a turn); starting it again, as systemd would"
    assert said in done.stderr.splitlines()


def test_a_conversation_answers_every_line_of_a_scripts_input(tmp_path: Path) -> None:
    done = demo(tmp_path, given="hello\n/nonsense\n/status\nhelp\nlast words without an end of line")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0].startswith("Type something, or one of: slow 3000, ")
    assert any(line.startswith("there is no /nonsense; there are /stop, /status, /queue") for line in lines)
    assert any(line.startswith("pi (only you see this): ") for line in lines)
    assert "pi: echo: hello" in lines
    assert lines[-1] == "pi: echo: last words without an end of line"
    assert list(tmp_path.iterdir()) == []


@contextmanager
def in_talk(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    """A demo in the middle of a conversation, and a pidfd of the connector and of each process below it."""
    with subprocess.Popen(
        command(), env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("hello\n")
        process.stdin.flush()
        assert "pi: echo: hello\n" in iter(process.stdout.readline, "")
        below = psutil.Process(process.pid).children(recursive=True)
        lines = [" ".join(one.cmdline()) for one in below]
        assert [any(word in line for line in lines) for word in ("-m connector run", "-m fakes.pi")] == [True, True]
        handles = [os.pidfd_open(one.pid) for one in below]
        try:
            yield process, handles
        finally:
            process.kill()
            for handle in handles:
                os.close(handle)


def wait_for_end(handles: list[int]) -> None:
    """Until each of these processes has ended; a pidfd is readable then."""
    for handle in handles:
        assert select.select([handle], [], [], GONE)[0], "is still there"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal at a parent's end is Linux's")
def test_killed_the_demo_takes_the_connector_and_its_child_along(tmp_path: Path) -> None:
    with in_talk(tmp_path) as (process, handles):
        process.kill()
        wait_for_end(handles)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stopped_the_demo_ends_in_order(tmp_path: Path, signum: signal.Signals) -> None:
    with in_talk(tmp_path) as (process, handles):
        process.send_signal(signum)
        assert process.wait(BOUND) == 0
        wait_for_end(handles)
    assert list(tmp_path.iterdir()) == []


def test_the_child_pi_is_the_one_on_the_path_and_its_sessions_are_private(tmp_path: Path) -> None:
    """CONTRACT `demo --child pi`: the user's own pi; a stand-in here, which takes pi's options."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "pi").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m fakes.pi "$@"\n')
    (programs / "pi").chmod(0o700)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = demo(tmp_path, "--child", "pi", "--say", "hello", PATH=path, PI_CODING_AGENT_DIR=str(tmp_path / "own"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "echo: hello\n", "")
    assert list(tmp_path.iterdir()) == [programs]


def test_without_pi_on_the_path_the_real_child_cannot_be_had(tmp_path: Path) -> None:
    done = demo(tmp_path, "--child", "pi", "--say", "x", PATH=str(tmp_path))
    mend = "npm install -g @earendil-works/pi-coding-agent, or use --child fake"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"error: there is no pi on PATH; {mend}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = demo(tmp_path, "--port", str(port), "--say", "x")
    line = f"error: port {port} cannot be had: Address already in use; name another one with --port\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)
