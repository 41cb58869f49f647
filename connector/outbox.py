"""What is still to be posted: one queue a channel, in order, retried until it stands; pure, it posts nothing itself.

The laws, in the words of CONTRACT and BEHAVIOUR:

* Per channel one thing is on its way at a time, and posts leave in the order they were owed; parts in theirs.
* Tries of one part share its nonce, two different parts never do.
* What Discord may have forgotten the nonce of is looked for in the history before it is tried again.
* After a drop nothing of the round goes out but its receipts (BEHAVIOUR §2, §7.15).
* A card's latest content wins; an edit never goes before its post stands, nor sooner than 1.2 s after the last one.
"""

import base64
import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from connector import facts
from connector.outbox_moves import (
    Action,
    Edit,
    Later,
    Look,
    Missing,
    Never,
    Other,
    Outcome,
    Send,
    Show,
    Stands,
    Told,
)
from connector.ports import Controls
from engine.events import SECOND

NONCE_WINDOW = 180 * SECOND
"""How long Discord surely remembers a nonce; it forgets it at some time after that."""
FORGOTTEN = 600 * SECOND
"""After this it has surely forgotten it."""
EDIT_PACE = 1_200_000_000
_RETRY_CAP = 60 * SECOND
_OTHERS = 2
_REMEMBERED = 2_000


def nonce(key: str, part: int) -> str:
    """The nonce of one part: 22 characters, the same for every try, for no other part."""
    digest = hashlib.sha256(f"{key}\0{part}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()


def _shown(key: str, channel: int, message: int) -> list[Told]:
    """That a card, or a question of the agent, stands there now; nothing of a post, which is told of otherwise."""
    match key.rsplit("/", 2):
        case [name, "card", _]:
            return [facts.CardShown(name, channel, message)]
        case [_, "dialog", _]:
            return [facts.DialogShown(key, channel, message)]
        case _:
            return []


def _needs_nothing(key: str) -> list[Told]:
    """That a card, or a question of the agent, needs nothing more."""
    match key.rsplit("/", 2):
        case [name, "card", _]:
            return [facts.CardOver(name)]
        case [_, "dialog", _]:
            return [facts.DialogOver(key)]
        case _:
            return []


@dataclass(slots=True)
class _Tries:
    """How often something failed, and when it may be tried again."""

    failures: int = 0
    due: int = 0
    first: int | None = None

    def start(self, now: int) -> None:
        if self.first is None:
            self.first = now

    def failed(self, now: int, after: int) -> None:
        pause = min(_RETRY_CAP, SECOND << min(self.failures, 10))
        self.failures += 1
        self.due = now + max(pause, after)

    def old(self, now: int) -> bool:
        return self.first is not None and now - self.first >= NONCE_WINDOW


@dataclass(slots=True)
class _Post:
    """A post and how far it has come; `unsure`: an earlier process may have sent this part."""

    owed: facts.Owed
    part: int
    last: int
    unsure: bool
    dropped: bool = False
    others: int = 0
    tries: _Tries = field(default_factory=_Tries)

    def action(self, now: int) -> Action:
        if self.unsure or self.tries.old(now):
            return Look(self.owed, self.part, self.last or self.owed.reply_to)
        self.tries.start(now)
        return Send(self.owed, self.part)


@dataclass(slots=True)
class _Card:
    """What a card, or a post that is edited, is to show; `shown` is what stands there.

    `lost`: Discord will not have it, or may have it without our knowing: it is left alone until it is finished.
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
    doubt: tuple[str, Controls] | None = None
    tries: _Tries = field(default_factory=_Tries)

    @property
    def wanted(self) -> tuple[str, Controls]:
        return self.content, self.buttons

    @property
    def open(self) -> bool:
        """Whether something of it has still to go out."""
        if self.lost:
            return False
        return self.shown != self.wanted if self.message is not None else self.posts

    def action(self, now: int) -> Action:
        self.tries.start(now)
        if self.message is None:
            return Show(self.key, self.channel, *(self.doubt or self.wanted), self.reply_to)
        return Edit(self.key, self.channel, self.message, self.content, self.buttons)


@dataclass(slots=True)
class _Channel:
    """One channel's queue; `flying` is what is on its way."""

    queue: deque[_Post] = field(default_factory=deque)
    cards: dict[str, _Card] = field(default_factory=dict)
    flying: Action | None = None
    edited: int = -EDIT_PACE

    def choices(self) -> Iterator[tuple[int, _Post | _Card]]:
        """What may go next, with the instant it may, best first: posts before cards, which only decorate."""
        if self.queue:
            yield self.queue[0].tries.due, self.queue[0]
        for card in self.cards.values():
            if card.open:
                paced = self.edited + EDIT_PACE if card.message is not None else 0
                yield max(card.tries.due, paced), card


class Outbox:
    """Everything owed. Instants are nanoseconds of one steady clock.

    Ask `ready(now)` for what to do, tell `done(action, outcome, now)` what came of each, come again at `deadline()`.
    """

    def __init__(self) -> None:
        self._channels: dict[int, _Channel] = {}
        self._posts: dict[str, _Post] = {}
        self._cards: dict[str, _Card] = {}
        self._stand: OrderedDict[str, tuple[int, int]] = OrderedDict()

    # -- posts -------------------------------------------------------------------------------------------------

    def owe(self, owed: facts.Owed, *, posted: int = 0, last: int = 0, fresh: bool = True) -> None:
        """Take a post. After a restart: `posted` parts stand there, `last` is the newest of them, `fresh` is False."""
        if owed.key in self._posts or (fresh and owed.key in self._stand):
            return
        post = _Post(owed, posted, last, unsure=not fresh)
        self._posts[owed.key] = post
        self._channel(owed.channel).queue.append(post)

    def drop(self, round_: str) -> list[Told]:
        """Take back what of a round has not gone out, its receipts apart; what is on its way tells later."""
        told: list[Told] = []
        for post in [post for post in self._posts.values() if post.owed.round == round_]:
            if post.owed.kind == "receipt":
                continue
            post.dropped = True
            if not self._flies(post):
                told += self._end(post, "stopped")
        return told

    def owed(self) -> list[str]:
        """The keys of what is still to be posted."""
        return list(self._posts)

    # -- cards -------------------------------------------------------------------------------------------------

    def show(self, key: str, channel: int, content: str, buttons: Controls = (), *, reply_to: int = 0) -> None:
        """Let a card, or the post of this key, show this: posted at the first call, edited later."""
        card = self._cards.get(key)
        if card is not None:
            card.content, card.buttons = content, buttons
            return
        card = _Card(key, channel, content, buttons, reply_to)
        if (stands := self._stand.get(key)) is not None:
            card.channel, card.message = stands
        card.posts = key not in self._posts
        self._cards[key] = card
        self._channel(card.channel).cards[key] = card

    def adopt(self, key: str, channel: int, message: int) -> None:
        """A message of ours from before a restart: `show` of this key edits it."""
        self._remember(key, channel, message)

    def finish(self, key: str) -> list[Told]:
        """The last content of a card was shown: it is forgotten once it stands there, at once if it never did."""
        card = self._cards.get(key)
        if card is None:
            return []
        card.ends = True
        card.posts = card.posts and (card.doubt is not None or self._flying(card.channel) == key)
        return self._tidy(card)

    # -- the clock ---------------------------------------------------------------------------------------------

    def ready(self, now: int) -> list[Action]:
        """What is to be done now, at most one thing a channel; each must come back to `done`."""
        found: list[Action] = []
        for channel in self._channels.values():
            if channel.flying is not None:
                continue
            choice = next((what for due, what in channel.choices() if due <= now), None)
            if choice is not None:
                channel.flying = choice.action(now)
                found.append(channel.flying)
        return found

    def deadline(self) -> int | None:
        """When `ready` has something next, if nothing else happens; it may be past."""
        dues = [due for channel in self._channels.values() if channel.flying is None for due, _ in channel.choices()]
        return min(dues, default=None)

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way and nothing has to go out."""
        return all(channel.flying is None and not any(channel.choices()) for channel in self._channels.values())

    def done(self, action: Action, outcome: Outcome, now: int) -> list[Told]:
        """What came of an action; the facts it makes, in order."""
        match action:
            case Send(owed) | Look(owed):
                self._channels[owed.channel].flying = None
                return self._post_done(self._posts[owed.key], outcome, now)
            case Show(key, channel) | Edit(key, channel):
                self._channels[channel].flying = None
                return self._card_done(self._cards[key], action, outcome, now)
            case _:
                assert_never(action)

    # -- inside ------------------------------------------------------------------------------------------------

    def _post_done(self, post: _Post, outcome: Outcome, now: int) -> list[Told]:
        match outcome:
            case Stands(message, parts):
                return self._stands(post, message, parts)
            case Never(reason):
                return self._end(post, reason)
            case _ if post.dropped:
                return self._end(post, "stopped")
            case Missing():
                post.unsure, post.tries = False, _Tries()
            case Later(after):
                post.tries.failed(now, after)
            case Other():
                post.others += 1
                if post.others >= _OTHERS:
                    return self._end(post, "Discord gave another message back, twice")
                # The nonce belongs to another message until Discord forgets it.
                post.tries.failed(now, FORGOTTEN)
            case _:
                assert_never(outcome)
        return []

    def _stands(self, post: _Post, message: int, parts: int) -> list[Told]:
        owed = post.owed
        told: list[Told] = [facts.Posted(owed.key, post.part, parts, message)]
        if owed.key not in self._stand:
            self._remember(owed.key, owed.channel, message)
        # What an earlier process had sent of it may be more than this part: it stays unsure until one is missing.
        post.part, post.last, post.tries = post.part + 1, message, _Tries()
        if post.part >= parts:
            self._leave(post)
        elif post.dropped:
            told += self._end(post, "stopped")
        return told

    def _end(self, post: _Post, reason: str) -> list[Told]:
        self._leave(post)
        card = self._cards.get(post.owed.key)
        if card is not None and card.message is None:
            self._forget(card)
        return [facts.Dropped(post.owed.key, reason)]

    def _leave(self, post: _Post) -> None:
        del self._posts[post.owed.key]
        self._channels[post.owed.channel].queue.remove(post)
        self._clear(post.owed.channel)

    def _card_done(self, card: _Card, action: Show | Edit, outcome: Outcome, now: int) -> list[Told]:
        channel = self._channels[card.channel]
        channel.edited = now
        channel.cards[card.key] = channel.cards.pop(card.key)  # the others' turn
        told: list[Told] = []
        match outcome:
            case Stands(message):
                card.message, card.shown, card.tries = message, (action.content, action.buttons), _Tries()
                if isinstance(action, Show):
                    self._remember(card.key, card.channel, message)
                    told += _shown(card.key, card.channel, message)
            case Later(after) if isinstance(action, Edit) or not card.tries.old(now + after):
                card.tries.failed(now, after)
                if not after:  # with a wait it is a limit, which takes nothing
                    card.doubt = action.content, action.buttons
            case Missing() | Later() | Other() | Never():
                # A card only decorates: rather none than two. A question that is not seen waits for nobody.
                seen = card.message is not None or "/dialog/" not in card.key
                told = self._over(card) if seen else _needs_nothing(card.key)
                card.lost = True
            case _:
                assert_never(outcome)
        return told + self._tidy(card)

    def _remember(self, key: str, channel: int, message: int) -> None:
        self._stand[key] = channel, message
        while len(self._stand) > _REMEMBERED:
            self._stand.popitem(last=False)
        card = self._cards.get(key)
        if card is not None and card.message is None:
            card.message = message

    def _tidy(self, card: _Card) -> list[Told]:
        if card.ends and not card.open and self._flying(card.channel) != card.key and card.key not in self._posts:
            self._forget(card)
            return self._over(card)
        return []

    def _over(self, card: _Card) -> list[Told]:
        """That a card which stood there needs nothing more, told once."""
        return _needs_nothing(card.key) if card.message is not None and not card.lost else []

    def _forget(self, card: _Card) -> None:
        del self._cards[card.key]
        self._channels[card.channel].cards.pop(card.key)
        self._clear(card.channel)

    def _channel(self, channel: int) -> _Channel:
        return self._channels.setdefault(channel, _Channel())

    def _clear(self, channel: int) -> None:
        """Forget a channel that has nothing left; its pace of edits would only matter to a card."""
        kept = self._channels.get(channel)
        if kept is not None and not kept.queue and not kept.cards and kept.flying is None:
            del self._channels[channel]

    def _flying(self, channel: int) -> str | None:
        match self._channels[channel].flying:
            case None:
                return None
            case Send(owed) | Look(owed):
                return owed.key
            case Show(key) | Edit(key):
                return key

    def _flies(self, post: _Post) -> bool:
        return self._flying(post.owed.channel) == post.owed.key
