"""One connector's lanes in a model world: people and the clock on the ground of children, Discord and crashes.

`Sim` says what happens; in which order is the test's choice.
"""

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from connector import facts
from connector.lane_base import LaneRules, Stand
from connector.lane_events import Arrived, ChildDown, StopAsked, Tick
from connector.lanes import Stepped
from engine.events import SECOND
from tests.machine.lanes_child import Child
from tests.machine.lanes_ground import LONG_WAIT, RULES, Ground

__all__ = ["LONG_WAIT", "RULES", "Sim", "rules"]


@dataclass
class Sim(Ground):
    """The world around one connector, over all its lives."""

    def claim(self, lane: str, author: int = 1, *, bot: bool = False, thread: bool = False) -> facts.Claimed:
        self.messages += 1
        number = self.messages
        if not thread and int(lane) > 1000:
            self.opened.add(int(lane))
        files = (facts.File(number, "f", 9),) if self.files and number % 4 else ()
        asked = "" if files and number % 5 == 0 else f"please do {number}"
        parent = int(lane) if thread else 0
        channel = number if thread else int(lane)
        return facts.Claimed(
            round=str(number),
            lane=str(channel),
            channel=channel,
            message=number,
            reply_to=number,
            author=author,
            author_name=f"person {author}",
            text=f"[discord] #{lane} · person {author} ({author}) · {number}\n\n{asked}",
            at=self.now,
            bot=bot,
            parent=parent,
            files=files,
        )

    def arrive(self, lane: str, author: int = 1, *, bot: bool = False, thread: bool = False) -> str:
        claim = self.claim(lane, author, bot=bot, thread=thread)
        self.step(Arrived(claim, self.advice(claim.lane)))
        return claim.round

    def retry(self, name: str) -> str:
        """What a press on Retry makes of a round that has ended."""
        old = self.audit.stories[name].claim
        count = sum(story.claim.message == old.message for story in self.audit.stories.values())
        again = msgspec.structs.replace(
            old, round=f"{old.message}.{count}", at=self.now, origin=facts.Origin.RETRY, parent=0
        )
        self.step(Arrived(again))
        return again.round

    def stop(self, scope: str, lane: str, name: str = "", *, word: bool = False) -> Stepped | None:
        claim = self.claim(lane, 2) if word else None
        return self.step(StopAsked(lane, int(lane), 2, "person 2", scope, name, claim))  # type: ignore[arg-type]

    # -- time ------------------------------------------------------------------------------------------------------

    def wait(self, nanos: int) -> None:
        self.now += nanos
        self.step(Tick())

    def next_alarm(self) -> None:
        due = self.lanes.deadline()
        self.now = max(self.now, due if due is not None else self.now + SECOND)
        self.step(Tick())

    # -- conveniences ----------------------------------------------------------------------------------------------

    def kid(self, lane: str) -> Child:
        return next(kid for kid in self.children.values() if kid.lane == lane and kid.alive)

    def do(self, kid: Child) -> None:
        """Hand over what the child was just made to say, and everything that comes of it."""
        self.hear(kid)
        self.pump()

    def up(self, lane: str) -> Child:
        """The lane's child, ready and with its prompt's run begun if it has one."""
        self.pump()
        kid = self.kid(lane)
        if not kid.ready:
            kid.come_up()
        self.do(kid)
        if kid.head and not kid.running:
            kid.start()
            self.do(kid)
        return kid

    def post_all(self) -> None:
        while self.posts:
            self.post(next(iter(self.posts)))
            self.pump()

    def restart(self) -> None:
        """The end after Quit, as the program does it: children are stopped, what comes of that is stepped."""
        for kid in [kid for kid in self.children.values() if kid.alive]:
            kid.stop()
            kid.exit()
            self.hear(kid)
            self.inbox.append(ChildDown(kid.lane, kid.number, 0, expected=True))
        self.pump()
        if self.quit is None:  # killed meanwhile
            return
        self.record([facts.Down(self.now, self.quit.code, self.quit.reason)])
        self.crash()

    def settle(self) -> None:
        """27: healthy children, an open gate and a willing Discord: everything ends in finite steps."""
        for _ in range(3000):
            self.pump()
            for message in list(self.threads):
                self.thread(message, opened=True)
            if self.quit is not None:
                self.restart()
            elif self.posts:
                self.post(next(iter(self.posts)))
            elif not any(nudge(self, kid) for kid in list(self.children.values()) if kid.alive):
                if not self.inbox and not any(r.pending for r in self.lanes.world.rounds.values()):
                    break
                self.next_alarm()
        else:
            raise AssertionError(f"27: still not at rest: {self.lanes.world.rounds}")
        assert not self.lanes.world.rounds
        assert not self.typing
        for key in self.audit.owed - self.audit.dropped:
            assert (key, 0) in self.stands, f"{key} was never posted"
        assert self.db.execute("SELECT count(*) FROM rounds WHERE open = 1").fetchone() == (0,)
        for lane in self.lanes.kids.values():
            assert not lane.tools, "29"
            assert lane.stand in set(Stand)
        self.audit.finished()


def nudge(sim: Sim, kid: Child) -> bool:
    """Let an honest, healthy child go on; whether there was anything to do."""
    if kid.wedged or kid.stopping:
        sim.exits(kid)
        return True
    if not kid.ready:
        kid.come_up()
    elif kid.orphan:
        kid.orphan_ends()
    elif kid.open and not kid.healthy:
        kid.return_steer(next(iter(kid.open)))
    elif kid.settling:
        kid.settle()
    elif kid.head and not kid.running and kid.failed is None:
        kid.start()
    elif kid.head and kid.failed is not None:
        kid.release()
    elif kid.head:
        kid.answer()
    else:
        return False
    sim.hear(kid)
    return True


def rules(**changes: object) -> LaneRules:
    """The usual rules with changes."""
    return replace(RULES, **changes)
