"""What the engine and the connector ask of a response's data by name, read from their own text; runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
HELPERS = {"_items": 1}
"""Functions that hand a name on to `pi.plain`, and at which place among their arguments it stands."""


def asked() -> tuple[set[str], set[str]]:
    """The names given to `pi.plain`, directly or by a helper; and where a name is given that nobody can read here."""
    names: set[str] = set()
    unknown: set[str] = set()
    for package in ("engine", "connector"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for function, call, place in _calls(ast.parse(path.read_text(encoding="utf-8"))):
                given = call.args[place]
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    names.add(given.value)
                elif function not in HELPERS:
                    unknown.add(f"{path.relative_to(ROOT)}: {function}")
    return names, unknown


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call, int]]:
    """Each call of `pi.plain` and of its helpers: the function it is in, and the place of the name."""
    for outer in ast.walk(tree):
        if not isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(outer):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name("pi"), attr="plain")):
                    yield outer.name, node, 1
                case ast.Call(func=ast.Name(name)) if name in HELPERS:
                    yield outer.name, node, HELPERS[name]
