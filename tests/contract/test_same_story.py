"""The fake pi and the real one, the same scenarios, compared event by event by the order that PROTOCOL guarantees."""

import asyncio
from pathlib import Path

import pytest

from fakes.real_pi import Installation
from tests.contract.conftest import PinnedOrNot
from tests.contract.stories.order import differences
from tests.contract.stories.scenarios_more import SCENARIOS
from tests.contract.stories.stage import played_by_the_fake, played_by_the_real
from tests.contract.stories.told import told

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_fake_and_the_real_pi_tell_the_same_story(
    name: str, installation: Installation, tmp_path: Path, pinned: PinnedOrNot
) -> None:
    """PROTOCOL: names, guaranteed order, and every field that the engine's vocabulary reads."""
    scenario = SCENARIOS[name]
    async with asyncio.TaskGroup() as both:
        real = both.create_task(played_by_the_real(scenario.scene, scenario.home, installation, tmp_path / "real"))
        fake = both.create_task(played_by_the_fake(scenario.scene, scenario.home, tmp_path / "fake"))
    found = differences(fake.result(), real.result())
    pinned.differ(found)


# -- the comparison itself must see what it is for -----------------------------------------------------------------

STARTED = b'{"id":"p1","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}'
QUEUED = b'{"id":"s1","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}'
QUEUE = b'{"type":"queue_update","steering":["x"],"followUp":[]}'
TOOL = b'{"type":"tool_execution_start","toolCallId":"call_9","toolName":"bash","args":{"command":"true"}}'
TOOL_END = b'{"type":"tool_execution_end","toolCallId":"call_9","toolName":"bash","result":{},"isError":false}'
STORY = [STARTED, b'{"type":"agent_start"}', TOOL, QUEUE, QUEUED, TOOL_END, b'{"type":"agent_settled","aborted":false}']


def piece(text: str) -> bytes:
    return b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"%s"}}' % text.encode()


def compared(fake: list[bytes], real: list[bytes]) -> list[str]:
    return differences(told(fake), told(real))


def test_what_is_free_may_come_in_any_order_and_what_is_guaranteed_may_not() -> None:
    """PROTOCOL §4: no order holds between a run's tools and the responses to what is queued meanwhile."""
    assert compared([STARTED, STORY[1], QUEUE, QUEUED, TOOL, *STORY[5:]], STORY) == []
    for one, other in ((0, 1), (2, 5), (3, 4), (5, 6)):
        swapped = [*STORY]
        swapped[one], swapped[other] = STORY[other], STORY[one]
        assert compared(swapped, STORY) != []


def test_what_is_missing_twice_renamed_or_of_another_field_is_seen() -> None:
    for place in range(len(STORY)):
        assert compared([*STORY[:place], *STORY[place + 1 :]], STORY) != []
        assert compared([*STORY[:place], STORY[place], *STORY[place:]], STORY) != []
    renamed = [line.replace(b"agent_settled", b"agent_calmed") for line in STORY]
    changed = [line.replace(b'"aborted":false', b'"aborted":true') for line in STORY]
    assert compared(renamed, STORY)[0].startswith("-- every ")
    assert (
        next(line for line in compared(changed, STORY) if line.startswith("+[")) == "+[settled, aborted] aborted=true"
    )


def test_names_of_calls_and_the_cutting_of_texts_are_chance() -> None:
    renamed = [line.replace(b"call_9", b"toolu_01") for line in STORY]
    assert compared(renamed, STORY) == []
    end = b'{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"stop"}}'
    assert compared([piece("ab"), QUEUE, piece("c"), end], [piece("a"), piece("bc"), QUEUE, end]) == []
    assert compared([piece("abd"), end], [piece("abc"), end]) != []
