"""Whether the files of a message in Discord's history are those of a post; it knows how Discord renames them."""

import re
from collections.abc import Sequence

from connector.gateway_facts import Json
from connector.ports import Attached

_LETTERS = re.compile(r"[^a-z0-9]")


def same_files(found: Sequence[Json], sent: Sequence[Attached]) -> bool:
    """Whether a message has just these files, in this order, by their names.

    Discord takes signs away, makes blanks to underscores, and makes up a name of its own where letters are not Latin.
    """
    return len(found) == len(sent) and all(
        _same(str(data.get("filename")), file.name) for data, file in zip(found, sent, strict=True)
    )


def _same(found: str, sent: str) -> bool:
    return not sent.isascii() or _plain(found) == _plain(sent) or not _plain(sent.rpartition(".")[0] or sent)


def _plain(name: str) -> str:
    return _LETTERS.sub("", name.lower())
