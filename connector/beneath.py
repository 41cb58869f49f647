"""Opens files beneath a folder without following links; whatever the agent puts in the way, nothing else is opened."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connector import notices_outgoing as notices

_FOLDER = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WHY = {
    errno.ELOOP: notices.LINK,
    errno.ENOENT: notices.MISSING,
    errno.ENOTDIR: notices.MISSING,
    errno.ENAMETOOLONG: notices.MISSING,
    errno.ENXIO: notices.IRREGULAR,
    errno.ENODEV: notices.IRREGULAR,
}

Forbidden = Callable[[os.stat_result], bool]


class Refused(Exception):  # noqa: N818 - a state of the world, not a fault
    """A file is not sent; `why` is a sentence for the person who asked."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@contextmanager
def opened(base: Path, names: tuple[str, ...], forbidden: Forbidden) -> Iterator[int]:
    """A descriptor of the regular file `names` below `base`, opened name by name; `base` alone may be a link.

    No folder on the way may be `forbidden`, `base` neither. A pipe or a device is not waited for. Raises Refused.
    """
    try:
        descriptor = _walk(base, names, forbidden)
    except OSError as error:
        raise Refused(_WHY.get(error.errno or 0, notices.UNREADABLE)) from error
    except ValueError as error:  # a NUL in a name, or a character that no name can have
        raise Refused(notices.MISSING) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _walk(base: Path, names: tuple[str, ...], forbidden: Forbidden) -> int:
    if not names:
        raise Refused(notices.IRREGULAR)
    at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _folder(os.fstat(at), forbidden)
        for name in names[:-1]:
            at = _step(at, name)
            _folder(os.fstat(at), forbidden)
        found = os.open(names[-1], _FILE, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise Refused(notices.IRREGULAR)
    return found


def _step(at: int, name: str) -> int:
    """The descriptor of `name` in a folder, whose own descriptor is given up for it."""
    below = os.open(name, _FOLDER, dir_fd=at)
    os.close(at)
    return below


def _folder(found: os.stat_result, forbidden: Forbidden) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise Refused(notices.LINK)
    if not stat.S_ISDIR(found.st_mode):
        raise Refused(notices.MISSING)
    if forbidden(found):
        raise Refused(notices.OURS)
