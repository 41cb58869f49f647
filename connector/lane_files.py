"""Files before their message: a round with files waits in its place until somebody has told what became of them; pure.

The first waiting round of a lane is fetched, whatever runs there meanwhile; what is behind it waits (BEHAVIOUR §7.26).
What became of files is a fact; pictures themselves are at hand only in the step in which they were brought, so a round
that is not written in that step has them brought once more when its time has come.
"""

from connector import facts, header, notices_files
from connector.lane_base import Base
from connector.lane_effects import Fetch
from connector.lane_events import Brought
from connector.world import Phase, Round
from engine.commands import Image

FETCHED_IN = frozenset({Phase.WAITING, Phase.BACKOFF})
"""Phases of a round that may still be written, so that its files matter."""


class Files(Base):
    """The lanes and what came with messages."""

    def brought(self, given: Brought) -> Round | None:
        """Files are there, or are not: the round, if it may still be written. Nothing to ask is its end."""
        self.fetching.discard(given.round)
        round_ = self.world.rounds.get(given.round)
        if round_ is None or round_.phase not in FETCHED_IN:
            return None
        self.touched[round_.lane] = None
        if not round_.fetched and given.missed and not given.some and header.bare(round_.text):
            self.log("message.ignored", lane=round_.lane, message_id=round_.message, reason="files")
            self.finish(round_, "refused", notices_files.nothing_left(given.missed))
            return None
        self.told_of_files(round_, given)
        self.at_hand = given
        return self.world.rounds[round_.id]

    def told_of_files(self, round_: Round, given: Brought) -> None:
        """Remembered where it is news; a person hears of what the agent does not get."""
        if round_.fetched and (round_.lines, round_.pictures) == (given.lines, given.pictures):
            return
        self.record(facts.Fetched(round_.id, given.lines, given.pictures))
        if given.missed:
            self.owe(round_, "notice", 1 + self.world.rounds[round_.id].fetched, notices_files.missed(given.missed))

    def look_ahead(self, lane: str) -> None:
        """The files of the lane's first waiting round are fetched now, so that they are there when it is asked."""
        waiting = self.world.lane(lane).waiting
        if waiting and self.world.rounds[waiting[0]].unfetched:
            self.fetch(self.world.rounds[waiting[0]])

    def here(self, round_: Round) -> bool:
        """Whether nothing of the round has to be brought before it is written; if something has, it is."""
        if round_.unfetched or (round_.pictures and not self.holds(round_)):
            self.fetch(round_)
            return False
        return True

    def holds(self, round_: Round) -> bool:
        """Whether this step has brought the round's pictures."""
        return self.at_hand is not None and self.at_hand.round == round_.id

    def images(self, round_: Round) -> tuple[Image, ...]:
        """The pictures that go with the round's text."""
        return self.at_hand.images if self.at_hand is not None and self.at_hand.round == round_.id else ()

    def fetch(self, round_: Round) -> None:
        """Ask for a round's files, once at a time."""
        if round_.id not in self.fetching:
            self.fetching.add(round_.id)
            self.out.append(Fetch(round_.id, round_.lane, self.stands_in(round_), round_.message, round_.files))

    def forget_fetches(self, over: tuple[str, ...]) -> None:
        """Rounds that are over wait for nothing."""
        self.fetching.difference_update(over)
        self.at_hand = None
