"""The state that facts make: rounds and lanes, by one fold; pure, it decides nothing (BEHAVIOUR §7.30).

`World` is changed by `apply` alone, in place, at a cost that does not grow with the number of lanes; what it holds
are frozen values. The same facts in the same order make an equal world.
"""

from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from connector import facts
from connector.facts import AnyFact
from connector.rounds import AT_CHILD, HEADS, Phase, Round, told
from connector.spend import Today

__all__ = ["AT_CHILD", "HEADS", "Lane", "Phase", "Round", "Session", "World", "told", "without"]


class Session(Struct, frozen=True):
    """One pi session of a lane: its file, since when (ns) it has something in it, its name."""

    path: str
    at: int
    name: str = ""


class Lane(Struct, frozen=True):
    """One conversation. `waiting`: round ids in the order in which they are asked; `held`: those at the child or in
    backoff; `posting`: those whose answer is on its way; `people`: who has spoken here; `session`: the file of the
    present one; `sessions`: all of them, oldest first."""

    key: str
    channel: int = 0
    waiting: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    posting: tuple[str, ...] = ()
    people: frozenset[int] = frozenset()
    bots_in_row: int = 0
    session: str = ""
    model: tuple[str, str] | None = None
    thinking: str = ""
    thread_of: int = 0
    sessions: tuple[Session, ...] = ()


class World(Struct):
    """Everything that is not over. A round leaves when it has ended and owes no post.

    `stands`: of a post that is half made, how many parts stand in Discord and the newest of them. `redirects`: the
    channel above each thread that could not be opened. `cards`: channel and message of each card that does not show
    its end yet, by round; 0: it may stand there. One may outlive its round. `dialogs`: the same of an extension's
    questions, by key. `today`: what was spent on the newest day. `unsaid`: messages that were deleted and whose texts
    are still needed.
    """

    rounds: dict[str, Round] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    owed: dict[str, facts.Owed] = field(default_factory=dict)
    gates: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)
    waiting_by: dict[int, int] = field(default_factory=dict)
    children: dict[int, facts.ChildStarted] = field(default_factory=dict)
    threads: set[int] = field(default_factory=set)
    stands: dict[str, tuple[int, int]] = field(default_factory=dict)
    redirects: dict[int, int] = field(default_factory=dict)
    cards: dict[str, tuple[int, int]] = field(default_factory=dict)
    dialogs: dict[str, tuple[int, int]] = field(default_factory=dict)
    today: Today = field(default_factory=Today)
    unsaid: set[int] = field(default_factory=set)

    def lane(self, key: str) -> Lane:
        """The lane, new where nothing is known of it."""
        return self.lanes.get(key) or Lane(key)

    def open_in(self, key: str) -> list[Round]:
        """All rounds of a lane that have not ended, oldest first, posting included."""
        lane = self.lane(key)
        found = [self.rounds[name] for name in (*lane.posting, *lane.held, *lane.waiting)]
        return sorted(found, key=lambda round_: (round_.at, round_.id))

    def at_work(self) -> list[str]:
        """The lanes with rounds that have not ended, in the order of their keys; what it costs is theirs alone."""
        return [key for key in sorted({round_.lane for round_ in self.rounds.values()}) if self.open_in(key)]

    def head(self, key: str) -> Round | None:
        """The round that holds the lane: written as a prompt, running, or in backoff."""
        for name in self.lane(key).held:
            if self.rounds[name].phase in HEADS:
                return self.rounds[name]
        return None

    def apply(self, fact: AnyFact) -> None:
        """Fold one fact in; a fact about a round that is over changes nothing."""
        match fact:
            case facts.Claimed():
                self._claimed(fact)
            case facts.Seen(channel, message):
                self.seen[channel] = max(message, self.seen.get(channel, 0))
            case facts.Owed(key=key, round=name):
                if key not in self.owed:
                    parent = self.redirects.get(fact.channel)
                    self.owed[key] = fact if parent is None else facts.moved(fact, parent)
                    if (round_ := self.rounds.get(name)) is not None:
                        self._set(replace(round_, owed=round_.owed | {key}))
            case facts.Posted(key, part, parts, message):
                if key in self.owed:
                    self.stands[key] = (part + 1, message)
                self._posted(key, last=part + 1 >= parts)
            case facts.Dropped(key=key):
                self._settle_post(key)
            case facts.CardShown() | facts.CardOver() | facts.DialogShown() | facts.DialogOver():
                self._stands(fact)
            case facts.Gated(provider, model, 0):
                self.gates.pop((provider, model), None)
            case facts.Gated(provider, model, until):
                self.gates[provider, model] = until
            case facts.Redirected(channel, parent):
                self._redirected(channel, parent)
            case facts.SessionKnown(key, path, at, name):
                lane = self.lane(key)
                others = [session for session in lane.sessions if session.path != path]
                kept = sorted([*others, *([Session(path, at, name)] if at else [])], key=lambda s: (s.at, s.path))
                self.lanes[key] = replace(lane, sessions=tuple(kept))
            case facts.SessionSet() | facts.ModelSet() | facts.ThinkingSet() | facts.ThreadOpened() | facts.LaneKnown():
                self._lane_fact(fact)
            case facts.ChildStarted():
                self.children[fact.child] = fact
            case facts.ChildEnded(child):
                self.children.pop(child, None)
            case facts.Spent() | facts.Extended():
                self.today.learn(fact)
            case facts.Unsaid() | facts.Erased():
                self._taken_back(fact)
            case facts.Up() | facts.Fell() | facts.Good() | facts.Down() | facts.Forgiven():
                pass  # a fold of its own: connector.chain
            case _:
                if (round_ := self.rounds.get(fact.round)) is not None and round_.pending:
                    self._set(told(round_, fact))
                    if isinstance(fact, facts.Moved) and round_.phase is Phase.WAITING:
                        lane = self.lane(round_.lane)
                        self.lanes[lane.key] = replace(lane, waiting=(round_.id, *without(lane.waiting, round_.id)))
                    self._forget(fact.round)

    def _stands(self, fact: facts.CardShown | facts.CardOver | facts.DialogShown | facts.DialogOver) -> None:
        match fact:
            case facts.CardShown(name, channel, message):
                self.cards[name] = channel, message
            case facts.CardOver(name):
                self.cards.pop(name, None)
            case facts.DialogShown(key, channel, message):
                self.dialogs[key] = channel, message
            case facts.DialogOver(key):
                self.dialogs.pop(key, None)
            case _:
                assert_never(fact)

    def _taken_back(self, fact: facts.Unsaid | facts.Erased) -> None:
        """Also of a round that has ended and still owes a post."""
        match fact:
            case facts.Unsaid(name):
                if (round_ := self.rounds.get(name)) is not None:
                    self.unsaid.add(round_.message)
                    self._set(told(round_, fact))
            case facts.Erased(message):
                self.unsaid.discard(message)
            case _:
                assert_never(fact)

    def _lane_fact(
        self, fact: facts.SessionSet | facts.ModelSet | facts.ThinkingSet | facts.ThreadOpened | facts.LaneKnown
    ) -> None:
        match fact:
            case facts.SessionSet(key, path):
                lane = replace(self.lane(key), session=path)
            case facts.ModelSet(key, provider, model):
                lane = replace(self.lane(key), model=(provider, model) if model else None)
            case facts.ThinkingSet(key, level):
                lane = replace(self.lane(key), thinking=level)
            case facts.ThreadOpened(channel, parent):
                self.threads.add(channel)
                lane = replace(self.lane(str(channel)), channel=channel, thread_of=parent)
            case facts.LaneKnown(key, channel, people, in_row, thread_of):
                lane = replace(
                    self.lane(key),
                    channel=channel,
                    people=frozenset(people),
                    bots_in_row=in_row,
                    thread_of=thread_of,
                )
            case _:
                assert_never(fact)
        self.lanes[lane.key] = lane

    def _redirected(self, channel: int, parent: int) -> None:
        """Everything of a thread that could not be opened belongs to the channel above it, now and later."""
        self.redirects[channel] = parent
        lane = self.lane(str(channel))
        self.lanes[lane.key] = replace(lane, channel=parent, thread_of=0)
        for round_ in list(self.rounds.values()):
            if round_.channel == channel:
                self.rounds[round_.id] = replace(round_, channel=parent, parent=0)
        for key, owed in list(self.owed.items()):
            if owed.channel == channel:
                self.owed[key] = facts.moved(owed, parent)

    def _claimed(self, fact: facts.Claimed) -> None:
        if fact.round in self.rounds:
            return
        lane = self.lane(fact.lane)
        redirect = self.redirects.get(fact.channel)
        channel, parent = (fact.channel, fact.parent) if redirect is None else (redirect, 0)
        lane = replace(lane, channel=channel, thread_of=parent or lane.thread_of)
        if fact.origin is not facts.Origin.RETRY:  # which is no message: nobody has spoken
            people = lane.people if fact.bot else lane.people | {fact.author}
            lane = replace(lane, people=people, bots_in_row=lane.bots_in_row + 1 if fact.bot else 0)
        self.lanes[fact.lane] = lane
        self._set(
            Round(
                id=fact.round,
                lane=fact.lane,
                channel=channel,
                message=fact.message,
                reply_to=fact.reply_to,
                author=fact.author,
                author_name=fact.author_name,
                text=fact.text,
                at=fact.at,
                bot=fact.bot,
                origin=fact.origin,
                parent=parent,
                files=fact.files,
            )
        )

    def _set(self, round_: Round) -> None:
        """Store a round and keep its lane's lists and its author's count true to its phase."""
        before = self.rounds.get(round_.id)
        self.rounds[round_.id] = round_
        waits = round_.phase is Phase.WAITING
        if before is not None and before.phase is round_.phase:
            return
        lane = self.lane(round_.lane)
        if waits is not (before is not None and before.phase is Phase.WAITING):
            self._count(round_.author, 1 if waits else -1)
        waiting = without(lane.waiting, round_.id)
        held, posting = lane.held, without(lane.posting, round_.id)
        if round_.phase in AT_CHILD or round_.phase is Phase.BACKOFF:
            held = held if round_.id in held else (*held, round_.id)
        else:
            held = without(held, round_.id)
        if waits:
            waiting = self._placed(waiting, round_)
        if round_.phase is Phase.POSTING:
            posting = (*posting, round_.id)
        self.lanes[lane.key] = replace(lane, waiting=waiting, held=held, posting=posting)

    def _placed(self, waiting: tuple[str, ...], round_: Round) -> tuple[str, ...]:
        """A new round waits behind all; one that was written before in front of those, in order of arrival.

        What was moved to the front stays there: a line that interrupts is the next prompt (BEHAVIOUR §5).
        """
        if not round_.writes:
            return (*waiting, round_.id)
        for index, name in enumerate(waiting):
            other = self.rounds[name]
            if not other.first and (not other.writes or (other.at, other.id) > (round_.at, round_.id)):
                return (*waiting[:index], round_.id, *waiting[index:])
        return (*waiting, round_.id)

    def _count(self, author: int, change: int) -> None:
        count = self.waiting_by.get(author, 0) + change
        if count > 0:
            self.waiting_by[author] = count
        else:
            self.waiting_by.pop(author, None)

    def _posted(self, key: str, *, last: bool) -> None:
        owed = self.owed.get(key)
        round_ = self.rounds.get(owed.round) if owed is not None else None
        if owed is not None and round_ is not None and owed.kind == "answer" and not round_.posted:
            self._set(replace(round_, posted=True))
        if last:
            self._settle_post(key)

    def _settle_post(self, key: str) -> None:
        owed = self.owed.pop(key, None)
        self.stands.pop(key, None)
        round_ = self.rounds.get(owed.round) if owed is not None else None
        if round_ is not None:
            self._set(replace(round_, owed=round_.owed - {key}))
            self._forget(round_.id)

    def _forget(self, name: str) -> None:
        round_ = self.rounds[name]
        if not round_.pending and not round_.owed:
            del self.rounds[name]


def without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The list without this name."""
    return tuple(other for other in names if other != name) if name in names else names
