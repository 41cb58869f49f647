"""The files that an answer names, copied once into the state folder and sent from there; blocks: for threads only.

What was copied at the first try is what every later try sends, over a restart too: so one post never has two contents,
whatever becomes of the agent's own file meanwhile.
"""

import hashlib
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from connector import facts
from connector import notices_outgoing as notices
from connector.attach_lines import named, sent_name, shown_name
from connector.beneath import Forbidden, Refused, opened
from connector.ports import Attached, Part
from connector.post_parts import Packed

OUTBOX = "outbox"
KEPT = "outgoing"
_LIST = "list.json"
_CHUNK = 1 << 18
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Names = tuple[str, ...]


class _Listed(msgspec.Struct, frozen=True):
    """What was copied for one answer, as it is kept beside the copies."""

    files: tuple[tuple[str, int], ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """`files.max_bytes` of one file, `files.max_message` of one answer."""

    size: int
    files: int


class Outgoing:
    """Reads what answers name, from the agent's working folder and the lane's outbox alone (CONTRACT, files)."""

    def __init__(self, state: Path, workspace: Path, bounds: Bounds, *, remote: bool) -> None:
        self._state, self._workspace, self._bounds, self._remote = state, workspace, bounds, remote
        self._kept = state / KEPT

    def outbox(self, lane: str) -> Path:
        """Where a lane's agent may put files that are to be sent."""
        return self._state / OUTBOX / lane

    def prepare(self, lane: str) -> None:
        """Make the lane's outbox, for us alone."""
        if not self._remote:
            for folder in (self._state / OUTBOX, self.outbox(lane)):
                folder.mkdir(mode=0o700, exist_ok=True)

    def pack(self, owed: facts.Owed) -> Packed:
        """What the answer carries. A file that is not sent has a line that says why, and nothing else fails."""
        found = named(owed.text)
        if not found.paths:
            return Packed(owed.text)
        if self._remote:
            return Packed(found.text, refused=tuple(_line(path, notices.REMOTE) for path in found.paths))
        folder = self._folder(owed.key)
        listed = _listed(folder)
        if listed is None:
            listed = self._copied(folder, owed.lane, found.paths)
        files = (
            Attached(name, kept=str(folder / str(number)), size=size)
            for number, (name, size) in enumerate(listed.files)
        )
        return Packed(found.text, tuple(files), listed.refused)

    def loaded(self, part: Part) -> Part:
        """The part with the bytes of its files. Raises OSError where a copy is not what it was."""
        return replace(part, files=tuple(_loaded(file) for file in part.files))

    def forget(self, key: str) -> None:
        """The post stands in Discord, or never will: its copies go."""
        shutil.rmtree(self._folder(key), ignore_errors=True)

    def sweep(self, owed: Collection[str]) -> None:
        """At a start: copies of what is not owed any more go."""
        names = {self._folder(key).name for key in owed}
        with suppress(OSError):
            for folder in self._kept.iterdir():
                if folder.name not in names:
                    shutil.rmtree(folder, ignore_errors=True)

    # -- copying ---------------------------------------------------------------------------------------------------

    def _folder(self, key: str) -> Path:
        return self._kept / hashlib.sha256(key.encode()).hexdigest()[:32]

    def _copied(self, folder: Path, lane: str, paths: Names) -> _Listed:
        files: list[tuple[str, int]] = []
        refused: list[str] = []
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # every copy will say so
            self._kept.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
        for path in paths[: self._bounds.files]:
            try:
                size = self._copy(path, lane, folder / str(len(files)))
                files.append((sent_name(path), size))
            except Refused as refusal:
                refused.append(_line(path, refusal.why))
        if (more := len(paths) - self._bounds.files) > 0:
            refused.append(notices.too_many(more, self._bounds.files))
        listed = _Listed(tuple(files), tuple(refused))
        with suppress(OSError):  # a start after this one copies again
            _write_list(folder, listed)
        return listed

    def _copy(self, path: str, lane: str, to: Path) -> int:
        """Copy one file; its size. Raises Refused."""
        with opened(*self._place(path, lane)) as source:
            data = self._read(source)
        try:
            _write(to, data)
        except OSError as error:
            with suppress(OSError):
                to.unlink()
            raise Refused(notices.UNKEPT) from error
        return len(data)

    def _read(self, source: int) -> bytes:
        """A file's content; one that grows while it is read is left where it is too large."""
        most = self._bounds.size
        if os.fstat(source).st_size > most:
            raise Refused(notices.too_large(most))
        chunks: list[bytes] = []
        left = most + 1
        try:
            while left > 0 and (chunk := os.read(source, min(_CHUNK, left))):
                chunks.append(chunk)
                left -= len(chunk)
        except OSError as error:
            raise Refused(notices.UNREADABLE) from error
        if left <= 0:
            raise Refused(notices.too_large(most))
        return b"".join(chunks)

    # -- where a file may lie --------------------------------------------------------------------------------------

    def _place(self, path: str, lane: str) -> tuple[Path, Names, Forbidden]:
        """The folder a path begins in, the names below it, and what may not be met there. Raises Refused.

        Decided by its letters alone: a path outside is refused in the same words whether anything is there or not.
        """
        parts = _parts(path)
        workspaces = _spellings(self._workspace)
        outboxes = [(*state, OUTBOX, lane) for state in _spellings(self._state)]
        whole = [parts] if path.startswith("/") else [(*folder, *parts) for folder in workspaces]
        if ".." in parts:
            raise Refused(notices.OUTSIDE)
        if (below := _below(outboxes, whole)) is not None:
            return self._state, (OUTBOX, lane, *below), _nothing
        if (below := _below(workspaces, whole)) is None:
            raise Refused(notices.OUTSIDE)
        if Path(os.path.realpath(self._workspace)).is_relative_to(os.path.realpath(self._state)):
            raise Refused(notices.OURS)
        return self._workspace, below, self._ours

    def _ours(self, folder: os.stat_result) -> bool:
        """Whether this is the state folder, by whatever name it was reached."""
        try:
            state = self._state.stat()
        except OSError:
            return True
        return (folder.st_dev, folder.st_ino) == (state.st_dev, state.st_ino)


def _parts(path: str) -> Names:
    return tuple(part for part in path.split("/") if part not in {"", "."})


def _spellings(folder: Path) -> list[Names]:
    """A folder as it was named to the agent, and as it is called without links.

    Not `resolve()`: the agent may make links that lead round in a circle, which that raises for.
    """
    return list(dict.fromkeys(map(_parts, (os.path.abspath(folder), os.path.realpath(folder)))))  # noqa: PTH100 - see above


def _below(folders: list[Names], whole: list[Names]) -> Names | None:
    """The names below one of these folders, None where the path lies below none. Raises Refused for a hidden one."""
    for folder in folders:
        for names in whole:
            if names[: len(folder)] == folder:
                if any(name.startswith(".") for name in names[len(folder) :]):
                    raise Refused(notices.HIDDEN)
                return names[len(folder) :]
    return None


def _nothing(_: os.stat_result) -> bool:
    return False


def _line(path: str, why: str) -> str:
    return notices.not_attached(shown_name(path), why)


def _write(to: Path, data: bytes) -> None:
    with os.fdopen(os.open(to, _NEW, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _loaded(file: Attached) -> Attached:
    if not file.kept:
        return file
    with os.fdopen(os.open(file.kept, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as source:
        data = source.read()
    if len(data) != file.size:
        raise OSError(f"{file.kept} has {len(data)} bytes, not {file.size}")
    return Attached(file.name, data)


def _write_list(folder: Path, listed: _Listed) -> None:
    """Whole or not at all: what stands under this name was copied to its end."""
    half = folder / f"{_LIST}.new"
    _write(half, msgspec.json.encode(listed))
    half.replace(folder / _LIST)


def _listed(folder: Path) -> _Listed | None:
    """What was copied at an earlier try, None where it was not or is not whole any more."""
    try:
        listed = msgspec.json.decode((folder / _LIST).read_bytes(), type=_Listed)
        whole = all((folder / str(n)).lstat().st_size == size for n, (_, size) in enumerate(listed.files))
    except (OSError, msgspec.DecodeError):
        return None
    return listed if whole else None
