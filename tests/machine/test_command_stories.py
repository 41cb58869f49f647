"""`/command`: a round of its own without a mark; what a run that it starts says answers it (BEHAVIOUR §1.12)."""

from connector import notices, notices_session
from connector.facts import Ended, Written
from connector.lane_base import LaneRules
from engine import commands
from engine.events import SECOND, Limits
from fakes.simulation import Simulation

HANDLED = notices_session.command_handled()


def simulated() -> Simulation:
    return Simulation(rules=LaneRules(busy="queue"))


def posts(world: Simulation) -> list[tuple[str, str, int]]:
    return [(post.kind, post.text, post.reply_to) for post in world.posts]


def prompts(world: Simulation) -> list[str]:
    return [entry["command"].message for entry in world.heard if isinstance(entry["command"], commands.Prompt)]


def test_a_handled_command_is_one_notice_and_the_next_message_follows_it() -> None:
    world = simulated()
    world.say(1, 7, "slow 1000")
    world.command(1, 7, "/nothing at all")
    world.say(1, 7, "after")
    world.seconds(10)
    assert [text for text in prompts(world) if text.startswith("/")] == ["/nothing at all"]
    assert [text for _, text, _ in posts(world)] == [
        "echo: slow 1000",
        HANDLED,
        "echo: after",
    ]
    assert [fact.code for fact in world.ledger if isinstance(fact, Ended)] == ["answered", "handled", "answered"]
    assert world.lanes.world.rounds == {}


def test_the_text_of_a_run_that_a_command_starts_answers_it_after_its_one_end() -> None:
    world = simulated()
    name = world.command(1, 7, "/later hello")
    world.seconds(10)
    answer = "echo: EXT RUN hello"
    assert posts(world) == [("notice", HANDLED, 0), ("answer", answer, 0)]
    assert [fact.code for fact in world.ledger if isinstance(fact, Ended) and fact.round == name] == ["handled"]
    assert len({post.key for post in world.posts}) == 2
    after = world.say(1, 7, "after")
    world.seconds(10)
    assert posts(world)[2:] == [("answer", "echo: after", int(after))]


def test_a_command_is_counted_before_it_is_written_and_never_run_again_by_itself() -> None:
    """Nothing tells what a command has done: no event, no mark (BEHAVIOUR §6 by its meaning)."""
    world = Simulation(limits=Limits(dialog=300 * SECOND))
    name = world.command(1, 7, "/ask")
    world.seconds(1)
    assert prompts(world) == ["/ask"]
    assert [fact.round for fact in world.ledger if isinstance(fact, Written)] == [name]
    world.crash()
    world.seconds(10)
    assert prompts(world) == ["/ask"]
    assert posts(world) == [("notice", notices.not_repeated(retry=True), 0)]


def test_a_command_that_was_never_written_is_run_after_a_crash() -> None:
    world = simulated()
    world.say(1, 7, "tool 3000")
    world.seconds(1)
    world.command(1, 7, "/nothing")
    world.crash()
    world.seconds(10)
    assert prompts(world)[1:] == ["/nothing"]
    assert [text for _, text, _ in posts(world)] == [
        notices.not_repeated(retry=True),
        HANDLED,
    ]


def test_a_command_does_not_join_a_run_nor_interrupt_one() -> None:
    world = Simulation(rules=LaneRules(busy="steer"))
    world.say(1, 7, "tool 90000")
    world.seconds(70)
    world.command(1, 7, "/nothing")
    world.seconds(1)
    assert (world.count("Steer"), world.count("Abort"), world.count("Prompt")) == (0, 0, 1)
    world.stop(7)
    world.seconds(1)
    assert prompts(world)[1:] == ["/nothing"]


def test_what_waits_for_a_run_that_belongs_to_nobody_any_more_follows_it() -> None:
    """It ends without a word to anybody: that the engine is free again is told all the same (BEHAVIOUR §7.27)."""
    world = simulated()
    world.command(1, 7, "/later hello")
    world.say(1, 7, "one")
    world.seconds(10)
    world.say(1, 7, "two")
    world.seconds(10)
    assert [text for kind, text, _ in posts(world) if kind == "answer"] == ["echo: one", "echo: two"]
    assert not world.lanes.world.rounds


def test_a_dialog_that_ends_by_its_own_timeout_is_followed_by_its_runs_answer() -> None:
    world = Simulation(limits=Limits(dialog=300 * SECOND))
    world.say(1, 7, "dialog confirm 2000")
    world.seconds(10)
    assert [text for _, text, _ in posts(world)] == ["you chose: nothing"]
