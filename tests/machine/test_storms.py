"""BEHAVIOUR §2 and §3 as black-box stories: what the children saw, counted, over simulated minutes."""

from collections import Counter

import pytest

from connector.facts import Written
from connector.lane_base import LaneRules
from connector.lane_events import Hurry
from engine.events import SECOND
from fakes.simulation import Simulation

RULES = LaneRules()
BOUND = RULES.max_attempts + len(RULES.backoff)
MINUTE = 60


def texts(world: Simulation, kind: str = "answer") -> list[str]:
    return [post.text for post in world.posts if post.kind == kind]


def backing_off(**rules: object) -> Simulation:
    """One lane whose round has just gone into its first backoff."""
    world = Simulation(rules=LaneRules(**rules))  # type: ignore[arg-type]
    world.say(1, 7, "err429")
    world.seconds(16)
    assert world.lanes.world.open_in("7")[0].phase.name == "BACKOFF"
    return world


def test_seven_messages_and_37_minutes_of_429_cost_no_more_than_their_bounds() -> None:
    world = Simulation()
    for person in range(7):
        world.say(person + 1, person + 1, "err429")
    world.seconds(37 * MINUTE)
    assert world.count("Prompt") <= 7 * BOUND
    assert Counter(post.kind for post in world.posts) == {"notice": 7}
    assert not world.lanes.world.rounds
    assert world.count("NewSession") == 0


def test_an_echoing_bot_does_not_feed_the_storm() -> None:
    """Every post of ours is answered by an allowed bot, for hours of 429."""
    world = Simulation()
    world.on_post = lambda owed: echo(world, owed.channel)
    for person in range(7):
        world.say(person + 1, person + 1, "err429")
    world.seconds(37 * MINUTE)
    world.seconds(200 * MINUTE)
    assert not world.lanes.world.rounds
    assert world.count("Prompt") <= 7 * (1 + RULES.bot_turns) * BOUND
    before = world.count("Prompt")
    world.seconds(200 * MINUTE)
    assert world.count("Prompt") == before


def echo(world: Simulation, channel: int) -> None:
    world.say(99, channel, "err429", bot=True)


def test_two_bots_that_answer_each_other_stop_after_bot_turns() -> None:
    world = Simulation()
    world.on_post = lambda owed: (world.say(98, 7, "hello", bot=True), None)[1]
    world.say(1, 7, "hello")
    world.seconds(37 * MINUTE)
    assert world.count("Prompt") == 1 + RULES.bot_turns
    world.say(1, 7, "again")
    world.seconds(37 * MINUTE)
    assert world.count("Prompt") == 2 * (1 + RULES.bot_turns)


@pytest.mark.parametrize("scope", ["turn", "lane"])
def test_stop_in_the_backoff_ends_it_without_a_call_or_an_abort(scope: str) -> None:
    world = backing_off()
    prompts = world.count("Prompt")
    world.stop(7, scope)
    world.seconds(3 * 60)
    assert (world.count("Prompt"), world.count("Abort")) == (prompts, 0)
    assert [post.kind for post in world.posts] == ["receipt"]
    assert world.posts[0].text.startswith("Stopped")


def test_a_stop_that_came_first_wins_over_the_429_that_ends_the_run() -> None:
    world = Simulation()
    world.say(1, 7, "err429")
    world.seconds(1)
    world.stop(7)
    world.seconds(3 * 60)
    assert world.count("Prompt") == 1
    assert [post.kind for post in world.posts] == ["receipt"]


def test_after_a_stopped_backoff_the_next_message_is_asked_once_and_not_flagged() -> None:
    world = backing_off()
    world.stop(7)
    world.say(1, 7, "hello")
    world.seconds(3 * 60)
    assert texts(world) == ["echo: hello"]
    assert world.count("Prompt") == 2


def test_without_stop_it_is_asked_again_exactly_once_and_flagged() -> None:
    world = Simulation()
    world.say(1, 7, "err429 4")
    world.seconds(37 * MINUTE)
    assert texts(world) == ["echo: err429 4"]
    assert world.count("Prompt") == 2
    assert [fact.reask for fact in world.ledger if isinstance(fact, Written)] == [False, True]


def test_when_the_steps_are_spent_another_429_is_a_visible_failure_and_no_timer() -> None:
    world = Simulation(rules=LaneRules(backoff=(SECOND,)))
    world.say(1, 7, "err429")
    world.seconds(5 * 60)
    assert world.count("Prompt") == 2
    assert [post.kind for post in world.posts] == ["notice"]
    assert world.lanes.world.head("7") is None


def test_stop_is_not_undone_by_a_restart() -> None:
    world = backing_off()
    prompts = world.count("Prompt")
    world.stop(7)
    world.crash()
    world.seconds(37 * MINUTE)
    assert world.count("Prompt") == prompts
    assert [post.kind for post in world.posts if post.round][-1] == "receipt"


def test_a_round_in_backoff_waits_the_rest_over_a_restart() -> None:
    world = backing_off(backoff=(100 * SECOND,))
    world.seconds(10)
    world.crash()
    world.seconds(80)
    assert world.count("Prompt") == 1
    world.seconds(60)
    assert world.count("Prompt") == 2


def test_retry_now_ends_the_wait_and_spends_no_further_step() -> None:
    world = backing_off(backoff=(1000 * SECOND,))
    world.give(Hurry(world.lanes.world.open_in("7")[0].id))
    world.seconds(60)
    assert world.count("Prompt") == 2


def test_behind_a_closed_gate_nobody_is_charged_and_one_goes_first() -> None:
    """BEHAVIOUR §2.4: two lanes of one model; the second runs into no known wall."""
    world = Simulation()
    world.say(1, 7, "hello")
    world.say(2, 8, "hello")
    world.seconds(5)
    world.say(1, 7, "err429 4")
    world.seconds(16)
    prompts = world.count("Prompt")
    world.say(2, 8, "hello again")
    world.seconds(1)
    assert world.count("Prompt") == prompts
    world.seconds(60)
    assert texts(world)[-1] in {"echo: hello again", "echo: err429 4"}
    assert {round_.attempts for round_ in world.lanes.world.rounds.values()} <= {1}
    assert texts(world, "notice") == []
    assert len(texts(world)) == 4
