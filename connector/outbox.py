"""What is still to be posted: one queue a channel, in order, retried until it stands; pure, it posts nothing itself.

The laws, in the words of CONTRACT and BEHAVIOUR:

* Per channel one thing is on its way at a time, and posts leave in the order they were owed; parts in theirs.
* Tries of one part share its nonce, two different parts never do.
* What Discord may have forgotten the nonce of is looked for in the history before it is tried again.
* After a drop nothing of the round goes out but its receipts (BEHAVIOUR §2, §7.15).
* A card, and a question, is recorded before it is posted; what may stand there is looked for, and edited.
* A card's latest content wins; an edit never goes before its post stands, nor sooner than 1.2 s after the last one.
"""

import base64
import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import assert_never

from msgspec import Struct, field

from connector import facts
from connector.outbox_cards import Card, Tries, control, shown
from connector.outbox_moves import (
    Action,
    Edit,
    Find,
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

FORGOTTEN = 600 * SECOND
"""After this Discord has surely forgotten a nonce."""
EDIT_PACE = 1_200_000_000
_OTHERS = 2
_REMEMBERED = 2_000


def nonce(key: str, part: int) -> str:
    """The nonce of one part: 22 characters, the same for every try, for no other part."""
    digest = hashlib.sha256(f"{key}\0{part}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()


class _Post(Struct):
    """A post and how far it has come; `unsure`: an earlier process may have sent this part."""

    owed: facts.Owed
    part: int
    last: int
    unsure: bool
    dropped: bool = False
    others: int = 0
    tries: Tries = field(default_factory=Tries)

    def action(self, now: int) -> Action:
        if self.unsure or self.tries.old(now):
            return Look(self.owed, self.part, self.last or self.owed.reply_to)
        self.tries.start(now)
        return Send(self.owed, self.part)


class _Channel(Struct):
    """One channel's queue; `flying` is what is on its way."""

    queue: deque[_Post] = field(default_factory=deque)
    cards: dict[str, Card] = field(default_factory=dict)
    flying: Action | None = None
    edited: int = -EDIT_PACE

    def choices(self) -> Iterator[tuple[int, _Post | Card]]:
        """What may go next, with the instant it may, best first: posts before cards, which only decorate."""
        if self.queue:
            yield self.queue[0].tries.due, self.queue[0]
        for card in self.cards.values():
            if card.open:
                paced = self.edited + EDIT_PACE if card.message is not None else 0
                yield max(card.tries.due, paced), card

    @property
    def still(self) -> bool:
        """Whether nothing is on its way and nothing has to go out."""
        return self.flying is None and not self.queue and not any(card.awaited for card in self.cards.values())


class Outbox:
    """Everything owed. Instants are nanoseconds of one steady clock.

    Ask `ready(now)` for what to do, tell `done(action, outcome, now)` what came of each, come again at `deadline()`.
    """

    def __init__(self) -> None:
        self._channels: dict[int, _Channel] = {}
        self._posts: dict[str, _Post] = {}
        self._cards: dict[str, Card] = {}
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

    def show(self, key: str, channel: int, content: str, buttons: Controls = (), *, reply_to: int = 0) -> list[Told]:
        """Let a card, or the post of this key, show this: posted at the first call, edited later.

        What it tells of a card is to be recorded before it is posted: it waits for `recorded`.
        """
        card = self._cards.get(key)
        if card is not None:
            card.content, card.buttons = content, buttons
            return []
        card = Card(key, channel, content, buttons, reply_to)
        if (stands := self._stand.get(key)) is not None:
            card.channel, message = stands
            card.message, card.unsure = message or None, not message
        else:
            card.recorded = not control(key)
        card.posts = key not in self._posts
        self._cards[key] = card
        self._channel(card.channel).cards[key] = card
        return [] if card.recorded else shown(key, channel, 0)

    def recorded(self, key: str) -> None:
        """What `show` told of this card is recorded: it may be posted."""
        if (card := self._cards.get(key)) is not None:
            card.recorded = True

    def adopt(self, key: str, channel: int, message: int) -> None:
        """A message of ours from before a restart: `show` of this key edits it; 0: it is looked for then."""
        self._remember(key, channel, message)

    def finish(self, key: str) -> list[Told]:
        """The last content of a card was shown: it is forgotten once it stands there, at once if it never did."""
        card = self._cards.get(key)
        if card is None:
            return []
        card.end(flying=self._flying(card.channel) == key)
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
        return all(channel.still for channel in self._channels.values())

    def done(self, action: Action, outcome: Outcome, now: int) -> list[Told]:
        """What came of an action; the facts it makes, in order."""
        match action:
            case Send(owed) | Look(owed):
                self._channels[owed.channel].flying = None
                return self._post_done(self._posts[owed.key], outcome, now)
            case Show(key, channel) | Edit(key, channel) | Find(key, channel):
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
                post.unsure, post.tries = False, Tries()
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
        post.part, post.last, post.tries = post.part + 1, message, Tries()
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

    def _card_done(self, card: Card, action: Show | Edit | Find, outcome: Outcome, now: int) -> list[Told]:
        channel = self._channels[card.channel]
        if not isinstance(action, Find):
            channel.edited = now
        channel.cards[card.key] = channel.cards.pop(card.key)  # the others' turn
        told = card.done(action, outcome, now)
        if card.message is not None and not isinstance(action, Edit):
            self._remember(card.key, card.channel, card.message)
        return told + self._tidy(card)

    def _remember(self, key: str, channel: int, message: int) -> None:
        self._stand[key] = channel, message
        while len(self._stand) > _REMEMBERED:
            self._stand.popitem(last=False)
        card = self._cards.get(key)
        if card is not None and card.message is None:
            card.message = message

    def _tidy(self, card: Card) -> list[Told]:
        if card.ends and not card.open and self._flying(card.channel) != card.key and card.key not in self._posts:
            self._forget(card)
            return card.over()
        return []

    def _forget(self, card: Card) -> None:
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
            case Show(key) | Edit(key) | Find(key):
                return key

    def _flies(self, post: _Post) -> bool:
        return self._flying(post.owed.channel) == post.owed.key
