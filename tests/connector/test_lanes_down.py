"""Going down (BEHAVIOUR §6; CONTRACT, exit codes): SIGTERM, drain, reasons to exit with 1, rows of them."""

import pytest

from connector import facts, notices
from connector.lane_effects import Log, Quit, Tell
from connector.lane_events import ChildDown, Fault, Shutdown
from connector.world import Phase
from engine import events as engine
from engine.events import SECOND, Code, Outcome
from tests.connector.lanes_setting import REPEAT, Make, at, end, ended, state


@pytest.mark.parametrize("reask", [False, True])
def test_sigterm_cuts_what_runs_and_the_next_start_asks_uncharged(make: Make, *, reask: bool) -> None:
    """§3.2, §6: recorded, not charged; flagged. A re-ask that we cut is still due, whatever its attempts."""
    sim = make(max_attempts=1)
    name, kid = at(sim, "running")
    if reask:
        kid.fails(Outcome(Code.PROVIDER, detail="429: {}"))
        sim.do(kid)
        sim.wait(5 * SECOND)
        kid.start()
        sim.do(kid)
    sim.step(Shutdown())
    assert [e.given for e in sim.effects if isinstance(e, Tell)][-1] == engine.Fail(kid.head, Code.RESTART)
    assert ended(sim) is None
    kid.release()
    sim.do(kid)
    assert sim.quit == Quit(0, "asked to stop")
    sim.restart()
    again = sim.up("11")
    assert again.head == f"{name}@{3 if reask else 2}"
    assert REPEAT in again.texts[again.head]
    again.answer()
    sim.do(again)
    assert sim.audit.stories[name].attempts == 1


def test_a_cut_run_that_had_opened_a_tool_says_so_at_the_next_start(make: Make) -> None:
    sim = make()
    name, kid = at(sim, "tool")
    sim.step(Shutdown())
    kid.release()
    sim.do(kid)
    sim.restart()
    assert end(sim, name) == ("restart", notices.not_repeated(retry=True))


def test_sigterm_sends_nothing_new_but_takes_what_arrives(make: Make) -> None:
    sim = make()
    _, kid = at(sim, "running")
    sim.step(Shutdown())
    sim.arrive("12")
    late = sim.arrive("11")
    sim.pump()
    assert [e for e in sim.effects if isinstance(e, Tell)][-1].given == engine.Fail(kid.head, Code.RESTART)
    assert sim.audit.stories[late].writes == []
    assert len(sim.children) == 1


def test_a_run_that_does_not_settle_has_kill_after(make: Make) -> None:
    sim = make()
    at(sim, "running")
    sim.step(Shutdown())
    sim.wait(5 * SECOND - 1)
    assert ended(sim) is None
    sim.wait(1)
    assert sim.quit == Quit(0, "asked to stop")


def test_exit_0_whatever_was_cut_also_if_a_child_wedges_meanwhile(make: Make) -> None:
    sim = make()
    _, kid = at(sim, "running")
    sim.step(Shutdown())
    sim.step(Shutdown())
    kid.wedge()
    sim.do(kid)
    sim.exits(kid)
    sim.pump()
    assert sim.quit == Quit(0, "asked to stop")
    assert not any(isinstance(fact, facts.Fell) for fact in sim.recorded)


def test_idle_it_quits_at_once(make: Make) -> None:
    sim = make()
    sim.step(Shutdown())
    assert sim.quit == Quit(0, "asked to stop")


@pytest.mark.parametrize("how", ["wedge", "exit in a turn", "exit at its start", "fault"])
def test_a_reason_to_exit_is_recorded_when_it_happens_and_others_get_the_drain(make: Make, how: str) -> None:
    """§6: before the drain; nothing new is sent; the other running turn may end, or is cut when the time is over."""
    sim = make()
    other = sim.arrive("12")
    second = sim.up("12")
    match how:
        case "wedge":
            _, kid = at(sim, "running")
            kid.wedge()
        case "exit in a turn":
            _, kid = at(sim, "running")
            sim.exits(kid)
        case "exit at its start":
            sim.arrive("11")
            sim.pump()
            kid = sim.kid("11")
            sim.exits(kid)
        case _:
            sim.step(Fault("oh"))
            kid = second
    sim.do(kid)
    assert sum(isinstance(fact, facts.Fell) for fact in sim.recorded) == 1
    assert ended(sim) is None
    late = sim.arrive("13")
    second.answer()
    sim.do(second)
    assert sim.audit.stories[other].owed[0].kind == "answer"
    assert sim.audit.stories[late].writes == []
    assert ended(sim) == 1


def test_the_drain_ends(make: Make) -> None:
    sim = make()
    other = sim.arrive("12")
    second = sim.up("12")
    sim.step(Fault("oh"))
    sim.wait(20 * SECOND)
    assert sim.quit == Quit(1, "internal fault: oh")
    assert second.failed is Code.RESTART
    sim.restart()
    assert state(sim, other) == (Phase.WAITING, 0, REPEAT)


def test_a_child_that_cannot_be_used_is_exit_3_and_cuts_the_others(make: Make) -> None:
    sim = make()
    running = sim.arrive("12")
    sim.up("12")
    sim.arrive("11")
    kid = next(kid for kid in sim.children.values() if kid.lane == "11")
    kid.alive = False
    sim.inbox.clear()
    sim.step(ChildDown("11", kid.number, None, expected=False, reason="not found"))
    assert sim.quit == Quit(3, "not found")
    assert facts.Cut(running) in sim.recorded
    sim.arrive("13")
    assert len(sim.children) == 2


def test_an_idle_exit_is_replaced_and_the_third_in_a_minute_is_1(make: Make) -> None:
    """CONTRACT, exit code 1."""
    sim = make()
    for number in range(1, 4):
        sim.arrive("11")
        kid = sim.up("11")
        kid.answer()
        sim.do(kid)
        sim.post_all()
        sim.exits(kid, code=1)
        sim.pump()
        assert (sim.quit is not None) is (number == 3)
        sim.now += 29 * SECOND


def test_a_row_counts_the_time_between_turns_only(make: Make) -> None:
    """§6: gaps do not count the time a turn ran, not even one whose child has just died of it."""
    sim = make()
    sim.arrive("11")
    sim.now += 3600 * SECOND  # it waited; that is no turn
    kid = sim.up("11")
    sim.now += 500 * SECOND
    sim.exits(kid)
    sim.pump()
    assert [fact.busy for fact in sim.recorded if isinstance(fact, facts.Fell)] == [500 * SECOND]


def test_a_good_turn_ends_a_row_and_is_recorded_only_then(make: Make) -> None:
    sim = make()
    _, kid = at(sim, "running")
    sim.exits(kid)
    sim.pump()
    sim.restart()
    assert sim.lanes.in_row == 1
    for _ in range(2):
        kid = sim.up("11")
        kid.answer()
        sim.do(kid)
        sim.arrive("11")
    assert sum(isinstance(fact, facts.Good) for fact in sim.recorded) == 1
    assert sim.lanes.in_row == 0


def test_a_wedge_is_logged(make: Make) -> None:
    sim = make()
    _, kid = at(sim, "running")
    kid.wedge()
    sim.do(kid)
    (log,) = [e for e in sim.effects if isinstance(e, Log) and e.event == "engine.wedged"]
    assert dict(log.fields)["child"] == kid.number
