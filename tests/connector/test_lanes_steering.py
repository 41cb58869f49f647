"""Steering and long waits at the lanes' side (BEHAVIOUR §4, §5; §7.28, 29)."""

import pytest
from msgspec.structs import replace

from connector import facts
from connector.lane_effects import Log, Tell
from connector.lane_events import Arrived, ChildSays
from connector.world import Phase
from engine import events as engine
from engine.events import Code, Outcome
from engine.state import Advice
from tests.connector.lanes_setting import Make
from tests.machine.lanes_child import Child
from tests.machine.lanes_machine import LONG_WAIT, Sim, rules


def steered(sim: Sim, author: int = 1) -> tuple[str, str, Child]:
    """A running head and a line given to its run, not heard yet."""
    head = sim.arrive("11", author)
    kid = sim.up("11")
    line = sim.arrive("11", author)
    return head, line, kid


def phase(sim: Sim, name: str) -> Phase:
    return sim.lanes.world.rounds[name].phase


def test_the_echo_joins_it_and_its_own_text_answers_it(make: Make) -> None:
    sim = make()
    head, line, kid = steered(sim)
    assert phase(sim, line) is Phase.STEERED
    kid.hear(f"{line}@1")
    sim.do(kid)
    assert (phase(sim, line), sim.lanes.world.rounds[line].into) == (Phase.JOINED, head)
    kid.answer(apart=True)
    sim.do(kid)
    assert [[o.text for o in sim.audit.stories[n].owed] for n in (head, line)] == [
        [f"answer to {head}@1"],
        [f"answer to {line}@1"],
    ]


def test_one_answer_serves_both_and_refers_to_the_later(make: Make) -> None:
    sim = make()
    head, line, kid = steered(sim)
    kid.hear(f"{line}@1")
    sim.do(kid)
    kid.answer()
    sim.do(kid)
    assert sim.audit.stories[head].ends == [facts.Ended(head, "joined", into=line)]
    assert [owed.reply_to for owed in sim.audit.stories[line].owed] == [int(line)]


@pytest.mark.parametrize("refused", [True, False])
def test_refused_or_given_back_it_is_an_ordinary_prompt(make: Make, *, refused: bool) -> None:
    """The write stays counted, and after a refusal it is never steered again."""
    sim = make()
    head, line, kid = steered(sim)
    kid.return_steer(f"{line}@1", refused=refused)
    sim.do(kid)
    round_ = sim.lanes.world.rounds[line]
    assert (round_.phase, round_.attempts, round_.steerable, round_.note) == (Phase.WAITING, 1, not refused, "")
    assert sim.audit.stories[head].ends == []
    kid.answer()
    sim.do(kid)
    assert kid.head == f"{line}@2"
    assert kid.texts[f"{line}@2"] == sim.audit.stories[line].claim.text


def test_declined_unwritten_it_counts_for_nothing(make: Make) -> None:
    sim = make()
    sim.arrive("11")
    kid = sim.up("11")
    kid.settling = True  # over in the engine, which the lanes have not heard
    claim = sim.claim("11")
    sim.step(Arrived(claim, Advice.STEER))
    sim.pump()
    round_ = sim.lanes.world.rounds[claim.round]
    assert (round_.phase, round_.writes, round_.attempts) == (Phase.WAITING, 1, 0)
    kid.settling = False


def test_given_back_it_stays_before_what_came_later(make: Make) -> None:
    sim = make()
    _, line, kid = steered(sim)
    later = sim.claim("11")
    sim.step(Arrived(later, Advice.QUEUE))
    kid.return_steer(f"{line}@1")
    sim.do(kid)
    assert sim.lanes.world.lanes["11"].waiting == (line, later.round)


def test_a_steer_beyond_its_attempts_is_a_dead_letter(make: Make) -> None:
    """§3.2: attempts, steers included."""
    sim = make(max_attempts=1)
    _, line, kid = steered(sim)
    kid.return_steer(f"{line}@1")
    sim.do(kid)
    assert sim.audit.stories[line].ends[0].code == "dead"


@pytest.mark.parametrize("when", ["written", "backoff", "posting", "stopped", "waiting before it"])
def test_not_steered_at_all(make: Make, when: str) -> None:
    """§4, first row; and nobody overtakes who waits already."""
    sim = make()
    sim.arrive("11")
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    sim.do(kid)
    if when != "written":
        kid.start()
        sim.do(kid)
    match when:
        case "backoff":
            kid.fails(Outcome(Code.PROVIDER, detail="429: {}"))
        case "posting":
            kid.answer(settles=False)
        case "stopped":
            sim.stop("turn", "11")
        case "waiting before it":
            sim.step(Arrived(sim.claim("11"), Advice.QUEUE))
        case _:
            pass
    sim.do(kid)
    claim = sim.claim("11")
    sim.step(Arrived(claim, Advice.STEER))
    assert phase(sim, claim.round) is Phase.WAITING


@pytest.mark.parametrize(
    ("busy", "authors", "is_steered"),
    [("auto", (1, 1), True), ("auto", (1, 2), False), ("queue", (1, 1), False), ("steer", (1, 2), True)],
)
def test_lanes_busy(make: Make, busy: str, authors: tuple[int, int], *, is_steered: bool) -> None:
    """CONTRACT `lanes.busy`: auto steers where only one person has spoken, over restarts too."""
    sim = make(busy=busy)
    first = sim.arrive("11", authors[0])
    sim.crash()
    sim.up("11")
    line = sim.arrive("11", authors[1])
    assert (phase(sim, line) is Phase.STEERED) is is_steered
    assert phase(sim, first) is Phase.RUNNING


@pytest.mark.parametrize("origin", [facts.Origin.RETRY, facts.Origin.ASK])
def test_only_a_persons_own_message_is_steered(make: Make, origin: facts.Origin) -> None:
    sim = make()
    sim.arrive("11")
    sim.up("11")
    for claim in (replace(sim.claim("11"), origin=origin), replace(sim.claim("11"), bot=True)):
        sim.step(Arrived(claim, Advice.STEER))
        assert phase(sim, claim.round) is Phase.WAITING


def test_a_tool_that_was_open_when_the_line_joined_is_evidence_for_it_too(make: Make) -> None:
    """§7.22: the run acts for everybody in it."""
    sim = make()
    head, line, kid = steered(sim)
    kid.tool(sim.now)
    kid.hear(f"{line}@1")
    sim.do(kid)
    assert [sim.lanes.world.rounds[name].tool for name in (head, line)] == [True, True]


def test_a_tool_that_opens_later_is_evidence_for_all_in_the_run(make: Make) -> None:
    sim = make()
    head, line, kid = steered(sim)
    kid.hear(f"{line}@1")
    kid.tool(sim.now)
    sim.do(kid)
    sim.exits(kid)
    sim.pump()
    assert [sim.audit.stories[name].ends[0].code for name in (head, line)] == ["engine-exit", "engine-exit"]


def test_the_childs_exit_decides_about_an_unheard_line_by_evidence(make: Make) -> None:
    """§4, last row: written, no echo seen: asked, charged, flagged; after the head, as they came."""
    sim = make()
    head, line, kid = steered(sim)
    sim.exits(kid)
    sim.pump()
    assert sim.lanes.world.lanes["11"].waiting == (head, line)
    assert [sim.lanes.world.rounds[name].attempts for name in (head, line)] == [1, 1]


# -- a long wait ---------------------------------------------------------------------------------------------------


def hanging(sim: Sim) -> tuple[str, Child]:
    """A run whose tool has been open for longer than `long_wait`."""
    head = sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    sim.do(kid)
    sim.now += LONG_WAIT + 1
    return head, kid


def interrupts(sim: Sim) -> int:
    tells = [effect.given for effect in sim.effects if isinstance(effect, Tell)]
    return sum(isinstance(given, engine.Fail) and given.code is Code.INTERRUPTED for given in tells)


def test_the_line_interrupts_once_and_is_the_next_prompt(make: Make) -> None:
    """§5: with a bracketed note of what was interrupted; that itself is not sent again."""
    sim = make()
    head, kid = hanging(sim)
    older = sim.claim("11", 3)
    sim.step(Arrived(older, Advice.QUEUE))
    line = sim.arrive("11")
    assert interrupts(sim) == 1
    assert kid.aborts == 1
    sim.pump()
    assert sim.audit.stories[head].ends[0].code == "interrupted"
    assert sim.lanes.world.lanes["11"].waiting == (line, older.round)
    kid.release()
    sim.do(kid)
    assert kid.head == f"{line}@1"
    header, note, *rest = kid.texts[kid.head].split("\n")
    assert note == "[the turn before was interrupted: its tool bash did not return]"
    assert "\n".join((header, *rest)) == sim.audit.stories[line].claim.text
    assert [e.event for e in sim.effects if isinstance(e, Log) and e.event == "wait.interrupted"] == [
        "wait.interrupted"
    ]


def test_two_lines_in_one_batch_interrupt_once(make: Make) -> None:
    """Both were advised of before either was stepped: the second is queued behind, unmarked."""
    sim = make()
    _, kid = hanging(sim)
    first, second = sim.claim("11"), sim.claim("11")
    for claim in (first, second):
        sim.step(Arrived(claim, Advice.INTERRUPT))
    assert interrupts(sim) == 1
    assert sim.lanes.world.lanes["11"].waiting == (first.round, second.round)
    assert sim.lanes.world.rounds[second.round].note == ""
    kid.release()
    sim.do(kid)


def test_the_interrupting_line_stays_first_when_an_older_steer_comes_back(make: Make) -> None:
    sim = make()
    head = sim.arrive("11")
    kid = sim.up("11")
    kid.tool(sim.now)
    sim.do(kid)
    unheard = sim.arrive("11")
    sim.now += LONG_WAIT + 1
    line = sim.arrive("11")
    kid.return_steer(f"{unheard}@1")
    kid.release()
    sim.do(kid)
    assert sim.audit.stories[head].ends[0].code == "interrupted"
    assert kid.head == f"{line}@1"
    assert sim.lanes.world.lanes["11"].waiting == (unheard,)


def test_a_lane_that_queues_a_bot_and_a_retry_never_interrupt(make: Make) -> None:
    sim = make(busy="queue")
    hanging(sim)
    sim.arrive("11")
    sim.lanes.rules = rules(busy="steer")
    sim.step(Arrived(replace(sim.claim("11"), bot=True), Advice.INTERRUPT))
    sim.step(Arrived(replace(sim.claim("11"), origin=facts.Origin.RETRY), Advice.INTERRUPT))
    assert interrupts(sim) == 0


def test_a_stale_word_of_an_earlier_turn_opens_no_tool(make: Make) -> None:
    """§7.29, 32."""
    sim = make()
    first = sim.arrive("11")
    kid = sim.up("11")
    kid.answer()
    sim.do(kid)
    second = sim.arrive("11")
    sim.up("11")
    sim.step(ChildSays("11", kid.number, (engine.ToolOpened(f"{first}@1", "late", "bash"),), busy=True))
    assert sim.lanes.kids["11"].tools == {}
    assert not sim.lanes.world.rounds[second].tool
