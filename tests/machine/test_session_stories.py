"""A lane's session, model and thinking level over turns, children, crashes and other lanes (CONTRACT; PROTOCOL §3)."""

import itertools
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from connector import facts, ledger, notices, notices_session
from connector.lane_base import LaneRules
from connector.lane_effects import ErrandDone, Retire
from connector.lane_events import ChildSays, ChooseModel, ChooseThinking, Errand, Forget, Resume, SessionGone
from connector.lanes import Lanes, restored
from connector.world import Session
from engine import commands
from engine.events import SECOND
from fakes.pi_core import Options
from fakes.simulation import Simulation

LANE = "7"


def simulated(**rules: object) -> Simulation:
    """Children that write session files, each under a name of its own."""
    born = itertools.count()
    world = Simulation(rules=LaneRules(busy="queue", **rules))  # type: ignore[arg-type]  # rules by name

    def options(_lane: str) -> Options:
        number = next(born)
        return Options(session_dir="/agent", seed=f"{number:04x}", wall=world.now)

    world.options = options
    return world


def kinds(world: Simulation, lane: str = LANE) -> list[str]:
    """What the lane's children were given, by name, the question after their state apart."""
    return [str(entry["type"]) for entry in world.heard if entry["lane"] == lane and entry["type"] != "GetState"]


def given(world: Simulation, kind: type) -> list[object]:
    return [replaced(entry["command"]) for entry in world.heard if isinstance(entry["command"], kind)]


def replaced(command: object) -> object:
    return type(command)(**{**{f: getattr(command, f) for f in command.__struct_fields__}, "id": ""})  # type: ignore[attr-defined]


def texts(world: Simulation) -> list[str]:
    return [post.text for post in world.posts]


def done(world: Simulation) -> list[ErrandDone]:
    return [effect for effect in world.effects if isinstance(effect, ErrandDone)]


def test_a_session_survives_an_idle_stop_and_a_crash_and_is_restored_before_the_first_prompt() -> None:
    world = simulated(idle_timeout=60 * SECOND)
    world.say(1, 7, "one")
    world.seconds(90)
    assert world.lanes.kids == {}
    world.say(1, 7, "two")
    world.seconds(1)
    world.crash()
    world.say(1, 7, "recall")
    world.seconds(5)
    (path,) = {session.path for session in world.lanes.world.lane(LANE).sessions}
    assert kinds(world) == ["Prompt", "SwitchSession", "Prompt", "SwitchSession", "Prompt"]
    assert given(world, commands.SwitchSession) == [commands.SwitchSession("", path)] * 2
    assert all(f"\n\n{said}" in texts(world)[-1] for said in ("one", "two"))


def test_new_begins_a_session_in_the_idle_child_and_keeps_the_old_ones_file() -> None:
    world = simulated()
    world.say(1, 7, "one")
    world.seconds(1)
    before = dict(world.files)
    world.give(Forget(LANE))
    world.seconds(1)
    assert kinds(world) == ["Prompt", "NewSession"]
    world.say(1, 7, "recall")
    world.seconds(1)
    assert kinds(world) == ["Prompt", "NewSession", "Prompt"]
    assert "\n\none" not in texts(world)[-1]
    assert {path: world.files[path] for path in before} == before
    first, second = world.lanes.world.lane(LANE).sessions
    assert (first.path, second.path) == (next(iter(before)), world.lanes.world.lane(LANE).session)
    assert len({kid.child for kid in world.lanes.kids.values()}) == 1


def test_new_during_a_run_waits_for_its_end_and_that_run_does_not_bring_the_old_session_back() -> None:
    world = simulated()
    world.say(1, 7, "one")
    world.seconds(1)
    world.say(1, 7, "slow 4000")
    world.seconds(1)
    world.give(Forget(LANE))
    world.say(1, 7, "recall")
    world.seconds(1)
    assert kinds(world) == ["Prompt", "Prompt"]
    world.seconds(10)
    assert kinds(world) == ["Prompt", "Prompt", "NewSession", "Prompt"]
    assert "slow 4000" not in texts(world)[-1]


@pytest.mark.parametrize("crash", [False, True])
def test_new_in_the_first_turn_of_a_lane_gives_up_that_session_too(crash: bool) -> None:
    world = simulated()
    world.say(1, 7, "lateresponse 1000")
    world.seconds(0.5)
    world.give(Forget(LANE))
    world.seconds(10)
    if crash:
        world.crash()
    world.say(1, 7, "recall")
    world.seconds(5)
    assert "lateresponse" not in texts(world)[-1]
    assert len(world.lanes.world.lane(LANE).sessions) == 2


def test_a_session_is_gone_on_with_and_another_lanes_is_its_own() -> None:
    world = simulated()
    world.say(1, 7, "one")
    world.say(2, 8, "elsewhere")
    world.seconds(1)
    world.give(Forget(LANE))
    world.say(1, 7, "two")
    world.seconds(1)
    first, second = world.lanes.world.lane(LANE).sessions
    world.give(Resume(LANE, first.path))
    world.say(1, 7, "recall")
    world.seconds(1)
    assert kinds(world) == ["Prompt", "NewSession", "Prompt", "SwitchSession", "Prompt"]
    assert "\n\none" in texts(world)[-1]
    assert "\n\ntwo" not in texts(world)[-1]
    assert world.lanes.world.lane(LANE).session == first.path
    assert kinds(world, "8") == ["Prompt"]
    (other,) = world.lanes.world.lane("8").sessions
    assert other.path not in {first.path, second.path}


def test_model_and_thinking_are_set_before_the_next_turn_and_again_in_every_new_child_and_session() -> None:
    world = simulated(idle_timeout=60 * SECOND)
    world.say(1, 7, "slow 2000")
    world.seconds(1)
    world.give(ChooseModel(LANE, "fake", "scripted"))
    world.give(ChooseThinking(LANE, "high"))
    assert kinds(world) == ["Prompt"]
    world.seconds(5)
    assert kinds(world) == ["Prompt", "SetModel", "SetThinking"]
    world.seconds(90)
    world.say(1, 7, "one")
    world.seconds(1)
    assert kinds(world)[3:] == ["SwitchSession", "SetModel", "SetThinking", "Prompt"]
    world.give(Forget(LANE))
    world.seconds(1)
    assert kinds(world)[7:] == ["NewSession", "SetModel", "SetThinking"]
    world.give(Resume(LANE, world.lanes.world.lane(LANE).sessions[0].path))
    world.seconds(1)
    assert kinds(world)[10:] == ["SwitchSession", "SetModel", "SetThinking"]
    world.give(ChooseModel(LANE, "fake", "scripted-2"))
    world.seconds(1)
    assert kinds(world)[13:] == ["SetModel", "SetThinking"]  # the level may have been clamped
    world.give(ChooseModel(LANE, "fake", "scripted"))
    world.crash()
    world.say(1, 7, "two")
    world.seconds(1)
    assert kinds(world)[-4:] == ["SwitchSession", "SetModel", "SetThinking", "Prompt"]
    assert given(world, commands.SetModel)[-1] == commands.SetModel("", "fake", "scripted")
    assert set(given(world, commands.SetThinking)) == {commands.SetThinking("", "high")}


def test_a_model_that_is_gone_leaves_the_default_with_a_notice_and_is_not_tried_again() -> None:
    world = simulated()
    world.give(ChooseModel(LANE, "fake", "gone"))
    world.say(1, 7, "one")
    world.seconds(1)
    world.say(1, 7, "two")
    world.seconds(1)
    assert kinds(world) == ["SetModel", "Prompt", "Prompt"]
    assert texts(world) == [notices_session.model_gone("gone"), "echo: one", "echo: two"]
    assert world.lanes.world.lane(LANE).model is None


def test_a_lost_session_begins_a_new_one_with_a_notice_and_leaves_the_list() -> None:
    world = simulated(idle_timeout=60 * SECOND)
    world.say(1, 7, "one")
    world.seconds(90)
    world.give(SessionGone(LANE))
    world.say(1, 7, "recall")
    world.seconds(1)
    assert texts(world)[1] == notices.session_lost()
    assert "\n\none" not in texts(world)[2]
    (only,) = world.lanes.world.lane(LANE).sessions
    assert only.path == world.lanes.world.lane(LANE).session


def test_errands_wait_for_the_turn_take_a_child_where_there_is_none_and_are_answered_in_order() -> None:
    world = simulated()
    world.give(Errand(LANE, "1", commands.GetModels(""), world.now))
    world.seconds(1)
    (models,) = done(world)
    assert models.response is not None
    assert [model["id"] for model in models.response.data["models"]] == ["scripted", "scripted-2"]
    world.say(1, 7, "slow 2000")
    world.seconds(1)
    world.give(Errand(LANE, "2", commands.GetCommands(""), world.now))
    world.give(Errand(LANE, "3", commands.SetSessionName("", "the plan"), world.now))
    world.say(1, 7, "next")
    assert kinds(world) == ["GetModels", "Prompt"]
    world.seconds(5)
    assert kinds(world) == ["GetModels", "Prompt", "GetCommands", "SetSessionName", "Prompt"]
    assert [effect.name for effect in done(world)] == ["1", "2", "3"]
    lane = world.lanes.world.lane(LANE)
    assert lane.sessions == (Session(lane.session, lane.sessions[0].at, "the plan"),)


def compacting(**rules: object) -> Simulation:
    """A lane whose session is long enough, and whose summary takes a while."""
    world = simulated(**rules)
    before = world.options
    world.options = lambda lane: replace(before(lane), keep_recent=200, latency_ms=400)
    world.say(1, 7, "long 3000")
    world.say(1, 7, "long 3000")
    world.seconds(5)
    return world


def test_stop_of_the_lane_ends_a_compaction_and_what_waits_behind_it() -> None:
    world = compacting()
    world.give(Errand(LANE, "1", commands.Compact(""), world.now))
    world.give(Errand(LANE, "2", commands.GetModels(""), world.now))
    assert kinds(world)[-1] == "Compact"
    world.stop(7, "lane")
    world.seconds(5)
    assert [(effect.name, effect.response) for effect in done(world)] == [("1", None), ("2", None)]
    assert kinds(world)[-1] == "Abort"
    world.say(1, 7, "after")
    world.seconds(5)
    assert texts(world)[-1] == "echo: after"


def test_an_errand_whose_child_dies_is_over_and_so_is_one_behind_it_when_the_program_goes_down() -> None:
    world = compacting()
    world.give(Errand(LANE, "1", commands.Compact(""), world.now))
    world.give(Errand(LANE, "2", commands.SetSessionName("", "kept"), world.now))
    world.kill(7)
    assert [(effect.name, effect.response) for effect in done(world)] == [("1", None), ("2", None)]


def test_a_prompt_waits_for_an_errand_whatever_an_older_word_of_the_engine_says() -> None:
    world = compacting(max_children=1)
    world.give(Errand(LANE, "1", commands.Compact(""), world.now))
    (kid,) = world.lanes.kids.values()
    world.give(ChildSays(LANE, kid.child, (), busy=False))
    world.say(2, 8, "another lane")
    world.say(1, 7, "waits")
    assert kinds(world)[-1] == "Compact"
    assert not [effect for effect in world.effects if isinstance(effect, Retire)]
    world.seconds(10)
    assert kinds(world)[-2:] == ["Compact", "Prompt"]
    assert len(done(world)) == 1


def test_a_session_that_a_child_brings_along_is_given_up_before_its_first_turn() -> None:
    """CONTRACT: a lane's session is chosen over the wire, not by arguments."""
    world = simulated()
    world.say(2, 8, "private matters")
    world.seconds(1)
    (other,) = world.lanes.world.lane("8").sessions
    before = world.options
    world.options = lambda lane: replace(before(lane), session_file=other.path)
    world.say(1, 7, "recall")
    world.seconds(1)
    assert kinds(world) == ["NewSession", "Prompt"]
    assert "private matters" not in texts(world)[-1]


def test_the_fold_of_the_ledger_knows_the_sessions_again() -> None:
    world = simulated()
    world.say(1, 7, "one")
    world.seconds(1)
    world.give(Forget(LANE))
    world.say(1, 7, "two")
    world.seconds(1)
    before = world.lanes.world.lane(LANE).sessions
    world.crash()
    assert world.lanes.world.lane(LANE).sessions == before
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        ledger.migrate(db, Path("nowhere"), 0)
        for fact in world.ledger:
            ledger.write(db, fact, world.now)
        loaded = restored(Lanes(rules=world.rules), ledger.load(db).world)
    assert loaded.world.lane(LANE).sessions == before
    assert [fact for fact in world.ledger if isinstance(fact, facts.SessionKnown)] == [
        facts.SessionKnown(LANE, session.path, session.at) for session in before
    ]
