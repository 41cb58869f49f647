"""BEHAVIOUR §4 and §5, row by row, through the lanes, the engine and the fake child: who was heard, who is answered."""

import msgspec
import pytest

from connector.facts import Claimed, Ended, Heard, Written
from connector.lane_base import LaneRules
from connector.lane_effects import Amend, Log, Quit, React
from connector.lane_events import Arrived, StopAsked
from connector.world import Phase
from engine import commands
from engine.events import SECOND, Limits
from engine.state import Advice
from fakes.pi_core import Options
from fakes.simulation import Simulation

ANN, BOB, BOT = 1, 2, 99


def steering(**options: object) -> Simulation:
    """One person's lane, or any, in which lines are steered."""
    return Simulation(rules=LaneRules(busy="steer"), **options)  # type: ignore[arg-type]  # fields by name


def saw(world: Simulation, lane: int = 7) -> list[str]:
    """What the lane's children were given, a word each."""
    return [str(one["type"]) for one in world.heard if one["lane"] == str(lane) and one["type"] != "GetState"]


def answers(world: Simulation) -> list[tuple[str, str]]:
    """Text and message referred to, of every answer."""
    return [(post.text, str(post.reply_to)) for post in world.posts if post.kind == "answer"]


def ends(world: Simulation) -> dict[str, str]:
    """How each round ended, in order."""
    return {fact.round: fact.code for fact in world.ledger if isinstance(fact, Ended)}


def running(world: Simulation, text: str, *, after: float = 1) -> str:
    """A turn that has been running for so many seconds."""
    name = world.say(ANN, 7, text)
    world.seconds(after)
    assert world.lanes.world.rounds[name].phase is Phase.RUNNING
    return name


def prompted(world: Simulation) -> list[str]:
    """The first lines' marks of all prompts."""
    texts = [one["command"].message for one in world.heard if isinstance(one["command"], commands.Prompt)]
    return [text.partition("\n")[0].rpartition(" ")[2] for text in texts]


# -- §4 ----------------------------------------------------------------------------------------------------------------


def test_a_steer_in_a_tool_is_heard_after_it_and_each_line_gets_its_own_answer() -> None:
    world = steering()
    head = running(world, "tool 3000")
    line = world.say(ANN, 7, "and this")
    world.seconds(10)
    assert saw(world) == ["Prompt", "Steer"]
    assert [(fact.round, fact.head) for fact in world.ledger if isinstance(fact, Heard)] == [(line, head)]
    assert [effect.sign for effect in world.effects if isinstance(effect, React) and effect.message == int(line)] == [
        "accepted",
        "heard",
        "answered",
    ]
    assert ends(world) == {head: "joined", line: "answered"}
    assert answers(world) == [("echo: and this", line)]


def test_a_steer_in_the_final_answer_is_answered_after_it_each_by_its_own_text() -> None:
    world = steering()
    head = running(world, "slow 4000")
    line = world.say(ANN, 7, "and this")
    world.seconds(10)
    assert saw(world) == ["Prompt", "Steer"]
    assert answers(world) == [("echo: slow 4000", head), ("echo: and this", line)]
    assert ends(world) == {head: "answered", line: "answered"}


def test_one_answer_for_two_lines_refers_to_the_last_of_them() -> None:
    world = steering()
    head = running(world, "tool 3000")
    first = world.say(ANN, 7, "one")
    second = world.say(ANN, 7, "empty")
    third = world.say(ANN, 7, "three")
    world.seconds(20)
    assert saw(world) == ["Prompt", "Steer", "Steer", "Steer"]
    assert answers(world) == [("echo: one", first), ("echo: three", third)]
    assert ends(world) == {head: "joined", first: "answered", second: "joined", third: "answered"}


def test_a_refused_steer_is_an_ordinary_prompt_never_steered_again_and_counted() -> None:
    world = steering()
    head = running(world, "tool 3000")
    line = world.say(ANN, 7, "refuse")
    world.seconds(1)
    assert world.lanes.world.rounds[line].phase is Phase.WAITING
    later = world.say(ANN, 7, "later")
    world.seconds(10)
    assert saw(world) == ["Prompt", "Steer", "Prompt", "Prompt"]
    assert [(fact.round, fact.kind) for fact in world.ledger if isinstance(fact, Written)] == [
        (head, "prompt"),
        (line, "steer"),
        (line, "prompt"),
        (later, "prompt"),
    ]
    assert ends(world) == {head: "answered", line: "engine-refused", later: "answered"}


def test_residue_is_taken_back_before_any_prompt_and_prompted_once() -> None:
    world = steering()
    head = running(world, "residue 4000")
    line = world.say(ANN, 7, "left over")
    world.seconds(10)
    assert saw(world) == ["Prompt", "Steer", "ClearQueue", "Prompt"]
    assert answers(world) == [("echo: residue 4000", head), ("echo: left over", line)]
    assert prompted(world) == [head, line]
    assert [fact for fact in world.ledger if isinstance(fact, Heard)] == []


def test_a_child_whose_residue_cannot_be_cleared_is_wedged_and_never_prompted() -> None:
    """It never answers the steer, so nothing proves that it has let go of it when the run is over."""
    world = steering()
    running(world, "residue 4000")
    line = world.say(ANN, 7, "lateresponse 100000")
    world.seconds(30)
    assert world.quit is None
    world.seconds(20)
    assert saw(world) == ["Prompt", "Steer", "ClearQueue"]
    assert [effect.event for effect in world.effects if isinstance(effect, Log)].count("engine.wedged") == 1
    assert [effect.code for effect in world.effects if isinstance(effect, Quit)] == [1]
    assert line not in ends(world)


def test_stop_of_the_head_leaves_an_unheard_line_which_is_prompted_after_it() -> None:
    world = steering()
    head = running(world, "tool 60000")
    line = world.say(ANN, 7, "unheard")
    world.give(StopAsked("7", 7, ANN, "p1", "round", head))
    world.seconds(10)
    assert saw(world) == ["Prompt", "Steer", "ClearQueue", "Abort", "Prompt"]
    assert ends(world) == {head: "stopped", line: "answered"}
    assert answers(world) == [("echo: unheard", line)]


def test_stop_of_an_unheard_line_alone_takes_it_back_and_the_run_goes_on() -> None:
    world = steering()
    head = running(world, "tool 3000")
    line = world.say(ANN, 7, "never mind")
    world.give(StopAsked("7", 7, ANN, "p1", "round", line))
    world.seconds(10)
    assert saw(world) == ["Prompt", "Steer", "ClearQueue"]
    assert ends(world) == {line: "stopped", head: "answered"}
    assert answers(world) == [("echo: tool 3000", head)]


def test_stop_of_a_heard_line_stops_the_run_and_says_so_for_both() -> None:
    world = steering()
    head = running(world, "tool 1500")
    line = world.say(ANN, 7, "slow 60000")
    world.seconds(2)
    assert world.lanes.world.rounds[line].phase is Phase.JOINED
    world.give(StopAsked("7", 7, ANN, "p1", "round", line))
    world.seconds(5)
    assert saw(world) == ["Prompt", "Steer", "Abort"]
    assert ends(world) == {head: "stopped", line: "stopped"}
    assert [post.text.split()[0] for post in world.posts] == ["Stopped", "Stopped"]
    assert len([effect for effect in world.effects if isinstance(effect, Amend)]) == 2


@pytest.mark.parametrize("text", ["lateresponse 5000", "err429", "hang"])
def test_a_head_that_is_not_running_or_is_stopped_is_not_steered_at_all(text: str) -> None:
    world = steering()
    world.say(ANN, 7, text)
    world.seconds(16 if text == "err429" else 1)
    if text == "hang":
        world.stop(7)
    world.say(ANN, 7, "waits")
    assert world.count("Steer") == 0


def test_a_line_that_joined_a_run_that_fails_ends_as_the_run_ends() -> None:
    world = steering()
    head = running(world, "tool 1500")
    line = world.say(ANN, 7, "err400")
    world.seconds(20)
    assert saw(world) == ["Prompt", "Steer"]
    assert answers(world) == []
    assert sorted(ends(world)) == sorted([head, line])
    assert "provider-error" in ends(world).values()
    assert set(ends(world).values()) <= {"provider-error", "joined"}
    assert len([post for post in world.posts if post.kind == "notice"]) == 1


def test_lines_of_several_people_wait_in_auto_and_are_steered_in_a_lane_of_one() -> None:
    world = Simulation()
    running(world, "tool 3000")
    world.say(ANN, 7, "mine")
    world.say(BOB, 7, "mine too")
    assert world.count("Steer") == 1
    world.seconds(20)
    assert world.count("Prompt") == 2


# -- §5 ----------------------------------------------------------------------------------------------------------------


def interrupts(world: Simulation) -> int:
    return [effect.event for effect in world.effects if isinstance(effect, Log)].count("wait.interrupted")


def test_a_line_interrupts_a_tool_open_for_longer_than_long_wait_exactly_once_and_is_the_next_prompt() -> None:
    world = steering()
    head = running(world, "tool 900000", after=55)
    waiting = world.say(BOT, 7, "from a bot", bot=True)
    world.seconds(6)
    first, second = (world.claim(ANN, 7, text) for text in ("hurry up", "and again"))
    line, again = first.round, second.round
    world.give(Arrived(first, Advice.INTERRUPT), Arrived(second, Advice.INTERRUPT))  # before the engine has said a word
    world.seconds(20)
    assert (interrupts(world), world.count("Abort")) == (1, 1)
    assert ends(world)[head] == "interrupted"
    assert prompted(world)[:2] == [head, line]
    texts = [one["command"].message for one in world.heard if isinstance(one["command"], commands.Prompt)]
    header, note, *_ = texts[1].split("\n")
    assert (header.startswith("[discord]"), note) == (
        True,
        "[the turn before was interrupted: its tool bash did not return]",
    )
    assert sorted(prompted(world)[2:]) == sorted([waiting, again])
    assert next(text for text, _ in answers(world)) == "echo: hurry up"


@pytest.mark.parametrize(
    ("text", "at", "busy"),
    [
        ("tool 5000", 0.5, "steer"),  # returned at 5 s: nothing is running at 61 s, see below
        ("tool 900000", 59, "steer"),
        ("tool 900000", 70, "queue"),
    ],
)
def test_nothing_changes_for_a_shorter_wait_or_in_a_lane_that_queues(text: str, at: float, busy: str) -> None:
    world = Simulation(rules=LaneRules(busy=busy))
    running(world, text, after=at)
    world.say(ANN, 7, "a line")
    world.seconds(1)
    assert (interrupts(world), world.count("Abort")) == (0, 0)


def test_a_tool_that_returned_is_no_wait_whatever_else_the_run_does() -> None:
    """Opened at 0, returned at 5 s, the model writes on: a line at 61 s interrupts nothing."""
    world = steering()
    running(world, "tool 5000")
    world.say(ANN, 7, "slow 100000")
    world.seconds(65)
    world.say(ANN, 7, "a line")
    world.seconds(1)
    assert (interrupts(world), world.count("Abort"), world.count("Steer")) == (0, 0, 2)


def test_of_two_tools_the_age_is_that_of_the_one_that_is_still_open() -> None:
    world = steering()
    running(world, "tools 2 200000", after=101)
    assert interrupts(world) == 0
    world.say(ANN, 7, "a line")
    assert (interrupts(world), world.count("Abort")) == (1, 1)
    world = steering()
    running(world, "tools 2 110000", after=61)
    (kid,) = world.lanes.kids.values()
    assert len(kid.tools) == 1
    world.say(ANN, 7, "a line")
    assert interrupts(world) == 1


@pytest.mark.parametrize("who", ["bot", "retry", "ask"])
def test_a_bot_or_a_retry_never_interrupts(who: str) -> None:
    world = steering()
    first = world.say(ANN, 7, "refuse")
    world.seconds(2)
    running(world, "tool 900000", after=70)
    if who == "bot":
        world.say(BOT, 7, "beep", bot=True)
    else:
        world.again(first, origin=who)
    world.seconds(5)
    assert (interrupts(world), world.count("Abort"), world.count("Steer")) == (0, 0, 0)


def test_a_tool_that_waits_for_a_dialog_is_not_hanging() -> None:
    world = steering(limits=Limits(dialog=300 * SECOND))
    running(world, "tooldialog", after=100)
    world.say(ANN, 7, "a line")
    world.seconds(1)
    assert (interrupts(world), world.count("Abort"), world.count("Steer")) == (0, 0, 1)


def test_what_was_interrupted_is_not_sent_again_over_a_restart_either() -> None:
    world = steering()
    head = running(world, "tool 900000", after=70)
    line = world.say(ANN, 7, "hurry up")
    world.crash()
    world.seconds(20)
    assert prompted(world).count(head) == 1
    assert prompted(world)[-1] == line


def test_an_advice_of_an_older_moment_does_not_interrupt_the_next_run() -> None:
    """The lanes look again: what the engine advised may be over by the time the line is taken."""
    world = steering()
    running(world, "tool 900000", after=70)
    world.stop(7)
    claim = next(fact for fact in world.ledger if isinstance(fact, Claimed))
    world.give(Arrived(msgspec.structs.replace(claim, round="9", message=9), Advice.INTERRUPT))
    assert (interrupts(world), world.count("Abort")) == (0, 1)


# -- the pool ----------------------------------------------------------------------------------------------------------


def test_100_lanes_with_5_messages_over_4_children_are_served_fairly_and_without_cross_talk() -> None:
    """Oldest waiting first; a warm child's lane takes up to 3 more of its own before an older one takes the slot."""
    world = Simulation(rules=LaneRules(busy="queue", max_children=4))
    world.options = lambda lane: Options(seed=f"{int(lane):04x}")
    asked: dict[str, tuple[int, str]] = {}
    for number in range(5):
        for lane in range(1, 101):
            asked[world.say(lane, lane, f"slow 100 lane {lane} number {number}")] = (lane, str(number))
    most = 0
    while world.lanes.world.rounds:
        most = max(most, len(world.lanes.kids))
        world.seconds(1)
    assert most == 4
    replies = {str(post.reply_to): (post.channel, post.text) for post in world.posts}
    assert replies == {
        name: (lane, f"echo: slow 100 lane {lane} number {number}") for name, (lane, number) in asked.items()
    }
    order = [asked[fact.round][0] for fact in world.ledger if isinstance(fact, Written)]
    assert len(order) == 500
    assert [order.index(lane) for lane in range(1, 101)] == sorted(order.index(lane) for lane in range(1, 101))
    for lane in range(1, 101):
        turns = [at for at, other in enumerate(order) if other == lane]
        assert turns == sorted(turns)
    last_first = max(order.index(lane) for lane in range(1, 101))
    taken = max(order[: last_first + 1].count(lane) for lane in range(1, 101))
    assert taken <= 4
