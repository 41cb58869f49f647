"""What `make mutants` found, as it is kept and as README tells it; draws and runs nothing."""

from pathlib import Path
from typing import Any

FIGURES = Path(__file__).with_name("figures.json")
BOUND = 0.05
"""The share of the drawn that may survive, with a reason or without."""

BEGIN, END = "<!-- mutants: begin -->\n", "<!-- mutants: end -->\n"


def passes(tried: int, survived: int, explained: int) -> bool:
    """Whether a run is good: not too many survive, and each that does has its reason."""
    return survived <= BOUND * tried and explained == survived


def table(figures: dict[str, Any]) -> str:
    """One row a file, the sum last; above it which run this was, as `ARGS` that draw the same."""
    files = figures["files"]
    total = {name: sum(one[name] for one in files.values()) for name in ("mutants", "tried", "survived")}
    whys = sum(bool(one["why"]) for one in figures["survivors"])
    share = f"{total['survived'] / max(1, total['tried']):.1%}"
    given = f"--count {figures['count']} --fair {figures['fair']} --seed {figures['seed']}"
    rows = [(f"`{file}`", one) for file, one in files.items()] + [("all", total)]
    lines = [f"| {name} | {one['mutants']} | {one['tried']} | {one['survived']} |" for name, one in rows]
    return (
        f"`make mutants ARGS='{given}'` on {figures['day']}: {total['tried']} of {figures['drawn']} drawn were tried, "
        f"{total['survived']} survived ({share}, at most {BOUND:.0%}), {whys} of them with a reason.\n\n"
        "| file | mutants | tried | survived |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )


def placed(readme: str, figures: dict[str, Any]) -> str:
    """README with this table in the place of the one before. Raises ValueError where it has no place."""
    before, _, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError("README has no place for the table of the mutants")
    return f"{before}{BEGIN}\n{table(figures)}\n{END}{after}"
