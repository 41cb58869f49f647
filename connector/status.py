"""What waits and runs, in words and as JSON: folds over the world and the ledger; it changes nothing."""

from collections.abc import Sequence
from typing import Any

from connector.header import clean
from connector.lanes import Lanes
from connector.ledger_read import DeadLetter
from connector.spend import day_end, day_of
from connector.world import AT_CHILD, Phase, Round, World
from engine.events import SECOND

PHASES = {
    Phase.WAITING: "waiting",
    Phase.WRITTEN: "given to the agent",
    Phase.RUNNING: "running",
    Phase.STEERED: "given to the running turn",
    Phase.JOINED: "joined the running turn",
    Phase.BACKOFF: "asked again",
    Phase.POSTING: "answer being posted",
    Phase.ENDED: "ended",
}
MANY = 20
"""So many lanes, or dead letters, are told one by one."""


def lane_lines(lanes: Lanes, lane: str, dead: Sequence[DeadLetter], now: int) -> list[str]:
    """What goes on in one lane, for whoever may see it; `dead` are this lane's dead letters, oldest first."""
    return [_lane(lanes, lane, now), *_dead(dead, told_where=False)]


def all_lines(lanes: Lanes, here: str, dead: Sequence[DeadLetter], now: int) -> list[str]:
    """The same of every lane with work, `here` first, then closed gates and all dead letters: for an operator."""
    others = [key for key in lanes.world.at_work() if key != here]
    lines = [_lane(lanes, key, now) for key in (here, *others[:MANY])]
    if len(others) > MANY:
        lines.append(f"… and {len(others) - MANY} more conversations with work.")
    for (provider, model), until in sorted(lanes.world.gates.items()):
        when = f"before <t:{until // SECOND}:R>" if until > now else "but one message, to see whether it answers"
        lines.append(f"Nothing is sent to `{_name(provider)}/{_name(model)}` {when}.")
    return lines + _dead(dead, told_where=True)


def _lane(lanes: Lanes, key: str, now: int) -> str:
    child = "its agent is up" if key in lanes.kids else "no agent runs"
    words = [*_counts(lanes.world.open_in(key)), *_gate(lanes, key, now), *_capped(lanes, key, now)]
    return f"<#{lanes.world.lane(key).channel or key}>: {', '.join(words)}; {child}."


def _counts(rounds: Sequence[Round]) -> list[str]:
    running = sum(round_.phase in AT_CHILD for round_ in rounds)
    waiting = sum(round_.phase is Phase.WAITING for round_ in rounds)
    posting = sum(round_.phase is Phase.POSTING for round_ in rounds)
    words = [f"{running} running", f"{waiting} waiting"]
    words += [f"{posting} answered and being posted"] if posting else []
    backing = [round_ for round_ in rounds if round_.phase is Phase.BACKOFF]
    words += [f"asked again <t:{r.until // SECOND}:R>" if r.until else "asked again now" for r in backing]
    return words


def _capped(lanes: Lanes, key: str, now: int) -> list[str]:
    """How many messages a spending cap holds back."""
    day = day_of(now)
    count = sum(round_.capped[1] == day and lanes.cap_on(round_) is not None for round_ in lanes.world.open_in(key))
    return [f"{count} held back by a spending cap until <t:{day_end(day) // SECOND}:R>"] if count else []


def _gate(lanes: Lanes, key: str, now: int) -> list[str]:
    """That the first waiting message stands before a closed gate."""
    name, until = lanes.behind.get(key, ("", 0))
    round_ = lanes.world.rounds.get(name)
    if round_ is None or round_.phase is not Phase.WAITING:
        return []
    return ["held back by the provider's limit" + (f" until <t:{until // SECOND}:R>" if until > now else "")]


def _dead(dead: Sequence[DeadLetter], *, told_where: bool) -> list[str]:
    """Dead letters, the newest first."""
    if not dead:
        return []
    lines = [f"Given up after every allowed try: {len(dead)}."]
    for letter in list(reversed(dead))[:MANY]:
        where = f" in <#{letter.lane}>" if told_where else ""
        lines.append(f"- message {letter.message}{where}, <t:{letter.at // SECOND}:R>")
    return lines


def _name(name: str) -> str:
    return clean(name).replace("`", " ").strip()


def as_json(world: World, in_row: int) -> dict[str, Any]:
    """`status --json` (CONTRACT): lanes, children, gate, dead, chain."""
    return {
        "lanes": {key: [_round(round_) for round_ in world.open_in(key)] for key in sorted(world.lanes)},
        "children": [{"child": child.child, "lane": child.lane, "pid": child.pid} for child in world.children.values()],
        "gate": [
            {"provider": provider, "model": model, "until": until // SECOND}
            for (provider, model), until in sorted(world.gates.items())
        ],
        "chain": in_row,
    }


def _round(round_: Round) -> dict[str, Any]:
    return {
        "message": str(round_.message),  # as text: a number of 19 digits loses its end in what reads JSON with doubles
        "round": round_.id,
        "phase": PHASES[round_.phase],
        "attempts": round_.attempts,
        "since": round_.at // SECOND,
        "until": round_.until // SECOND or None,
    }
