"""Seeded mutants of the engine's core: each takes one rule away, made from the source and loaded beside the original.

An edit names a piece of source that must be there exactly once, so that a mutant cannot rot into the original unseen.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import engine
from tests.machine.checked_world import Core

SOURCES = Path(engine.__file__).parent
MUTABLE = ("turns", "runs", "steering", "state", "moves", "reading", "core")
"""Loaded anew, in this order; what they import besides is shared with the real core."""
SHARED = ("events", "commands", "pi", "wire", "marks", "waits")


@dataclass(frozen=True)
class Mutant:
    """``edits``: (module, old source, new source)."""

    name: str
    rule: str
    edits: tuple[tuple[str, str, str], ...]


RARE = {
    "abort_grace frees the head": 127,
    "an orphan's settle releases the head": 43,
    "an echo of another turn is ignored": 124,
    "steering into a head whose response is unread": 40,
    "an answer is given out while a steer is open": 102,
    "who joined later is forgotten": 392,
    "a message's result closes no wait": 292,
    "any record is life": 40,
    "tools have no time of their own": 86,
    "a /command's run is answered after the next prompt too": 66,
}
"""Mutants that few walks meet: the number of one that does, to be tried first. It saves time and decides nothing."""


def mutant(name: str, rule: str, module: str, old: str, new: str, *more: tuple[str, str, str]) -> Mutant:
    return Mutant(name, rule, ((module, old, new), *more))


MUTANTS = (
    mutant(
        "settled frees a head whose response is unread", "§1.7", "reading",
        "elif not head.read:\n            self.head_becomes", "elif False:\n            self.head_becomes",
    ),
    mutant(
        "settled inside a run is taken for its end", "§1.7", "reading",
        'self.lose("agent_settled inside a run")', "self.move(Event.SETTLED)",
    ),
    mutant(
        "abort_grace frees the head", "§1.5", "turns",
        "(_S.DEAD, _E.GRACE): Row(_S.DEAD, (_A.WEDGE,))", "(_S.DEAD, _E.GRACE): Row(None)",
    ),
    mutant(
        "run_grace frees the head", "§1.5", "turns",
        "(_S.DEAD_RUNNING, _E.GRACE): Row(_S.DEAD_RUNNING, (_A.WEDGE,))", "(_S.DEAD_RUNNING, _E.GRACE): Row(None)",
    ),
    mutant(
        "a timeout frees the head", "§1.3", "turns",
        "(_S.RUNNING, _E.FAIL): Row(_S.DEAD_RUNNING, (_A.ABORT,))", "(_S.RUNNING, _E.FAIL): Row(None)",
    ),
    mutant(
        "a started run has abort_grace only", "§1.5", "state",
        "return head.aborted + state.limits.run_grace", "return head.failed_at + state.limits.abort_grace",
    ),
    mutant(
        "a third abort", "§1.4", "turns",
        "(_S.DEAD_ANSWERED, _E.AGENT_START): Row(_S.DEAD_RUNNING)",
        "(_S.DEAD_ANSWERED, _E.AGENT_START): Row(_S.DEAD_RUNNING, (_A.ABORT,))",
        ("turns", "ABORTS = 2", "ABORTS = 9"),
    ),
    mutant(
        "no second abort", "§1.4", "turns",
        "(_S.DEAD, _E.STARTED): Row(_S.DEAD_ANSWERED, (_A.ABORT,))", "(_S.DEAD, _E.STARTED): Row(_S.DEAD_ANSWERED)",
    ),
    mutant(
        "an abort's success frees the head", "§7.6", "reading",
        "self.set(aborts=tuple(other for other in self.s.aborts if other != name))",
        "self.set(aborts=tuple(other for other in self.s.aborts if other != name)); self.move(Event.SETTLED)",
    ),
    mutant(
        "an orphan's start is taken as the head's", "§1.8", "turns",
        "(_S.WRITTEN, _E.FAIL)", "(_S.WRITTEN, _E.AGENT_START): Row(_S.RUNNING),\n    (_S.WRITTEN, _E.FAIL)",
    ),
    mutant(
        "an orphan's settle releases the head", "§1.8", "reading",
        "self.give_out(settled=True)\n            self.run_over()\n        elif head is None",
        "self.give_out(settled=True)\n            self.run_over()\n            self.move(Event.SETTLED)\n"
        "        elif head is None",
    ),
    mutant(
        "an echo of another turn is ignored", "§1.13", "reading",
        'self.lose("the echo of another turn")', 'self.note("an echo")',
    ),
    mutant(
        "the head's own echo proves nothing", "§1.13", "reading", "self.adopt(head)", 'self.note("an echo")',
    ),
    mutant(
        "a second response counts", "§1.2", "reading",
        "head.request == name and not head.read:", "head.request == name:",
    ),
    mutant(
        "clear_queue is not repeated", "§4", "steering",
        "return not self.tried or any(steer.answered for steer in self.open)", "return not self.tried",
    ),
    mutant(
        "clear_queue at once, in the running run", "§4", "steering", "if self.over is None:", "if False:",
    ),
    mutant(
        "a steer is given back twice", "§4", "steering",
        "gone = {steer.turn for steer in (*returned, *consumed)}", "gone = {steer.turn for steer in consumed}",
    ),
    mutant(
        "a refused steer stays open", "§4", "reading",
        "self.set(steering=self.s.steering.without(steer.turn))\n            self.steer_back",
        "self.steer_back",
    ),
    mutant(
        "a prompt is written over residue", "§4", "state",
        "self.run is not None or self.steering.busy or self.head", "self.run is not None or self.head",
    ),
    mutant(
        "an open steer is forgotten with a wedged child", "§7.8", "core",
        "elif not residue.busy and residue.over is not None:", "elif residue.over is not None:",
    ),
    mutant(
        "the grace of residue counts from the head's failure", "§4", "state",
        "residue.over is None or goes_on:", "residue.over is None:",
    ),
    mutant(
        "steering into a head whose response is unread", "§4", "state",
        "run.head == head.name and head.read", "run.head == head.name",
    ),
    mutant(
        "an answer is given out while a steer is open", "§1.16", "moves",
        "if not self.s.steering.open:", "if True:",
    ),
    mutant(
        "an answer is given out after an error", "§1.16", "runs",
        "not (run.final and run.good)", "not run.final",
    ),
    mutant(
        "a second end instead of a further answer", "§1.16", "runs",
        "effects.append(Ended(turn, outcome))\n            ended.add(turn)", "effects.append(Ended(turn, outcome))",
    ),
    mutant(
        "a steer's part of the run is the head's", "§1.15", "runs",
        "return replace(run, parts=(*run.parts, Part(turn)))", "return run",
    ),
    mutant(
        "a failed try's text is kept", "§1.15", "runs",
        'if reason not in {"stop", "length"} or', 'if reason not in {"stop", "length", "error"} or',
    ),
    mutant(
        "who joined later is forgotten", "§7.8", "moves",
        "if turn.failed:\n            return",
        "if turn.failed or (run is not None and turn.name in run.ended):\n            return",
    ),
    mutant(
        "a tool wait survives its run's end", "§5", "reading",
        "self.close_waits()\n        self.set(run=replace(run, open=False", "self.set(run=replace(run, open=False",
    ),
    mutant(
        "a message's result closes no wait", "§5", "reading",
        "self.close_wait(waits.result_of(record))", "waits.result_of(record)",
    ),
    mutant(
        "a foreign generation is heard", "§7.32", "moves",
        "if generation == self.s.generation:", "if generation >= self.s.generation:",
    ),
    mutant(
        "writes after a wedge", "§1.6", "moves",
        "if lines and self.s.condition in {Condition.STARTING, Condition.LIVE}:", "if lines:",
    ),
    mutant(
        "a held turn stays at a wedge", "§1.6", "moves",
        "if not turn.written:\n                self.leave(turn, Outcome(Code.WEDGED))",
        "if turn.failed:\n                self.leave(turn, Outcome(Code.WEDGED))",
    ),
    mutant(
        "an orphan run has no bound", "§1.12", "core",
        "if run.aborted is None and self.now >= bound(self.s, run.since):", "if False:",
    ),
    mutant(
        "an orphan run's abort has no grace", "§1.12", "state",
        "bound(state, run.since) if run.aborted is None else run.aborted + state.limits.run_grace",
        "bound(state, run.since)",
    ),
    mutant(
        "a busy refusal leaves the child idle", "§1.14", "reading", "if busy and self.s.run is None:", "if False:",
    ),
    mutant(
        "any record is life", "§1.11", "reading",
        "alive = alive or bool(pieces) or isinstance(line, pi.LIFE)", "alive = True",
    ),
    mutant(
        "no turn_limit", "§1.11", "state",
        "if state.limits.turn_limit else due", "if False else due",
    ),
    mutant(
        "tools have no time of their own", "§1.11", "state",
        "long = self.waits or self.dialogs", "long = self.dialogs",
    ),
    mutant(
        "a dialog under an unanswered abort is asked", "§1.4", "reading",
        "elif owner is None or self.s.aborts or", "elif owner is None or",
    ),
    mutant(
        "dialogs stay open when the head fails", "§1.4", "moves",
        "first += self.cancelling(list(self.s.dialogs))", "first += []",
    ),
    mutant(
        "a tool ages while a person is asked", "§5", "moves",
        "self.set(waits=waits.paused(self.s.waits, closing.since, self.now))", "pass",
    ),
    mutant(
        "a held turn has no timeout", "§1.10", "core",
        "if not turn.written and now >= turn.since + s.limits.turn_timeout:", "if False:",
    ),
    mutant(
        "a /command's run is answered after the next prompt too", "§1.12", "core",
        "tail = self.s.tail if isinstance(turn.work, Request) else None", "tail = self.s.tail",
    ),
    mutant(
        "an orphan's abort leaves its dialog open", "§1.12", "moves",
        "self.abort(*self.cancelling(self.orphans_dialogs()))", "self.abort()",
    ),
    mutant(
        "a dialog is left open at the settle", "§1.4", "moves",
        "self.write(*self.cancelling(list(self.s.dialogs) if own else self.orphans_dialogs()))", "pass",
    ),
    mutant(
        "Stop of whom an orphan run answers is ignored", "§4", "core", "self.fail_orphan(code)", "pass",
    ),
    mutant(
        "a late response cuts off a run that goes on", "§7.3", "reading",
        "self.head_becomes(replace(head, settled=False))", "pass",
    ),
)  # fmt: skip


def load(mutant: Mutant) -> Core:
    """The core with a mutant's edits, loaded beside the real one."""
    return _loaded(mutant.edits)


def control() -> Core:
    """The same without any edit: what catches mutants must let it pass."""
    return _loaded(())


def _loaded(edits: tuple[tuple[str, str, str], ...]) -> Core:
    package = ModuleType("mutated_engine")
    package.__path__ = []
    before = {name: module for name, module in sys.modules.items() if name.startswith("mutated_engine")}
    sys.modules[package.__name__] = package
    try:
        for name in SHARED:
            _put(package, name, import_module(f"engine.{name}"))
        for name in MUTABLE:
            source = _edited(name, edits)
            module = ModuleType(f"{package.__name__}.{name}")
            _put(package, name, module)
            code = compile(source, f"<{module.__name__}>", "exec")
            exec(code, module.__dict__)  # our own source with one edit
        core, state = package.core, package.state
        return cast("Core", SimpleNamespace(start=core.start, step=core.step, deadline=state.deadline))
    finally:
        for name in [name for name in sys.modules if name.startswith("mutated_engine")]:
            del sys.modules[name]
        sys.modules.update(before)


def _put(package: ModuleType, name: str, module: ModuleType) -> None:
    setattr(package, name, module)
    sys.modules[f"{package.__name__}.{name}"] = module


def _edited(name: str, edits: tuple[tuple[str, str, str], ...]) -> str:
    source = (SOURCES / f"{name}.py").read_text("utf-8")
    for where, old, new in edits:
        if where == name:
            if source.count(old) != 1:
                raise AssertionError(f"{name}.py holds this {source.count(old)} times, not once: {old}")
            source = source.replace(old, new)
    return source.replace("from engine.", "from mutated_engine.").replace("from engine ", "from mutated_engine ")
