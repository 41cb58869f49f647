"""A model world that writes down what each step recorded and did, word for word; it judges nothing."""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum

import msgspec

from connector import facts
from connector.lane_base import LaneRules
from connector.lane_effects import Post
from connector.lane_events import Arrived, ChildSays, Input, PostDone
from connector.lanes import Lanes, Stepped, restored
from engine import events as engine
from engine.events import SECOND
from tests.machine.lanes_ground import START
from tests.machine.lanes_machine import Sim


@dataclass
class Told(Sim):
    """`lines`: of each step its input (`>`), its facts (`+`), its effects (`-`), and the next alarm where it is new."""

    lines: list[str] = field(default_factory=list)
    alarm: int | None = None

    def step(self, given: Input) -> Stepped | None:
        at = len(self.lines)
        stepped = super().step(given)
        if stepped is not None:
            before, self.alarm = self.alarm, self.lanes.deadline()
            self.lines[at:at] = [*spoken(given, stepped), *rings(before, self.alarm)]
        return stepped


@dataclass
class Bare:
    """Lanes alone: their children, posts and threads say what a story makes them say."""

    rules: LaneRules
    known: tuple[facts.AnyFact, ...] = ()
    now: int = START
    dice: float = 0.0
    lines: list[str] = field(default_factory=list)
    alarm: int | None = None

    def __post_init__(self) -> None:
        self.lanes = restored(Lanes(rules=self.rules), self.known)

    def step(self, *given: Input) -> None:
        for one in given:
            self.lines += spoken(one, self.lanes.step(one, self.now, self.dice))
            before, self.alarm = self.alarm, self.lanes.deadline()
            self.lines += rings(before, self.alarm)

    def says(self, lane: str, *told: engine.Effect, busy: bool = False) -> None:
        """The lane's engine tells this."""
        self.step(ChildSays(lane, self.lanes.kids[lane].child, told, busy))

    def runs(self, lane: str, turn: str) -> None:
        """A prompt that was given begins its run."""
        self.says(lane, engine.Sent(turn), engine.Started(turn), busy=True)


def spoken(given: Input, stepped: Stepped) -> Iterator[str]:
    """One step."""
    yield f"> {brief(given)}"
    yield from (f"  + {brief(fact)}" for fact in stepped.facts)
    yield from (f"  - {brief(effect)}" for effect in stepped.effects)
    if stepped.closed:
        yield f"  closed {', '.join(stepped.closed)}"


def rings(before: int | None, alarm: int | None) -> list[str]:
    """The next alarm, where it is another one."""
    return [f"  alarm {instant(alarm) if alarm is not None else 'none'}"] if alarm != before else []


def instant(at: int) -> str:
    """Counted from the world's beginning."""
    seconds, rest = divmod(at - START, SECOND)
    return f"T{seconds:+}" + (f".{rest:09}".rstrip("0") if rest else "")


def brief(value: object) -> str:
    """A value without what it has by default; a post by its key, since its record is there whole."""
    match value:
        case Post(owed) if given_of(value).keys() == {"owed"}:
            return f"Post {owed.key}"
        case Arrived(claim):
            told = "".join(f", {name}={brief(one)}" for name, one in given_of(value).items() if name != "claim")
            return f"Arrived {claim.round}{told}"
        case PostDone(facts.Posted(key)):
            return f"PostDone Posted {key}"
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case int() if not isinstance(value, bool) and abs(value - START) < 10**6 * SECOND:
            return instant(value)
        case tuple() | list() | frozenset() | set():
            inner = sorted(value) if isinstance(value, set | frozenset) else value
            return f"[{', '.join(map(brief, inner))}]"
        case _ if is_dataclass(value) or isinstance(value, msgspec.Struct):
            told = ", ".join(f"{name}={brief(one)}" for name, one in given_of(value).items())
            return f"{type(value).__name__}({told})"
        case _:
            return repr(value)


def given_of(value: object) -> dict[str, object]:
    """Its fields that are not as they are by default."""
    if isinstance(value, msgspec.Struct):
        infos = [(info.name, info.default, info.default_factory) for info in msgspec.structs.fields(value)]
        nothing: object = msgspec.NODEFAULT
    else:
        assert is_dataclass(value)
        infos = [(one.name, one.default, one.default_factory) for one in fields(value)]
        nothing = MISSING
    said = {name: getattr(value, name) for name, _, _ in infos}
    usual = {name: make() if make is not nothing else one for name, one, make in infos}
    return {name: one for name, one in said.items() if usual[name] is nothing or one != usual[name]}
