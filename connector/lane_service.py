"""Who is served next: children for lanes, the gate, and the one place where a prompt is written; pure.

Fair: the oldest waiting message first, but a warm child's lane may take up to STREAK more of its own before an older
waiting lane takes the slot. A waiting lane takes the slot of the least recently used idle child at once.
"""

import heapq

from connector import facts, header, notices
from connector.lane_base import Kid, Model, Stand
from connector.lane_effects import Behind, Spawn
from connector.lane_files import Files
from connector.lane_spend import Spending
from connector.notices_outgoing import how_to_attach
from connector.world import Phase, Round
from engine import events as engine
from engine.events import SECOND

STREAK = 3
SPREAD = SECOND // 4
"""Lanes behind a gate that has opened follow one another at this distance."""


class Service(Files, Spending):
    """Serving lanes."""

    def serve(self, lane: str) -> None:
        """Give the lane's next round to its child, or ask for a child, or leave it waiting with its reason."""
        if self.draining or self.stopping:
            return
        self.tell_capped(lane)
        self.look_ahead(lane)
        round_ = self.next_round(lane)
        while round_ is not None and (round_.unsaid or self.spent(round_)):
            if round_.unsaid:  # its author took it back while its turn ran, and that turn is to begin anew
                self.record(facts.Ended(round_.id, "deleted"))
            else:
                self.bury(round_)
            round_ = self.next_round(lane)
        kid = self.kids.get(lane)
        if kid is None:
            if (since := self.wants_since(lane)) is not None:
                heapq.heappush(self.wants, (since, lane))
        elif not self.free(kid) or self.dress(kid) or self.run_errand(kid) or round_ is None:
            return
        elif self.may_take(kid, round_) and not self.gated(kid, round_) and self.here(round_):
            self.write(kid, round_)
            self.look_ahead(lane)

    def spent(self, round_: Round) -> bool:
        """Whether it may not be written as an attempt any more (BEHAVIOUR §3.2)."""
        return round_.phase is not Phase.BACKOFF and round_.attempts >= self.rules.max_attempts

    def next_round(self, lane: str) -> Round | None:
        """What is to be asked now: a round whose wait is over, else the first waiting one of a free lane.

        What a spending cap holds back is none, and lets others pass.
        """
        head = self.world.head(lane)
        if head is not None:
            if head.phase is not Phase.BACKOFF:
                return None
            if head.until > self.now:
                self.wake(head.until, lane)
                return None
            return None if self.cap_on(head) else head
        if self.at_child(lane):
            return None
        waiting = (self.world.rounds[name] for name in self.world.lane(lane).waiting)
        return next((round_ for round_ in waiting if not self.cap_on(round_)), None)

    def wants_since(self, lane: str) -> int | None:
        """Since when the lane has something for a child to do, None where it has nothing."""
        round_, errand = self.next_round(lane), self.errand_since(lane)
        return min((at for at in (round_.at if round_ else None, errand) if at is not None), default=None)

    def may_take(self, kid: Kid, round_: Round) -> bool:
        """Whether a warm child's lane goes on although an older lane may wait for its slot."""
        if kid.streak < STREAK or not self.older_wants(round_.at):
            return True
        self.retire(kid)
        return False

    def older_wants(self, at: int) -> bool:
        """Whether a lane without a child waits with an older message."""
        self.trim_wants()
        return bool(self.wants) and self.wants[0][0] < at

    def trim_wants(self) -> None:
        """Forget wants that are served or changed; a lane whose child is still leaving wants again when it is gone."""
        while self.wants:
            at, lane = self.wants[0]
            since = self.wants_since(lane)
            if since is None or lane in self.kids:
                heapq.heappop(self.wants)
            elif since == at:
                return
            else:  # another one is the first of its lane now
                heapq.heapreplace(self.wants, (since, lane))

    def gated(self, kid: Kid, round_: Round) -> bool:
        """Whether the wall is known to stand: nobody runs into it, one lane probes it, the rest follow (§2.4).

        A person's "Retry now" does not wait; where nobody probes, it is the probe.
        """
        lane = kid.lane
        delay = self.delays.get(lane, 0)
        if delay > self.now:
            self.wake(delay, lane)
            return True
        self.delays.pop(lane, None)
        until = None if kid.model is None else self.world.gates.get(kid.model)
        if kid.model is None or until is None:
            return False
        if until > self.now and not round_.hurried:
            self.wake(until, lane)
            self.wait_behind(round_, until)
            return True
        probe = self.probes.get(kid.model)
        if probe is not None and probe != lane and self.at_child(probe):
            if not round_.hurried:
                self.wait_behind(round_, 0)
            return not round_.hurried
        self.probes[kid.model] = lane
        return False

    def wait_behind(self, round_: Round, until: int) -> None:
        """Let the lane's card say so, once for each round and instant."""
        if self.behind.get(round_.lane) != (round_.id, until):
            self.behind[round_.lane] = round_.id, until
            self.out.append(Behind(round_.id, until))

    def proven(self, model: Model) -> None:
        """The provider answers again: the gate is gone, those behind it follow, spread out."""
        if model not in self.world.gates:
            return
        self.record(facts.Gated(*model, 0))
        del self.probes[model]
        behind = [
            kid.lane
            for kid in self.kids.values()
            if kid.model == model and self.free(kid) and self.next_round(kid.lane)
        ]
        for index, lane in enumerate(sorted(behind, key=self.waits_since)):
            self.delays[lane] = self.now + (index + 1) * SPREAD
            self.wake(self.delays[lane], lane)

    def waits_since(self, lane: str) -> int:
        """When the lane's next message came."""
        round_ = self.next_round(lane)
        return round_.at if round_ is not None else self.now

    def unprobe(self, lane: str) -> None:
        """The probing lane's turn is over: if it proved nothing, the next one behind the gate probes."""
        for model, probe in list(self.probes.items()):
            if probe == lane:
                del self.probes[model]
                for kid in self.kids.values():
                    if kid.model == model:
                        self.touched[kid.lane] = None

    def write(self, kid: Kid, round_: Round) -> None:
        """The one place where a prompt is written: counted first; `serve` has held its bound (BEHAVIOUR §3.2)."""
        reask = round_.phase is Phase.BACKOFF
        note = notices.repeat_note() if reask else round_.note
        self.record(facts.Written(round_.id, kid.child, reask=reask))
        round_ = self.world.rounds[round_.id]
        kid.busy, kid.turn, kid.since = True, round_.turn, self.now
        kid.payer = round_.id, round_.author
        self.behind.pop(kid.lane, None)
        text = header.filed(round_.text, round_.lines)
        shown = text if kid.introduced else noted(text, self.introduction(kid.lane))
        work = engine.Slash(text) if round_.slash else engine.Text(noted(shown, note), self.images(round_))
        kid.streak = kid.streak + 1 if self.older_wants(round_.at) else 0
        self.tell(kid, engine.Submit(round_.turn, work))
        self.log(
            "turn.sent",
            lane=kid.lane,
            message_id=round_.message,
            child=kid.child,
            attempt=round_.attempts,
        )

    def introduction(self, lane: str) -> str:
        """The note in the first prompt of each session: where files lie that the lane's answers may carry."""
        return how_to_attach(f"{self.rules.outboxes}/{lane}") if self.rules.outboxes else ""

    def fill(self) -> None:
        """Give free places to the lanes that have waited longest; make room by stopping an idle child."""
        if self.draining or self.stopping:
            return
        self.trim_wants()
        while self.wants and len(self.kids) < self.rules.max_children:
            _, lane = heapq.heappop(self.wants)
            self.generation += 1
            self.kids[lane] = Kid(lane, self.generation)
            self.out.append(Spawn(lane, self.generation))
            self.trim_wants()
        if self.wants and not any(kid.stand is Stand.LEAVING for kid in self.kids.values()):
            idle = [kid for kid in self.kids.values() if self.free(kid) and self.wants_since(kid.lane) is None]
            if idle:
                self.retire(min(idle, key=lambda kid: kid.idle_since))

    def rest(self, kid: Kid) -> None:
        """The child has nothing to do: it may stay for `idle_timeout`."""
        kid.idle_since = self.now
        self.wake(self.now + self.rules.idle_timeout, kid.lane)

    def expire(self, lane: str) -> None:
        """Stop a child that has been idle for `idle_timeout`; its session is kept."""
        kid = self.kids.get(lane)
        if kid is None or not self.free(kid) or self.wants_since(lane) is not None:
            return
        if self.now >= kid.idle_since + self.rules.idle_timeout:
            self.retire(kid)


def noted(text: str, note: str) -> str:
    """The prompt with one more bracketed line under its header; the person's text stays unchanged behind it."""
    if not note:
        return text
    header, _, rest = text.partition("\n")
    return f"{header}\n[{note}]\n{rest}"
