"""A lane's inbox folder: names, modes and the bound of what is kept there; it downloads and understands nothing.

`state.dir/inbox/LANE/MESSAGE_ID-N.ext`, folders 0700, files 0600. Everything here blocks: call it in a thread.
"""

import contextlib
import os
import re
import secrets
import tempfile
from pathlib import Path
from typing import TypeGuard

FOLDER = "inbox"
PART = ".part"
PICTURES = ("png", "jpg")
"""The forms in which pictures are kept; no other file of a message that called itself a picture ends so."""

_EXTENSION = re.compile(r"\.([a-z0-9]{1,10})\Z")
_KEPT = re.compile(r"([0-9]{1,19})-[0-9]+\.[a-z0-9]+")
_PRIVATE = 0o700


def name_of(message: int, number: int, extension: str) -> str:
    """The name of the `number`-th file of a message, from 1."""
    return f"{message}-{number}.{extension}"


def extension_of(filename: str) -> str:
    """The extension that a file is kept with: short, plain letters and digits, whatever a person called it."""
    found = _EXTENSION.search(filename.lower())
    return found[1] if found else "bin"


class Inbox:
    """All inboxes below one state folder; `most` bytes a lane, the oldest files go first.

    Threads may use it at the same time: nothing here depends on what another one does meanwhile.
    """

    def __init__(self, state: Path, most: int) -> None:
        self._root, self._most = state / FOLDER, most
        self._begun: set[str] = set()
        self._gone: set[int] = set()
        self._life = f"{secrets.token_hex(4)}-"

    def path(self, lane: str, name: str) -> Path:
        """Where a file of this name is or would be."""
        return self._root / lane / name

    def size(self, lane: str, name: str) -> int | None:
        """How many bytes a kept file has, None where there is none; what is no plain file is none."""
        try:
            found = self.path(lane, name).lstat()
        except OSError:
            return None
        return found.st_size if _plain(found) else None

    def read(self, lane: str, name: str) -> bytes | None:
        """The bytes of a kept file, None where it is gone; links are not followed."""
        try:
            handle = os.open(self.path(lane, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        if not _plain(os.fstat(handle)):
            os.close(handle)
            return None
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def part(self, lane: str) -> Path:
        """A new empty file in the lane's folder that has no name yet. Raises OSError."""
        folder = self._root / lane
        for one in (self._root, folder):
            one.mkdir(mode=_PRIVATE, exist_ok=True)
        if lane not in self._begun:  # what an earlier life left half done
            self._begun.add(lane)
            for left in folder.glob(f"*{PART}"):
                if not left.name.startswith(self._life):  # another file of the same message may have begun
                    left.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(suffix=PART, prefix=self._life, dir=folder)
        os.close(handle)
        return Path(name)

    def keep(self, part: Path, lane: str, name: str, *, beside: int) -> bool:
        """Give a finished part its name; False where it is larger than a whole inbox, and then it is gone.

        Older files go until it fits, those of the message `beside` last of all. Nothing is kept of a message that
        was deleted meanwhile. Raises OSError.
        """
        size = part.stat().st_size
        if size > self._most:
            part.unlink()
            return False
        self._make_room(lane, size, beside)
        part.replace(self.path(lane, name))
        if beside in self._gone:  # `forget` may have looked before this file had its name
            self.path(lane, name).unlink(missing_ok=True)
            return False
        return True

    def discard(self, part: Path) -> None:
        """A part that came to nothing, if it is still one."""
        with contextlib.suppress(OSError):
            part.unlink()

    def messages(self) -> frozenset[int]:
        """The messages of which any lane has a file."""
        names = (_KEPT.fullmatch(path.name) for path in self._root.glob("*/*"))
        return frozenset(int(name[1]) for name in names if name)

    def forget(self, message: int) -> None:
        """Remove what any lane has of a message whose text is gone, and what is still on its way there."""
        self._gone.add(message)
        for path in self._root.glob(f"*/{message}-*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _make_room(self, lane: str, size: int, beside: int) -> None:
        kept = []
        for entry in os.scandir(self._root / lane):
            if not entry.name.endswith(PART) and _plain(found := _stat(entry)):
                ours = entry.name.startswith(f"{beside}-")
                kept.append((ours, found.st_mtime_ns, entry.name, found.st_size))
        total = sum(one[-1] for one in kept)
        for _, _, name, length in sorted(kept):
            if total + size <= self._most:
                return
            self.path(lane, name).unlink(missing_ok=True)
            total -= length


def _stat(entry: "os.DirEntry[str]") -> os.stat_result | None:
    """What an entry is, None where it has gone since the folder was read."""
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None


def _plain(found: os.stat_result | None) -> TypeGuard[os.stat_result]:
    return found is not None and (found.st_mode & 0o170000) == 0o100000
