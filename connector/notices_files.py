"""What the child and a person are told of files that came with a message; pure.

The child gets one bracketed line a file. A person hears only of what the agent does not get as it was sent.
"""

from collections.abc import Sequence
from enum import StrEnum

from connector.facts_files import File
from connector.header import clean
from connector.lane_events import Missed

NAMED = 3
"""So many files are named in one notice."""


class Why(StrEnum):
    """Why a file does not reach the agent as it was sent."""

    TOO_LARGE = "larger than"
    TOO_MANY = "too many"
    GONE = "gone"
    FAILED = "failed"
    DISK = "disk"
    NO_ROOM = "no room"
    REMOTE = "remote"
    UNREADABLE = "unreadable"


def reason(why: Why, most: int) -> str:
    """The middle of a sentence; `most` is the bound that was met, in bytes or in files."""
    match why:
        case Why.TOO_LARGE:
            return f"larger than {size(most)}"
        case Why.TOO_MANY:
            return f"beyond the {most} files of one message"
        case Why.GONE:
            return "Discord has it no longer"
        case Why.FAILED:
            return "it could not be downloaded"
        case Why.DISK:
            return "it could not be written to the disk"
        case Why.NO_ROOM:
            return "larger than all that is kept of one conversation"
        case Why.REMOTE:
            return "the agent runs elsewhere and gets pictures only"
        case Why.UNREADABLE:
            return "it could not be read as a picture"


def picture(file: File, number: int, path: str) -> str:
    """The child's line of a picture that goes with the text as the `number`-th; `path`, if any, is its copy."""
    copy = f", a copy at {path}" if path else ""
    return f"{_kind(file, 'picture')}: {clean(file.name)}, image {number} of this message{copy}"


def saved(file: File, written: int, path: str, *, unreadable: bool = False) -> str:
    """The child's line of a file that was saved with `written` bytes."""
    why = f", {reason(Why.UNREADABLE, 0)}" if unreadable else ""
    return f"{_kind(file, 'file')}: {clean(file.name)}, {written} bytes{_type(file)}{why}, saved as {path}"


def left_out(file: File, why: Why, most: int) -> str:
    """The child's line of a file that it does not get."""
    return f"{_kind(file, 'file')}: {clean(file.name)}, {file.size} bytes{_type(file)}, not given: {reason(why, most)}"


def missed(files: Sequence[Missed]) -> str:
    """The notice to the person whose message is asked without these, or with one of them as a plain file."""
    return (
        f"The agent does not get {_listed(files)}; everything else of this message is asked."
        " Send it in another form if it matters."
    )


def nothing_left(files: Sequence[Missed]) -> str:
    """The end of a message that was nothing but files, none of which can be given to the agent."""
    return (
        f"The agent cannot get {_listed(files)}, and nothing else is in this message, so it was not asked."
        " Send it in another form, or write what you want."
    )


def size(number: int) -> str:
    """Bytes in a unit that people read."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{number} byte{'' if number == 1 else 's'}"


def _listed(files: Sequence[Missed]) -> str:
    named = [f"`{clean(file.name).replace('`', ' ').strip() or 'file'}` ({file.why})" for file in files[:NAMED]]
    more = len(files) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _kind(file: File, kind: str) -> str:
    return f"forwarded {kind}" if file.forwarded else kind


def _type(file: File) -> str:
    return f", {clean(file.type)}" if file.type else ""
