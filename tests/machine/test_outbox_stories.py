"""The first prompt of each session says where files lie that answers may carry, and no other prompt does (CONTRACT)."""

import itertools

import pytest

from connector import facts
from connector.lane_base import LaneRules
from connector.lane_effects import FilesOver
from connector.lane_events import ChildSays, Forget, PostDone, SessionGone
from connector.lanes import Lanes, restored
from connector.notices import repeat_note
from connector.notices_outgoing import how_to_attach
from engine import commands
from engine.events import SECOND, Code, Ended, Outcome, Released, Started
from engine.marks import mark_of
from fakes.pi_core import Options
from fakes.simulation import Simulation

LANE = "7"
NOTE = f"[{how_to_attach('/state/outbox/7')}]"
REPEAT = f"[{repeat_note()}]"


def simulated(outboxes: str = "/state/outbox", **rules: object) -> Simulation:
    """Children that write session files, each under a name of its own."""
    born = itertools.count()
    world = Simulation(rules=LaneRules(busy="queue", outboxes=outboxes, **rules))  # type: ignore[arg-type]  # by name
    world.options = lambda _lane: Options(session_dir="/agent", seed=f"{next(born):04x}", wall=world.now)
    return world


def prompts(world: Simulation) -> list[list[str]]:
    """What stood between the header and the person's text, and that text, of each prompt without a slash."""
    given = [entry["command"] for entry in world.heard]
    texts = [one.message for one in given if isinstance(one, commands.Prompt) and not one.message.startswith("/")]
    assert all(mark_of(text) in {str(claim.message) for claim in claims(world)} for text in texts)
    return [text.split("\n")[1:-2] + text.split("\n")[-1:] for text in texts]


def claims(world: Simulation) -> list[facts.Claimed]:
    return [fact for fact in world.ledger if isinstance(fact, facts.Claimed)]


def test_the_first_prompt_of_a_lane_is_told_and_the_next_is_not() -> None:
    world = simulated()
    world.say(1, 7, "one")
    world.seconds(1)
    world.say(1, 7, "two")
    world.say(2, 8, "other")
    world.seconds(1)
    other = f"[{how_to_attach('/state/outbox/8')}]"
    assert prompts(world) == [[NOTE, "one"], ["two"], [other, "other"]]


def test_a_session_that_goes_on_in_a_new_child_is_not_told_again() -> None:
    world = simulated(idle_timeout=60 * SECOND)
    world.say(1, 7, "one")
    world.seconds(90)
    world.say(1, 7, "two")
    world.seconds(1)
    world.crash()
    world.say(1, 7, "three")
    world.seconds(1)
    assert prompts(world) == [[NOTE, "one"], ["two"], ["three"]]


def test_a_new_session_is_told_in_the_same_child_and_so_is_one_in_place_of_a_lost_one() -> None:
    world = simulated()
    world.say(1, 7, "one")
    world.seconds(1)
    world.give(Forget(LANE))
    world.say(1, 7, "two")
    world.seconds(1)
    world.say(1, 7, "three")
    world.seconds(1)
    world.crash()
    world.give(SessionGone(LANE))
    world.say(1, 7, "four")
    world.seconds(1)
    assert prompts(world) == [[NOTE, "one"], [NOTE, "two"], ["three"], [NOTE, "four"]]


def test_a_first_prompt_that_was_refused_is_none() -> None:
    world = simulated()
    world.say(1, 7, "refuse")
    world.seconds(1)
    world.say(1, 7, "one")
    world.seconds(1)
    assert prompts(world) == [[NOTE, "refuse"], [NOTE, "one"]]


def test_a_first_prompt_whose_child_died_before_its_run_is_told_again_beside_its_repeat() -> None:
    world = simulated()
    world.say(1, 7, "lateresponse 1000")
    world.seconds(0.1)
    world.crash()
    world.seconds(5)
    assert prompts(world) == [[NOTE, "lateresponse 1000"], [REPEAT, NOTE, "lateresponse 1000"]]


@pytest.mark.parametrize("command", ["/nothing at all", "/later hello"])
def test_a_command_is_no_first_prompt(command: str) -> None:
    world = simulated()
    world.command(1, 7, command)
    world.seconds(5)
    world.say(1, 7, "one")
    world.seconds(5)
    assert prompts(world)[-1] == [NOTE, "one"]


def test_a_command_that_becomes_a_run_is_no_first_prompt_either() -> None:
    """A prompt template of pi's: its text is not ours, so that nothing can stand above it."""
    world = simulated()
    name = world.command(1, 7, "/template")
    (kid,) = world.lanes.kids.values()
    world.lanes.world.apply(facts.Written(name, kid.child))
    turn = world.lanes.world.rounds[name].turn
    kid.turn = kid.sent = turn
    world.give(ChildSays(LANE, kid.child, (Started(turn),), busy=True))
    world.give(ChildSays(LANE, kid.child, (Ended(turn, Outcome(Code.EMPTY)), Released(turn)), busy=False))
    world.say(1, 7, "one")
    world.seconds(1)
    assert prompts(world)[-1] == [NOTE, "one"]


def test_where_the_child_could_not_use_an_outbox_nothing_is_said() -> None:
    world = simulated("")
    world.say(1, 7, "one")
    world.seconds(1)
    assert prompts(world) == [["one"]]


def test_an_answer_knows_the_lane_whose_outbox_its_files_may_lie_in() -> None:
    """That of a run which a command has started too, although it belongs to no round any more."""
    world = simulated()
    world.say(1, 7, "one")
    world.command(1, 7, "/later hello")
    world.seconds(10)
    assert [(post.kind, post.lane) for post in world.posts] == [("answer", LANE), ("notice", ""), ("answer", LANE)]


def test_copies_of_files_go_when_the_end_of_their_post_is_recorded() -> None:
    world = simulated()
    world.say(1, 7, "one")
    named = world.say(1, 7, "attach a.txt")
    world.seconds(5)
    over = [effect for effect in world.effects if isinstance(effect, FilesOver)]
    assert over == [FilesOver(f"{named}/answer/1")]


def test_copies_of_files_stay_as_long_as_a_part_of_their_post_is_owed() -> None:
    lanes = Lanes(rules=LaneRules())
    key = "7/answer/1"
    owed = facts.Owed(key, "", 7, "answer", "attach: a.txt", 0, lane=LANE)
    restored(lanes, (owed,))
    first, second = (lanes.step(PostDone(facts.Posted(key, part, 2, 50 + part)), 1) for part in range(2))
    assert (first.effects, second.effects) == ((), (FilesOver(key),))
    restored(lanes, (owed,))
    assert lanes.step(PostDone(facts.Dropped(key, "gone")), 1).effects == (FilesOver(key),)


@pytest.mark.parametrize("fact", [facts.Dropped("7/answer/1", "stopped"), facts.Posted("7/answer/1", 1, 2, 50)])
def test_copies_of_files_go_with_an_answer_that_was_taken_back(fact: facts.Posted | facts.Dropped) -> None:
    """Stop has recorded that it is dropped; what was on its way when it came is told of later."""
    lanes = Lanes(rules=LaneRules())
    assert lanes.step(PostDone(fact), 1).effects == (FilesOver("7/answer/1"),)
    assert lanes.step(PostDone(facts.Dropped("7/notice/1", "stopped")), 1).effects == ()
