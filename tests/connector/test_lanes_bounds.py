"""Bounds (BEHAVIOUR §3, §7.19-21, 23): attempts, dead letters, Retry, bots, capacity; and what people do to a queue."""

from msgspec.structs import replace

from connector import facts, notices
from connector.lane_base import LaneRules
from connector.lane_effects import Log
from connector.lane_events import Arrived, Cancel, Deleted, MoveFirst, Overlooked, Rewrite
from connector.world import Phase
from engine.events import SECOND
from tests.connector.lanes_setting import Make
from tests.machine.lanes_machine import Sim, rules


def poison(sim: Sim, lane: str = "11") -> None:
    """The child dies in the turn, and the program with it, as systemd starts it again."""
    kid = sim.up(lane)
    assert kid.head
    sim.exits(kid, code=-11)
    sim.pump()
    assert sim.quit is not None
    sim.restart()


def test_a_poison_message_is_a_dead_letter_and_later_ones_are_served(make: Make) -> None:
    """§3.2, Issue 3: within its bound, with one log line, one notice and Retry; the lane goes on."""
    sim = make(max_attempts=3)
    bad, good = sim.arrive("11"), sim.arrive("11")
    for _ in range(3):
        poison(sim)
    story = sim.audit.stories[bad]
    assert (len(story.writes), [end.code for end in story.ends]) == (3, ["dead"])
    assert [owed.text for owed in story.owed] == [notices.failed("dead", retry=True)]
    assert story.owed[0].retry
    assert [e.event for e in sim.effects if isinstance(e, Log) and e.event == "message.dead"] == ["message.dead"]
    assert sim.audit.stories[good].writes == []  # another message's failure never changes this one's counter
    assert sim.up("11").head == f"{good}@1"


def test_a_dead_letter_is_written_once_over_any_crash(make: Make) -> None:
    """§7.21, and a second recovery decides nothing again."""
    sim = make(max_attempts=1)
    bad = sim.arrive("11")
    sim.up("11")
    for kill_at in (0, 1, 3):
        sim.kill_at = kill_at
        sim.crash()
    assert [end.code for end in sim.audit.stories[bad].ends] == ["dead"]


def test_retry_is_a_fresh_round_with_a_fresh_bound(make: Make) -> None:
    """§0: the old one stays terminal; the answer refers to the original message."""
    sim = make(max_attempts=1)
    bad = sim.arrive("11")
    poison(sim)
    again = sim.retry(bad)
    assert again == f"{bad}.1"
    kid = sim.up("11")
    assert kid.head == f"{again}@1"
    kid.answer()
    sim.do(kid)
    assert [end.code for end in sim.audit.stories[bad].ends] == ["dead"]
    assert [(o.kind, o.reply_to) for o in sim.audit.stories[again].owed] == [("answer", int(bad))]


def test_a_bound_that_was_lowered_since_is_held_too(make: Make) -> None:
    """Settings change between two starts: what waits with more attempts than are allowed now is not written again."""
    sim = make(max_attempts=2)
    first, second = sim.arrive("11"), sim.arrive("11")
    poison(sim)
    sim.rules = rules(max_attempts=1)
    sim.crash()
    sim.up("11")
    assert sim.audit.stories[first].ends[0].code == "dead"
    assert sim.kid("11").head == f"{second}@1"


# -- bots ----------------------------------------------------------------------------------------------------------


def test_so_many_bots_in_a_row_and_no_notice(make: Make) -> None:
    """§3.1: those beyond are ignored, but seen; a person's message opens the row again; counted over restarts."""
    sim = make(bot_turns=2)
    sim.arrive("11", author=9, bot=True)
    sim.crash()
    sim.arrive("11", author=9, bot=True)
    before = len(sim.recorded)
    third = sim.arrive("11", author=9, bot=True)
    assert sim.recorded[before:] == [facts.Seen(11, int(third))]
    assert third not in sim.audit.stories
    sim.crash()
    assert sim.arrive("11", author=9, bot=True) not in sim.audit.stories
    sim.arrive("11", author=1)
    assert sim.arrive("11", author=9, bot=True) in sim.audit.stories


def test_a_person_spoke_first_and_the_bots_are_counted_after_the_restart(make: Make) -> None:
    """The person's round is still open and its bots' are over: loading it does not forget them."""
    sim = make(bot_turns=2)
    sim.arrive("11", author=1)
    for _ in range(2):
        name = sim.arrive("11", author=9, bot=True)
        sim.step(Cancel(name))
    sim.crash()
    assert sim.arrive("11", author=9, bot=True) not in sim.audit.stories


def test_retry_is_no_message(make: Make) -> None:
    """A press neither opens the row of bots again nor is refused because of it, nor does anybody speak by it."""
    sim = make(bot_turns=1)
    name = sim.arrive("11", author=9, bot=True)
    sim.step(Cancel(name))
    assert sim.retry(name) in sim.audit.stories
    assert sim.arrive("11", author=9, bot=True) not in sim.audit.stories
    assert sim.lanes.world.lanes["11"].people == frozenset()


def test_in_a_new_thread_the_channel_above_has_seen_it(make: Make) -> None:
    sim = make(bot_turns=0)
    claim = replace(sim.claim("14", 9, thread=True), bot=True)
    sim.step(Arrived(claim))
    assert sim.recorded[-1] == facts.Seen(14, claim.message)


# -- capacity ------------------------------------------------------------------------------------------------------


def test_a_full_lane_refuses_visibly(make: Make) -> None:
    sim = make(capacity=2, per_person=9)
    names = [sim.arrive("11", author=number) for number in range(3)]
    story = sim.audit.stories[names[-1]]
    assert [end.code for end in story.ends] == ["refused"]
    assert [owed.text for owed in story.owed] == [notices.lane_full(2)]
    sim.crash()
    assert f"{names[-1]}/notice/1" in sim.posts


def test_a_person_with_too_many_over_all_lanes(make: Make) -> None:
    sim = make(capacity=9, per_person=2)
    sim.arrive("11", author=1)
    sim.arrive("12", author=1)
    name = sim.arrive("13", author=1)
    assert [owed.text for owed in sim.audit.stories[name].owed] == [notices.person_full(2)]
    sim.up("11")  # written, so it waits no more
    assert sim.audit.stories[sim.arrive("13", author=1)].ends == []


def test_the_refusal_of_a_message_that_was_to_have_a_thread_is_posted_where_it_stands(make: Make) -> None:
    sim = make(per_person=1)
    sim.arrive("11", author=1)
    name = sim.arrive("14", author=1, thread=True)
    (owed,) = sim.audit.stories[name].owed
    assert (owed.channel, owed.reply_to) == (14, int(name))
    assert sim.threads == {}


def test_a_refusal_from_outside_is_a_claim_with_a_notice(make: Make) -> None:
    sim = make()
    claim = sim.claim("11")
    sim.step(Arrived(claim, refusal="There is nothing to ask."))
    assert [owed.text for owed in sim.audit.stories[claim.round].owed] == ["There is nothing to ask."]


def test_one_id_enters_once(make: Make) -> None:
    """§7.25: as long as its round lives the lanes know it themselves; afterwards the ledger does."""
    sim = make()
    claim = sim.claim("11")
    sim.step(Arrived(claim))
    before = len(sim.recorded)
    sim.step(Arrived(claim))
    assert len(sim.recorded) == before


def test_arrival_is_the_order_even_where_the_clock_goes_back(make: Make) -> None:
    """A restart after the wall clock was set back: older messages are still the older ones."""
    sim = make()
    first = sim.arrive("11")
    sim.now -= 3600 * SECOND
    sim.crash()
    second = sim.arrive("11")
    rounds = sim.lanes.world.open_in("11")
    assert [round_.id for round_ in rounds] == [first, second]
    assert rounds[0].at < rounds[1].at


# -- the queue -----------------------------------------------------------------------------------------------------


def test_moved_to_the_front_it_is_asked_next_and_its_lane_keeps_its_place(make: Make) -> None:
    """A lane that waits for a free child and whose first message changes is not forgotten (§7.27)."""
    sim = make(max_children=1)
    sim.arrive("12")
    kid = sim.up("12")
    older, moved = sim.arrive("11"), sim.arrive("11")
    sim.step(MoveFirst(moved))
    kid.answer()
    sim.do(kid)
    sim.exits(kid, 0)
    sim.pump()
    assert sim.up("11").head == f"{moved}@1"
    sim.step(MoveFirst(moved))  # it waits no more
    assert sim.lanes.world.lanes["11"].waiting == (older,)


def test_cancelled_and_deleted_while_they_wait(make: Make) -> None:
    sim = make()
    running = sim.arrive("11")
    sim.up("11").failed = None
    sim.rules = rules(busy="queue")
    sim.lanes.rules = sim.rules
    gone, deleted = sim.arrive("11"), sim.arrive("11")
    sim.step(Cancel(gone))
    sim.step(Deleted(int(deleted)))
    sim.step(Cancel(running))
    assert [owed.text for owed in sim.audit.stories[gone].owed] == ["Stopped: waiting message."]
    assert ([end.code for end in sim.audit.stories[deleted].ends], sim.audit.stories[deleted].owed) == (["deleted"], [])
    assert sim.audit.stories[running].ends == []


def test_edited_while_it_waits(make: Make) -> None:
    sim = make()
    name = sim.arrive("11")
    text = sim.audit.stories[name].claim.text + ", no, that"
    sim.step(Rewrite(name, text))
    sim.crash()
    kid = sim.up("11")
    assert kid.texts[f"{name}@1"] == text


def test_the_last_seen_id_only_grows_but_an_empty_channel_has_one(make: Make) -> None:
    """§6: at a first ready every channel gets one, so that nothing said later is missed."""
    sim = make()
    for message in (0, 7, 5, 7, 9):
        sim.step(Overlooked(15, message))
    assert [fact.message for fact in sim.recorded if isinstance(fact, facts.Seen)] == [0, 7, 9]


def test_the_claim_comes_before_any_sign(make: Make) -> None:
    """§6: in the same transaction as the last seen id; and no fact is recorded that no effect waits for."""
    sim = make()
    claim = sim.claim("11")
    stepped = sim.step(Arrived(claim))
    assert stepped is not None
    assert stepped.facts == (claim, facts.Seen(11, claim.message))
    assert sim.lanes.world.rounds[claim.round].phase is Phase.WAITING
    assert isinstance(facts.Claimed, type)
    assert facts.Claimed in facts.FULL


def test_the_defaults_are_those_of_the_contract() -> None:
    given = LaneRules()
    assert (given.capacity, given.per_person, given.bot_turns, given.max_children) == (500, 20, 5, 4)
    assert (given.max_attempts, given.backoff) == (3, (5 * SECOND, 15 * SECOND, 45 * SECOND))
