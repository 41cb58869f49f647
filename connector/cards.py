"""The card: one message per round that shows what it is doing; pure, a fold over facts and what engines tell.

It is never the only place of an answer, and every end of a round ends its card, that of an earlier process too. How
often it is edited is the outbox's business; a countdown is a tag that Discord itself keeps current.
"""

import json
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import assert_never

from msgspec import Struct, field

from connector import clusters, facts, notices, notices_spend
from connector.attach_lines import named
from connector.header import clean
from connector.literals import LOOKED, literal, plain
from connector.ports import Button, Controls
from connector.spend import day_end, day_of
from connector.world import AT_CHILD, Phase, Round
from engine import events as engine
from engine import pi
from engine.events import SECOND

TAIL = 900
"""Characters of growing text that a card shows."""

ARGUMENT = 80

LINES = 24
"""Lines of growing text that a card shows."""

STATES = 50
"""States of extensions that a card remembers."""

SAID, SAID_LENGTH = 3, 100
"""So many texts of extensions stand on a card's line, and so many characters of each, as of its notice."""


class View(Struct, frozen=True):
    """What a card is to show now; `over`: it will not change any more. `name`: which of a round's posts it is."""

    round: str
    channel: int
    content: str
    buttons: Controls
    reply_to: int
    over: bool
    name: str = "card/1"

    @property
    def key(self) -> str:
        """The outbox's name for it, and the source of its nonce."""
        return f"{self.round}/{self.name}"


class Cpu(Enum):
    """What was found out about the processes of a tool that has been open for very long."""

    USED = "its processes are using CPU"
    UNUSED = "its processes use no CPU"
    NO_PROCESS = "it has no process of its own"
    UNSEEN = "whether it uses CPU is not verifiable here"


class Wait(Enum):
    """What a round waits for while no child works on it."""

    BACKOFF = auto()
    GATE = auto()
    AGAIN = auto()
    RESTART = auto()
    CAP = auto()


class Card(Struct):
    """One round's card, over all its writes; instants in nanoseconds.

    `since`: its first write, 0 where that was before a restart. `until`: what a wait ends at, 0 for not known.
    `ended`: when it got its last line; `over`: that one stays. `shown`: it was due; what is over sooner gets none.
    `cpu`: of the processes of a tool that has been open for very long. `title`, `status` by key and `notice`: what
    extensions said last.
    """

    round: str
    channel: int
    reply_to: int
    since: int = 0
    doing: str = "starting"
    wait: Wait | None = None
    tools: int = 0
    open: dict[str, tuple[str, int]] = field(default_factory=dict)
    cpu: Cpu | None = None
    text: str = ""
    title: str = ""
    status: dict[str, str] = field(default_factory=dict)
    notice: str = ""
    tokens: int = 0
    cost: float = 0.0
    model: str = ""
    until: int = 0
    ended: int = 0
    code: str = ""
    over: bool = False
    shown: bool = False

    def write(self, now: int) -> None:
        """A prompt is given to a child: what it did before counts on."""
        self.since = self.since or now
        self.doing, self.wait, self.until = "starting", None, 0
        self.text, self.open = "", {}
        self.title, self.status, self.notice = "", {}, ""

    def hold(self, wait: Wait, until: int = 0) -> None:
        """Nobody works on it for now."""
        self.wait, self.until = wait, until
        self.text, self.open = "", {}

    def end(self, code: str, now: int, *, over: bool) -> None:
        """Its last line; with `over` for good."""
        self.code, self.ended, self.over = code, self.ended or now, over

    def hear(self, told: engine.Effect, now: int) -> bool:
        """Take in one thing the engine told; whether it shows."""
        match told:
            case engine.Started():
                self.doing = "thinking"
            case engine.ToolOpened(call=call, tool=tool, args=args):
                self.tools += 1
                self.open[call] = (f"{clean(tool)} {short(args)}".strip(), now)
                self.text = ""
            case engine.ToolClosed(call=call):
                self.open.pop(call, None)
                self.cpu = None
            case engine.Progress(text=text, thinking=thinking):
                self.doing = "thinking" if thinking else "writing"
                if not thinking:
                    self.text = (self.text + text)[-2 * TAIL :]
            case engine.Spent(turn=turn, model=model, usage=usage) if turn:
                self.model = model or self.model
                if usage is not None:
                    self.tokens += usage.input + usage.output
                    self.cost += usage.cost.total if usage.cost else 0.0
            case engine.Retrying(attempt=attempt, attempts=attempts, delay=delay):
                when = (now + delay) // SECOND
                self.doing = f"the provider failed, try {attempt} of {attempts} <t:{when}:R>"
            case engine.Told(dialog=dialog):
                return self.tell(dialog)
            case _:
                return False
        return True

    def tell(self, dialog: pi.Dialog) -> bool:
        """What an extension says beside the answer; whether it shows. A status without a text is taken back."""
        match dialog.method:
            case "notify":
                self.notice = dialog.message[:LOOKED]
            case "setStatus" if dialog.statusKey in self.status or len(self.status) < STATES:
                self.status[dialog.statusKey] = dialog.statusText[:LOOKED]
            case "setTitle":
                self.title = dialog.title[:LOOKED]
            case _:
                return False
        return True

    def _told(self) -> list[str]:
        """Title and states on one line, the last notice below: somebody's texts, shown as they are."""
        states = [text for text in (self.title, *self.status.values()) if text.strip()][:SAID]
        lines = [" · ".join(_said(text) for text in states), _said(self.notice)]
        return [line for line in lines if line]

    def view(self) -> View:
        """What it shows now."""
        if self.code:
            return View(self.round, self.channel, self._last(), (), self.reply_to, over=self.over)
        buttons = [Button(f"stop:{self.round}", "Stop", "danger")]
        if self.wait is Wait.BACKOFF:
            buttons.append(Button(f"retry:{self.round}", "Retry now"))
        return View(self.round, self.channel, self._live(), tuple(buttons), self.reply_to, over=False)

    def _live(self) -> str:
        match self.wait:
            case Wait.BACKOFF:
                return f"⏳ {notices.asked_again(self.until // SECOND, model=self.model or None)}"
            case Wait.GATE:
                return f"⏳ {notices.behind_gate(self.until // SECOND)}"
            case Wait.AGAIN:
                return f"⏳ {notices.waits_again()}"
            case Wait.RESTART:
                return f"⏳ {notices.waits_for_restart()}"
            case Wait.CAP:
                return f"⏳ {notices_spend.waits_for_day(self.until // SECOND)}"
            case None:
                return self._at_work()
            case _:
                assert_never(self.wait)

    def _at_work(self) -> str:
        if self.open:
            tool, since = next(iter(self.open.values()))
            more = f" and {len(self.open) - 1} more" if len(self.open) > 1 else ""
            doing = f"{tool}{more}, since <t:{since // SECOND}:R>"
        else:
            doing = self.doing
        counts = [f"began <t:{self.since // SECOND}:R>"] if self.since else []
        counts += [f"{self.tools} tools"] if self.tools > 1 else []
        counts += [f"{self.tokens:,} tokens"] if self.tokens else []
        lines = [f"⚙️ {' · '.join([doing, *counts])}"]
        if self.open and self.cpu is not None:
            tool, since = next(iter(self.open.values()))
            lines.append(f"⏳ {tool} has been open since <t:{since // SECOND}:R>: {self.cpu.value}. Stop ends it.")
        lines += self._told()
        text = named(self.text).text  # which files it names is for the answer
        if text.strip() and not self.open:
            lines.append(quoted("\n".join(text[-TAIL:].strip().splitlines()[-LINES:])))
        return "\n".join(lines)

    def _last(self) -> str:
        words = [self.code]
        if self.since:
            words.append(f"{self.tools} tool{'' if self.tools == 1 else 's'}")
            words.append(f"{max(0, self.ended - self.since) / SECOND:.0f} s")
        words += [f"{self.tokens:,} tokens"] if self.tokens else []
        words += [f"{self.cost:.4f}"] if self.cost else []
        words += [f"`{clean(self.model).replace('`', ' ').strip()}`"] if self.model else []
        return f"-# {' · '.join(words)}"


def _said(text: str) -> str:
    return literal(clusters.excerpt(plain(text), SAID_LENGTH))


def capped(round_: Round, now: int) -> bool:
    """Whether a spending cap was told to hold it back today."""
    scope, day = round_.capped
    return bool(scope) and day == day_of(now)


def key_of(round_: str) -> str:
    """The outbox's key for a round's card."""
    return f"{round_}/card/1"


def quoted(text: str) -> str:
    """A tail of growing text as a quote: nothing of it can open a fence or a heading outside."""
    return "\n".join(f"> {line}" for line in text.strip().replace("```", "ˋˋˋ").splitlines())


def short(args: object) -> str:
    """A tool's arguments in a few words of code."""
    value: object = args
    if isinstance(args, dict) and args:
        value = next(
            (args[name] for name in ("command", "path", "file_path", "pattern", "query") if name in args), args
        )
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str) if value else ""
    text = " ".join(clean_line(text).split()).replace("`", "ˋ")
    return f"`{text[:ARGUMENT]}`" if text else ""


def clean_line(text: str) -> str:
    """The text with everything unprintable as blanks."""
    return "".join(char if char.isprintable() else " " for char in text[: 4 * ARGUMENT])


class Cards:
    """The cards of all rounds at work."""

    def __init__(self) -> None:
        self._cards: dict[str, Card] = {}

    def learn(self, new: Iterable[facts.AnyFact], rounds: Mapping[str, Round], now: int) -> list[View]:
        """What the facts of one step change: a write begins a card, an end ends it."""
        changed: dict[str, Card] = {}
        for fact in new:
            if isinstance(fact, facts.Redirected):
                self._redirect(fact.channel, fact.parent)
                continue
            name = facts.round_of(fact)
            if isinstance(fact, facts.Written) and fact.kind == "prompt" and name in rounds:
                card: Card | None = self._card(rounds[name])
            else:
                card = self._cards.get(name)
            if card is not None and _told(card, fact, now):
                changed[name] = card
                if card.over:
                    del self._cards[name]
        return [card.view() for card in changed.values() if card.shown]

    def hear(self, name: str, told: Iterable[engine.Effect], now: int) -> View | None:
        """What an engine told about the run of this round."""
        card = self._cards.get(name)
        if card is None or card.code:
            return None
        shows = [card.hear(effect, now) for effect in told]
        return card.view() if any(shows) and card.shown else None

    def linger(self, name: str, cpu: Cpu) -> View | None:
        """A tool of the round has been open for longer than `steering.long_wait`."""
        card = self._cards.get(name)
        if card is None or card.code or not card.open:
            return None
        card.cpu = cpu
        return card.view() if card.shown else None

    def reveal(self, name: str) -> View | None:
        """The turn has taken long enough to deserve its card."""
        card = self._cards.get(name)
        if card is None or card.shown or card.code:
            return None
        card.shown = True
        return card.view()

    def behind(self, round_: Round | None, until: int) -> View | None:
        """The round waits behind a closed gate: it gets its card now, since that may take long."""
        if round_ is None:
            return None
        card = self._card(round_)
        card.hold(Wait.GATE if round_.phase is not Phase.BACKOFF else Wait.BACKOFF, max(until, round_.until))
        card.shown = True
        return card.view()

    def adopt(self, known: Mapping[str, tuple[int, int]], rounds: Mapping[str, Round], now: int) -> list[View]:
        """The cards of an earlier process, by channel and message: shown as things are, those of ended rounds over.

        What was at a child is not shown here: the start decides about it next.
        """
        views = []
        for name, (channel, _) in known.items():
            round_ = rounds.get(name)
            reply_to = round_.reply_to if round_ is not None and round_.reply_to != channel else 0
            card = Card(name, channel, reply_to, shown=True)
            phase = round_.phase if round_ is not None else Phase.ENDED
            if phase is Phase.ENDED:
                card.end(round_.code if round_ is not None else "ended", now, over=True)
                views.append(card.view())
                continue
            self._cards[name] = card
            if phase is Phase.POSTING:
                card.end("answered", now, over=False)
            elif round_ is not None and phase not in AT_CHILD and capped(round_, now):
                card.hold(Wait.CAP, day_end(day_of(now)))
            elif phase is Phase.BACKOFF and round_ is not None:
                card.hold(Wait.BACKOFF, round_.until)
            else:
                card.hold(Wait.AGAIN)
            if phase not in AT_CHILD:
                views.append(card.view())
        return views

    def _card(self, round_: Round) -> Card:
        """The round's card, new where it has none."""
        card = self._cards.get(round_.id)
        if card is None:
            reply_to = round_.reply_to if round_.reply_to != round_.channel else 0
            card = self._cards[round_.id] = Card(round_.id, round_.channel, reply_to)
        return card

    def _redirect(self, channel: int, parent: int) -> None:
        for card in self._cards.values():
            if card.channel == channel:
                card.channel, card.reply_to = parent, channel


def _told(card: Card, fact: facts.AnyFact, now: int) -> bool:
    """Whether a fact about its round changes a card."""
    match fact:
        case facts.Written(kind="prompt"):
            card.write(now)
        case facts.Backoff(until=until):
            card.hold(Wait.BACKOFF, until)
            card.shown = True
        case facts.Capped(day=day):
            card.hold(Wait.CAP, day_end(day))
        case facts.Hurried() | facts.Requeued() | facts.Unwritten():
            card.hold(Wait.AGAIN)
        case facts.Cut():
            card.hold(Wait.RESTART)
        case facts.Answered():
            card.end("answered", now, over=False)
        case facts.Ended(code=code):
            card.end(code, now, over=True)
        case _:
            return False
    return True
