"""`pi-connector demo` as a person starts it: the real connector, unmodified discord.py and a child, all processes."""

import asyncio
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

from tests.fakes.page_visitor import entered

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


def demo(tmp_path: Path, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments),
        env=environment(tmp_path) | env,
        stdin=subprocess.DEVNULL,
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


@contextmanager
def in_talk(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    """A demo whose page has shown an answer, and a pidfd of the connector and of each process below it."""
    with subprocess.Popen(command(), env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("Open ").strip()
        tour, ending = process.stdout.readline(), process.stdout.readline()
        assert tour.startswith("Type there: hello, slow 5000, tool 5000, md, ")
        assert ending == "It is of this run alone, and everything is gone when you end it here with Ctrl-C.\n"
        try:
            asyncio.run(answered(url))
        except BaseException:
            process.kill()
            raise
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


async def answered(url: str) -> None:
    """Say hello on the page, as its first person in the private channel, and wait for the answer."""
    async with entered(url) as visitor:
        await visitor.look()
        await visitor.act("say", text="hello")
        await visitor.until(lambda: "echo: hello" in visitor.texts())
        assert [one["name"] for one in visitor.seen["who"]["people"]] == ["ada", "ben"]
        assert [one["name"] for one in visitor.seen["places"]] == ["general", "workshop", "pi"]
        assert visitor.seen["about"]["state"] == "up"


def wait_for_end(handles: list[int]) -> None:
    """Until each of these processes has ended; a pidfd is readable then."""
    for handle in handles:
        assert select.select([handle], [], [], GONE)[0], "is still there"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal at a parent's end is Linux's")
def test_killed_the_demo_takes_the_connector_and_its_child_along(tmp_path: Path) -> None:
    """Its folder cannot go with it: the next demo clears that."""
    with in_talk(tmp_path) as (process, handles):
        process.kill()
        wait_for_end(handles)
    assert len(list(tmp_path.iterdir())) == 1
    assert demo(tmp_path, "--say", "hello").stdout == "echo: hello\n"
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("says", [("--say", "x"), ()])
def test_a_port_that_is_taken(tmp_path: Path, says: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = demo(tmp_path, "--port", str(port), *says)
    line = f"error: port {port} cannot be had: Address already in use; name another one with --port\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)


ONLY_LOOPBACK = """
import os
import sys

def watch(event, arguments):
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        if isinstance(address, tuple) and address[0] != "127.0.0.1":
            refuse(event, address)
    elif event == "socket.getaddrinfo" and arguments[0] not in (None, "127.0.0.1"):
        refuse(event, arguments[0])

def refuse(event, wanted):
    with open(os.environ["REFUSED"], "a") as file:
        file.write(f"{event} {wanted}\\n")
    raise OSError(f"{wanted} is refused")

with open(os.environ["REFUSED"] + ".watched", "a") as file:
    file.write(f"{sys.argv[:1]}\\n")
sys.addaudithook(watch)
"""
"""Imported by each Python that starts: every other address is refused, and written down."""


def test_nothing_is_asked_of_any_other_address(tmp_path: Path) -> None:
    watching, refused = tmp_path / "watching", tmp_path / "refused"
    watching.mkdir()
    (watching / "sitecustomize.py").write_text(ONLY_LOOPBACK)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = demo(
        temporary,
        "--say",
        "hello",
        PYTHONPATH=str(watching),
        REFUSED=str(refused),
        TMPDIR=str(temporary),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "echo: hello\n", "")
    assert not refused.exists(), refused.read_text()
    # The demo and its connector, at least: what starts the child decides about its environment.
    assert len((tmp_path / "refused.watched").read_text().splitlines()) >= 2
