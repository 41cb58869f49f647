"""Every recording through the engine's core: nobody gets another's answer, no healthy child is wedged (BEHAVIOUR §1).

The stories are compared whole (``stories_*``). Where a recorded client did what the engine never does (it wrote a
second prompt, steered while idle), the engine holds that text back or returns it, and the story says so.
"""

from functools import cache

import pytest

from engine.events import Answered, Code, Ended, Released, Sent
from tests.engine.play import lines_of
from tests.engine.replay import NOBODYS, Replay, names
from tests.engine.stories_a_to_g import STORIES as A_TO_G
from tests.engine.stories_h_to_x import STORIES as H_TO_X

NEW = names("1.6.0")
OLD = names("0.73.1")
STORIES = {**A_TO_G, **H_TO_X}

POSITION_LOST = {
    "f_prompt_steer_one_write",
    "f_prompts_one_write",
    "f_prompts_one_write_followup",
    "f_state_after_lost_prompt",
}
"""The recorded client wrote two prompts at once: pi lost one and settled inside the other's run (PROTOCOL §5)."""


@cache
def replayed(name: str) -> Replay:
    return Replay(name)


def strangers_texts(replay: Replay) -> list[tuple[str, str]]:
    """Every answer with a text in it that pi said to another person's text: (who got it, the answer)."""
    wrong = []
    for turn, answer in replay.answers:
        asked = replay.texts[turn]
        own = {text for to, text in replay.said if to == asked or (asked.startswith("/") and to.startswith(NOBODYS))}
        whole = "\n\n".join(text for to, text in replay.said if to == asked)
        if answer not in own and answer not in whole:
            wrong.append((asked, answer))
    return wrong


def test_all_recordings_are_here() -> None:
    assert (len(NEW), len(OLD)) == (152, 131)


@pytest.mark.parametrize("name", NEW + OLD)
def test_nobody_gets_anothers_answer(name: str) -> None:
    assert strangers_texts(replayed(name)) == []


@pytest.mark.parametrize("name", NEW + OLD)
def test_no_healthy_child_is_wedged(name: str) -> None:
    reason = "position lost: agent_settled inside a run" if name in POSITION_LOST else ""
    assert replayed(name).wedged == reason


@pytest.mark.parametrize("name", NEW + OLD)
def test_no_text_is_written_twice_or_after_it_was_given_up(name: str) -> None:
    """BEHAVIOUR §4 (never both steered and prompted) and §7.33."""
    replay = replayed(name)
    assert len(replay.asked) == len(set(replay.asked))
    gone: set[str] = set()
    for effect in replay.out:
        if isinstance(effect, Ended):
            gone.add(effect.turn)
        assert not (isinstance(effect, Sent) and effect.turn in gone)


@pytest.mark.parametrize("name", NEW + OLD)
def test_every_turn_ends_once_and_is_released_once(name: str) -> None:
    """BEHAVIOUR §7.8; what has not ended yet is in the queue of a child that still lives at the recording's end."""
    replay = replayed(name)
    ended = [effect.turn for effect in replay.out if isinstance(effect, Ended)]
    released = [effect.turn for effect in replay.out if isinstance(effect, Released)]
    assert len(ended) == len(set(ended))
    assert len(released) == len(set(released))
    assert {turn.name for turn in replay.state.queue} & set(released) == set()


@pytest.mark.parametrize("name", STORIES)
def test_the_story_of_a_recording(name: str) -> None:
    assert replayed(name).story == STORIES[name]


def test_every_recording_but_the_ends_of_processes_has_its_story() -> None:
    assert {name for name in NEW if not name.startswith("j_")} == set(STORIES)


@pytest.mark.parametrize("name", [name for name in NEW if name.startswith("j_")])
def test_a_process_that_ended_in_a_run_fails_that_turn_and_no_other(name: str) -> None:
    replay = replayed(name)
    codes = {effect.outcome.code for effect in replay.out if isinstance(effect, Ended)}
    assert codes <= {Code.ANSWERED, Code.EXIT, Code.DOWN, Code.STOPPED}
    assert replay.state.queue == ()


# -- the recordings without their marks ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in NEW if name.startswith("x_")])
def test_the_position_holds_without_any_echo_too(name: str) -> None:
    """BEHAVIOUR §1.13: no echo, or one that an extension rewrote, proves nothing; the prompts' story is the same."""
    replay = Replay(name, echoes=False)
    assert replay.wedged == ""
    steers = {text for turn, text in replay.texts.items() if turn.startswith("s")}
    own = [line for line in replay.story if not line.startswith(tuple(text[:20] for text in steers))]
    if not steers:
        assert own == STORIES[name]
    assert strangers_texts(replay) == []


# -- a Stop at every place of a recording --------------------------------------------------------------------------

STOPPABLE = ["a_plain", "b_bash_tool", "c_parallel_tools", "e_steer_during_tool", "g_retry_then_success", "m_overflow"]


@pytest.mark.parametrize("name", STOPPABLE)
def test_stop_at_every_place_of_a_recording_lets_no_answer_out_and_never_frees_the_head_early(name: str) -> None:
    """The child here answers no abort: what it says later is the old run's, and lands on the stopped head."""
    for place in range(len(lines_of(name))):
        replay = Replay(name, exit=False, stop_after=place)
        stopped = [e.turn for e in replay.out if isinstance(e, Ended) and e.outcome.code is Code.STOPPED]
        for turn in stopped:
            further = [e for e in replay.out if isinstance(e, Answered) and e.turn == turn]
            assert further == []
        assert replay.wedged == ""
        assert strangers_texts(replay) == []
