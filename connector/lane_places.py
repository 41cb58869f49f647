"""Threads and channels that are deleted, and posts that a place refuses: nothing ends silently that was asked; pure.

What stood in a deleted place is deleted with it, so its messages end as deleted ones do; for those who look for them
one notice stands in the channel above, where there is one.
"""

from typing import assert_never

from connector import facts, notices_places
from connector.lane_effects import Post
from connector.lane_events import Deleted, PlaceGone, Rewrite
from connector.lane_texts import Texts
from connector.world import AT_CHILD, Lane, Phase
from engine import events as engine


class Places(Texts):
    """Where lanes stand, or do not any more."""

    def outside(self, given: Rewrite | Deleted | PlaceGone) -> None:
        """What becomes of messages and their places in Discord."""
        match given:
            case Rewrite(name, text):
                self.rewrite(name, text)
            case Deleted(message, known):
                self.deleted(message, known=known)
            case PlaceGone(channel):
                self.place_gone(channel)
            case _:
                assert_never(given)

    def place_gone(self, channel: int) -> None:
        """A thread or channel is not there any more, and with a channel go its threads."""
        for lane in [lane for lane in self.world.lanes.values() if channel in (lane.channel, lane.thread_of)]:
            self.lane_gone(lane, above=lane.thread_of if lane.thread_of != channel else 0)

    def lane_gone(self, lane: Lane, *, above: int) -> None:
        """Everything of the lane that has no end yet ends; an answer that is being posted ends as its posts do."""
        rounds = [round_ for round_ in self.world.open_in(lane.key) if round_.phase is not Phase.POSTING]
        self.stop_errands(lane.key)
        kid = self.kids.get(lane.key)
        if rounds:
            self.log("channel.gone", lane=lane.key, rounds=[round_.message for round_ in rounds])
            if above:
                running = sum(round_.phase in AT_CHILD for round_ in rounds)
                text = notices_places.thread_gone(running, len(rounds) - running)
                # A thread has the id of the message that it was opened on, which stands in the channel above.
                owed = facts.Owed(f"{rounds[0].id}/lost/gone", "", above, "notice", text, lane.channel)
                self.record(owed)
                self.out.append(Post(owed))
        for round_ in rounds:
            if round_.phase in AT_CHILD and kid is not None and kid.child == round_.child:
                self.tell(kid, engine.Fail(round_.turn, engine.Code.STOPPED))
            self.record(facts.Ended(round_.id, "deleted", detail="its channel was deleted"))
            self.ended_log(round_, "deleted")
        if kid is not None:
            kid.homeless = True
            if self.free(kid):
                self.retire(kid)
        self.touched[lane.key] = None

    def refused(self, owed: facts.Owed, fact: facts.Posted | facts.Dropped) -> None:
        """A notice or receipt that its thread does not take is said in the channel above; an answer has its own word.

        What was dropped by Stop has its receipt.
        """
        lane = self.lane_of(owed.round)
        if not isinstance(fact, facts.Dropped) or fact.reason == "stopped" or owed.kind == "answer" or lane is None:
            return
        if lane.thread_of and owed.channel == lane.channel:
            key = f"{owed.round}/lost/{owed.kind}{owed.key.rpartition('/')[2]}"
            text = owed.text if owed.kind == "receipt" else notices_places.untold()
            told = facts.Owed(key, owed.round, lane.thread_of, owed.kind, text, lane.channel)
            self.record(told)
            self.out.append(Post(told))

    def drop_unheard(self) -> None:
        """At a start: what no round owes goes, where no thread stands and none is opened; its message was deleted."""
        awaited = {round_.channel for round_ in self.world.rounds.values()} | self.world.threads
        for owed in list(self.world.owed.values()):
            if not owed.round and owed.channel not in awaited and self.world.lane(str(owed.channel)).thread_of:
                self.record(facts.Dropped(owed.key, "no thread was opened for it"))

    def lane_of(self, name: str) -> Lane | None:
        """The lane of a round that is known."""
        round_ = self.world.rounds.get(name)
        return self.world.lane(round_.lane) if round_ is not None else None
