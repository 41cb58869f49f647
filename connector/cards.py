"""The card: one message per turn that shows what it is doing; pure, a fold over facts and what engines tell.

It is never the only place of an answer, and every end of a round ends its card. How often it is edited is the
outbox's business; a countdown is a tag that Discord itself keeps current.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from connector import facts, notices
from connector.header import clean
from connector.ports import Button
from connector.world import Round
from engine import events as engine

_SECOND = 1_000_000_000
TAIL = 900
"""Characters of growing text that a card shows."""

ARGUMENT = 80


@dataclass(frozen=True, slots=True)
class View:
    """What a card is to show now; `over`: it will not change any more."""

    key: str
    channel: int
    content: str
    buttons: tuple[Button, ...]
    reply_to: int
    over: bool


@dataclass(slots=True)
class Card:
    """One round's card. `shown`: it was due; a turn that is over sooner gets none."""

    round: str
    channel: int
    reply_to: int
    since: int
    doing: str = "starting"
    tools: int = 0
    open: dict[str, tuple[str, int]] = field(default_factory=dict)
    text: str = ""
    said: str = ""
    tokens: int = 0
    cost: float = 0.0
    model: str = ""
    until: int = 0
    code: str = ""
    shown: bool = False

    @property
    def key(self) -> str:
        """The outbox's name for it, and the source of its nonce."""
        return f"{self.round}/card/1"

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
            case engine.Progress(text=text, thinking=thinking):
                self.doing = "thinking" if thinking else "writing"
                if not thinking:
                    self.text = (self.text + text)[-2 * TAIL :]
            case engine.Spent(model=model, usage=usage):
                self.model = model
                if usage is not None:
                    self.tokens += usage.input + usage.output
                    self.cost += usage.cost.total if usage.cost else 0.0
            case engine.Retrying(attempt=attempt, attempts=attempts, delay=delay):
                when = (now + delay) // _SECOND
                self.doing = f"the provider failed, try {attempt} of {attempts} <t:{when}:R>"
            case engine.Told(dialog=dialog):
                self.said = clean(dialog.message or dialog.statusText or dialog.title)
            case _:
                return False
        return True

    def view(self) -> View:
        """What it shows now."""
        if self.code:
            return View(self.key, self.channel, self._last(), (), self.reply_to, over=True)
        buttons = [Button(f"stop:{self.round}", "Stop", "danger")]
        if self.until:
            buttons.append(Button(f"retry:{self.round}", "Retry now"))
        return View(self.key, self.channel, self._live(), tuple(buttons), self.reply_to, over=False)

    def _live(self) -> str:
        if self.until:
            return f"⏳ {notices.asked_again(self.until // _SECOND, model=self.model or None)}"
        if self.open:
            tool, since = next(iter(self.open.values()))
            more = f" and {len(self.open) - 1} more" if len(self.open) > 1 else ""
            doing = f"{tool}{more}, since <t:{since // _SECOND}:R>"
        else:
            doing = self.doing
        counts = [f"began <t:{self.since // _SECOND}:R>"]
        counts += [f"{self.tools} tools"] if self.tools > 1 else []
        counts += [f"{self.tokens:,} tokens"] if self.tokens else []
        lines = [f"⚙️ {doing} · {' · '.join(counts)}"]
        lines += [self.said] if self.said else []
        if self.text.strip() and not self.open:
            lines.append(quoted(self.text[-TAIL:]))
        return "\n".join(lines)

    def _last(self) -> str:
        words = [self.code, f"{self.tools} tool{'' if self.tools == 1 else 's'}"]
        words.append(f"{max(0, self.until - self.since) / _SECOND:.0f} s")
        words += [f"{self.tokens:,} tokens"] if self.tokens else []
        words += [f"{self.cost:.4f}"] if self.cost else []
        words += [f"`{clean(self.model).replace('`', ' ').strip()}`"] if self.model else []
        return f"-# {' · '.join(words)}"


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
            match fact:
                case facts.Written(round=name, kind="prompt"):
                    card = self._begin(name, rounds, now)
                case facts.Backoff(round=name, until=until):
                    card = self._cards.get(name)
                    if card is not None:
                        card.until, card.text, card.open, card.shown = until, "", {}, True
                case facts.Redirected(channel, parent):
                    self._redirect(channel, parent)
                    continue
                case facts.Answered(round=name):
                    card = self._end(name, "answered", now)
                case facts.Ended(round=name, code=code):
                    card = self._end(name, code, now)
                case facts.Requeued(round=name):
                    card = self._end(name, "waits again", now)
                case _:
                    continue
            if card is not None:
                changed[card.round] = card
        return [card.view() for card in changed.values() if card.shown]

    def hear(self, name: str | None, told: Iterable[engine.Effect], now: int) -> View | None:
        """What an engine told about the run of this round."""
        card = self._cards.get(name or "")
        if card is None or card.code:
            return None
        shows = [card.hear(effect, now) for effect in told]
        return card.view() if any(shows) and card.shown else None

    def reveal(self, name: str) -> View | None:
        """The turn has taken long enough to deserve its card."""
        card = self._cards.get(name)
        if card is None or card.shown:
            return None
        card.shown = True
        return card.view()

    def _begin(self, name: str, rounds: Mapping[str, Round], now: int) -> Card | None:
        round_ = rounds.get(name)
        if round_ is None:
            return None
        before = self._cards.get(name)
        reply_to = round_.reply_to if round_.reply_to != round_.channel else 0
        card = Card(name, round_.channel, reply_to, now, shown=before is not None and before.shown)
        self._cards[name] = card
        return card

    def _redirect(self, channel: int, parent: int) -> None:
        for card in self._cards.values():
            if card.channel == channel:
                card.channel, card.reply_to = parent, channel

    def _end(self, name: str, code: str, now: int) -> Card | None:
        card = self._cards.pop(name, None)
        if card is not None:
            card.code, card.until = code, now
        return card
