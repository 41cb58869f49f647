"""What is spent and what caps hold back (CONTRACT `spend.*`): stories of the lanes in the model world."""

from collections.abc import Callable, Iterator

import pytest

from connector import facts, notices, notices_spend
from connector.lane_effects import Log
from connector.lane_events import Deleted, Extend, Hurry
from connector.notices import Halted
from connector.spend import DAY, Caps, day_of
from connector.world import Phase
from engine import events as engine
from engine.events import SECOND, Code, Outcome
from engine.pi import Cost, Usage
from tests.machine.lanes_child import MODEL, Child
from tests.machine.lanes_ground import START
from tests.machine.lanes_machine import Sim, rules
from tests.machine.lanes_walks import LIMITED

Make = Callable[..., Sim]
PAIR = (MODEL["provider"], MODEL["id"])
TODAY = day_of(START)
MIDNIGHT = (TODAY + 1) * DAY // SECOND


@pytest.fixture
def make() -> Iterator[Make]:
    """Worlds with caps, each brought to rest and audited at the end."""
    made: list[Sim] = []

    def one(cost: float = 0.0, busy: str = "queue", **caps: float) -> Sim:
        made.append(Sim(rules(spend=Caps(**caps), busy=busy), cost=cost))
        return made[-1]

    yield one
    for sim in made:
        sim.settle()
        sim.db.close()


def pays(sim: Sim, kid: Child, cost: float, model: tuple[str, str] = PAIR) -> None:
    """The child's provider has answered, and that cost something."""
    kid.out.append(engine.Spent("", *model, Usage(100, 10, 160, Cost(cost))))
    sim.do(kid)


def spent(sim: Sim) -> list[facts.Spent]:
    return [fact for fact in sim.recorded if isinstance(fact, facts.Spent)]


def turn(sim: Sim, lane: str = "11", author: int = 1) -> str:
    """A message, and its answer."""
    name = sim.arrive(lane, author)
    kid = sim.up(lane)
    assert kid.head.startswith(name)
    kid.answer()
    sim.do(kid)
    sim.post_all()
    return name


def told(sim: Sim, name: str) -> list[tuple[str, bool]]:
    """What was said of a round, and whether an operator's button is below it."""
    return [(owed.text, owed.extend) for owed in sim.audit.stories[name].owed]


def phase(sim: Sim, name: str) -> Phase:
    return sim.lanes.world.rounds[name].phase


# -- sums --------------------------------------------------------------------------------------------------------------


def test_a_turns_costs_are_recorded_with_its_end_by_model(make: Make) -> None:
    """Not one transaction a message: a kill in mid-turn loses them, which without caps holds nothing up."""
    sim = make()
    name = sim.arrive("11", 3)
    kid = sim.up("11")
    pays(sim, kid, 0.25)
    pays(sim, kid, 0.5)
    pays(sim, kid, 1.0, ("", ""))
    assert spent(sim) == []
    kid.answer()
    sim.do(kid)
    assert spent(sim) == [
        facts.Spent(name, "11", 3, TODAY, *PAIR, 200, 20, 100, 0.75),
        facts.Spent(name, "11", 3, TODAY, "", "", 100, 10, 50, 1.0),
    ]
    assert sim.lanes.world.today.spent == {("person", "3"): 1.75, ("lane", "11"): 1.75, ("total", ""): 1.75}


def test_what_comes_between_turns_is_paid_by_who_asked_last(make: Make) -> None:
    """A summary, or a run that an extension begins: recorded at once, since nothing else may come."""
    sim = make()
    name = turn(sim, author=3)
    pays(sim, sim.kid("11"), 0.5)
    assert spent(sim) == [facts.Spent(name, "11", 3, TODAY, *PAIR, 100, 10, 50, 0.5)]


def test_a_stopped_turn_and_a_child_that_dies_are_paid_for(make: Make) -> None:
    sim = make()
    name = sim.arrive("11", 3)
    kid = sim.up("11")
    sim.stop("turn", "11")
    pays(sim, kid, 0.25)
    kid.release()
    sim.do(kid)
    pays(sim, kid, 0.5)
    second = sim.arrive("11", 4)
    kid = sim.up("11")
    kid.out.append(engine.Spent("", *PAIR, Usage(1, 1, 2, Cost(1.0))))
    sim.exits(kid)
    sim.pump()
    assert [(fact.round, fact.person, fact.cost) for fact in spent(sim)] == [
        (name, 3, 0.25),
        (name, 3, 0.5),
        (second, 4, 1.0),
    ]


def test_a_day_is_utcs_and_only_todays_sums_are_kept(make: Make) -> None:
    sim = make(cost=1.0)
    for lane in ("11", "12"):
        turn(sim, lane)
    sim.now += DAY
    sim.crash()
    turn(sim, author=2)
    assert [fact.day for fact in spent(sim)] == [TODAY, TODAY, TODAY + 1]
    today = sim.lanes.world.today
    assert (today.day, today.spent) == (TODAY + 1, {("person", "2"): 1.0, ("lane", "11"): 1.0, ("total", ""): 1.0})


# -- caps --------------------------------------------------------------------------------------------------------------


def test_what_is_over_a_cap_waits_until_the_day_is_over_and_says_so_once(make: Make) -> None:
    sim = make(cost=1.0, lane=2.0)
    turn(sim)
    turn(sim)
    held = sim.arrive("11")
    other = sim.arrive("11", 2)
    sim.pump()
    assert [told(sim, name) for name in (held, other)] == [
        [(notices_spend.capped("lane", 2.0, MIDNIGHT), True)],
        [(notices_spend.capped("lane", 2.0, MIDNIGHT), True)],
    ]
    sim.wait(3600 * SECOND)
    sim.crash()
    sim.pump()
    assert (phase(sim, held), sim.audit.stories[held].writes, len(told(sim, held))) == (Phase.WAITING, [], 1)
    assert sim.lanes.deadline() is not None
    sim.now = MIDNIGHT * SECOND - 1
    sim.next_alarm()
    assert sim.now == MIDNIGHT * SECOND
    assert sim.up("11").head == f"{held}@1"


def test_a_running_turn_is_not_cut_and_the_next_prompt_is_held(make: Make) -> None:
    """With caps each message is recorded at once, so that whoever waits anywhere is held, and told."""
    sim = make(total=1.0)
    name = sim.arrive("11")
    kid = sim.up("11")
    waits = sim.arrive("12", 2)
    behind = sim.arrive("11", 3)
    pays(sim, kid, 1.5)
    assert [fact.cost for fact in spent(sim)] == [1.5]
    assert phase(sim, name) is Phase.RUNNING
    assert [len(told(sim, one)) for one in (waits, behind)] == [1, 1]
    assert not [kid for kid in sim.children.values() if kid.lane == "12" and kid.prompts]
    kid.answer()
    sim.do(kid)
    assert phase(sim, behind) is Phase.WAITING


def test_a_persons_cap_lets_others_pass_and_holds_him_everywhere(make: Make) -> None:
    sim = make(cost=1.0, person=1.0)
    turn(sim, author=1)
    held = sim.arrive("11", 1)
    elsewhere = sim.arrive("12", 1)
    sim.pump()
    turn(sim, author=2)
    assert told(sim, held) == told(sim, elsewhere) == [(notices_spend.capped("person", 1.0, MIDNIGHT), True)]
    assert sim.audit.stories[held].writes == []


def test_who_is_over_his_cap_steers_nothing(make: Make) -> None:
    sim = make(cost=1.0, busy="steer", person=1.0)
    turn(sim, author=1)
    sim.arrive("11", 2)
    kid = sim.up("11")
    line = sim.arrive("11", 1)
    assert (phase(sim, line), kid.open, len(told(sim, line))) == (Phase.WAITING, {}, 1)
    other = sim.arrive("11", 3)
    assert phase(sim, other) is Phase.WAITING  # one waits already: as ever, it is not overtaken


def test_a_wait_before_asking_again_goes_on_until_the_cap_allows_it(make: Make) -> None:
    sim = make(lane=1.0)
    name = sim.arrive("11")
    kid = sim.up("11")
    pays(sim, kid, 1.0)
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    assert told(sim, name) == []  # it is not due yet
    sim.step(Hurry(name))
    assert (phase(sim, name), len(told(sim, name))) == (Phase.BACKOFF, 1)
    assert len(sim.audit.stories[name].writes) == 1
    sim.now = MIDNIGHT * SECOND
    sim.next_alarm()
    assert sim.up("11").head == f"{name}@2"


def test_what_its_author_took_back_in_its_turn_waits_for_no_day(make: Make) -> None:
    sim = make(lane=1.0)
    name = sim.arrive("11")
    kid = sim.up("11")
    pays(sim, kid, 1.0)
    sim.step(Deleted(int(name)))
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    sim.step(Hurry(name))
    assert ([end.code for end in sim.audit.stories[name].ends], told(sim, name)) == (["deleted"], [])


def test_stop_ends_the_wait_and_its_notice_is_not_posted_any_more(make: Make) -> None:
    sim = make(cost=1.0, lane=1.0)
    turn(sim)
    name = sim.arrive("11")
    key = sim.audit.stories[name].owed[0].key
    sim.stop("turn", "11")
    assert told(sim, name)[1:] == [(notices.stopped(Halted.QUEUED, by=2), False)]
    assert key in sim.audit.dropped


def test_capacity_counts_what_a_cap_holds_back(make: Make) -> None:
    sim = make(cost=1.0, lane=1.0)
    turn(sim)
    for author in range(4):
        sim.arrive("11", author)
    refused = sim.arrive("11", 9)
    assert told(sim, refused) == [(notices.lane_full(4), False)]


# -- an operator's extension -------------------------------------------------------------------------------------------


def test_an_extension_adds_the_caps_amount_once_more_for_this_day(make: Make) -> None:
    sim = make(cost=1.0, lane=2.0)
    turn(sim)
    turn(sim)
    held = sim.arrive("11")
    elsewhere = turn(sim, "12")
    sim.step(Extend(elsewhere, 7))
    sim.step(Extend("nobody", 7))
    sim.step(Extend(held, 7))
    extended = [fact for fact in sim.recorded if isinstance(fact, facts.Extended)]
    assert extended == [facts.Extended(held, "lane", "11", TODAY, 7, 2.0)]
    logged = [dict(one.fields) for one in sim.effects if isinstance(one, Log) and one.event == "spend.extended"]
    assert logged == [{"lane": "11", "message_id": int(held), "scope": "lane", "by": 7, "amount": 2.0}]
    sim.crash()
    kid = sim.up("11")
    assert kid.head == f"{held}@2"
    kid.answer()
    sim.do(kid)
    sim.step(Extend(held, 7))  # it is over, and nothing holds it
    turn(sim)
    again = sim.arrive("11")
    assert told(sim, again) == [(notices_spend.capped("lane", 2.0, MIDNIGHT), True)]
    sim.step(Extend(again, 8))
    assert sim.lanes.world.today.extra == {("lane", "11"): 4.0}


def test_one_click_is_enough_although_a_long_turn_went_far_beyond_the_cap(make: Make) -> None:
    sim = make(person=1.0)
    sim.arrive("11", 3)
    kid = sim.up("11")
    pays(sim, kid, 7.5)
    kid.answer()
    sim.do(kid)
    held = sim.arrive("12", 3)
    sim.step(Extend(held, 7))
    assert sim.up("12").head == f"{held}@1"
    assert sim.lanes.world.today.extra == {("person", "3"): 7.5}


def test_two_caps_are_told_and_extended_one_after_the_other(make: Make) -> None:
    sim = make(cost=2.0, person=1.0, total=2.0)
    turn(sim, author=3)
    held = sim.arrive("11", 3)
    sim.step(Extend(held, 7))
    assert told(sim, held) == [
        (notices_spend.capped("person", 1.0, MIDNIGHT), True),
        (notices_spend.capped("total", 2.0, MIDNIGHT), True),
    ]
    assert sim.audit.stories[held].writes == []
    sim.step(Extend(held, 7))
    assert sim.up("11").head == f"{held}@1"


def test_a_cap_that_holds_a_message_again_after_another_one_is_not_told_again(make: Make) -> None:
    """A second post of one name is none: its round would wait for it for ever."""
    sim = make(person=1.0, total=1.0, busy="queue")
    sim.arrive("11", 3)
    kid = sim.up("11")
    held = sim.arrive("12", 3)
    pays(sim, kid, 1.0)
    for _ in ("person", "total"):
        sim.step(Extend(held, 7))
    pays(sim, kid, 1.0)
    assert told(sim, held) == [
        (notices_spend.capped("person", 1.0, MIDNIGHT), True),
        (notices_spend.capped("total", 1.0, MIDNIGHT), True),
    ]
    sim.crash()
    sim.pump()
    assert len(told(sim, held)) == 2
