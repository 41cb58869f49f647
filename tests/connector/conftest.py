"""Worlds of lanes for the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.connector.lanes_setting import Make
from tests.machine.lanes_machine import Sim, rules


@pytest.fixture
def make() -> Iterator[Make]:
    """Worlds with rules of their own, each brought to rest and audited at the end."""
    made: list[Sim] = []

    def one(**changes: object) -> Sim:
        made.append(Sim(rules(**changes)))
        return made[-1]

    yield one
    for sim in made:
        sim.settle()
        sim.db.close()
