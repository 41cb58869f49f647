"""Every example of every target is bounded here, in processor time and in memory, and each target by the clock."""

import pytest

from tests.fuzz.bounds import bounded
from tests.fuzz.hostile import TIMES

SECONDS = 120
"""By the clock, times the examples: the last resort, for what waits and takes no processor time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    targets = dict[int, object]()
    for item in items:
        if item.path.parent.name == "fuzz":
            item.add_marker(pytest.mark.timeout(SECONDS * TIMES))
            target = getattr(item.obj, "hypothesis", None) if isinstance(item, pytest.Function) else None
            if target is not None and id(target) not in targets:  # parameters share one
                targets[id(target)] = target
                target.inner_test = bounded(target.inner_test)
