"""How long one target may take: a hang is told, the shrinking of what was found is let go on."""

import pytest

from tests.fuzz.hostile import TIMES

SECONDS = 120


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "fuzz":
            item.add_marker(pytest.mark.timeout(SECONDS * TIMES))
