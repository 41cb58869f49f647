"""What `make mutants` is judged by, and that README tells the run that is kept."""

import json
from pathlib import Path
from typing import Any

from tests.mutation.figures import BEGIN, END, FIGURES, passes, placed, table

README = Path(__file__).parents[1] / "README.md"
RUN: dict[str, Any] = {
    "day": "2026-01-02",
    "seed": 7,
    "count": 500,
    "fair": 60,
    "drawn": 4,
    "files": {
        "engine/waits.py": {"mutants": 47, "tried": 2, "survived": 1},
        "connector/lanes.py": {"mutants": 600, "tried": 1, "survived": 0},
    },
    "survivors": [{"file": "engine/waits.py", "where": "", "diff": "- a\n+ b", "why": "a reason"}],
}
TABLE = """\
`make mutants ARGS='--count 500 --fair 60 --seed 7'` on 2026-01-02: 3 of 4 drawn were tried, 1 survived (33.3%, at most 5%), 1 of them with a reason.

| file | mutants | tried | survived |
|---|---|---|---|
| `engine/waits.py` | 47 | 2 | 1 |
| `connector/lanes.py` | 600 | 1 | 0 |
| all | 647 | 3 | 1 |
"""  # noqa: E501 - a line of README


def test_a_run_passes_with_few_survivors_each_with_its_reason() -> None:
    assert passes(100, 5, 5)
    assert passes(100, 0, 0)
    assert not passes(100, 6, 6)
    assert not passes(100, 1, 0)


def test_a_run_as_a_table() -> None:
    assert table(RUN) == TABLE
    assert placed(f"a\n{BEGIN}old\n{END}b\n", RUN) == f"a\n{BEGIN}\n{TABLE}\n{END}b\n"


def test_readme_and_reasons_are_those_of_the_run_that_is_kept() -> None:
    """`make mutants` writes both."""
    figures = json.loads(FIGURES.read_text("utf-8"))
    readme = README.read_text("utf-8")
    assert readme == placed(readme, figures)
    told = {
        file: sum(one["file"] == file for one in figures["survivors"])
        for file, of_file in figures["files"].items()
        if of_file["survived"]
    }
    assert told == {file: one["survived"] for file, one in figures["files"].items() if one["survived"]}
