"""What has one name in the product: a second in nanoseconds."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_second_in_nanoseconds_has_one_name() -> None:
    """`engine.events.SECOND`; the longest duration of a setting is as many seconds, which is another thing."""
    spelt = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for room in ("connector", "engine")
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.BinOp | ast.Call | ast.Compare)
        for value in ast.iter_child_nodes(node)
        if isinstance(value, ast.Constant) and value.value == 10**9
    ]
    assert spelt == ["engine/events.py: SECOND = 1000000000", "engine/events.py: LONGEST = 1000000000.0"]
