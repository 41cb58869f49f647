"""After a child's end, a wedge, a restart (BEHAVIOUR §6; §7.18-22, 30): decided by evidence, from the ledger alone."""

import pytest

from connector import facts, notices
from connector.lane_effects import OpenThread, Post
from connector.lane_events import ChildDown, ChildSays, Recover
from connector.world import Phase
from engine import events as engine
from engine.events import Code, Outcome
from tests.connector.lanes_setting import REPEAT, Make, at, end, ended, state


@pytest.mark.parametrize("how", ["exit", "crash"])
@pytest.mark.parametrize("phase", ["written", "running"])
def test_written_or_started_it_is_asked_charged_and_flagged(make: Make, phase: str, how: str) -> None:
    """Rows two and three."""
    sim = make()
    name, kid = at(sim, phase)
    if how == "exit":
        sim.exits(kid, code=-9)
        sim.pump()
    else:
        sim.crash()
    assert state(sim, name) == (Phase.WAITING, 1, REPEAT)
    if how == "exit":
        sim.restart()
    again = sim.up("11")
    assert again.texts[f"{name}@2"].split("\n")[1] == f"[{REPEAT}]"


@pytest.mark.parametrize("how", ["down", "exit", "wedge", "timeout"])
def test_held_in_the_engine_it_was_never_written_and_is_asked_uncharged(make: Make, how: str) -> None:
    """Row one: `engine-down`, `engine-wedged` and "while waiting" of a held turn are this; nor is it flagged."""
    sim = make()
    name, kid = at(sim, "held")
    assert [held.turn for held in kid.held] == [f"{name}@1"]
    match how:
        case "down":
            kid.stop()
        case "exit":
            sim.exits(kid)
        case "wedge":
            kid.wedge()
        case _:
            kid.times_out()
    sim.do(kid)
    assert state(sim, name) == (Phase.WAITING, 0, "")
    sim.settle()
    assert [w.reask for w in sim.audit.stories[name].writes] == [False, False]


def test_an_engine_that_is_gone_never_got_it(make: Make) -> None:
    """The child ended idle while the prompt was on its way: no exit in a turn, nothing charged."""
    sim = make()
    sim.arrive("11")
    kid = sim.up("11")
    kid.answer()
    sim.do(kid)
    kid.alive = False
    name = sim.arrive("11")
    sim.inbox.append(ChildDown("11", kid.number, 0, expected=False))
    sim.pump()
    assert state(sim, name) == (Phase.WAITING, 0, "")
    assert ended(sim) is None
    assert not sim.lanes.draining


@pytest.mark.parametrize("how", ["exit", "crash"])
def test_a_tools_start_is_never_run_again_by_itself(make: Make, how: str) -> None:
    """Row four: one notice, with Retry."""
    sim = make()
    name, kid = at(sim, "tool")
    if how == "exit":
        sim.exits(kid)
        sim.pump()
    else:
        sim.crash()
    assert end(sim, name) == ("engine-exit", notices.not_repeated(retry=True))
    assert sim.audit.stories[name].owed[0].retry


def test_the_session_file_is_evidence_too(make: Make) -> None:
    """The tool's start was lost with the power, but its call stands in the session."""
    sim = make()
    name, _ = at(sim, "running")
    sim.audit.died([])
    known = sim.folded()
    lanes = type(sim.lanes)(rules=sim.rules, world=known)
    stepped = lanes.step(Recover(begun=frozenset({name}), tooled=frozenset({name})), sim.now)
    assert [type(fact) for fact in stepped.facts] == [facts.ToolOpened, facts.Owed, facts.Ended]


@pytest.mark.parametrize("phase", ["timeout", "stopped", "interrupted"])
def test_failed_it_is_never_asked_again(make: Make, phase: str) -> None:
    """Row five."""
    sim = make()
    name, kid = at(sim, "timeout" if phase == "timeout" else "running")
    if phase == "stopped":
        sim.stop("turn", "11")
    elif phase == "interrupted":
        kid.fails(Outcome(Code.INTERRUPTED))
        sim.do(kid)
    sim.crash()
    sim.settle()
    assert len(sim.audit.stories[name].writes) == 1


def test_answered_and_not_posted_it_is_posted_and_the_model_not_called(make: Make) -> None:
    """Row six; as one that an earlier life may have posted already."""
    sim = make()
    name, _ = at(sim, "answered")
    sim.effects.clear()
    sim.crash()
    posts = [effect for effect in sim.effects if isinstance(effect, Post)]
    assert [(p.owed.key, p.posted, p.last, p.fresh) for p in posts] == [(f"{name}/answer/1", 0, 0, False)]
    sim.settle()
    assert len(sim.audit.stories[name].writes) == 1


def test_partly_posted_it_goes_on_where_it_was(make: Make) -> None:
    sim = make()
    name, _ = at(sim, "answered")
    key = f"{name}/answer/1"
    owed = sim.posts[key]
    sim.record([facts.Posted(key, 0, 3, 77)])
    sim.lanes.world.apply(facts.Posted(key, 0, 3, 77))
    sim.effects.clear()
    sim.crash()
    assert [effect for effect in sim.effects if isinstance(effect, Post)] == [Post(owed, 1, 77, fresh=False)]


def test_a_second_recovery_finds_nothing_to_decide(make: Make) -> None:
    """§7.30: after a crash in the middle of the first one as well."""
    sim = make()
    names = [at(sim, "running")[0]]
    sim.crash()
    before = [state(sim, name) for name in names]
    for kill_at in (0, 1, None):
        sim.kill_at = kill_at
        sim.crash()
    assert [state(sim, name) for name in names] == before


def test_two_rounds_of_one_lane_come_back_in_order(make: Make) -> None:
    sim = make()
    head, kid = at(sim, "running")
    line = sim.arrive("11")
    assert sim.lanes.world.rounds[line].phase is Phase.STEERED
    later = sim.arrive("11")
    del kid
    sim.crash()
    assert sim.lanes.world.lanes["11"].waiting == (head, line, later)


def test_a_thread_is_opened_before_anything_is_posted_to_it(make: Make) -> None:
    sim = make(max_attempts=1)
    name = sim.arrive("14", thread=True)
    sim.up(name)
    sim.effects.clear()
    sim.crash()
    kinds = [type(effect) for effect in sim.effects if isinstance(effect, OpenThread | Post)]
    assert kinds == [OpenThread, Post]


def test_words_of_another_generation_or_write_change_nothing(make: Make) -> None:
    """§7.32; a doubled end too."""
    sim = make()
    name, kid = at(sim, "running")
    told = engine.Ended(f"{name}@1", Outcome(Code.ANSWERED, text="who?"))
    stale = engine.Ended(f"{name}@0", Outcome(Code.ANSWERED, text="who?"))
    before = len(sim.recorded)
    sim.step(ChildSays("11", kid.number + 1, (told,), busy=False))
    sim.step(ChildSays("12", kid.number, (told,), busy=False))
    sim.step(ChildSays("11", kid.number, (stale,), busy=True))
    sim.step(ChildDown("11", kid.number + 1, 1, expected=False))
    assert len(sim.recorded) == before
    kid.answer()
    sim.do(kid)
    before = len(sim.recorded)
    sim.step(ChildSays("11", kid.number, (told, told), busy=False))
    assert len(sim.recorded) == before
