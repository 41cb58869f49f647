"""Cards on their way to the outbox: collected while a batch is stepped, held while their thread does not stand yet."""

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec.structs import replace

from connector import facts
from connector.cards import Cards, Cpu, View, key_of
from connector.lane_effects import Behind
from connector.lane_events import ChildSays
from connector.lanes import Lanes
from connector.posting import Posting


class Showing:
    """The dispatcher's hand for cards. `on`: `discord.progress`; without it only those of an earlier process end.

    `opening`: channels of threads that are being opened; `now`: nanoseconds since the epoch.
    """

    def __init__(
        self,
        lanes: Lanes,
        posting: Callable[[], Posting],
        opening: Collection[int],
        now: Callable[[], int],
        *,
        on: bool,
    ) -> None:
        self._lanes, self._posting, self._opening, self._now, self._on = lanes, posting, opening, now, on
        self._cards = Cards()
        self._views: list[View] = []
        self._early: dict[str, View] = {}

    def learn(self, new: Sequence[facts.AnyFact]) -> None:
        """What one step recorded."""
        for view in self._cards.learn(new, self._lanes.world.rounds, self._now()):
            self._take(view)

    def hear(self, says: ChildSays) -> None:
        """What an engine told of the lane's head; an earlier child tells nothing of it (BEHAVIOUR §7.32)."""
        head = self._lanes.world.head(says.lane)
        if head is not None and head.child == says.child:
            self._take(self._cards.hear(head.id, says.told, self._now()))

    def linger(self, lane: str, child: int, cpu: Cpu) -> None:
        """A tool of the lane's head has been open for very long."""
        head = self._lanes.world.head(lane)
        if head is not None and head.child == child:
            self._take(self._cards.linger(head.id, cpu))
            self.flush()

    def behind(self, effect: Behind) -> None:
        """A round waits behind a closed gate."""
        self._take(self._cards.behind(self._lanes.world.rounds.get(effect.round), effect.until))

    def reveal(self, name: str) -> None:
        """The turn has taken long enough to deserve its card."""
        self._take(self._cards.reveal(name))
        self.flush()

    def adopt(self) -> None:
        """At a start: the cards of the process before go on, or show their end."""
        world = self._lanes.world
        for name, (channel, message) in world.cards.items():
            self._posting().adopt(key_of(name), channel, message)
        for view in self._cards.adopt(world.cards, world.rounds, self._now()):
            _, message = world.cards[view.round]
            if self._on or view.over or message:  # one that may not stand there is not to be posted
                self._views.append(view)

    def put(self, views: Iterable[View]) -> None:
        """Posts that are edited like cards, but are shown whatever `discord.progress` says."""
        self._views += views

    def adopt_one(self, view: View, message: int) -> None:
        """A post of an earlier process that is to look like this from now on."""
        self._posting().adopt(view.key, view.channel, message)
        self._views.append(view)

    def flush(self) -> None:
        """Hand on what has changed, the latest of each card; everything it shows is recorded by now."""
        views, self._views = self._views, []
        for view in {view.key: view for view in views}.values():
            self._show(view)

    def thread_done(self, message: int, parent: int, *, opened: bool) -> None:
        """The thread on this message stands, or cannot be had: its cards go there, or to the channel above."""
        for view in [view for view in self._early.values() if view.channel == message]:
            del self._early[view.key]
            self._show(view if opened else replace(view, channel=parent, reply_to=message))

    def _take(self, view: View | None) -> None:
        if view is not None and (self._on or (view.over and view.round in self._lanes.world.cards)):
            self._views.append(view)

    def _show(self, view: View) -> None:
        if view.channel in self._opening:
            self._early[view.key] = view
            return
        self._posting().show(view.key, view.channel, view.content, view.buttons, reply_to=view.reply_to)
        if view.over:
            self._posting().finish(view.key)
