"""What can happen to a connector, one move at a time; a number chooses among what is possible."""

import random
from collections.abc import Callable

from connector import facts
from connector.lane_events import Arrived as Arrive
from connector.lane_events import (
    Cancel,
    ChildDown,
    ChildSays,
    Deleted,
    Fault,
    Forget,
    Hurry,
    MoveFirst,
    Overlooked,
    PlaceGone,
    PostDone,
    Rewrite,
    SessionGone,
    Shutdown,
    Tick,
)
from engine import events as engine
from engine.events import SECOND, Code, Outcome
from tests.machine.lanes_child import Child
from tests.machine.lanes_machine import Sim

LANES = ("11", "12", "13")
LIMITED = '429: {"message":"Rate limit reached","type":"rate_limit_error","code":"rate_limit_exceeded"}'
NAMED = '529: {"message":"Overloaded, try again in 40s"}'
QUOTA = '429: {"message":"Quota spent, resets at %d","type":"insufficient_quota"}'
NAMELESS = '429: {"message":"You exceeded your current quota","type":"insufficient_quota"}'
FINAL = '400: {"message":"bad request"}'


# -- people ------------------------------------------------------------------------------------------------------------


def arrive(sim: Sim, n: int) -> None:
    world = sim.lanes.world
    busy = [kid.lane for kid in sim.children.values() if kid.alive and kid.healthy and not world.lane(kid.lane).waiting]
    lane = busy[n % len(busy)] if busy and n % 4 else LANES[n % 3]
    if len(world.lane(lane).waiting) > 2 and n % 8:
        return  # few are to be refused
    sim.arrive(lane, author=1 + (n // 3) % 5, bot=(n // 15) % 8 == 0)


def arrive_together(sim: Sim, n: int) -> None:
    """Two lines in one batch: both are advised of before either is stepped, perhaps while a tool hangs."""
    busy = [kid for kid in sim.children.values() if kid.alive and kid.healthy]
    lane = busy[n % len(busy)].lane if busy else LANES[n % 3]
    if any(kid.tools for kid in busy) and n % 2:
        sim.now += 61 * SECOND
    if len(sim.lanes.world.lane(lane).waiting) > 1 and n % 8:
        return
    claims = [sim.claim(lane, author=1 + (n // 4) % 5) for _ in range(2)]
    advice = sim.advice(lane)
    for claim in claims:
        sim.step(Arrive(claim, advice))


def arrive_in_thread(sim: Sim, n: int) -> None:
    waiting = sim.lanes.world.waiting_by
    busiest = max(waiting, key=lambda author: waiting[author], default=1)
    full = waiting.get(busiest, 0) >= sim.rules.per_person
    if full or len(sim.lanes.world.rounds) < 8 or n % 8 == 0:
        sim.arrive("14", author=busiest if full or n % 2 else 1 + n % 5, thread=True)


def again(sim: Sim, n: int) -> None:
    """A message comes a second time while its round lives: doubled events, a replay."""
    live = [story.claim for name, story in sim.audit.stories.items() if name in sim.lanes.world.rounds]
    if live:
        claim = live[n % len(live)]
        sim.step(Arrive(claim, sim.advice(claim.lane)))


def retry(sim: Sim, n: int) -> None:
    over = [n for n, story in sim.audit.stories.items() if story.ends and story.ends[0].code != "deleted"]
    if over:
        sim.retry(over[n % len(over)])


def stop(sim: Sim, n: int) -> None:
    scope = ("turn", "lane", "round")[n % 3]
    rounds = list(sim.lanes.world.rounds.values())
    lane, name = LANES[(n // 3) % 3], ""
    if scope == "round" and rounds:
        round_ = rounds[(n // 3) % len(rounds)]
        lane, name = round_.lane, round_.id
    sim.stop(scope, lane, name, word=scope == "turn" and (n // 9) % 2 == 0)


def act_on_round(sim: Sim, n: int) -> None:
    names = list(sim.lanes.world.rounds)
    if not names:
        return
    name = names[(n // 8) % len(names)]
    what = n % 8
    if what < 3:
        sim.step(Hurry(name))
    elif what == 3:
        sim.step(Cancel(name))
    elif what == 4:
        sim.step(Deleted(sim.lanes.world.rounds[name].message))
    elif what < 7:
        sim.step(MoveFirst(name))
    else:
        sim.step(Rewrite(name, sim.audit.stories[name].claim.text + " (edited)"))


def odd(sim: Sim, n: int) -> None:
    match n % 6:
        case 0:
            sim.step(Forget(LANES[n // 6 % 3]))
        case 1:
            sim.step(Overlooked(int(LANES[n // 6 % 3]), n % 5000))
        case 2:
            kids = [kid for kid in sim.children.values() if kid.alive and not kid.ready and kid.session]
            starting = [kid for kid in kids if sim.lanes.world.lane(kid.lane).session == kid.session]
            if starting:
                sim.now += 1  # a child needs time to start: no two lose a lane's session in one instant
                sim.step(SessionGone(starting[0].lane))
        case 3 if n % 10 == 3:
            sim.step(Shutdown())
        case 5 if n % 24 == 5:
            if threads := sorted(sim.lanes.world.threads):
                sim.step(PlaceGone(threads[n % len(threads)]))
        case 4 if n % 20 == 4:
            sim.step(Fault("something of ours"))
        case _:
            sim.step(PostDone(facts.Dropped("nobody/answer/1", "unknown")))


# -- children ----------------------------------------------------------------------------------------------------------


def child_moves(sim: Sim, kid: Child, n: int) -> None:
    """One thing that this child may do now."""
    moves: list[Callable[[], None]] = []
    if kid.wedged or kid.stopping:
        moves.append(lambda: sim.exits(kid))
    elif not kid.ready:
        moves += [kid.come_up] * 30 + [lambda: sim.exits(kid)]
        moves += [kid.come_up_busy] * 3
    else:
        own = kid.head and not kid.head.startswith("session/")
        if kid.head and not kid.running:
            moves += [kid.start] * 12
            if own and kid.failed is None:
                moves += [lambda: kid.refuse(busy=n % 2 == 0), kid.handle, kid.times_out]
            if kid.failed is not None:
                moves += [kid.release] * 30 + [kid.wedge]
        elif kid.head:
            moves += run_moves(sim, kid, n)
        else:
            moves += [kid.orphan_ends] * 3 if kid.orphan else [kid.orphan_starts] if n % 30 == 0 else []
        if kid.held:
            moves.append(kid.times_out)
        for steer in kid.open:
            moves += [lambda s=steer: kid.return_steer(s, refused=n % 3 == 0)] * 4  # type: ignore[misc]
            if kid.running:
                moves += [lambda s=steer: kid.hear(s)] * 8  # type: ignore[misc]
        if n % 61 == 0:
            moves += [lambda: sim.exits(kid, code=-9), kid.wedge]
    if moves:
        moves[(n // 16) % len(moves)]()
        sim.hear(kid)


def run_moves(sim: Sim, kid: Child, n: int) -> list[Callable[[], None]]:
    if kid.settling:
        return [kid.further, kid.settle]
    moves: list[Callable[[], None]] = [kid.speak, kid.speak]
    tools, answers, later, errors = sim.taste
    moves += [lambda: kid.tool(sim.now)] * tools
    moves += [kid.tool_returns] * 2 if kid.tools else []
    if kid.failed is not None:
        return [*moves, kid.release, kid.release]
    apart = n % 2 == 0
    moves += [lambda: kid.answer(apart=apart)] * answers + [lambda: kid.answer(apart=apart, settles=False)] * later
    error = (LIMITED, LIMITED, LIMITED, NAMED, QUOTA % (sim.now // SECOND + 100), NAMELESS, FINAL)[(n // 2) % 7]
    ends = [Outcome(Code.PROVIDER, detail=error)] * errors
    ends += [Outcome(Code.EMPTY), Outcome(Code.INTERRUPTED)]
    moves += [lambda o=outcome: kid.fails(o) for outcome in ends]  # type: ignore[misc]
    return [*moves, kid.times_out] if n % 8 == 0 else moves


def child(sim: Sim, n: int) -> None:
    alive = [kid for kid in sim.children.values() if kid.alive]
    busy = [kid for kid in alive if kid.busy]
    if sim.inbox and not busy:
        sim.deliver()
    elif alive:
        alive = busy if busy and n % 16 else alive
        child_moves(sim, alive[n % len(alive)], n // len(alive))


def onward(sim: Sim, n: int) -> None:
    """What is on its way is delivered, and every child comes as far as a running turn; then one thing happens in it."""
    for _ in range(3):
        for kid in [kid for kid in sim.children.values() if kid.alive and not (kid.wedged or kid.stopping)]:
            if not kid.ready:
                kid.come_up()
            elif kid.head and not kid.running and kid.failed is None:
                kid.start()
            sim.hear(kid)
        for _ in range(20):
            if sim.inbox:
                sim.deliver()
    running = [kid for kid in sim.children.values() if kid.alive and kid.healthy]
    if not running:
        return
    kid = running[n % len(running)]
    match (n // 4) % 4:
        case 0:
            kid.tool(sim.now)
        case 1:
            kid.answer(settles=False)
        case 2 if not sim.lanes.world.lane(kid.lane).waiting:
            name = sim.arrive(kid.lane)
            if f"{name}@1" in kid.open:
                kid.hear(f"{name}@1")
        case _:
            kid.fails(Outcome(Code.PROVIDER, detail=LIMITED))
    sim.hear(kid)


def lie(sim: Sim, n: int) -> None:
    """Late, stale, doubled and foreign words: of a turn that is over in that child, or of a child that is gone."""
    kids = list(sim.children.values())
    if not kids:
        return
    kid = kids[n % len(kids)]
    active = {kid.head, *kid.joined, *kid.open, *(held.turn for held in kid.held)} if kid.alive else set()
    own = [turn for turn in kid.past if turn not in active and turn.rpartition("@")[0] == kid.head.rpartition("@")[0]]
    others = [round_ for round_ in sim.lanes.world.rounds.values() if round_.child != kid.number]
    foreign = [round_.turn for round_ in others if kid.alive or round_.lane == kid.lane]
    old = own or foreign or [turn for turn in kid.past if turn not in active] or ["7@1"]
    turn = old[(n // 7) % len(old)]
    if any(held.turn.startswith("session/") for held in kid.held):
        kid.times_out()
        sim.hear(kid)
        return
    told = (
        engine.Started(turn),
        engine.Ended(turn, Outcome(Code.ANSWERED, text="a lie")),
        engine.Ended(turn, Outcome(Code.PROVIDER, detail=LIMITED)),
        engine.Ended(turn, Outcome(Code.STOPPED)),
        engine.Ended(turn, Outcome(Code.EXIT)) if not kid.alive else engine.Released(turn),
        engine.Heard(turn, turn),
        engine.Returned(turn),
        engine.ToolOpened(turn, "old-call", "bash"),
        engine.Released(turn),
        engine.Progress(turn, "old text", thinking=True),
    )[(n // 3) % 10]
    busy = kid.busy if kid.alive else bool(n % 2)
    sim.inbox.append(ChildSays(kid.lane, kid.number, (told,), busy))
    if n % 5 == 0:
        sim.inbox.append(ChildDown(kid.lane, kid.number + 1000, 1, expected=False))


# -- the rest of the world ---------------------------------------------------------------------------------------------


def deliver(sim: Sim, n: int) -> None:
    for _ in range(1 + n % 5):
        if sim.inbox:
            sim.deliver()


def discord(sim: Sim, n: int) -> None:
    if sim.threads and n % 3 == 0:
        message = list(sim.threads)[n % len(sim.threads)]
        sim.thread(message, opened=n % 4 != 0)
    elif sim.posts:
        key = list(sim.posts)[n % len(sim.posts)]
        if sim.posts[key].channel not in sim.threads.keys() | sim.undone:
            sim.post(key, refused="unknown channel" if n % 11 == 0 else "")


def clock(sim: Sim, n: int) -> None:
    match n % 4:
        case 0:
            sim.step(Tick())
        case 1:
            sim.wait((1 + n % 40) * SECOND)
        case _:
            sim.next_alarm()


def crash(sim: Sim, n: int) -> None:
    """The next step is cut: before its record, behind it, or between two of its effects; or the crash is now."""
    if n % 4 == 0:
        sim.crash()
    else:
        sim.kill_at = n % 5


Moves = tuple[tuple[int, Callable[[Sim, int], None]], ...]

MOVES: Moves = (
    (9, arrive),
    (2, arrive_in_thread),
    (3, arrive_together),
    (2, again),
    (2, retry),
    (3, stop),
    (3, act_on_round),
    (2, odd),
    (50, child),
    (6, onward),
    (8, lie),
    (36, deliver),
    (8, discord),
    (7, clock),
    (1, crash),
)
"""Each with how often it comes; what a walk does often differs from walk to walk."""

ALWAYS = (child, deliver, discord, clock)


def move(sim: Sim, act: Callable[[Sim, int], None], n: int) -> None:
    """One move; the end that the lanes ask for comes at once, or a little later."""
    sim.dice = (n % 10) / 10
    act(sim, n)
    if sim.quit is not None and n % 3:
        sim.restart()


def walk(seed: int, steps: int = 200, sim: Sim | None = None, more: Moves = ()) -> Sim:
    """A random walk from a seed, to its rest; the same every time."""
    chance = random.Random(seed)
    sim = sim or Sim()
    moves = (*MOVES, *more)
    acts = [act for _, act in moves]
    weights = [weight * (1 if act in ALWAYS else chance.choice((0, 1, 1, 2, 4))) for weight, act in moves]
    tools, answers, later, errors = (chance.choice((0, 1, 2, 6)) for _ in range(4))
    sim.taste = (tools, answers, later, errors)
    try:
        for act in chance.choices(acts, weights, k=steps):
            move(sim, act, chance.randrange(1 << 16))
        sim.kill_at = None
        sim.settle()
    finally:
        sim.db.close()
    return sim
