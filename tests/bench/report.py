"""What was measured, as tables and as JSON; pure. README's tables are made from the JSON of a run by `placed`."""

from collections.abc import Mapping, Sequence
from typing import Any

BEGIN, END = "<!-- figures: made by `make bench` -->", "<!-- figures: end -->"

Row = Mapping[str, Any]


def tables(report: Mapping[str, Any]) -> str:
    """The machine, then ratios, then what is more: Markdown, a line end behind the last line."""
    ratios = [row for row in report["figures"] if "ratio" in row]
    surpluses = [row for row in report["figures"] if "more" in row]
    parts = [_machine(report)]
    if ratios:
        head = "| figure (pairs) | median | 95 % | bound | connector | counterpart |"
        parts.append(_table(head, map(_ratio, ratios)))
    if surpluses:
        parts.append(_table("| figure | more | bound | connector | counterpart |", map(_surplus, surpluses)))
    return "\n\n".join(parts) + "\n"


def placed(readme: str, report: Mapping[str, Any]) -> str:
    """The README with the tables of this report between its two marks. Raises ValueError where they are not there."""
    before, begin, rest = readme.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no place for figures: {BEGIN} … {END}")
    return f"{before}{begin}\n{tables(report)}\n{end}{after}"


def missed(report: Mapping[str, Any]) -> list[str]:
    """The names of the figures whose bound is not kept."""
    return [str(row["name"]) for row in report["figures"] if not row["holds"]]


def _machine(report: Mapping[str, Any]) -> str:
    machine = report["machine"]
    words = f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, Python {machine['python']}"
    return f"`{report['command']}` on {report['day']}: {words}, SQLite {machine['sqlite']}, Node {machine['node']}."


def _table(head: str, rows: "map[str]") -> str:
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows])


def _ratio(row: Row) -> str:
    bound = _bound(row, f"{'≤' if row['at_most'] else '≥'} {row['bound']}")
    return (
        f"| {row['name']} ({row['pairs']}) | {_digits(row['ratio'])} | {_digits(row['low'])}–{_digits(row['high'])} "
        f"| {bound} | {time(row['ours_us'])}, {row['far']} {time(row['ours_far_us'])} "
        f"| {time(row['theirs_us'])}, {row['far']} {time(row['theirs_far_us'])} |"
    )


def _surplus(row: Row) -> str:
    unit, name = row["unit"], row["name"] + (f": {row['why']}" if row["why"] else "")
    more, ours, theirs = (f"{row[key]:g} {unit}" for key in ("more", "ours", "theirs"))
    bound = _bound(row, f"≤ {row['bound']} {unit}")
    return f"| {name} | {more} | {bound} | {ours} | {theirs} |"


def _bound(row: Row, words: str) -> str:
    if row["bound"] is None:
        return ""
    return words if row["holds"] else f"{words}, missed"


def _digits(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time(microseconds: float) -> str:
    """A duration in a unit that suits it, three digits."""
    units: Sequence[tuple[float, str]] = ((1e6, "s"), (1e3, "ms"), (1, "µs"))
    size, unit = next((one for one in units if microseconds >= one[0]), units[-1])
    value = microseconds / size
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
