"""What waits and runs, in words and as JSON: folds over the world and the ledger; it changes nothing."""

from typing import Any

from connector.lanes import Lanes
from connector.world import AT_CHILD, Phase, Round, World

_PHASES = {
    Phase.WAITING: "waiting",
    Phase.WRITTEN: "given to the agent",
    Phase.RUNNING: "running",
    Phase.STEERED: "given to the running turn",
    Phase.JOINED: "joined the running turn",
    Phase.BACKOFF: "asked again",
    Phase.POSTING: "answer being posted",
    Phase.ENDED: "ended",
}
_SECOND = 1_000_000_000


def lane_lines(lanes: Lanes, only: str | None) -> list[str]:
    """One line a lane with work, or of `only` this one; what is going on in it."""
    keys = [only] if only is not None else sorted(lanes.world.lanes)
    lines = []
    for key in keys:
        rounds = lanes.world.open_in(key)
        if rounds or only is not None:
            child = "its agent is up" if key in lanes.kids else "no agent runs"
            lines.append(f"<#{lanes.world.lane(key).channel or key}>: {_summary(rounds)}; {child}.")
    return lines or ["Nothing runs or waits."]


def _summary(rounds: list[Round]) -> str:
    running = sum(round_.phase in AT_CHILD for round_ in rounds)
    waiting = sum(round_.phase is Phase.WAITING for round_ in rounds)
    backing = [round_ for round_ in rounds if round_.phase is Phase.BACKOFF]
    words = [f"{running} running", f"{waiting} waiting"]
    words += [f"asked again <t:{round_.until // _SECOND}:R>" for round_ in backing]
    return ", ".join(words)


def queue_lines(world: World, lane: str) -> list[str]:
    """What waits in a lane, in order: by whom, since when."""
    lines = []
    for number, round_ in enumerate(world.open_in(lane), 1):
        since = round_.at // _SECOND
        lines.append(f"{number}. {_PHASES[round_.phase]}, by <@{round_.author}>, since <t:{since}:R>")
    return lines or ["Nothing waits here."]


def as_json(world: World, in_row: int) -> dict[str, Any]:
    """`status --json` (CONTRACT): lanes, children, gate, dead, chain."""
    return {
        "lanes": {key: [_round(round_) for round_ in world.open_in(key)] for key in sorted(world.lanes)},
        "children": [{"child": child.child, "lane": child.lane, "pid": child.pid} for child in world.children.values()],
        "gate": [
            {"provider": provider, "model": model, "until": until // _SECOND}
            for (provider, model), until in sorted(world.gates.items())
        ],
        "chain": in_row,
    }


def _round(round_: Round) -> dict[str, Any]:
    return {
        "message": round_.message,
        "round": round_.id,
        "phase": _PHASES[round_.phase],
        "attempts": round_.attempts,
        "since": round_.at // _SECOND,
        "until": round_.until // _SECOND or None,
    }
