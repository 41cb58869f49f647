"""Another machine, as far as a connector can tell: runs commands for `fakes.wrapper`, out of its process tree.

A thread of the test's own process takes requests on a Unix socket; what it starts, it ends with `close`.
"""

import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

ENDED = 0
"""A frame of this length is the last one; the status follows it."""

_HEADER = 1 << 16


class Far:
    """The machine. `folder` is where its commands run; `env` is what is different there."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._env = folder, dict(env)
        self.socket = str(folder / "s")
        self.started: list[subprocess.Popen[bytes]] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.socket)
        self._server.listen()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for process in self.started:
            process.kill()  # one that is over is left alone
        for thread in self._threads:
            thread.join()

    def wait(self, seconds: float) -> list[int]:
        """The statuses of all that was started, each waited for; subprocess.TimeoutExpired where one goes on."""
        return [process.wait(seconds) for process in self.started]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            header, streams, _, _ = socket.recv_fds(connection, _HEADER, 3)
            request = json.loads(header)
            env = {**request["env"], **self._env}
            if streams:
                code = self._unit(request["command"], env, streams)
            else:
                code = self._session(request["command"], env, connection)
            with contextlib.suppress(OSError):  # nobody waits for it any more
                connection.sendall(struct.pack("!Ii", ENDED, code))

    def _start(self, command: list[str], env: dict[str, str], **streams: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - what a test asks for
            command, cwd=self._folder, env=env, start_new_session=True, **streams
        )
        self.started.append(process)
        return process

    def _unit(self, command: list[str], env: dict[str, str], streams: list[int]) -> int:
        """As `systemd-run --pipe`: the standard streams themselves come over."""
        stdin, stdout, stderr = streams
        process = self._start(command, env, stdin=stdin, stdout=stdout, stderr=stderr)
        for stream in streams:
            os.close(stream)
        return process.wait()

    def _session(self, command: list[str], env: dict[str, str], connection: socket.socket) -> int:
        """As `sshd`: bytes both ways; a connection that ends is the end of input."""
        connection.sendall(b"+")  # taken: what follows is input
        process = self._start(command, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        assert process.stdout is not None
        feeding = threading.Thread(target=_feed, args=(connection, process.stdin), daemon=True)
        feeding.start()
        with contextlib.suppress(OSError), process.stdout:
            while chunk := os.read(process.stdout.fileno(), 1 << 16):
                connection.sendall(struct.pack("!I", len(chunk)) + chunk)
        code = process.wait()
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RD)
        feeding.join()
        return code


def _feed(connection: socket.socket, stdin: Any) -> None:
    with contextlib.suppress(OSError), stdin:
        while chunk := connection.recv(1 << 16):
            stdin.write(chunk)
            stdin.flush()
