"""What `check` prints and `run` warns of: one wrong thing with its key and its mend; values only."""

from typing import Literal

from msgspec import Struct


class Finding(Struct, frozen=True):
    """One thing that is wrong: `key` is its setting (or part), `where` the file or variable it stands in."""

    level: Literal["error", "warning"]
    key: str
    text: str
    mend: str
    where: str = ""

    def line(self) -> str:
        """Return the one line a person reads: `error: section.key: what is wrong; what to do (WHERE)`."""
        where = f" ({self.where})" if self.where else ""
        return one_line(f"{self.level}: {self.key}: {self.text}; {self.mend}{where}")


def one_line(text: str) -> str:
    """Return `text` with every character that could break or forge a line escaped."""
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
