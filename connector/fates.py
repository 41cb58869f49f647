"""What became of each file of a message, and what that is to the lanes, the child and the person; pure."""

from collections.abc import Sequence

from msgspec import Struct

from connector import notices_files
from connector.facts_files import File
from connector.lane_events import Brought, Missed
from connector.notices_files import Why
from engine.commands import Image


class Shown(Struct, frozen=True):
    """A picture that goes to the child as one; `name` in the lane's inbox, `path` where the child can read it too."""

    file: File
    name: str
    image: Image
    path: str = ""


class Saved(Struct, frozen=True):
    """A file that lies in the lane's inbox with `size` bytes; `unreadable`: it said that it is a picture."""

    file: File
    path: str
    size: int
    unreadable: bool = False


class Lost(Struct, frozen=True):
    """A file that the child does not get; `most` is the bound it met, in bytes or files."""

    file: File
    why: Why
    most: int = 0


Fate = Shown | Saved | Lost


def brought(round_: str, lane: str, fates: Sequence[Fate]) -> Brought:
    """The input of the lanes that these fates, in the order of the files, are."""
    lines: list[str] = []
    shown: list[Shown] = []
    missed: list[Missed] = []
    for fate in fates:
        match fate:
            case Shown(file, _, _, path):
                shown.append(fate)
                lines.append(notices_files.picture(file, len(shown), path))
            case Saved(file, path, size, unreadable):
                lines.append(notices_files.saved(file, size, path, unreadable=unreadable))
                if unreadable:
                    why = notices_files.reason(Why.UNREADABLE, 0)
                    missed.append(Missed(file.name, f"{why}, so it goes as a file"))
            case Lost(file, why_lost, most):
                lines.append(notices_files.left_out(file, why_lost, most))
                missed.append(Missed(file.name, notices_files.reason(why_lost, most)))
    return Brought(
        round_,
        lane,
        tuple(lines),
        pictures=tuple(one.name for one in shown),
        images=tuple(one.image for one in shown),
        missed=tuple(missed),
        some=any(not isinstance(fate, Lost) for fate in fates),
    )
