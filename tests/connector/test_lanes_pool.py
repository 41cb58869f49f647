"""Children for lanes: fair, few, evicted when idle; threads and posts of a lane (BEHAVIOUR §0, §6; CONTRACT)."""

import pytest

from connector import facts, notices
from connector.lane_base import Stand
from connector.lane_effects import React, Retire, Spawn, Tell, Typing
from connector.lane_events import Arrived, ChildSays, ChildUp, Forget, PostDone, SessionGone, Tick
from connector.world import Phase
from engine import commands
from engine import events as engine
from engine.events import SECOND, Code, Outcome
from tests.connector.lanes_setting import Make
from tests.machine.lanes_child import Child
from tests.machine.lanes_machine import Sim


def spawned(sim: Sim) -> list[str]:
    return [effect.lane for effect in sim.effects if isinstance(effect, Spawn)]


def retired(sim: Sim) -> list[str]:
    return [effect.lane for effect in sim.effects if isinstance(effect, Retire)]


def answer(sim: Sim, lane: str) -> Child:
    kid = sim.up(lane)
    kid.answer()
    sim.do(kid)
    sim.post_all()
    return kid


def gone(sim: Sim, kid: Child) -> None:
    sim.exits(kid, 0)
    sim.pump()


def test_the_oldest_waiting_lane_gets_the_free_place(make: Make) -> None:
    sim = make(max_children=1)
    sim.arrive("11")
    sim.arrive("13")
    sim.arrive("12")
    for lane in ("11", "13", "12"):
        assert spawned(sim)[-1] == lane
        kid = answer(sim, lane)
        assert (retired(sim)[-1:] == [lane]) is (lane != "12")  # at once, and only where somebody waits
        if lane != "12":
            gone(sim, kid)


def test_the_least_recently_used_idle_child_makes_room(make: Make) -> None:
    sim = make(max_children=3)
    for lane in ("11", "12", "13"):
        sim.arrive(lane)
        sim.now += SECOND
    for lane in ("12", "11", "13"):
        answer(sim, lane)
        sim.now += SECOND
    sim.arrive("14")
    assert retired(sim) == ["12"]
    sim.arrive("15")
    assert retired(sim) == ["12"]  # one at a time
    gone(sim, sim.kid("12"))
    assert retired(sim) == ["12", "11"]


def test_a_busy_child_is_never_evicted(make: Make) -> None:
    sim = make(max_children=1)
    sim.arrive("11")
    kid = sim.up("11")
    sim.arrive("12")
    sim.step(ChildSays("11", kid.number, (), busy=False))  # a word from before it was given the prompt
    sim.step(Tick())
    assert retired(sim) == []


def test_a_warm_lane_goes_on_three_times_while_an_older_one_waits(make: Make) -> None:
    """Fair: then the older lane takes the slot; and the warm one comes back afterwards."""
    sim = make(max_children=1, busy="queue", capacity=9, per_person=9)
    sim.arrive("11")
    kid = sim.up("11")
    sim.arrive("12")
    for _ in range(5):
        sim.arrive("11")
    served = 1
    while not kid.stopping:
        kid.answer()
        sim.do(kid)
        if kid.head:
            served += 1
            kid.start()
            sim.do(kid)
    assert served == 1 + 3
    gone(sim, kid)
    assert spawned(sim) == ["11", "12"]
    second = answer(sim, "12")
    gone(sim, second)
    assert spawned(sim) == ["11", "12", "11"]


def test_a_lane_whose_child_is_leaving_gets_no_second_one(make: Make) -> None:
    """One child of a lane, one writer of a session file, ever: also where another place is free."""
    sim = make(max_children=2)
    sim.arrive("11")
    answer(sim, "11")
    sim.now += 300 * SECOND
    sim.step(Tick())
    assert retired(sim) == ["11"]
    sim.arrive("11")
    sim.step(Tick())
    assert spawned(sim) == ["11"]
    gone(sim, sim.kid("11"))
    assert spawned(sim) == ["11", "11"]


def test_an_idle_child_is_stopped_after_idle_timeout_of_its_last_turn(make: Make) -> None:
    sim = make()
    sim.arrive("11")
    answer(sim, "11")
    sim.wait(200 * SECOND)
    sim.arrive("11")
    answer(sim, "11")
    sim.wait(299 * SECOND)
    assert retired(sim) == []
    sim.wait(1 * SECOND)
    assert retired(sim) == ["11"]
    gone(sim, sim.kid("11"))
    assert sim.quit is None
    assert sim.lanes.world.lanes["11"].session == "file-1"


def test_a_lane_in_backoff_lends_its_place(make: Make) -> None:
    sim = make(max_children=1)
    sim.arrive("11")
    kid = sim.up("11")
    kid.fails(Outcome(Code.PROVIDER, detail="429: {}"))
    sim.do(kid)
    sim.arrive("12")
    assert retired(sim) == ["11"]


# -- sessions ------------------------------------------------------------------------------------------------------


def told(sim: Sim) -> list[object]:
    """The session commands that were given, in order."""
    works = [e.given.work for e in sim.effects if isinstance(e, Tell) and isinstance(e.given, engine.Submit)]
    return [type(work.command) for work in works if isinstance(work, engine.Request)]


def test_the_first_run_makes_the_session_and_the_next_child_resumes_it(make: Make) -> None:
    sim = make()
    sim.arrive("11")
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    sim.do(kid)
    assert sim.lanes.world.lanes["11"].session == ""  # nothing of it is on the disk yet
    kid.start()
    sim.do(kid)
    assert sim.lanes.world.lanes["11"].session == "file-1"
    sim.crash()
    sim.up("11")
    assert told(sim) == [commands.SwitchSession]
    assert sim.lanes.world.lanes["11"].session == "file-1"


def test_a_session_that_is_gone_is_told_once_and_forgotten(make: Make) -> None:
    sim = make()
    sim.arrive("11")
    sim.up("11")
    sim.crash()
    sim.step(SessionGone("11"))
    assert sim.lanes.world.lanes["11"].session == ""
    sim.up("11")
    assert told(sim) == []


@pytest.mark.parametrize("busy", [False, True])
def test_new_ends_the_old_session_for_good(make: Make, *, busy: bool) -> None:
    """`/new` in a turn: the turn ends as it would; the next one is in a new session."""
    sim = make()
    sim.arrive("11")
    kid = sim.up("11")
    if not busy:
        kid.answer()
        sim.do(kid)
    sim.step(Forget("11"))
    assert sim.lanes.world.lanes["11"].session == ""
    if busy:
        kid.answer()
        sim.do(kid)
    later = sim.arrive("11")
    sim.pump()
    assert sim.up("11").head == f"{later}@1"
    assert told(sim)[0] is commands.NewSession
    assert sim.lanes.world.lanes["11"].session == f"new-{kid.number}"


# -- posts and threads ---------------------------------------------------------------------------------------------


def test_answered_ends_when_its_posts_stand_and_its_run_has_settled(make: Make) -> None:
    sim = make()
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.answer(settles=False)
    sim.do(kid)
    sim.post_all()
    kid.further()
    sim.do(kid)
    assert list(sim.posts) == [f"{name}/answer/2"]
    kid.settle()
    sim.do(kid)
    assert sim.lanes.world.rounds[name].phase is Phase.POSTING
    sim.post_all()
    assert sim.audit.stories[name].ends == [facts.Ended(name, "answered")]
    assert name not in sim.lanes.world.rounds


def test_an_answer_that_discord_refuses_for_good_is_told_above(make: Make) -> None:
    """Issue 3: a notice elsewhere in the conversation, once; where there is no elsewhere, its end says it."""
    sim = make()
    name = sim.arrive("14", thread=True)
    sim.thread(int(name), opened=True)
    answer_of = sim.up(name)
    answer_of.answer()
    sim.do(answer_of)
    sim.post(f"{name}/answer/1", refused="unknown channel")
    sim.pump()
    (lost,) = sim.posts.values()
    assert (lost.channel, lost.text, lost.reply_to) == (14, notices.answer_lost(), int(name))
    sim.post(lost.key, refused="unknown channel")
    sim.pump()
    assert [end.code for end in sim.audit.stories[name].ends] == ["answered"]
    assert sim.posts == {}


def test_a_post_nobody_knows_changes_nothing(make: Make) -> None:
    sim = make()
    before = len(sim.recorded)
    sim.step(PostDone(facts.Posted("9/answer/1", 0, 1, 5)))
    sim.step(PostDone(facts.Dropped("9/answer/1", "gone")))
    assert len(sim.recorded) == before


def test_a_thread_that_cannot_be_had_moves_everything_above_it_once(make: Make) -> None:
    """§7.31: the answer still goes to the conversation, with one note; typing, retry and restart follow it."""
    sim = make()
    name = sim.arrive("14", thread=True)
    sim.up(name)
    assert sim.typing == {int(name)}
    sim.thread(int(name), opened=False)
    sim.pump()
    assert sim.typing == {14}
    sim.crash()
    assert sim.threads == {}
    assert [owed.text for owed in sim.posts.values()] == [notices.no_thread()]
    kid = answer(sim, name)
    (owed,) = sim.audit.stories[name].owed
    assert (owed.channel, owed.reply_to) == (14, int(name))
    again = sim.retry(name)
    kid.proceed()
    answer(sim, name)
    (owed,) = sim.audit.stories[again].owed
    assert (owed.channel, owed.reply_to) == (14, int(name))
    assert sim.typing == set()


def test_in_a_thread_its_starter_cannot_be_referred_to_and_has_its_signs_above(make: Make) -> None:
    sim = make()
    name = sim.arrive("14", thread=True)
    sim.thread(int(name), opened=True)
    answer(sim, name)
    (owed,) = sim.audit.stories[name].owed
    assert (owed.channel, owed.reply_to) == (int(name), 0)
    sim.retry(name)
    signs = {effect.channel for effect in sim.effects if isinstance(effect, React)}
    assert signs == {14}
    assert facts.Seen(int(name), int(name)) in sim.recorded


def test_typing_is_on_while_a_lane_has_a_turn(make: Make) -> None:
    sim = make()
    sim.arrive("11")
    answer(sim, "11")
    typed = [effect for effect in sim.effects if isinstance(effect, Typing)]
    assert typed == [Typing(11, on=True), Typing(11, on=False)]


def test_a_step_does_not_look_at_other_lanes(make: Make) -> None:
    """The cost of a step does not grow with the lanes or with what is past: none of them is even read."""
    sim = make()
    for number in range(50):
        sim.step(Forget(str(100 + number)))

    class Watched(dict[str, object]):
        looks = 0

        def values(self):  # type: ignore[no-untyped-def]
            type(self).looks += 1
            return super().values()

        def items(self):  # type: ignore[no-untyped-def]
            type(self).looks += 1
            return super().items()

        def __iter__(self):  # type: ignore[no-untyped-def]
            type(self).looks += 1
            return super().__iter__()

    lanes = sim.lanes
    lanes.world.lanes = Watched(lanes.world.lanes)  # type: ignore[assignment]
    lanes.world.rounds = Watched(lanes.world.rounds)  # type: ignore[assignment]
    name = "5001"
    claim = facts.Claimed(name, "11", 11, 5001, 5001, 1, "p", f"[discord] private · p (1) · {name}\n\nhi", sim.now)
    given = (
        Arrived(claim),
        ChildUp("11", 1, 7, "then"),
        ChildSays("11", 1, (engine.Ready({}),), busy=False),
        ChildSays("11", 1, (engine.Sent(f"{name}@1"), engine.Started(f"{name}@1")), busy=True),
        ChildSays("11", 1, (engine.ToolOpened(f"{name}@1", "c", "bash"),), busy=True),
        ChildSays("11", 1, (engine.Ended(f"{name}@1", Outcome(Code.ANSWERED, text="hi")),), busy=True),
        ChildSays("11", 1, (engine.Released(f"{name}@1"),), busy=False),
        PostDone(facts.Posted(f"{name}/answer/1", 0, 1, 5)),
        Tick(),
    )
    for one in given:
        lanes.step(one, sim.now)
    assert lanes.world.rounds == {}
    assert lanes.kids["11"].stand is Stand.READY
    assert Watched.looks == 0
    sim.begin()
