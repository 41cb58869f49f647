"""What a lane's child spends, and the caps that hold new messages back; pure (CONTRACT, `spend.*`).

A cap is looked at before a prompt is given to a child: what is over it waits, in its place, until the day is over or
an operator extends the cap; a running turn is not cut. Stop, cancel and capacity treat it as any waiting message.
"""

from connector import facts, notices_spend
from connector.lane_base import Kid
from connector.lane_events import Extend
from connector.lane_session import Sessions
from connector.spend import Amount, Scope, day_end, day_of, keys
from connector.world import Phase, Round
from engine import events as engine
from engine.events import SECOND


class Spending(Sessions):
    """The lanes' accounts."""

    __slots__ = ()

    # -- what is spent ---------------------------------------------------------------------------------------------

    def pay(self, kid: Kid, told: engine.Spent) -> None:
        """A message, tool or summary of this child was paid for; kept until something is recorded anyway."""
        if told.usage is None:
            return
        amount = Amount.of(told.usage)
        if amount != Amount():
            key = day_of(self.now), told.provider, told.model
            kid.unbooked[key] = kid.unbooked.get(key, Amount()) + amount

    def book(self) -> None:
        """Record what is not recorded yet: with caps at once, else with what is recorded anyway, or behind a turn.

        Without caps a kill in mid-turn loses what the turn's messages have cost since the last record.
        """
        for kid in self.kids.values():
            if kid.unbooked and (self.kept or not kid.turn or self.rules.spend):
                self.book_of(kid)

    def book_of(self, kid: Kid) -> None:
        """Record what this child has spent since: to the lane, and to whoever asked what it was given last."""
        name, person = kid.payer
        before = self.reached(kid.lane, person)
        for (day, provider, model), sums in kid.unbooked.items():
            amounts = sums.input, sums.output, sums.cache, sums.cost
            self.record(facts.Spent(name, kid.lane, person, day, provider, model, *amounts))
        kid.unbooked.clear()
        if self.reached(kid.lane, person) != before:
            self.touch_all()  # whoever waits elsewhere is to know

    def reached(self, lane: str, person: int) -> tuple[Scope, ...]:
        """The caps that are reached for a person in a lane."""
        caps = self.rules.spend
        return self.world.today.reached(caps, day_of(self.now), lane, person) if caps else ()

    # -- caps ------------------------------------------------------------------------------------------------------

    def cap_on(self, round_: Round) -> Scope | None:
        """The first cap that holds this round back now, if any; what its author took back waits for no day."""
        if round_.unsaid:
            return None
        return next(iter(self.reached(round_.lane, round_.author)), None)

    def tell_capped(self, lane: str) -> None:
        """Say of each round of a lane that a cap holds back, once for a cap and a day; at the day's end look again."""
        if not self.rules.spend:
            return
        head = self.world.head(lane)
        due = [head] if head is not None and head.phase is Phase.BACKOFF and head.until <= self.now else []
        day = day_of(self.now)
        for round_ in [*due, *(self.world.rounds[name] for name in self.world.lane(lane).waiting)]:
            if (scope := self.cap_on(round_)) is None:
                continue
            if not self.day_over:
                self.day_over = day_end(day)
                self.wake(self.day_over, "")
            if (scope, day) not in round_.caps:
                self.hold_back(round_, scope, day)

    def hold_back(self, round_: Round, scope: Scope, day: int) -> None:
        """The round's notice, with an operator's button."""
        until = day_end(day) // SECOND
        self.record(facts.Capped(round_.id, scope, day))
        text = notices_spend.capped(scope, self.rules.spend.of(scope), until)
        self.owe(round_, f"cap-{scope}", day, text, extend=True)
        self.react(round_, "waiting")
        self.log("spend.capped", lane=round_.lane, message_id=round_.message, scope=scope, until=until)

    def day_turned(self) -> None:
        """A new day: every cap begins anew."""
        if self.day_over and self.now >= self.day_over:
            self.day_over = 0
            self.touch_all()

    def extend(self, given: Extend) -> None:
        """The cap that holds this round back, once more for today, counted from what is spent now."""
        round_ = self.world.rounds.get(given.round)
        scope = self.cap_on(round_) if round_ is not None and round_.pending else None
        if round_ is None or scope is None:
            return
        day, cap = day_of(self.now), self.rules.spend.of(scope)
        name = dict(keys(round_.lane, round_.author))[scope]
        spent, _ = self.world.today.of(day, scope, name)
        self.record(facts.Extended(round_.id, scope, name, day, given.by, spent))
        self.log("spend.extended", lane=round_.lane, message_id=round_.message, scope=scope, by=given.by, amount=cap)
        self.touch_all()

    def touch_all(self) -> None:
        """Look again at every lane that has something to ask."""
        self.touched |= dict.fromkeys(lane.key for lane in self.world.lanes.values() if lane.waiting or lane.held)
