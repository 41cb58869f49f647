"""Stop over a restart and by the word (BEHAVIOUR §2; §7.17, 18): nothing undoes it, and it says truly what it found."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from connector import facts
from connector.lane_effects import Post, React
from connector.lane_events import StopAsked
from engine.events import Code, Outcome
from tests.machine.lanes_machine import Sim
from tests.machine.lanes_walks import LIMITED


@pytest.fixture
def sim() -> Iterator[Sim]:
    """A connector in a model world, which is brought to rest and audited at the end."""
    world = Sim()
    yield world
    world.settle()
    world.db.close()


def begun(sim: Sim, phase: str) -> str:
    """A round in this phase."""
    name = sim.arrive("11")
    if phase == "waiting":
        return name
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    sim.do(kid)
    if phase == "written":
        return name
    kid.start()
    sim.do(kid)
    match phase:
        case "tool":
            kid.tool(sim.now)
        case "backoff":
            kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
        case "posting":
            kid.answer()
        case "steered":
            return sim.arrive("11")
        case "joined":
            name = sim.arrive("11")
            kid.hear(f"{name}@1")
        case _:
            assert phase == "running"
    sim.do(kid)
    return name


PHASES = ("waiting", "written", "running", "tool", "steered", "joined", "backoff", "posting")


@pytest.mark.parametrize("phase", PHASES)
def test_a_restart_does_not_undo_it_and_posts_the_receipt(sim: Sim, phase: str) -> None:
    """§7.18: mark, end and receipt are one transaction, so no crash comes between them."""
    name = begun(sim, phase)
    stepped = sim.stop("round", "11", name)
    assert stepped is not None
    of = [type(fact) for fact in stepped.facts if facts.round_of(fact) == name]
    assert of[0] is facts.StopMarked
    assert of[-1] is facts.Ended
    assert facts.Owed in of
    sim.crash()
    story = sim.audit.stories[name]
    writes = len(story.writes)
    assert f"{name}/receipt/1" in sim.posts
    sim.settle()
    assert len(story.writes) == writes
    assert [end.code for end in story.ends] == ["stopped"]
    assert sim.stands[f"{name}/receipt/1", 0].startswith("Stopped by <@2>: ")


@pytest.mark.parametrize("phase", PHASES)
def test_a_crash_before_its_record_is_a_stop_that_was_never_pressed(sim: Sim, phase: str) -> None:
    name = begun(sim, phase)
    sim.kill_at = 0
    sim.stop("round", "11", name)
    assert not sim.audit.stories[name].stopped
    sim.settle()
    assert sim.audit.stories[name].ends[0].code in {"answered", "joined", "engine-exit"}


@pytest.mark.parametrize("phase", PHASES)
def test_the_word_finds_every_phase(sim: Sim, phase: str) -> None:
    """CONTRACT: it is never sent to the model; it ends with a reaction, and each message it ended has its receipt."""
    begun(sim, phase)
    stepped = sim.stop("turn", "11", word=True)
    assert stepped is not None
    word = str(sim.messages)
    assert sim.audit.stories[word].ends == [facts.Ended(word, "handled")]
    assert [e for e in stepped.effects if isinstance(e, React) and e.message == sim.messages] == [
        React(11, sim.messages, "stopped")
    ]
    assert [fact.key for fact in stepped.facts if isinstance(fact, facts.Owed) and fact.round == word] == []
    assert [fact for fact in stepped.facts if isinstance(fact, facts.StopMarked)]


def test_the_word_alone_gets_a_notice_that_outlives_a_crash(sim: Sim) -> None:
    stepped = sim.stop("turn", "11", word=True)
    assert stepped is not None
    word = str(sim.messages)
    (post,) = [effect for effect in stepped.effects if isinstance(effect, Post)]
    assert post.owed.text.startswith("There was nothing to stop")
    assert (post.owed.key, post.owed.reply_to) == (f"{word}/notice/1", sim.messages)
    assert facts.Seen(11, sim.messages) in stepped.facts
    sim.crash()
    assert list(sim.posts) == [f"{word}/notice/1"]


def test_a_bot_beyond_its_turns_stops_nothing() -> None:
    """`access.bot_turns` counts every message of a bot, the word "stop" too."""
    sim = Sim()
    for _ in range(2):
        sim.arrive("11", author=9, bot=True)
    word = replace(sim.claim("11", 9), bot=True)
    stepped = sim.step(StopAsked("11", 11, 9, "bot", "turn", word=word))
    assert stepped is not None
    assert stepped.facts == (facts.Seen(11, word.message),)
    sim.settle()
    sim.db.close()


def test_a_message_after_stop_runs_normally(sim: Sim) -> None:
    sim.arrive("11")
    sim.up("11")
    sim.stop("lane", "11")
    later = sim.arrive("11")
    sim.settle()
    assert [owed.kind for owed in sim.audit.stories[later].owed] == ["answer"]
    assert sim.audit.stories[later].attempts == 1
