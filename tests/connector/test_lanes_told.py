"""Every record, log line, sign, post and word to a child, in stories of the lanes, word for word.

Where something is to be told otherwise, `TOLD=write` writes the stories anew; the change is read in the diff.
"""

import os
from pathlib import Path

import pytest

from tests.connector.lanes_bare_stories import BARE_STORIES, QUEUE, BareStory
from tests.connector.lanes_pool_stories import POOL_STORIES
from tests.connector.lanes_seam_stories import SEAM_STORIES
from tests.connector.lanes_stories import STORIES, Story
from tests.connector.lanes_told import Bare, Told

FOLDER = Path(__file__).parent / "told"


def compare(story: Story | BareStory, told: list[str]) -> None:
    file = FOLDER / f"{story.__name__}.txt"
    if os.environ.get("TOLD") == "write":
        file.write_text("\n".join([str(story.__doc__), *told, ""]))
    assert [str(story.__doc__), *told] == file.read_text().splitlines()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_story_is_told_word_for_word(story: Story) -> None:
    """In the model world, audited in each step and brought to rest."""
    sim = Told()
    story(sim)
    told = sim.lines.copy()
    sim.settle()
    sim.db.close()
    compare(story, told)


@pytest.mark.parametrize("story", BARE_STORIES + POOL_STORIES + SEAM_STORIES, ids=lambda story: story.__name__)
def test_a_bare_story_is_told_word_for_word(story: BareStory) -> None:
    bare = Bare(QUEUE)
    story(bare)
    compare(story, bare.lines)
