"""systemd's unit files as values: reads their texts, says how an installed one differs from the shipped one; pure."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

SECTION_SERVICE = "Service"

OWN = frozenset(
    {
        *("Description", "Documentation", "After", "Wants", "Requires", "User", "Group", "SupplementaryGroups"),
        *("WorkingDirectory", "ExecStart", "ReadWritePaths", "ReadOnlyPaths", "Nice", "Slice", "WantedBy", "Alias"),
        *("CPUQuota", "CPUWeight", "IOWeight", "MemoryHigh", "MemoryMax", "MemorySwapMax", "TasksMax"),
    }
)
"""What an operator sets as his machine and his agent need it."""

AT_LEAST = frozenset({"TimeoutStopSec", "TimeoutStartSec", "WatchdogSec", "StartLimitBurst"})
"""More than the shipped number does no harm."""

SPECIFIER = re.compile(r"%(.)", re.DOTALL)

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 0.001, "us": 1e-6, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|sec|s|min|m|h|d|)\s*", re.ASCII)
_TRUTH = {"1": "yes", "true": "yes", "on": "yes", "0": "no", "false": "no", "off": "no"}


class Line(Struct, frozen=True):
    """One value of a directive, and the file it stands in."""

    value: str
    file: str


class Unit(Struct, frozen=True):
    """What holds after all files were read: by section and directive the values in order, those reset left out.

    A directive that was reset, and given nothing since, has one empty value: for some that says more than none at all.
    """

    directives: Mapping[tuple[str, str], tuple[Line, ...]] = field(default_factory=dict)

    def all(self, name: str, section: str = SECTION_SERVICE) -> tuple[str, ...]:
        """Return every value of a directive, in order."""
        return tuple(line.value for line in self.directives.get((section, name), ()) if line.value)

    def last(self, name: str, section: str = SECTION_SERVICE) -> str:
        """Return the value of a directive that has one; "" where it is not set."""
        return (self.all(name, section) or ("",))[-1]


class Drift(Struct, frozen=True):
    """A directive whose value is not the shipped one: `installed` is None, and `file` "", where it is not there."""

    name: str
    shipped: str
    installed: str | None
    file: str

    def words(self) -> str:
        """Return it as a person reads it."""
        return f"{self.name}={self.shipped} is {'missing' if self.installed is None else self.installed or 'empty'}"


def read(files: Iterable[tuple[str, str]]) -> Unit:
    """Return the unit of these (name, text) files, later ones over earlier ones; an empty value resets a directive."""
    found: dict[tuple[str, str], list[Line]] = {}
    for name, text in files:
        section = ""
        for line in _lines(text):
            if match := re.fullmatch(r"\[(.+)\]", line):
                section = match[1]
                continue
            key, equals, value = line.partition("=")
            if not equals:
                continue
            lines = found.setdefault((section, key.strip()), [])
            if not value.strip() or (lines[-1:] and not lines[-1].value):
                lines.clear()
            lines.append(Line(value.strip(), name))
    return Unit({place: tuple(lines) for place, lines in found.items()})


def _lines(text: str) -> Iterable[str]:
    """The logical lines: a backslash at the end joins the next one, in between comments are left out."""
    whole = ""
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        if joined := (whole + line).strip():
            yield joined
        whole = ""
    if whole.strip():
        yield whole.strip()


def drifts(shipped: Unit, installed: Unit) -> tuple[Drift, ...]:
    """Return what of the shipped unit does not hold in the installed one; what an operator adds is no matter."""
    found = []
    for (section, name), lines in shipped.directives.items():
        if name in OWN or section == "Install":
            continue
        there = installed.directives.get((section, name), ())
        if len(lines) > 1 or name == "Environment":
            values = {line.value for line in there}
            found += [Drift(name, line.value, None, "") for line in lines if line.value not in values]
        elif not there:
            found.append(Drift(name, lines[-1].value, None, ""))
        elif not _holds(name, lines[-1].value, there[-1].value):
            found.append(Drift(name, lines[-1].value, there[-1].value, there[-1].file))
    return tuple(found)


def _holds(name: str, shipped: str, installed: str) -> bool:
    if name in AT_LEAST:
        least, given = seconds(shipped), seconds(installed)
        if least is not None and given is not None:
            return given >= least
    return _plain(shipped) == _plain(installed)


def _plain(value: str) -> object:
    if (duration := seconds(value)) is not None:
        return duration
    words = " ".join(value.split()).casefold()
    return _TRUTH.get(words, words)


def seconds(value: str) -> float | None:
    """Return a time span of systemd in seconds (a bare number is seconds), None for what is none."""
    text = value.strip().casefold()
    if text == "infinity":
        return float("inf")
    parts = _DURATION.findall(text)
    if not parts or "".join(_DURATION.split(text)[::3]).strip():
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def expand(text: str, specifiers: Mapping[str, str]) -> str:
    """Return `text` with systemd's specifiers replaced (`{"i": "home"}` for `%i`); unknown ones stay as they are."""
    return SPECIFIER.sub(lambda match: {"%": "%", **specifiers}.get(match[1], match[0]), text)


def words(value: str) -> list[str]:
    """Return the words of a value as systemd splits them: by white space, quotes taken off, backslashes read."""
    found: list[str] = []
    word, quote, began, escaped = "", "", False, False
    for character in value:
        if escaped:
            word, escaped = word + _ESCAPES.get(character, character), False
        elif character == "\\" and quote != "'":
            escaped = began = True
        elif quote:
            quote, word = ("", word) if character == quote else (quote, word + character)
        elif character in "\"'":
            quote, began = character, True
        elif character.isspace():
            found += [word] if began else []
            word, began = "", False
        else:
            word, began = word + character, True
    return [*found, word] if began else found


_ESCAPES = {"n": "\n", "t": "\t", "s": " "}


def variables(assignments: Iterable[str]) -> dict[str, str]:
    """Return what `NAME=value` words set, the last one winning; other words are left out, as systemd does."""
    pairs = (word.partition("=") for word in assignments)
    return {name: value for name, equals, value in pairs if equals and re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)}


def with_lines(shipped: str, changes: Mapping[str, str]) -> str:
    """Return the text of the shipped unit with the values of these directives replaced; all else, comments too, stays.

    Raises ValueError for a directive that is not there exactly once.
    """
    lines = shipped.split("\n")
    for name, value in changes.items():
        places = [place for place, line in enumerate(lines) if line.startswith(f"{name}=")]
        if len(places) != 1:
            raise ValueError(f"{name}= stands {len(places)} times in the shipped unit")
        lines[places[0]] = f"{name}={value}"
    return "\n".join(lines)
