"""A working folder and a state folder, and what an answer takes along from them; it judges nothing."""

from pathlib import Path

from connector import facts
from connector.outgoing import Bounds, Outgoing
from connector.ports import Part
from connector.post_parts import Packed

LANE = "42"
SECRET = b"the ledger"


def owed(*paths: str, lane: str = LANE, key: str = "7/answer/1") -> facts.Owed:
    text = "\n".join(["Here.", "", *(f"attach: {path}" for path in paths)])
    return facts.Owed(key, "7", 1, "answer", text, 0, lane=lane)


class Ground:
    """A working folder, and a state folder beside or inside it with a ledger and two lanes' outboxes."""

    def __init__(self, folder: Path, *, inside: bool = False) -> None:
        self.folder = folder
        self._asked = 0
        self.work = folder / "work"
        self.work.mkdir()
        self.state = (self.work if inside else folder) / "state"
        self.state.mkdir()
        (self.state / "ledger.db").write_bytes(SECRET)
        (folder / "outside.txt").write_bytes(b"outside")
        for lane in (LANE, "43"):
            self.outgoing().prepare(lane)
        (self.outbox / "made.txt").write_bytes(b"made")
        (self.state / "outbox" / "43" / "theirs.txt").write_bytes(b"theirs")
        (self.work / "sub").mkdir()
        (self.work / "sub" / "a.txt").write_bytes(b"one")

    @property
    def outbox(self) -> Path:
        return self.state / "outbox" / LANE

    def outgoing(self, *, most: int = 1000, files: int = 10, remote: bool = False) -> Outgoing:
        return Outgoing(self.state, self.work, Bounds(most, files), remote=remote)

    def sent(self, packed: Packed) -> tuple[list[tuple[str, bytes]], tuple[str, ...]]:
        """Names and bytes as they go out, and the lines that say what does not."""
        part = self.outgoing().loaded(Part(1, "", "", files=packed.files))
        return [(file.name, file.data) for file in part.files], packed.refused

    def one(self, path: str, lane: str = LANE) -> bytes | str:
        """The bytes that this path is sent with, or the line that says why not."""
        self._asked += 1
        files, lines = self.sent(self.outgoing().pack(owed(path, lane=lane, key=f"{self._asked}/answer/1")))
        assert len(files) + len(lines) == 1
        return files[0][1] if files else lines[0].partition(": ")[2]
