"""A wrapper around a child: `python -m fakes.wrapper HOW [--far SOCKET] [--cut N] [--hold MS] -- COMMAND…`.

It changes no byte, but delays, merges (what comes within MS ms goes in one go) and splits (pieces of N bytes) them,
and passes no signal on. HOW is `local` (the command runs below it), `ssh` (`fakes.far` runs it, bytes over its
socket) or `unit` (as `systemd-run --pipe`: `fakes.far` runs it on the wrapper's own standard streams).
"""

import argparse
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from fakes.far import ENDED

PASSED = ("PATH", "HOME", "FAKE_PI_LOG", "FAKE_PI_SCALE", "PI_CODING_AGENT_DIR", "PYTHONPATH")
SIZE = 1 << 16


def main() -> None:
    """Runs it; exits with the command's status, 255 where the other machine is gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("local", "ssh", "unit"))
    parser.add_argument("--far", default="")
    parser.add_argument("--cut", type=int, default=SIZE)
    parser.add_argument("--hold", type=float, default=0)
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    match asked.how:
        case "local":
            code = _local(asked.command, asked.cut, asked.hold)
        case "ssh":
            code = _ssh(asked.far, asked.command, asked.cut, asked.hold)
        case _:
            code = _unit(asked.far, asked.command)
    sys.stdout.flush()
    os._exit(code if code >= 0 else 128 - code)  # as a shell tells of a signal; a thread may still read our input


def _local(command: list[str], cut: int, hold: float) -> int:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    inner = subprocess.Popen(  # noqa: S603 - what we were told to run
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert inner.stdin is not None
    assert inner.stdout is not None
    _copy_input(inner.stdin.fileno(), lambda: inner.stdin.close() if inner.stdin else None, cut, hold)
    while chunk := _read(inner.stdout.fileno(), hold):
        _in_pieces(chunk, cut, _say)
    return inner.wait()


def _ssh(path: str, command: list[str], cut: int, hold: float) -> int:
    far = _request(path, command, ())
    _copy_input(far.fileno(), lambda: far.shutdown(socket.SHUT_WR), cut, hold)
    while (size := struct.unpack("!I", _exactly(far, 4))[0]) != ENDED:
        _in_pieces(_exactly(far, size), cut, _say)
    return int(struct.unpack("!i", _exactly(far, 4))[0])


def _unit(path: str, command: list[str]) -> int:
    far = _request(path, command, (0, 1, 2))
    return int(struct.unpack("!Ii", _exactly(far, 8))[1])


def _request(path: str, command: list[str], streams: tuple[int, ...]) -> socket.socket:
    far = socket.socket(socket.AF_UNIX)
    far.connect(path)
    env = {name: os.environ[name] for name in PASSED if name in os.environ}
    header = json.dumps({"command": command, "env": env}).encode()
    if streams:
        socket.send_fds(far, [header], streams)
    else:
        far.sendall(header)
        _exactly(far, 1)  # taken: what follows is input
    return far


def _copy_input(to: int, end: Callable[[], None], cut: int, hold: float) -> None:
    def copy() -> None:
        with suppress(OSError):  # whoever took it is gone
            while chunk := _read(0, hold):
                _in_pieces(chunk, cut, lambda piece: _write(to, piece))
            end()

    threading.Thread(target=copy, daemon=True).start()


def _read(source: int, hold: float) -> bytes:
    """What is there, and what comes within `hold` ms after it."""
    chunk = os.read(source, SIZE)
    while chunk and hold and select.select([source], [], [], hold / 1000)[0]:
        more = os.read(source, SIZE)
        if not more:  # the end is found again by the next read
            break
        chunk += more
        if len(chunk) > SIZE:
            break
    return chunk


def _in_pieces(chunk: bytes, cut: int, give: Callable[[bytes], None]) -> None:
    for at in range(0, len(chunk), cut):
        give(chunk[at : at + cut])


def _say(piece: bytes) -> None:
    with suppress(OSError):  # nobody reads any more
        _write(1, piece)


def _write(to: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(to, view) :]


def _exactly(far: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = far.recv(size - len(data))
        if not chunk:
            os._exit(255)
        data += chunk
    return data


if __name__ == "__main__":
    main()
