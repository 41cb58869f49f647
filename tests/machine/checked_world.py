"""One engine core beside the reference: effects and state are held against it; this chooses nothing itself."""

from collections.abc import Callable
from typing import Any, Protocol

from engine import commands, pi
from engine.events import (
    Answered,
    Asked,
    Code,
    Effect,
    Ended,
    Heard,
    Input,
    Kill,
    Limits,
    Progress,
    Read,
    Ready,
    Released,
    Replied,
    Retrying,
    Returned,
    Sent,
    Spent,
    Started,
    Told,
    ToolClosed,
    ToolOpened,
    Unasked,
    Wedged,
    Write,
)
from tests.machine.reference import Reference
from tests.machine.reference_verbs import Fact

GENERATION = 5


class Core(Protocol):
    """What a core offers: the real one, or a mutant's."""

    start: Callable[..., Any]
    step: Callable[..., Any]
    deadline: Callable[..., Any]


class CheckedWorld:
    """An engine and its reference, fed the same; an ``AssertionError`` is a finding."""

    def __init__(self, core: Core, limits: Limits) -> None:
        self.core = core
        self.now = 1000
        self.ref = Reference(limits, self.now)
        self.state, effects = core.start(GENERATION, limits, self.now)
        self.texts: dict[str, str] = {}
        self.all_ids: list[str] = ["hello1"]
        self.count = 0
        self.ends: dict[str, Code] = {}
        self.returned: set[str] = set()
        self.released: set[str] = set()
        self.exits = 0
        self.payer = ""
        assert effects == (Write((commands.GetState("hello1"),)),)

    # -- one step --------------------------------------------------------------------------------------------------

    def give(self, given: Input) -> None:
        """One input to the core; the reference has been told already."""
        self.payer = self.ref.seen_by() or ""  # what this very input lets go next has paid for nothing yet
        self.ref.proceed()
        before = self.state
        self.state, effects = self.core.step(before, given, self.now)
        self.learn(effects)
        facts = [fact for effect in effects for fact in self.facts(effect)]
        must, self.ref.must = self.ref.must, []
        assert sorted(facts, key=repr) == sorted(must, key=repr)
        self.order(effects)
        self.account(effects)
        self.compare()

    def say(self, record: Any) -> None:
        """The child says one record."""
        alive = self.ref.alive
        self.give(Read(GENERATION, (record,)))
        if alive and isinstance(record, pi.LIFE):
            assert self.state.life == self.now

    def learn(self, effects: tuple[Effect, ...]) -> None:
        """The ids of what was just written."""
        for command in lines(effects):
            match command:
                case commands.Steer(id=name):
                    next(line for line in self.ref.steers if not line.id).id = name
                case commands.ClearQueue(id=name):
                    next(asking for asking in self.ref.clears if not asking.id).id = name
                case commands.Abort(id=name):
                    self.ref.aborts[self.ref.aborts.index("")] = name
                case commands.Prompt(id=name) | commands.Compact(id=name):
                    if self.ref.head is not None:
                        self.ref.head.id = name
                case _:
                    continue
            assert command.id not in self.all_ids
            self.all_ids.append(command.id)

    def facts(self, effect: Effect) -> list[Fact]:
        """An effect in the reference's words; what only the log or the card gets is checked for its owner alone."""
        match effect:
            case Ended(turn, outcome) if outcome.code is Code.ANSWERED:
                return [("answer", turn, words(outcome.text))]
            case Ended(turn, outcome):
                assert not outcome.text
                return [("end", turn, outcome.code, outcome.into)]
            case Answered(turn, text):
                return [("more", turn, words(text))]
            case Released(turn):
                return [("release", turn)]
            case Sent(turn):
                return [("sent", turn)]
            case Wedged():
                return [("wedge",)]
            case Kill():
                return [("kill",)]
            case Ready():
                return [("ready",)]
            case Started(turn):
                return [("started", turn)]
            case Heard(turn, head):
                return [("heard", turn, head)]
            case Returned(turn, refused, was_written):
                return [("returned", turn, refused, was_written)]
            case ToolOpened(turn, call):
                return [("opened", turn, call)]
            case ToolClosed(turn, call):
                return [("closed", turn, call)]
            case Asked(turn, dialog):
                return [("asked", turn, dialog.id)]
            case Unasked(dialog, _):
                return [("unasked", dialog)]
            case Replied(turn, _):
                return [("replied", turn)]
            case Progress(turn) | Retrying(turn) | Told(turn):
                assert turn == self.ref.seen_by()
                return []
            case Spent(turn):
                assert turn == self.payer
                return []
            case Write(written):
                return [_written(command) for command in written]
            case _:
                return []

    def order(self, effects: tuple[Effect, ...]) -> None:
        """What must come before what, and in one write (BEHAVIOUR §1.4, §1.6, §3.2)."""
        for before, after in zip((None, *effects), effects, strict=False):
            if isinstance(after, Write):
                kinds = [type(command).__name__ for command in after.commands]
                if "Prompt" in kinds:
                    assert isinstance(before, Sent)
                    assert kinds == ["Prompt"]
                if "Abort" in kinds:
                    assert kinds[-1] == "Abort"
                    assert kinds == sorted(kinds, key=["ClearQueue", "DialogAnswer", "Abort"].index)
                if "ClearQueue" in kinds and len(kinds) > 1:
                    assert kinds[0] == "ClearQueue"
        if any(isinstance(effect, Kill) for effect in effects):
            assert isinstance(effects[-1], Kill)

    def account(self, effects: tuple[Effect, ...]) -> None:
        """BEHAVIOUR §7: 2, 3, 8, 10, 15, 33, no message both steered and prompted, none prompted over residue."""
        for effect in effects:
            match effect:
                case Ended(turn, outcome):
                    assert turn not in self.ends, "a second end"
                    assert turn not in self.returned
                    self.ends[turn] = outcome.code
                case Answered(turn, _):
                    assert self.ends[turn] in {Code.ANSWERED, Code.HANDLED, Code.EMPTY, Code.JOINED, Code.PROVIDER,
                                               Code.INTERRUPTED}  # fmt: skip
                case Returned(turn):
                    assert turn not in self.ends
                    assert turn not in self.returned
                    self.returned.add(turn)
                case Released(turn):
                    assert turn not in self.released
                    self.released.add(turn)
                case Sent(turn):
                    assert turn not in self.ends, "a text that was given up is asked"
                    assert [entry.name for entry in self.ref.queue if entry.sent] == [turn], "two prompts at once"
                    assert self.state.run is None
                    assert not self.state.steering.open
                    assert not self.state.steering.clears
                case _:
                    pass

    def compare(self) -> None:
        """State and reference agree on who is in the queue, on what runs, on open waits and on the next deadline."""
        ref, state = self.ref, self.state
        assert [turn.name for turn in state.queue] == [entry.name for entry in ref.queue]
        assert {wait.call: wait.since for wait in state.waits} == (ref.waits if ref.alive else _calls(state))
        assert (state.run is None) == (ref.run is None)
        if state.run is not None and ref.run is not None:
            assert (state.run.head is not None, state.run.open) == (ref.run.own, ref.run.open)
            assert not (state.waits and not state.run.open and ref.alive)
        assert self.core.deadline(state) == ref.deadline()
        assert not (state.queue and ref.alive and ref.deadline() is None), "a non-empty engine without a deadline"
        assert state.busy == (
            ref.phase != "live"
            or bool(ref.queue or ref.steers or ref.clears)
            or ref.run is not None
        )  # fmt: skip


def words(text: str) -> tuple[str, ...]:
    """The words of an answer."""
    return tuple(text.split())


def lines(effects: tuple[Effect, ...]) -> list[Any]:
    """All commands in these effects."""
    return [command for effect in effects if isinstance(effect, Write) for command in effect.commands]


def _calls(state: Any) -> dict[str, int]:
    """The waits of a child that is over: nobody reads them any more."""
    return {wait.call: wait.since for wait in state.waits}


def _written(command: Any) -> Fact:
    match command:
        case commands.Prompt(message=text):
            return ("write", "prompt", text)
        case commands.Compact(customInstructions=name):
            return ("write", "ask", name)
        case commands.Steer(message=text):
            return ("write", "steer", text)
        case commands.ClearQueue():
            return ("write", "clear")
        case commands.Abort():
            return ("write", "abort")
        case commands.DialogAnswer(id=name, cancelled=True):
            return ("write", "cancel", name)
        case commands.DialogAnswer(id=name):
            return ("write", "confirm", name)
        case _:
            raise AssertionError(f"nobody asked for {command}")
