"""How the readers and their child are started; nothing of the product, so that a plain reader stays plain."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 1 << 26
"""Bytes of a line that each reader takes."""

_REPLAYER = Path(__file__).with_name("replayer.py")
_RPC = Path(__file__).with_name("rpc_client.mjs")


def command(folder: str) -> tuple[str, ...]:
    """Start the replayer on this folder."""
    return (sys.executable, "-I", str(_REPLAYER), folder)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one turn took a reader: processor time of its process and wall time, seconds."""

    cpu: float
    wall: float


class Reader:
    """One reader that is up."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def turn(self) -> Spent:
        """Let it read one turn."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        return Spent(told["cpu"] / 1e9, told["wall"] / 1e9)


@contextlib.contextmanager
def reader(role: str, folder: Path) -> Iterator[Reader]:
    """One of `tests.bench.readers`' roles."""
    with _running([sys.executable, "-m", "tests.bench.readers", role, str(folder)], os.environ.copy()) as found:
        yield found


@contextlib.contextmanager
def rpc_client(node: Path, client: Path, folder: Path) -> Iterator[Reader]:
    """pi's RpcClient (`client`: its file) under the Node that pi brings."""
    environ = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
    with _running([str(node), str(_RPC), str(client), *command(str(folder))], environ) as found:
        yield found


@contextlib.contextmanager
def _running(words: list[str], environ: dict[str, str]) -> Iterator[Reader]:
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as process:
        try:
            yield Reader(process)
        finally:
            process.kill()
