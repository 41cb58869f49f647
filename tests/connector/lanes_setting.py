"""How far a round has come, and how it ended: what the tests of ends and of evidence share."""

from collections.abc import Callable

from connector import notices
from connector.world import Phase
from tests.machine.lanes_child import Child
from tests.machine.lanes_machine import Sim

Make = Callable[..., Sim]
REPEAT = notices.repeat_note()


def at(sim: Sim, phase: str) -> tuple[str, Child]:
    """A round whose prompt has come so far."""
    name = sim.arrive("11")
    sim.pump()
    kid = sim.kid("11")
    kid.come_up()
    if phase == "held":
        sim.hear(kid)
        kid.orphan_starts()
        sim.pump()
        sim.hear(kid)
        sim.pump()
        return name, kid
    sim.do(kid)
    if phase == "written":
        return name, kid
    kid.start()
    if phase == "tool":
        kid.tool(sim.now)
    elif phase == "answered":
        kid.answer()
    elif phase == "timeout":
        kid.times_out()
    sim.do(kid)
    return name, kid


def state(sim: Sim, name: str) -> tuple[Phase, int, str]:
    round_ = sim.lanes.world.rounds[name]
    return round_.phase, round_.attempts, round_.note


def ended(sim: Sim) -> int | None:
    """The code with which the program is asked to end, if it is."""
    return sim.quit.code if sim.quit is not None else None


def end(sim: Sim, name: str) -> tuple[str, str]:
    """Code and notice."""
    story = sim.audit.stories[name]
    return story.ends[0].code, story.owed[0].text
