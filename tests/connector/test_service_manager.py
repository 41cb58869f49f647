"""What systemd is told, byte for byte, and that nothing of ours hangs on whether it listens."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from connector.service_manager import LONGEST, ServiceManager


class Ear:
    """A socket as systemd's; `heard` takes what came so far."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self.socket.setblocking(False)

    def heard(self) -> list[str]:
        said = []
        while True:
            try:
                said.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return said


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@pi-connector-test-{os.getpid()}"


@pytest.fixture
def ear(address: str) -> Iterator[Ear]:
    ear = Ear(address)
    yield ear
    ear.socket.close()


def test_every_word_as_systemd_takes_it(address: str, ear: Ear) -> None:
    manager = ServiceManager.of({"NOTIFY_SOCKET": address})

    assert manager.status("waiting for\nDiscord")
    assert manager.ready("Running: all is well")
    assert manager.alive()
    assert manager.stopping("Stopping")
    manager.close()

    assert ear.heard() == [
        "STATUS=waiting for Discord",
        "READY=1\nSTATUS=Running: all is well",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=Stopping",
    ]
    assert not manager.alive()


def test_nothing_that_we_start_may_speak_for_us() -> None:
    environ = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid()), "PATH": "/bin"}

    manager = ServiceManager.of(environ)

    assert environ == {"PATH": "/bin"}
    assert manager.period == 60.0


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "²"},
    ],
)
def test_a_watchdog_that_is_none_or_another_process_s(environ: dict[str, str]) -> None:
    assert ServiceManager.of({**environ, "NOTIFY_SOCKET": "@x"}).period is None


def test_without_a_manager_nothing_happens() -> None:
    manager = ServiceManager.of({})

    assert not manager.ready("up")
    assert manager.trouble == ""


@pytest.mark.parametrize("address", ["/nowhere/at/all", "@pi-connector-nobody", "vsock:2:1", "/" + "x" * 200, "a\0b"])
def test_a_manager_that_is_gone_is_no_trouble_of_ours(address: str) -> None:
    manager = ServiceManager(address)

    assert not manager.alive()
    assert manager.trouble
    manager.close()


def test_a_manager_that_does_not_listen_is_not_waited_for(address: str, ear: Ear) -> None:
    manager = ServiceManager(address)
    while manager.alive():
        pass

    assert manager.trouble.startswith("BlockingIOError")
    assert set(ear.heard()) == {"WATCHDOG=1"}
    assert manager.alive()
    manager.close()


def test_a_long_status_is_cut(address: str, ear: Ear) -> None:
    manager = ServiceManager(address)
    manager.status("x" * 2 * LONGEST)
    manager.close()

    assert ear.heard() == ["STATUS=" + "x" * (LONGEST - 1) + "…"]
