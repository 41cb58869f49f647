"""Random walks through a world from a seed: quick, and the same every time; they decide nothing but the way."""

import random
from collections.abc import Callable

from tests.machine.checked_world import Core
from tests.machine.lying_world import LIMITS, NO_DIALOGS, LyingWorld

STEPS: list[tuple[int, Callable[[LyingWorld, random.Random], None]]] = [
    (40, lambda w, r: w.obey()),
    (14, lambda w, r: w.submit(r.randrange(8))),
    (12, lambda w, r: w.steer()),
    (8, lambda w, r: w.stop_turn(r.randrange(5))),
    (4, lambda w, r: w.abort_orphan()),
    (3, lambda w, r: w.answer_a_command()),
    (2, lambda w, r: w.answer_dialog(r.randrange(4))),
    (12, lambda w, r: w.respond(r.randrange(8), r.randrange(8))),
    (6, lambda w, r: w.agent_start()),
    (5, lambda w, r: w.agent_end(r.randrange(2))),
    (4, lambda w, r: w.settled()),
    (6, lambda w, r: w.speak(r.randrange(14))),
    (6, lambda w, r: w.echo(r.randrange(6))),
    (10, lambda w, r: w.tool(r.randrange(9))),
    (7, lambda w, r: w.prove(r.randrange(6))),
    (3, lambda w, r: w.pause(r.randrange(4))),
    (4, lambda w, r: w.dialog(r.randrange(5))),
    (2, lambda w, r: w.nonsense(r.randrange(6))),
    (2, lambda w, r: w.stream()),
    (1, lambda w, r: w.foreign(r.randrange(2))),
    (6, lambda w, r: w.wait(r.randrange(1, 25))),
    (7, lambda w, r: w.tick(r.randrange(11))),
    (1, lambda w, r: w.stop_child() if r.randrange(8) == 0 else w.exit() if r.randrange(8) == 0 else None),
]  # fmt: skip


def lie(core: Core, seed: int, steps: int = 60) -> LyingWorld:
    """One walk with a lying child; it ends with the child's exit, at which every turn must have ended."""
    chance = random.Random(seed)
    world = LyingWorld(core, NO_DIALOGS if seed % 4 == 0 else LIMITS)
    ways = [way for weight, way in STEPS for _ in range(weight)]
    for _ in range(steps):
        if not world.ref.alive and chance.randrange(4) == 0:
            break
        chance.choice(ways)(world, chance)
    world.exit()
    return world
