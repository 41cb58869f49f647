"""A card, or a post that is edited, on its way to Discord: what it shows, and what is known of where it stands; pure.

A card has controls that work. So it is recorded before it is posted: one that may stand there without our knowing,
after a process that died or a reply that was lost, is looked for by its controls until it is found or surely absent.
"""

from typing import assert_never

from msgspec import Struct, field

from connector import facts
from connector.outbox_moves import (
    Action,
    Edit,
    Find,
    Later,
    Missing,
    Never,
    Other,
    Outcome,
    Show,
    Stands,
    Told,
)
from connector.ports import Controls
from engine.events import SECOND

NONCE_WINDOW = 180 * SECOND
"""How long Discord surely remembers a nonce; it forgets it at some time after that."""
UNDER_WAY = 30 * SECOND
"""So long the request of a process that died may still be on its way to where it is looked for."""
_RETRY_CAP = 60 * SECOND


def shown(key: str, channel: int, message: int) -> list[Told]:
    """That a card, or a question of the agent, stands there now, or may soon (`message` 0); nothing of a post."""
    match key.rsplit("/", 2):
        case [name, "card", _]:
            return [facts.CardShown(name, channel, message)]
        case [_, "dialog", _]:
            return [facts.DialogShown(key, channel, message)]
        case _:
            return []


def needs_nothing(key: str) -> list[Told]:
    """That a card, or a question of the agent, needs nothing more."""
    match key.rsplit("/", 2):
        case [name, "card", _]:
            return [facts.CardOver(name)]
        case [_, "dialog", _]:
            return [facts.DialogOver(key)]
        case _:
            return []


def control(key: str) -> str:
    """The `custom_id` that always stands under a card or a question at work; "" for what is never looked for."""
    match key.rsplit("/", 2):
        case [name, "card", _]:
            return f"stop:{name}"
        case [_, "dialog", post]:
            return f"dialog:{post.partition('.')[2]}:cancel"
        case _:
            return ""


def _before(key: str) -> int:
    """An id that is older than every post of this round: that of its message, 0 where it has none."""
    base = key.partition("/")[0].partition(".")[0]
    return int(base) if base.isdecimal() else 0


class Tries(Struct):
    """How often something failed, and when it may be tried again."""

    failures: int = 0
    due: int = 0
    first: int | None = None

    def start(self, now: int) -> None:
        """It is tried: Discord may know its nonce from now on."""
        if self.first is None:
            self.first = now

    def failed(self, now: int, after: int) -> None:
        """Again after a pause that grows, not before `after`."""
        pause = min(_RETRY_CAP, SECOND << min(self.failures, 10))
        self.failures += 1
        self.due = now + max(pause, after)

    def old(self, now: int) -> bool:
        """Whether Discord may have forgotten the nonce."""
        return self.first is not None and now - self.first >= NONCE_WINDOW


class Card(Struct):
    """What a card, or a post that is edited, is to show; `shown` is what stands there.

    `recorded`: a start would look for it, so that it may be posted. `unsure`: it may stand there, and is looked for;
    `late`: it was not found, and is looked for a second time. `lost`: Discord will not have it: it is left alone.
    `doubt`: what a try carried that may stand there: the next try is the same, so that it is known again, and edited.
    """

    key: str
    channel: int
    content: str
    buttons: Controls
    reply_to: int
    message: int | None = None
    shown: tuple[str, Controls] | None = None
    posts: bool = True
    ends: bool = False
    lost: bool = False
    recorded: bool = True
    unsure: bool = False
    late: bool = False
    others: int = 0
    doubt: tuple[str, Controls] | None = None
    tries: Tries = field(default_factory=Tries)

    @property
    def wanted(self) -> tuple[str, Controls]:
        """What it is to show."""
        return self.content, self.buttons

    @property
    def open(self) -> bool:
        """Whether something of it has still to go out, and may."""
        if self.lost:
            return False
        return self.shown != self.wanted if self.message is not None else self.posts and self.recorded

    @property
    def awaited(self) -> bool:
        """Whether all is not quiet before that; a second look is left to the next start."""
        return self.open and not (self.unsure and self.late)

    def action(self, now: int) -> Action:
        """What is to be done about it."""
        if self.message is not None:
            return Edit(self.key, self.channel, self.message, self.content, self.buttons)
        if control(self.key) and (self.unsure or self.tries.old(now)):
            return Find(self.key, self.channel, control(self.key), _before(self.key))
        self.tries.start(now)
        return Show(self.key, self.channel, *(self.doubt or self.wanted), self.reply_to)

    def end(self, *, flying: bool) -> None:
        """Its last content was shown: what surely does not stand there is not posted any more."""
        self.ends = True
        self.posts = self.posts and (self.doubt is not None or self.unsure or flying)

    def done(self, action: Show | Edit | Find, outcome: Outcome, now: int) -> list[Told]:
        """What came of an action; the facts it makes."""
        match outcome:
            case Stands(message):
                return self._stands(action, message)
            case Missing() if isinstance(action, Find):
                self._missing(now)
            case Later(after) if self._goes_on(action, now + after):
                self.tries.failed(now, after)
                if isinstance(action, Show) and not after:  # with a wait it is a limit, which takes nothing
                    self.doubt = action.content, action.buttons
            case Other() if control(self.key) and not self.others:
                # Ours, for nobody else has our nonces: perhaps what an earlier process had on its way.
                self.others, self.unsure = 1, True
            case Missing() | Later() | Other() | Never():
                # A card only decorates: rather none than two. A question that is not seen waits for nobody.
                told = self.over()
                self.lost = True
                return told
            case _:
                assert_never(outcome)
        return []

    def _goes_on(self, action: Show | Edit | Find, now: int) -> bool:
        """Whether it is tried again at `now`: as it was, or by looking for it."""
        return not isinstance(action, Show) or bool(control(self.key)) or not self.tries.old(now)

    def _stands(self, action: Show | Edit | Find, message: int) -> list[Told]:
        self.message, self.unsure, self.tries = message, False, Tries()
        if not isinstance(action, Find):
            self.shown = action.content, action.buttons
        return [] if isinstance(action, Edit) else shown(self.key, self.channel, message)

    def _missing(self, now: int) -> None:
        """It does not stand there: it is posted now, or, where it is over, looked for once more and then forgotten."""
        self.unsure, self.doubt, self.tries = False, None, Tries()
        if self.ends and not self.late:
            self.unsure = self.late = True
            self.tries.due = now + UNDER_WAY
        elif self.ends:
            self.posts = False

    def over(self) -> list[Told]:
        """That it needs nothing more, told once."""
        return needs_nothing(self.key) if not self.lost else []
