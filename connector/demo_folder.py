"""The demo's folder: gone at its end; what a killed demo left behind is cleared by the next; it touches no other."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from connector import lock

PREFIX = "pi-connector-demo-"

HELD = "held"
"""The file whose lock says that a demo is up; the system lets go of it when that ends, however it ends."""

STATE = "state"
"""The connector's state folder in it. Its lock says that a connector is up: it outlives a killed demo by its drain."""


@contextlib.contextmanager
def demo_folder() -> Iterator[Path]:
    """A folder of this run alone, below $TMPDIR; everything in it is gone afterwards."""
    _clear(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        held = os.open(folder / "new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            # Under its name only now: another demo that begins at this instant never finds it unlocked.
            (folder / "new").rename(folder / HELD)
            yield folder
        finally:
            os.close(held)


def _clear(above: Path) -> None:
    for folder in above.glob(f"{PREFIX}*"):
        if _ours(folder) and _free(folder / HELD, absent=False) and _free(folder / STATE / lock.FILE, absent=True):
            shutil.rmtree(folder, ignore_errors=True)  # two demos may begin at once; what is left is for the next


def _ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _free(path: Path, *, absent: bool) -> bool:
    """Whether nobody holds this lock; `absent` where there is no such file."""
    try:
        tried = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return absent
    except OSError:  # no plain file that we may open: not made by a demo of ours
        return False
    try:
        fcntl.flock(tried, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(tried)
    return True
