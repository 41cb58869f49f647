"""Seeded mutants of the lanes: each removes one rule by editing the source of one function; they test nothing."""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from connector import lanes, ledger, world
from connector.lane_base import Base
from connector.lane_files import Files
from connector.lane_service import Service
from connector.lane_stop import Stops
from connector.lane_told import Told
from connector.lanes import Lanes
from connector.world import World


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` becomes `new` in the function `name` of `owner`; `rule` is what is lost, `seed` a walk that finds it.

    `files`: the people of that walk send files too.
    """

    rule: str
    owner: type | ModuleType
    name: str
    old: str
    new: str
    seed: int = 0
    files: bool = False

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}"


_OWE = 'self.owe(round_, "notice", 1, notice, retry=retry)'
_END = "self.record(facts.Ended(round_.id, code, detail=detail))"

MUTANTS = (
    Mutant("§3.2 counted before it is written", Service, "write", "self.record(facts.Written", "repr(facts.Written"),
    Mutant("§2 a repeat is flagged", Service, "write", "noted(shown, note)", "shown"),
    Mutant("§2.4 the gate", Service, "gated", "if until > self.now and", "if until < 0 and"),
    Mutant("§2.4 one probe", Service, "gated", "self.at_child(probe)", "False"),
    Mutant("§6 nothing new going down", Service, "serve", "if self.draining or self.stopping:", "if False:"),
    Mutant("§4 one child of a lane", Service, "trim_wants", "or lane in self.kids", ""),
    Mutant("stale word of an idle engine", Base, "free", "not kid.turn and not self.at_child(kid.lane)", "True"),
    Mutant("32 a foreign generation", Told, "says", "or kid.child != given.child", "", seed=22),
    Mutant("32 another write of the round", Told, "round_of", "or str(round_.writes) != write", ""),
    Mutant("22 a tool's start", Told, "by_evidence", "round_.tool or round_.posted", "round_.posted", seed=10),
    Mutant("§6 by evidence", Told, "by_evidence", "self.again(round_, code)", "pass"),
    Mutant("§1.16 a further answer", Lanes, "post_done", "and not self.runs_on(round_)", "", seed=91),
    Mutant("20 the end after the posts", Told, "released", "self.delivered", "repr", seed=14),
    Mutant("§2.1 steps are spent", Told, "provider_failed", "round_.steps < len(self.rules.backoff)", "True", seed=6),
    Mutant("§2.4 the gate is recorded", Told, "back_off", "self.record(facts.Gated", "repr(facts.Gated"),
    Mutant("§4 given back", Told, "returned", "self.again(", "(lambda *_, **__: None)(", seed=5),
    Mutant(
        "27 a session command that was held",
        Told,
        "hear",
        "self.session_unanswered(kid, turn, outcome.code)",
        "pass",
        seed=48,
    ),
    Mutant("15 Stop's mark", Stops, "stop_round", "self.record(facts.StopMarked", "repr(facts.StopMarked"),
    Mutant("15 suppression", Stops, "stop_round", "self.out.append(Withdraw(round_.id))", "pass"),
    Mutant("§2 one abort", Stops, "stop_round", "self.tell(kid, ", "str("),
    Mutant("§4 Stop of the run stops who joined", Stops, "targets", "names |=", "names &=", seed=7),
    Mutant(
        "16 nobody else", Stops, "targets", "(current or waiting or rounds)[:1]", "(current or waiting or rounds)[:2]"
    ),
    Mutant(
        "17 the word reports",
        Stops,
        "stop",
        "if targets:\n            self.out",
        "if word:\n            self.out",
    ),
    Mutant("last seen only grows", Stops, "see", "if message > self.world.seen.get(channel, -1):", "if True:", seed=6),
    Mutant("25 one id", Lanes, "arrived", "claim.round in self.world.rounds", "False"),
    Mutant("26 order of steers", Lanes, "add_to_run", "== (round_.id,)", "!= ()"),
    Mutant("28 one interrupt", Lanes, "add_to_run", "and kid.interrupted != head.turn", "", seed=52),
    Mutant("§6 what is owed is posted", Lanes, "recover", "self.out.append(Post(", "repr(Post("),
    Mutant("§6 a round at a child", Lanes, "recover", "self.by_evidence(self.world.rounds[round_.id], code)", "pass"),
    Mutant("a refused message gets no thread", Lanes, "placed", "if refused and parent:", "if False:", seed=9),
    Mutant(
        "a notice outlives a crash",
        Base,
        "finish",
        f"{_OWE}\n    {_END}",
        f"{_END}\n    {_OWE}",
    ),
    Mutant(
        "19 our own cut is uncharged",
        world,
        "told",
        "replace(uncharged(round_), cut=True)",
        "replace(round_, cut=True)",
    ),
    Mutant("26 the front of its lane", World, "_placed", "if not round_.writes:", "if True:"),
    Mutant("26 a message before its files", Service, "serve", "and self.here(round_)", "", files=True),
    Mutant("its own pictures", Files, "images", "self.at_hand.images if", "() if", files=True),
    Mutant("pictures are brought again", Files, "here", "not self.holds(round_)", "False", files=True),
    Mutant("what is not given is said", Files, "told_of_files", "if given.missed:", "if False:", files=True),
    Mutant("27 a fetch that is over", Files, "brought", "self.fetching.discard(given.round)", "pass", files=True),
    Mutant("26 not into a run before its files", lanes, "joins", "and not round_.unfetched", "", files=True),
    Mutant(
        "15 a stopped round says no more",
        Stops,
        "drop_owed",
        "self.out.append(Withdraw(round_.id))",
        "pass",
        files=True,
    ),
    Mutant(
        "lanes have the last word", ledger, "load", "world.append(facts.LaneKnown", "world.insert(0, facts.LaneKnown"
    ),
    Mutant(
        "posts of no round are kept", ledger, "find_again", 'case facts.Owed(key, ""):', 'case facts.Owed(key, "?"):'
    ),
)


def mutated(mutant: Mutant) -> Callable[..., object]:
    """The function with the edit in it. Raises AssertionError where its source has no such text any more."""
    function = getattr(mutant.owner, mutant.name)
    source = textwrap.dedent(inspect.getsource(function))
    assert mutant.old in source, mutant
    made: dict[str, Callable[..., object]] = {}
    code = compile(source.replace(mutant.old, mutant.new, 1), f"<{mutant}>", "exec")
    exec(code, function.__globals__, made)  # our own source with one edit
    return made[mutant.name]


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The program with this mutant in it."""
    original = getattr(mutant.owner, mutant.name)
    setattr(mutant.owner, mutant.name, mutated(mutant))
    try:
        yield
    finally:
        setattr(mutant.owner, mutant.name, original)
