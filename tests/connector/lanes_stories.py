"""Stories of lanes, one for each thing that may happen to a message; what is told of them stands in `told/`."""

from collections.abc import Callable

from msgspec.structs import replace

from connector import facts
from connector.lane_base import SECOND
from connector.lane_events import (
    Arrived,
    Cancel,
    ChildDown,
    Deleted,
    Errand,
    Fault,
    Hurry,
    MoveFirst,
    Overlooked,
    PostDone,
    Rewrite,
    Shutdown,
    Tick,
)
from engine import commands
from engine import events as engine
from engine.events import Code, Outcome
from engine.state import Advice
from tests.connector.lanes_told import Told
from tests.machine.lanes_child import Child
from tests.machine.lanes_machine import LONG_WAIT, rules
from tests.machine.lanes_walks import FINAL, LIMITED, NAMELESS, QUOTA

Story = Callable[[Told], None]


def running(sim: Told, lane: str = "11", author: int = 1) -> tuple[str, Child]:
    """A message whose run has begun."""
    name = sim.arrive(lane, author)
    return name, sim.up(lane)


def ends(sim: Told, outcome: Outcome, lane: str = "11") -> Child:
    """A message whose run ends so, two seconds later."""
    _, kid = running(sim, lane)
    sim.now += 2 * SECOND + 345_678_000
    kid.fails(outcome)
    sim.do(kid)
    return kid


def answered(sim: Told) -> None:
    """Asked, answered, posted."""
    _, kid = running(sim)
    kid.speak()
    kid.tool(sim.now)
    sim.do(kid)
    kid.tool_returns()
    sim.now += 3 * SECOND
    kid.answer(settles=False)
    sim.do(kid)
    kid.further()
    sim.do(kid)
    kid.settle()
    sim.do(kid)
    sim.post_all()
    sim.wait(400 * SECOND)


def turned_away(sim: Told) -> None:
    """A lane that is full, a person who has too many, one bot's message too many, one that is refused at once."""
    sim.lanes.rules = rules(capacity=2, per_person=1, bot_turns=1, busy="queue")
    running(sim, "11", 1)
    for lane, author in (("11", 2), ("12", 2), ("11", 3), ("11", 4)):
        sim.arrive(lane, author)
    for _ in range(2):
        sim.arrive("13", 9, bot=True)
    sim.step(Arrived(sim.claim("14", 5), refusal="You may not."))
    sim.step(Arrived(sim.claim("14", 6, thread=True), refusal="You may not."))
    sim.step(Overlooked(15, 7))
    sim.step(Overlooked(15, 6))


def steered(sim: Told) -> None:
    """Lines of a run: heard with a tool open, given back, refused, declined unwritten."""
    _, kid = running(sim)
    line = sim.arrive("11")
    kid.tool(sim.now)
    kid.hear(f"{line}@1")
    sim.do(kid)
    for refused in (False, True):
        other = sim.arrive("11")
        kid.return_steer(f"{other}@1", refused=refused)
        sim.do(kid)
        sim.step(Cancel(other))
    kid.settling = True
    declined = sim.claim("11")
    sim.step(Arrived(declined, Advice.STEER))
    kid.settling = False
    sim.pump()
    kid.answer(apart=True)
    sim.do(kid)
    sim.post_all()


def joined(sim: Told) -> None:
    """One answer for two; a lie about a head that nobody knows."""
    _, kid = running(sim)
    line = sim.arrive("11")
    kid.hear(f"{line}@1")
    sim.do(kid)
    other = sim.arrive("11")
    kid.open.pop(f"{other}@1")
    kid.out.append(engine.Heard(f"{other}@1", None))
    kid.joined.append(f"{other}@1")
    sim.do(kid)
    kid.answer()
    sim.do(kid)
    sim.post_all()


def interrupted(sim: Told) -> None:
    """A person's line ends a tool that hangs."""
    _, kid = running(sim)
    kid.tool(sim.now)
    sim.do(kid)
    sim.now += LONG_WAIT + 1
    sim.arrive("11")
    sim.pump()
    kid.release()
    sim.do(kid)
    kid.start()
    sim.do(kid)
    kid.out.append(engine.ToolOpened(kid.head, "c", ""))
    sim.do(kid)
    sim.step(Arrived(sim.claim("11"), Advice.INTERRUPT))


def ended_otherwise(sim: Told) -> None:
    """Ends without an answer, each with its sentence."""
    for code in (Code.EMPTY, Code.TIMEOUT, Code.REFUSED, Code.HANDLED, Code.STOPPED):
        ends(sim, Outcome(code, detail=f"because {code}"))
        sim.post_all()


def failed(sim: Told) -> None:
    """Errors of the provider that are not asked again."""
    for detail in (FINAL, NAMELESS, QUOTA % (sim.now // SECOND + 9_999_999), "429: quota exceeded", "no status at all"):
        ends(sim, Outcome(Code.PROVIDER, detail=detail))
        sim.post_all()


def refused_busy(sim: Told) -> None:
    """The child was at something of its own."""
    sim.arrive("11")
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    sim.do(kid)
    kid.refuse(busy=True)
    sim.do(kid)
    kid.orphan_ends()
    sim.do(kid)


def limited(sim: Told) -> None:
    """Asked again after its wait, until no step is left; a person's hurry in between."""
    sim.dice = 0.5
    kid = ends(sim, Outcome(Code.PROVIDER, detail=LIMITED))
    name = next(iter(sim.lanes.world.rounds))
    sim.step(Hurry(name))
    sim.step(Hurry(name))
    sim.pump()
    kid.start()
    sim.do(kid)
    kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kid)
    sim.post_all()


def quota(sim: Told) -> None:
    """A quota that names its reset waits for it once."""
    kid = ends(sim, Outcome(Code.PROVIDER, detail=QUOTA % (sim.now // SECOND + 100)))
    sim.next_alarm()
    sim.next_alarm()
    sim.next_alarm()
    sim.pump()
    if kid.head and not kid.running:
        kid.start()
        sim.do(kid)
        kid.fails(Outcome(Code.PROVIDER, detail=QUOTA % (sim.now // SECOND + 100)))
        sim.do(kid)


def behind_the_gate(sim: Told) -> None:
    """One lane closes the gate, the others wait; one probes, and those behind follow."""
    sim.lanes.rules = sim.rules = rules(max_children=3)
    kids = [running(sim, lane)[1] for lane in ("11", "12", "13")]
    for kid in kids[1:]:
        kid.answer()
        sim.do(kid)
    sim.post_all()
    kids[0].fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.do(kids[0])
    for lane in ("12", "13", "12"):
        sim.arrive(lane)
    sim.pump()
    sim.wait(5 * SECOND)
    sim.pump()
    probe = next(kid for kid in kids if kid.head)
    probe.start()
    sim.do(probe)
    probe.speak()
    sim.do(probe)
    for _ in range(4):
        sim.next_alarm()
    sim.pump()


def lost_children(sim: Told) -> None:
    """A child that dies in a turn, with and without a tool; a wedge; the drain that follows."""
    _, kid = running(sim, "11")
    _, other = running(sim, "12")
    other.tool(sim.now)
    sim.do(other)
    sim.now += 7 * SECOND
    sim.exits(kid, code=-9)
    sim.pump()
    other.times_out()
    sim.do(other)
    other.wedge()
    sim.do(other)
    sim.now += 19 * SECOND
    sim.step(Tick())
    sim.exits(other)
    sim.pump()


def idle_exits(sim: Told) -> None:
    """Three exits in a minute without a turn are no accident."""
    for _ in range(3):
        _, kid = running(sim)
        kid.answer()
        sim.do(kid)
        sim.post_all()
        sim.exits(kid)
        sim.pump()
        sim.now += 10 * SECOND


def dead_letter(sim: Told) -> None:
    """Written as often as it may be."""
    for _ in range(2):
        name = next(iter(sim.lanes.world.rounds), "") or sim.arrive("11")
        kid = sim.up("11")
        kid.out.append(engine.Ended(f"{name}@{len(sim.audit.stories[name].writes)}", Outcome(Code.REFUSED, busy=True)))
        kid.head = ""
        kid.out.append(engine.Released(f"{name}@{len(sim.audit.stories[name].writes)}"))
        kid.running = False
        sim.do(kid)
    sim.post_all()


def unusable(sim: Told) -> None:
    """A child that cannot be had at all, while another lane's turn runs."""
    running(sim, "11")
    sim.arrive("12")
    sim.step(ChildDown("12", 2, None, expected=False, reason="no such file"))


def shut_down(sim: Told) -> None:
    """SIGTERM with a turn running, one waiting, an errand behind it; nothing new after it."""
    _, kid = running(sim, "11")
    sim.step(Arrived(sim.claim("11"), Advice.QUEUE))
    sim.step(Errand("11", "a", commands.GetModels(""), sim.now))
    sim.step(Shutdown())
    sim.step(Shutdown())
    sim.step(Errand("11", "b", commands.GetModels(""), sim.now))
    sim.step(Arrived(sim.claim("11"), Advice.STEER))
    sim.do(kid)
    sim.wait(5 * SECOND)
    sim.crash()


def fault(sim: Told) -> None:
    """A fault of ours: the others' turns get their time, and are cut when it is over."""
    running(sim, "11")
    sim.now += 3 * SECOND
    sim.step(Fault("something of ours"))
    sim.arrive("12")
    sim.wait(19 * SECOND)
    sim.wait(SECOND)


def deleted_and_edited(sim: Told) -> None:
    """What waits follows its message; what runs gets one sign."""
    first, kid = running(sim)
    waiting = []
    for _ in range(4):
        claim = sim.claim("11")
        sim.step(Arrived(claim, Advice.QUEUE))
        waiting.append(claim)
    sim.step(Rewrite(waiting[0].round, waiting[0].text + " and more"))
    sim.step(Rewrite(waiting[0].round, waiting[0].text + " and more"))
    sim.step(Rewrite(waiting[1].round, ""))
    sim.step(MoveFirst(waiting[3].round))
    sim.step(Deleted(waiting[3].message))
    sim.step(Rewrite(first, sim.audit.stories[first].claim.text + " and more"))
    sim.step(Rewrite(first, sim.audit.stories[first].claim.text + " and less"))
    sim.step(Deleted(int(first)))
    sim.step(Deleted(4, known=True))
    sim.step(Deleted(5))
    kid.answer()
    sim.do(kid)
    sim.post_all()
    sim.step(PostDone(facts.Dropped("nobody/answer/1", "unknown")))


def retried(sim: Told) -> None:
    """Asked once more after its end; a doubled event."""
    ends(sim, Outcome(Code.EMPTY))
    sim.post_all()
    name = next(iter(sim.audit.stories))
    again = sim.retry(name)
    sim.step(Arrived(replace(sim.audit.stories[again].claim, at=1)))


STORIES: tuple[Story, ...] = (
    answered, turned_away, steered, joined, interrupted, ended_otherwise, failed, refused_busy, limited, quota,
    behind_the_gate, lost_children, idle_exits, dead_letter, unusable, shut_down, fault, deleted_and_edited, retried,
)  # fmt: skip
