"""Stop in every phase (BEHAVIOUR §2, §7.15-18): it is idempotent, tells the truth, and nothing comes after it."""

from collections.abc import Iterator

import pytest

from connector import facts
from connector.lane_effects import Amend, Post, Tell, Withdraw
from connector.lane_events import Arrived, MoveFirst
from connector.world import Phase
from engine import events as engine
from engine.events import SECOND, Code, Outcome
from engine.state import Advice
from tests.machine.lanes_machine import RULES, Sim
from tests.machine.lanes_walks import LIMITED


@pytest.fixture
def sim() -> Iterator[Sim]:
    """A connector in a model world, which is brought to rest and audited at the end."""
    world = Sim()
    yield world
    world.settle()
    world.db.close()


def receipt(sim: Sim, name: str) -> str:
    """The one post with which a stopped round ended."""
    story = sim.audit.stories[name]
    assert [end.code for end in story.ends] == ["stopped"]
    (said,) = [owed.text for owed in story.owed if owed.kind == "receipt"]
    return said


def fails(sim: Sim) -> list[str]:
    """The turns that the lanes gave up with Stop's code."""
    tells = [effect.given for effect in sim.effects if isinstance(effect, Tell)]
    return [given.turn for given in tells if isinstance(given, engine.Fail) and given.code is Code.STOPPED]


def until(sim: Sim, grace: int) -> str:
    return f" The turn is still ending; the next message waits until <t:{(sim.now + grace) // SECOND}:T> at most."


def test_while_it_waits_for_a_child(sim: Sim) -> None:
    first = sim.arrive("11")
    second = sim.arrive("11")
    sim.stop("round", "11", second)
    assert receipt(sim, second) == "Stopped by <@2>: waiting message, 1 waiting message kept."
    assert fails(sim) == []
    sim.settle()
    assert sim.audit.stories[first].ends[0].code == "answered"


def test_with_none_at_work_it_means_the_one_that_is_next(sim: Sim) -> None:
    first = sim.arrive("11")
    moved = sim.arrive("11")
    sim.step(MoveFirst(moved))
    sim.stop("turn", "11")
    assert receipt(sim, moved) == "Stopped by <@2>: waiting message, 1 waiting message kept."
    sim.settle()
    assert sim.audit.stories[first].ends[0].code == "answered"


def test_written_and_not_started(sim: Sim) -> None:
    name = sim.arrive("11")
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    sim.do(kid)
    assert sim.lanes.world.rounds[name].phase is Phase.WRITTEN
    sim.stop("turn", "11")
    assert receipt(sim, name) == f"Stopped by <@2>: turn that was starting.{until(sim, RULES.abort_grace)}"
    assert fails(sim) == [f"{name}@1"]
    kid.start()  # the abort came too early: the run starts late and reaches nobody
    sim.do(kid)
    kid.answer()
    sim.do(kid)
    assert sim.audit.stories[name].owed[-1].kind == "receipt"


def test_held_in_the_engine_it_never_reaches_the_child(sim: Sim) -> None:
    name = sim.arrive("11")
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    sim.hear(kid)
    kid.orphan_starts()
    sim.pump()  # told as free before the orphan run was seen
    assert [held.turn for held in kid.held] == [f"{name}@1"]
    sim.hear(kid)
    sim.stop("turn", "11")
    assert kid.held == []
    assert kid.prompts == 0
    assert receipt(sim, name).startswith("Stopped by <@2>: turn that was starting.")


def test_running_with_an_open_tool_and_two_kept(sim: Sim) -> None:
    """The receipt of the contract: running turn, one open tool, two waiting messages kept."""
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    sim.do(kid)
    for _ in range(2):
        sim.step(Arrived(sim.claim("11"), Advice.QUEUE))
    sim.stop("turn", "11")
    said = "Stopped by <@2>: running turn, 1 open tool, 2 waiting messages kept."
    assert receipt(sim, name) == said + until(sim, RULES.run_grace)
    assert (kid.failed, kid.aborts) == (Code.STOPPED, 1)
    kid.release()
    sim.do(kid)
    assert [e for e in sim.effects if isinstance(e, Amend)] == [Amend("11", kid.number, f"{name}/receipt/1", 11, said)]


def test_between_two_tools_none_is_counted(sim: Sim) -> None:
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    kid.tool_returns()
    sim.do(kid)
    sim.stop("turn", "11")
    assert receipt(sim, name).startswith("Stopped by <@2>: running turn. ")


def test_tools_of_a_stopped_run_are_not_counted_in_the_next(sim: Sim) -> None:
    """§5: `open` is empty at each run's start and end, also where the engine no longer tells of a failed run."""
    sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    sim.do(kid)
    sim.stop("turn", "11")
    kid.release()
    second = sim.arrive("11")
    sim.up("11")
    sim.stop("turn", "11")
    assert "tool" not in receipt(sim, second)


@pytest.mark.parametrize("steered", [True, False], ids=["the head", "the joined line"])
def test_the_run_and_who_joined_it_end_together(sim: Sim, *, steered: bool) -> None:
    """§4: Stop of the run stops the joined line and says so; Stop of it alone stops the run. One abort in all."""
    head = sim.arrive("11")
    kid = sim.up("11")
    line = sim.arrive("11")
    kid.hear(f"{line}@1")
    sim.do(kid)
    assert sim.lanes.world.rounds[line].phase is Phase.JOINED
    sim.stop("round", "11", line if steered else head)
    assert receipt(sim, head).startswith("Stopped by <@2>: running turn.")
    assert receipt(sim, line).startswith("Stopped by <@2>: line given to the running turn.")
    assert kid.aborts == 1


def test_of_the_head_alone_keeps_an_unheard_line(sim: Sim) -> None:
    """§4, residue: Stop of the head alone does not drop it; it is an ordinary prompt afterwards."""
    head = sim.arrive("11")
    kid = sim.up("11")
    line = sim.arrive("11")
    assert sim.lanes.world.rounds[line].phase is Phase.STEERED
    sim.stop("turn", "11")
    assert [sim.audit.stories[name].stopped for name in (head, line)] == [True, False]
    kid.return_steer(f"{line}@1")
    kid.release()
    sim.do(kid)
    assert kid.head == f"{line}@2"


def test_of_an_unheard_line_leaves_the_run(sim: Sim) -> None:
    head = sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    sim.do(kid)
    line = sim.arrive("11")
    sim.stop("round", "11", line)
    assert receipt(sim, line) == "Stopped by <@2>: line given to the running turn."
    assert sim.audit.stories[head].ends == []
    assert kid.failed is None
    kid.return_steer(f"{line}@1")
    sim.do(kid)
    assert len(sim.audit.stories[line].writes) == 1


def test_in_backoff_nothing_is_asked_again(sim: Sim) -> None:
    """§2, first row: no call, no abort (nothing runs), no answer."""
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    sim.stop("turn", "11")
    assert receipt(sim, name) == "Stopped by <@2>: wait before asking again."
    assert fails(sim) == []
    for _ in range(3):
        sim.wait(RULES.backoff[0])
        sim.pump()
    assert (kid.prompts, kid.aborts) == (1, 0)


def test_of_the_lane_in_backoff_reports_that_it_stopped_something(sim: Sim) -> None:
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    second = sim.arrive("11")
    sim.stop("lane", "11")
    assert receipt(sim, name) == "Stopped by <@2>: wait before asking again."
    assert receipt(sim, second) == "Stopped by <@2>: wait for the provider."
    sim.wait(60 * SECOND)
    assert kid.prompts == 1


def test_first_and_then_the_429_arrives(sim: Sim) -> None:
    """§2, second row: no call, no "asked again" anywhere."""
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.end(kid.head, Outcome(Code.PROVIDER, detail=LIMITED))  # told, and still on its way to the lanes
    kid.release()
    sim.hear(kid)
    sim.stop("turn", "11")
    sim.pump()
    assert receipt(sim, name).startswith("Stopped by <@2>: running turn.")
    assert not any(isinstance(fact, facts.Backoff | facts.Gated) for fact in sim.recorded)
    sim.wait(60 * SECOND)
    assert kid.prompts == 1


def test_a_stale_alarm_does_nothing_for_the_stopped_and_the_next_is_not_flagged(sim: Sim) -> None:
    """§2, third row."""
    sim.arrive("11")
    kid = sim.up("11")
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    due = sim.lanes.deadline()
    sim.stop("turn", "11")
    assert sim.lanes.deadline() == due  # the alarm stays, and looks again
    sim.wait(RULES.backoff[0])
    second = sim.arrive("11")
    sim.up("11")
    assert kid.prompts == 2
    assert kid.texts[f"{second}@1"] == sim.audit.stories[second].claim.text
    kid.answer()
    sim.do(kid)
    assert [owed.kind for owed in sim.audit.stories[second].owed] == ["answer"]


def test_a_late_answer_of_the_stopped_is_dropped(sim: Sim) -> None:
    """§2, last row: the mark goes with the round."""
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.answer()
    sim.hear(kid)
    sim.stop("turn", "11")
    sim.pump()
    assert [owed.kind for owed in sim.audit.stories[name].owed] == ["receipt"]


def test_waiting_for_the_gate(sim: Sim) -> None:
    sim.arrive("11")
    kid = sim.up("11")
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    name = sim.arrive("12")
    sim.up("12")
    sim.stop("turn", "12")
    assert receipt(sim, name) == "Stopped by <@2>: wait for the provider."


def test_an_answer_that_is_not_posted_yet(sim: Sim) -> None:
    """§7.15: after the mark nothing of it is posted; the receipt goes out behind the withdrawal."""
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.answer()
    sim.do(kid)
    assert list(sim.posts) == [f"{name}/answer/1"]
    stepped = sim.stop("turn", "11")
    assert stepped is not None
    assert receipt(sim, name) == "Stopped by <@2>: answer not posted yet."
    assert fails(sim) == []
    kinds = [type(effect) for effect in stepped.effects if isinstance(effect, Withdraw | Post)]
    assert kinds == [Withdraw, Post]
    assert list(sim.posts) == [f"{name}/receipt/1"]
    sim.pump()
    sim.crash()
    assert list(sim.posts) == [f"{name}/receipt/1"]


def test_settling_ends_the_continuation(sim: Sim) -> None:
    """§1.16, §2: the answer stands, the run goes on; Stop still aborts it and its further text reaches nobody."""
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.answer(settles=False)
    sim.do(kid)
    sim.post_all()
    assert sim.lanes.world.rounds[name].phase is Phase.POSTING
    kid.further()
    sim.hear(kid)
    sim.stop("turn", "11")
    assert receipt(sim, name) == f"Stopped by <@2>: running turn.{until(sim, RULES.run_grace)}"
    assert fails(sim) == [f"{name}@1"]
    sim.pump()
    assert list(sim.posts) == [f"{name}/receipt/1"]


def test_twice_is_once(sim: Sim) -> None:
    name = sim.arrive("11")
    kid = sim.up("11")
    sim.stop("turn", "11")
    before = len(sim.recorded)
    for scope in ("turn", "round", "lane"):
        sim.stop(scope, "11", name)
    assert len(sim.recorded) == before
    assert kid.aborts == 1


def test_of_the_lane_ends_all_and_an_orphan_run(sim: Sim) -> None:
    """Its receipts count as kept only what is kept: nothing."""
    first, second = sim.arrive("11"), sim.arrive("11")
    kid = sim.up("11")
    sim.stop("lane", "11")
    assert "kept" not in receipt(sim, first) + receipt(sim, second)
    kid.release()
    sim.do(kid)
    kid.orphan_starts()
    sim.do(kid)
    sim.stop("lane", "11")
    assert kid.aborts == 2
    assert sum(isinstance(fact, facts.StopMarked) for fact in sim.recorded) == 2


def test_the_turn_is_the_one_in_work_though_an_older_one_waits(sim: Sim) -> None:
    """CONTRACT: `/stop` alone is the lane's current round in whatever phase."""
    sim.arrive("11")
    kid = sim.up("11")
    claims = [sim.claim("11") for _ in range(2)]
    for claim in claims:
        sim.step(Arrived(claim, Advice.QUEUE))
    older, moved = (claim.round for claim in claims)
    sim.step(MoveFirst(moved))
    kid.answer()
    sim.do(kid)
    sim.post_all()
    kid.start()
    sim.do(kid)
    sim.stop("turn", "11")
    assert receipt(sim, moved).startswith("Stopped by <@2>: running turn, 1 waiting message kept.")
    assert sim.audit.stories[older].ends == []
