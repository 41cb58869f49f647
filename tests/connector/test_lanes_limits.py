"""Rate limits (BEHAVIOUR §2.1-2.4): asked again once a step and flagged, the gate for everybody, quotas parked once."""

from collections.abc import Callable, Iterator

import pytest

from connector import facts, notices
from connector.lane_base import LaneRules
from connector.lane_effects import Log
from connector.lane_events import Hurry, Tick
from connector.lane_service import SPREAD
from connector.world import Phase
from engine.events import SECOND, Code, Outcome
from tests.machine.lanes_child import MODEL, Child
from tests.machine.lanes_machine import Sim, rules
from tests.machine.lanes_walks import FINAL, LIMITED, NAMED, NAMELESS, QUOTA

Make = Callable[..., Sim]
KEY = (MODEL["provider"], MODEL["id"])


@pytest.fixture
def make() -> Iterator[Make]:
    """Worlds with rules of their own, each brought to rest and audited at the end."""
    made: list[Sim] = []

    def one(**changes: object) -> Sim:
        made.append(Sim(rules(backoff=(5 * SECOND, 15 * SECOND), **changes)))
        return made[-1]

    yield one
    for sim in made:
        sim.settle()
        sim.db.close()


def limited(sim: Sim, lane: str = "11", detail: str = LIMITED) -> tuple[str, Child]:
    """A message whose run has finally ended with this error."""
    name = sim.arrive(lane)
    kid = sim.up(lane)
    kid.fails(Outcome(Code.PROVIDER, detail=detail))
    sim.do(kid)
    return name, kid


def again(sim: Sim, kid: Child, detail: str = LIMITED) -> None:
    """Once more the same."""
    kid.start()
    sim.do(kid)
    kid.fails(Outcome(Code.PROVIDER, detail=detail))
    sim.do(kid)


def waits(sim: Sim, name: str) -> list[int]:
    """How long each wait of this round was to be, counted from now."""
    return [f.until - sim.now for f in sim.recorded if isinstance(f, facts.Backoff) and f.round == name]


def notice(sim: Sim, name: str) -> str:
    (said,) = [owed.text for owed in sim.audit.stories[name].owed]
    return said


def test_asked_again_exactly_once_and_flagged(make: Make) -> None:
    """§2, fourth row, and §2.1: the header line stays first, the flag is a bracketed line under it."""
    sim = make()
    name, kid = limited(sim)
    sim.wait(5 * SECOND - 1)
    assert kid.prompts == 1
    sim.wait(1)
    assert kid.prompts == 2
    head, flag, *rest = kid.texts[f"{name}@2"].split("\n")
    claim = sim.audit.stories[name].claim.text.split("\n")
    assert (head, rest) == (claim[0], claim[1:])
    assert flag == f"[{notices.repeat_note()}]"
    sim.step(Tick())
    sim.wait(60 * SECOND)
    assert kid.prompts == 2


def test_also_after_tools_ran(make: Make) -> None:
    """§2.1: it is the same session and the header says so."""
    sim = make()
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    sim.do(kid)
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    sim.wait(5 * SECOND)
    assert kid.head == f"{name}@2"


def test_steps_spent_fail_visibly_without_a_timer(make: Make) -> None:
    """§2, sixth row; a re-ask is no attempt, and there are as many as steps (§3.2)."""
    sim = make()
    name, kid = limited(sim)
    for step in (5 * SECOND, 15 * SECOND):
        assert waits(sim, name)[-1] == step
        sim.wait(step)
        again(sim, kid)
    assert sim.audit.stories[name].ends[0].code == "rate-limited"
    assert notice(sim, name).startswith("The model's provider is at its limit (status 429, model `large`)")
    assert [w.reask for w in sim.audit.stories[name].writes] == [False, True, True]
    sim.wait(3600 * SECOND)
    assert kid.prompts == 3


def test_a_wait_that_the_error_names_is_never_shortened(make: Make) -> None:
    sim = make()
    name, _ = limited(sim, detail=NAMED)
    assert waits(sim, name) == [40 * SECOND]


def test_a_named_wait_beyond_all_bounds_fails_visibly(make: Make) -> None:
    sim = make()
    name, _ = limited(sim, detail="429: try again in 5 hours")
    assert sim.audit.stories[name].ends[0].code == "rate-limited"


@pytest.mark.parametrize("dice", [0.0, 0.3, 0.999999])
def test_jitter_only_lengthens(make: Make, dice: float) -> None:
    sim = make()
    sim.dice = dice
    name, _ = limited(sim, detail=NAMED)
    (wait,) = waits(sim, name)
    assert 40 * SECOND <= wait <= 48 * SECOND


def test_a_quota_parks_until_its_reset_once(make: Make) -> None:
    """§2.3: it spends no step; the second one fails visibly."""
    sim = make()
    reset = sim.now // SECOND + 1000
    name, kid = limited(sim, detail=QUOTA % reset)
    round_ = sim.lanes.world.rounds[name]
    assert (round_.until, round_.steps, round_.parked) == (reset * SECOND, 0, True)
    sim.wait(reset * SECOND - sim.now)
    again(sim, kid, QUOTA % (reset + 100))
    assert sim.audit.stories[name].ends[0].code == "rate-limited"


def test_a_quota_whose_reset_has_passed_waits_the_first_step(make: Make) -> None:
    sim = make()
    name, _ = limited(sim, detail=QUOTA % (sim.now // SECOND - 100))
    assert waits(sim, name) == [5 * SECOND]


@pytest.mark.parametrize("detail", [NAMELESS, "429 You exceeded your current quota", QUOTA % 9_999_999_999])
def test_a_quota_without_a_reset_or_beyond_the_hold_fails_visibly(make: Make, detail: str) -> None:
    sim = make()
    name, _ = limited(sim, detail=detail)
    assert sim.audit.stories[name].ends[0].code == "rate-limited"
    assert not sim.lanes.world.gates


@pytest.mark.parametrize("detail", [FINAL, "500 boom", "Connection error.", "403: {}", "model-429 is not known"])
def test_any_other_error_is_never_asked_again(make: Make, detail: str) -> None:
    sim = make()
    name, kid = limited(sim, detail=detail)
    assert sim.audit.stories[name].ends[0].code == "provider-error"
    sim.wait(3600 * SECOND)
    assert kid.prompts == 1


def test_a_round_in_backoff_holds_its_own_lane(make: Make) -> None:
    sim = make()
    _, kid = limited(sim)
    sim.arrive("11")
    sim.step(Tick())
    assert kid.prompts == 1


def test_it_waits_the_rest_over_a_restart(make: Make) -> None:
    """§6: in backoff or parked, it waits the rest; so does the gate."""
    sim = make()
    name, _ = limited(sim)
    sim.wait(2 * SECOND)
    sim.crash()
    other = sim.arrive("12")
    sim.up("12")
    sim.wait(2 * SECOND)
    assert [len(sim.audit.stories[n].writes) for n in (name, other)] == [1, 0]
    sim.wait(1 * SECOND)
    sim.up("11")
    assert [len(sim.audit.stories[n].writes) for n in (name, other)] in ([2, 0], [1, 1])


def test_a_wall_clock_that_went_back_ends_the_wait(make: Make) -> None:
    """Issue: clock stepping back or forward, no message is lost; waits of another calendar are over."""
    sim = make()
    name, _ = limited(sim)
    sim.now -= 30 * 24 * 3600 * SECOND
    sim.crash()
    assert sim.lanes.world.rounds[name].hurried
    assert sim.lanes.world.gates == {KEY: sim.now}


def test_retry_now_ends_the_wait_and_keeps_the_bound(make: Make) -> None:
    sim = make()
    name, kid = limited(sim)
    sim.step(Hurry(name))
    assert kid.head == f"{name}@2"
    assert sim.lanes.world.rounds[name].steps == 1
    sim.step(Hurry(name))
    assert kid.prompts == 2


# -- the gate ------------------------------------------------------------------------------------------------------


def behind(sim: Sim, lanes: tuple[str, ...]) -> list[Child]:
    """A waiting message with a ready child in each of these lanes."""
    for lane in lanes:
        sim.arrive(lane)
        sim.up(lane)
    return [sim.kid(lane) for lane in lanes]


def prompts(kids: list[Child]) -> list[int]:
    return [kid.prompts for kid in kids]


def test_nobody_is_sent_into_the_wall_and_nothing_is_charged(make: Make) -> None:
    sim = make(max_children=5)
    _, first = limited(sim)
    kids = behind(sim, ("12", "13", "14"))
    assert prompts(kids) == [0, 0, 0]
    assert all(not story.writes for story in list(sim.audit.stories.values())[1:])
    sim.wait(5 * SECOND)
    assert prompts([first, *kids]) in ([2, 0, 0, 0], [1, 1, 0, 0])


def test_one_goes_first_the_rest_follow_its_first_text_spread_out(make: Make) -> None:
    sim = make(max_children=5)
    _, first = limited(sim)
    kids = [first, *behind(sim, ("12", "13", "14"))]
    sim.wait(5 * SECOND)
    (probe,) = [kid for kid in kids if kid.head]
    probe.start()
    sim.do(probe)
    sim.wait(60 * SECOND)
    assert sum(bool(kid.head) for kid in kids) == 1
    probe.speak()
    sim.do(probe)
    assert KEY not in sim.lanes.world.gates
    sent = []
    for _ in range(3):
        sim.wait(SPREAD)
        sent.append(sum(bool(kid.head) for kid in kids))
    assert sent == [2, 3, 4]


def test_a_tool_call_is_proof_too(make: Make) -> None:
    """What calls a tool is the model; a long tool keeps nobody behind a gate that is open."""
    sim = make(max_children=5)
    _, first = limited(sim)
    kids = [first, *behind(sim, ("12",))]
    sim.wait(5 * SECOND)
    (probe,) = [kid for kid in kids if kid.head]
    probe.start()
    probe.tool(sim.now)
    sim.do(probe)
    assert KEY not in sim.lanes.world.gates


def test_thinking_proves_nothing_and_neither_does_another_lanes_run(make: Make) -> None:
    sim = make(max_children=5)
    sim.arrive("15")
    older = sim.up("15")
    limited(sim)
    older.speak()
    older.answer()
    sim.do(older)
    assert KEY in sim.lanes.world.gates


def test_the_probe_fails_and_all_wait_for_the_new_instant(make: Make) -> None:
    sim = make(max_children=5)
    _, first = limited(sim)
    kids = [first, *behind(sim, ("12", "13"))]
    sim.wait(5 * SECOND)
    (probe,) = [kid for kid in kids if kid.head]
    again(sim, probe, NAMED)
    assert sim.lanes.world.gates == {KEY: sim.now + 40 * SECOND}
    sim.wait(39 * SECOND)
    assert [kid for kid in kids if kid.head] == []
    sim.wait(1 * SECOND)
    assert len([kid for kid in kids if kid.head]) == 1


@pytest.mark.parametrize("how", ["stopped", "fails", "exits", "empty"])
def test_the_probes_end_without_proof_lets_the_next_one_probe(make: Make, how: str) -> None:
    sim = make(max_children=5)
    _, first = limited(sim)
    kids = [first, *behind(sim, ("12", "13"))]
    sim.wait(5 * SECOND)
    (probe,) = [kid for kid in kids if kid.head]
    probe.start()
    sim.do(probe)
    match how:
        case "stopped":
            sim.stop("turn", probe.lane)
            probe.release()
        case "fails":
            probe.fails(Outcome(Code.PROVIDER, detail=FINAL))
        case "empty":
            probe.fails(Outcome(Code.EMPTY))
        case _:
            return  # exit 1: nothing more is sent in this life
    sim.do(probe)
    sim.wait(2 * SECOND)
    assert len([kid for kid in kids if kid.head]) >= 1


def test_a_shorter_wait_does_not_open_a_longer_gate(make: Make) -> None:
    sim = make(max_children=5)
    sim.arrive("12")
    second = sim.up("12")
    limited(sim, detail=NAMED)
    second.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(second)
    assert sim.lanes.world.gates == {KEY: sim.now + 40 * SECOND}


def test_retry_now_opens_the_gate_for_its_own_round_alone(make: Make) -> None:
    sim = make(max_children=5)
    name, first = limited(sim)
    kids = behind(sim, ("12",))
    sim.step(Hurry(name))
    assert prompts([first, *kids]) == [2, 0]
    sim.wait(5 * SECOND)
    assert prompts([first, *kids]) == [2, 0]  # it probes
    first.start()
    first.speak()
    sim.do(first)
    sim.wait(SPREAD)
    assert prompts([first, *kids]) == [2, 1]


def test_a_gate_that_passed_while_we_were_down_is_probed_first(make: Make) -> None:
    """§2.4: the instant passing is no proof."""
    sim = make(max_children=5)
    limited(sim)
    sim.now += 60 * SECOND
    sim.arrive("12")
    sim.arrive("13")
    sim.crash()
    for lane in ("11", "12", "13"):
        sim.up(lane)
    assert sum(bool(kid.head) for kid in sim.children.values()) == 1


def test_a_storm_costs_no_more_than_the_bound(make: Make) -> None:
    """§3.2: seven messages and 37 minutes of 429 cost at most seven times attempts and steps, in one session each."""
    sim = make(max_children=4)
    names = [sim.arrive(str(20 + number), author=number) for number in range(7)]
    while sim.now < 1_800_000_000 * SECOND + 37 * 60 * SECOND:
        sim.pump()
        for kid in [kid for kid in sim.children.values() if kid.alive]:
            if kid.stopping:
                sim.exits(kid, 0)
            elif not kid.ready:
                kid.come_up()
            elif kid.head and not kid.running:
                kid.start()
            elif kid.head:
                kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
            sim.do(kid)
        sim.wait(SECOND)
    written = sum(len(sim.audit.stories[name].writes) for name in names)
    assert written == 7 * (1 + len(sim.rules.backoff))
    assert {sim.audit.stories[name].ends[0].code for name in names} == {"rate-limited"}


def test_the_log_tells_when_it_is_asked_again(make: Make) -> None:
    sim = make()
    name, _ = limited(sim)
    (log,) = [e for e in sim.effects if isinstance(e, Log) and e.event == "turn.retry_scheduled"]
    assert dict(log.fields) == {"lane": "11", "message_id": int(name), "seconds": 5.0, "reason": "status 429"}


def test_no_steps_at_all(make: Make) -> None:
    sim = Sim(LaneRules(backoff=()))
    name, _ = limited(sim)
    assert sim.audit.stories[name].ends[0].code == "rate-limited"
    assert Phase.BACKOFF not in {round_.phase for round_ in sim.lanes.world.rounds.values()}
    sim.db.close()
