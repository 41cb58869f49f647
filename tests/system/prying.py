"""A tool that looks for a secret wherever a process of the same user can look; a program of its own, not a test.

It knows what the secret looks like, never what it is, and reports digests of what it finds:

    python prying.py REPORT LEVELS FILE...

REPORT: where the report goes (its name gets the process id); LEVELS: how many ancestors are looked at, 0 for all;
FILE: files and folders to read. With `--then COMMAND...` behind, it looks once more from a process whose environment
is empty, and becomes COMMAND.
"""

import ctypes
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

SECRET = re.compile(rb"isolated-token\.[0-9a-f]{32}")
CHUNK = 1 << 20
LARGEST = 1 << 26
PTRACE_SEIZE = 0x4206
PIDFD_GETFD = 438

libc = ctypes.CDLL(None, use_errno=True)


class Span(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Looking:
    """What was tried and what was found: by way, with the process or file."""

    def __init__(self) -> None:
        self.tried: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self.found: list[tuple[str, str, str]] = []

    def look(self, way: str, where: object, read: Callable[[], Iterator[bytes]]) -> None:
        """Try one way in one place."""
        self.tried[way] = self.tried.get(way, 0) + 1
        try:
            for data in read():
                for match in SECRET.findall(data):
                    self.found.append((way, str(where), hashlib.sha256(match).hexdigest()))
        except OSError as error:
            self.failed[way] = os.strerror(error.errno or 0)


def ancestors(levels: int) -> list[int]:
    found: list[int] = []
    pid = os.getppid()
    while pid > 1 and (not levels or len(found) < levels):
        found.append(pid)
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(re.findall(r"^PPid:\s+(\d+)", status, re.MULTILINE)[0])
    return found


def whole(path: Path | str) -> Iterator[bytes]:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        data = b""
        while len(data) < LARGEST and (read := os.pread(fd, CHUNK, len(data))):
            data += read
        yield data
    finally:
        os.close(fd)


def regions(pid: int) -> list[tuple[int, int]]:
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    spans = [line.split()[:2] for line in lines if "[vvar]" not in line and "[vsyscall]" not in line]
    edges = [(span.split("-"), mode) for span, mode in spans]
    return [(int(start, 16), int(end, 16)) for (start, end), mode in edges if mode.startswith("rw")]


def memory(pid: int) -> Iterator[bytes]:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as file:
        for start, end in regions(pid):
            os.lseek(file.fileno(), start, os.SEEK_SET)
            try:
                yield os.read(file.fileno(), min(end - start, LARGEST))
            except OSError:
                continue  # a page that is not there; the next region may be


def vm_read(pid: int) -> Iterator[bytes]:
    try:
        spans = regions(pid)
    except OSError:
        spans = regions(os.getpid())  # its layout is unknown, ours is as good a guess as any
    for start, end in spans:
        size = min(end - start, LARGEST)
        buffer = ctypes.create_string_buffer(size)
        ours, theirs = Span(ctypes.addressof(buffer), size), Span(start, size)
        read = libc.process_vm_readv(pid, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
        if read < 0 and ctypes.get_errno() == 1:
            raise PermissionError(1, "process_vm_readv")
        yield buffer.raw[: max(read, 0)]


def traced(pid: int) -> Iterator[bytes]:
    # By a process of its own, whose end lets go: held on to, the traced one would stop at its next signal.
    tracer = os.fork()
    if not tracer:
        os._exit(ctypes.get_errno() if libc.ptrace(PTRACE_SEIZE, pid, None, None) < 0 else 0)
    if code := os.waitstatus_to_exitcode(os.waitpid(tracer, 0)[1]):
        raise OSError(code, "ptrace")
    yield from memory(pid)


def stolen(pid: int) -> Iterator[bytes]:
    handle = os.pidfd_open(pid)
    try:
        for number in range(32):
            fd = libc.syscall(PIDFD_GETFD, handle, number, 0)
            if fd < 0:
                if ctypes.get_errno() == 1:
                    raise PermissionError(1, "pidfd_getfd")
                continue
            os.close(fd)
            yield b""
    finally:
        os.close(handle)


def descriptors(pid: int) -> Iterator[bytes]:
    for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - a name, not a path
        path = f"/proc/{pid}/fd/{name}"
        if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - what is read out of a pipe is missing there
            yield from whole(path)


def files(path: Path) -> Iterator[bytes]:
    if path.is_dir():
        os.listdir(path)  # noqa: PTH208 - raises where it may not be read; a walk would be silent
    for one in [path] if not path.is_dir() else sorted(path.rglob("*")):
        if one.is_file() or one == path:
            yield from whole(one)


def pry(levels: int, places: list[Path]) -> dict[str, object]:
    here = Looking()
    looked_at = ancestors(levels)
    here.look("own environment", "self", lambda: iter([os.environb.__repr__().encode()]))
    for name in ("environ", "cmdline"):
        here.look(f"own {name}", "self", lambda name=name: whole(f"/proc/self/{name}"))  # type: ignore[misc]  # bound now
    for pid in looked_at:
        for name in ("environ", "cmdline", "auxv"):
            here.look(name, pid, lambda pid=pid, name=name: whole(f"/proc/{pid}/{name}"))  # type: ignore[misc]  # as above
        for way in (descriptors, memory, vm_read, traced, stolen):
            here.look(way.__name__, pid, lambda pid=pid, way=way: way(pid))  # type: ignore[misc]  # as above
    for place in [*places, Path("/run/credentials")]:
        here.look("files", place, lambda place=place: files(place))  # type: ignore[misc]  # as above
    return {"ancestors": looked_at, "tried": here.tried, "failed": here.failed, "found": here.found}


def main() -> None:
    arguments, _, then = " ".join(sys.argv[1:]).partition(" --then ")
    report, levels, *places = arguments.split(" ")
    told = pry(int(levels), [Path(place) for place in places])
    Path(f"{report}-{'with' if 'HOME' in os.environ else 'without'}-{os.getpid()}").write_text(json.dumps(told))
    if then:
        deeper = str(int(levels) and int(levels) + 1)
        emptied = [sys.executable, "-I", "-S", __file__, report, deeper, *places]
        subprocess.run(emptied, env={}, check=True, stdin=subprocess.DEVNULL)
        os.execv(sys.executable, [sys.executable, "-P", *then.split(" ")])


if __name__ == "__main__":
    main()
