"""One engine core over an honest pi: nobody gets another's word or loses one, nothing given up runs, all are served."""

import random

from engine import commands
from engine.events import (
    AbortOrphan,
    AnswerDialog,
    Answered,
    Code,
    Effect,
    Ended,
    Fail,
    Heard,
    Input,
    Limits,
    Read,
    Request,
    Returned,
    Slash,
    SteerIn,
    Submit,
    Text,
    Tick,
    Wedged,
    Write,
)
from tests.machine.checked_world import Core, words
from tests.machine.pi_model import Pi

LONG = Limits(turn_timeout=10**6, tool_timeout=10**6, turn_limit=0, abort_grace=10**5, run_grace=10**5, dialog=1000)
GENERATION = 2
SERVED = 2000
"""So many steps of pi serve everybody in any walk of the tests; one that needs more hangs."""


class HonestWorld:
    """People, clock and pi around one core; an ``AssertionError`` is a finding."""

    def __init__(self, core: Core, chance: random.Random, limits: Limits = LONG) -> None:
        self.core, self.chance, self.limits = core, chance, limits
        self.now = 1
        self.pi = Pi(chance)
        self.text_of: dict[str, str] = {}
        self.turn_of: dict[str, str] = {}
        self.given: dict[str, list[str]] = {}
        self.ends: dict[str, Code] = {}
        self.joined: dict[str, str | None] = {}
        self.into: dict[str, str] = {}
        self.late_stops: set[str] = set()
        self.count = 0
        self.seen = 0
        self.state, effects = core.start(GENERATION, limits, self.now)
        self.perform(effects)

    def give(self, given: Input) -> None:
        self.now += 1
        self.state, effects = self.core.step(self.state, given, self.now)
        self.perform(effects)

    def perform(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case Write(written):
                    for command in written:
                        if isinstance(command, commands.Prompt | commands.Steer):
                            turn = self.turn_of.get(command.message)
                            assert turn is None or turn not in self.ends, "a text that was given up is written"
                        self.pi.receive(command)
                case Ended(turn, outcome):
                    assert turn not in self.ends, "a second end"
                    assert bool(outcome.text) == (outcome.code is Code.ANSWERED)
                    self.ends[turn] = outcome.code
                    self.joined[turn] = outcome.into
                    self.given.setdefault(turn, []).extend(words(outcome.text))
                case Answered(turn, text):
                    assert self.ends[turn] is not Code.STOPPED
                    self.given.setdefault(turn, []).extend(words(text))
                case Heard(turn, head):
                    if head is not None:
                        self.into[turn] = head
                case Returned(turn):
                    assert turn not in self.ends
                    text = self.text_of.pop(turn)
                    del self.turn_of[text]
                case Wedged(reason):
                    raise AssertionError(f"a healthy child is wedged: {reason}")
                case _:
                    pass
        self.check_echoes()

    def check_echoes(self) -> None:
        """BEHAVIOUR §7.33: what ran inside another's run had been steered into it and not been given up before."""
        for text, inside in self.pi.echoes[self.seen :]:
            if text and text != inside:
                assert text in self.turn_of, "a text that was given back runs inside a run"
        self.seen = len(self.pi.echoes)

    # -- what people do --------------------------------------------------------------------------------------------

    def new(self, kind: str) -> tuple[str, Text]:
        self.count += 1
        name = f"{kind}{self.count}"
        text = f"[discord] x {self.count}\n\n{name}"
        self.text_of[name], self.turn_of[text] = text, name
        return name, Text(text)

    def submit(self) -> None:
        match self.chance.randrange(8):
            case 0:
                self.count += 1
                self.give(Submit(f"c{self.count}", Slash("/say")))
            case 1:
                self.count += 1
                self.give(Submit(f"r{self.count}", Request(commands.Compact(""))))
            case _:
                self.give(Submit(*self.new("t")))

    def steer(self) -> None:
        self.give(SteerIn(*self.new("s")))

    def stop(self) -> None:
        names = [name for name in self.text_of if name not in self.ends]
        names += [turn.name for turn in self.state.queue]
        if names:
            name = self.chance.choice(names)
            self.late_stops |= {name} & set(self.ends)
            self.give(Fail(name, Code.STOPPED))

    def answer(self) -> None:
        for dialog in self.state.dialogs[:1]:
            self.give(AnswerDialog(dialog.name, None, True))

    # -- what the child does ---------------------------------------------------------------------------------------

    def read(self) -> None:
        """As many records as happen to be in the pipe, in one read."""
        count = self.chance.randrange(1, 6)
        records, self.pi.out = self.pi.out[:count], self.pi.out[count:]
        if records:
            self.give(Read(GENERATION, tuple(records)))

    def tick(self) -> None:
        self.give(Tick())

    def act(self) -> None:
        """Anything."""
        match self.chance.randrange(30):
            case 0 | 1 | 2:
                self.submit()
            case 3 | 4:
                self.steer()
            case 5:
                self.stop()
            case 6:
                self.answer()
            case 7:
                self.tick()
            case 8:
                self.give(AbortOrphan())
            case _:
                self.pi.step()
                if self.chance.randrange(3):
                    self.read()

    def serve(self) -> None:
        """BEHAVIOUR §7.27: with an obeying child everybody is served; then every word is where it belongs."""
        for _ in range(SERVED):
            if self.pi.idle and not self.state.busy:
                break
            if self.state.dialogs:
                self.now = max(self.now, min(dialog.due for dialog in self.state.dialogs))
                self.tick()
            self.pi.step()
            self.read()
        assert not self.state.busy, "an engine over an obeying child does not become idle"
        assert self.state.queue == ()
        self.account()

    def account(self) -> None:
        """Every word was given to the turn whose text it answers, all of them, and none of another kind."""
        names = set(self.text_of)
        assert names <= set(self.ends), "a turn without its end"
        for turn, found in self.given.items():
            assert not set(found) & set(self.pi.private), "a word that is no answer"
            if turn.startswith("c"):
                assert set(found) <= {word for text, word in self.pi.words if text == ""}
                continue
            own = [word for text, word in self.pi.words if text and text == self.text_of.get(turn)]
            assert found == own[: len(found)], "another's word, or out of order"
            if self.ends[turn] is Code.ANSWERED and not self.cut_off(turn):
                assert found == own, "a word was lost"
        for turn in names:
            assert not (self.ends[turn] is Code.JOINED and self.given[turn])
            if self.joined[turn] is not None:
                assert self.joined[turn] in self.ends

    def cut_off(self, turn: str) -> bool:
        """Its answer had been given out when its run was stopped: what came after is dropped."""
        run = self.into.get(turn, turn)
        company = {turn, run, *(other for other, into in self.into.items() if into == run)}
        return any(other in self.late_stops or self.ends[other] is Code.STOPPED for other in company)


def obey(core: Core, seed: int, steps: int = 120) -> HonestWorld:
    """One walk with an honest child, then everybody is served."""
    world = HonestWorld(core, random.Random(seed))
    for _ in range(steps):
        world.act()
    world.serve()
    return world
