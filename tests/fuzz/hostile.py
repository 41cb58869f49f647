"""How much is tried, and what no peer should send: mutations of JSON values and odd texts for every target."""

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st


def times(text: str) -> int:
    """So many times the examples of `make test`, as `make fuzz` says it in FUZZ_TIMES."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise pytest.UsageError(f"FUZZ_TIMES={text}: it takes a whole number, 1 at least")
    return int(text)


TIMES = times(os.environ.get("FUZZ_TIMES", "1"))

_PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]  # explaining a find takes minutes
_ODD = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def tried(examples: int) -> settings:
    """Settings of a target that has so many examples in `make test`; a slow machine is no fault."""
    return settings(
        max_examples=examples * TIMES, deadline=None, print_blob=True, suppress_health_check=_ODD, phases=_PHASES
    )


TEXTS = st.one_of(
    st.text(st.characters(), max_size=40),  # lone surrogates included
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "\ud800",
            "a\udc00b",
            "\u2028",
            "\u202e",
            "\x1b[31m",
            "\ufeff",
            "x" * 5_000,
            "\n" * 500,
            "1" * 400,
            "-1",
            "1e999",
            "NaN",
            "٣٤",
            "../../etc/passwd",
            "<@1>",
            "@everyone",
            "```",
        ]
    ),
)
NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([0, -1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**40, -(10**40), 1e308, 5e-324, 0.5]),
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("id"), inner, max_size=3),
    max_leaves=6,
)


def _deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ODD = st.one_of(JSON, st.builds(list), st.builds(dict), st.builds(_deep, st.just(60)))
"""Anything at all in the place of a value."""


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _places(inner, (*path, key))
    return found


@st.composite
def mutated(draw: Callable[[Any], Any], value: Any, changes: int = 2) -> Any:
    """A deep copy of a JSON value in which one to `changes` members are dropped, doubled, or something else."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, changes))):
        places = _places(value)
        if not places:
            break
        *path, last = draw(st.sampled_from(places))
        holder = value
        for key in path:
            holder = holder[key]
        match draw(st.sampled_from(["drop", "null", "odd", "odd", "wrap", "twice"])):
            case "drop":
                del holder[last]
            case "null":
                holder[last] = None
            case "odd":
                holder[last] = draw(ODD)
            case "wrap":
                holder[last] = [holder[last]]
            case _:
                holder[last] = [holder[last], copy.deepcopy(holder[last])]
    return value
