"""Whatever replies are lost and however often the process dies: each part stands in Discord once, and in order."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from connector import facts
from connector.outbox import FORGOTTEN, Outbox, nonce
from connector.outbox_cards import NONCE_WINDOW
from connector.outbox_moves import Action, Later, Look, Missing, Outcome, Send, Stands

S = 1_000_000_000
PARTS = 2


@dataclass
class Channels:
    """Discord: what stands where, and the nonces it remembers for as long as it must, or longer."""

    memory: int
    stands: list[tuple[int, str, int]] = field(default_factory=list)
    nonces: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take(self, action: Send | Look, now: int) -> Outcome:
        owed, part = action.owed, action.part
        text = f"{owed.key}/{part}"
        if isinstance(action, Look):
            found = next((n for n, (_, said, _) in enumerate(self.stands, 1) if said == text), None)
            return Missing() if found is None else Stands(found, PARTS)
        known = self.nonces.get(nonce(owed.key, part))
        if known is not None and now - known[1] <= self.memory:
            return Stands(known[0], PARTS)
        self.stands.append((owed.channel, text, now))
        self.nonces[nonce(owed.key, part)] = len(self.stands), now
        return Stands(len(self.stands), PARTS)


FATES = st.lists(st.sampled_from(["good", "good", "lost before", "lost after", "killed before", "killed after"]))


@settings(max_examples=300, deadline=None)
@given(
    fates=FATES,
    memory=st.sampled_from([NONCE_WINDOW, FORGOTTEN]),
    waits=st.lists(st.sampled_from([0, S, NONCE_WINDOW - S, NONCE_WINDOW, 2 * FORGOTTEN])),
)
def test_each_part_stands_once_and_in_order_whatever_is_lost(fates: list[str], memory: int, waits: list[int]) -> None:
    """BEHAVIOUR §7.31 and CONTRACT: nothing lost, nothing twice, through lost replies and a process that dies."""
    posts = [
        facts.Owed(key=f"r{n}", round=f"r{n}", channel=n % 2, kind="answer", text="", reply_to=0) for n in range(4)
    ]
    discord, recorded, now = Channels(memory), dict[str, tuple[int, int]](), 0
    box = Outbox()
    for post in posts:
        box.owe(post)
    while not box.idle:
        actions = box.ready(now)
        if not actions:
            now = max(now, box.deadline() or now)
            continue
        killed = False
        for action in actions:
            fate = fates.pop() if fates else "good"
            killed = killed or _meet(box, action, discord, fate=fate, now=now, recorded=recorded)
        now += waits.pop() if waits else 0
        if killed:
            box = Outbox()
            for post in posts:
                part, last = recorded.get(post.key, (0, 0))
                if part < PARTS:
                    box.owe(post, posted=part, last=last, fresh=False)
    for channel in (0, 1):
        stand = [text for where, text, _ in discord.stands if where == channel]
        assert stand == [f"r{n}/{part}" for n in range(4) if n % 2 == channel for part in range(PARTS)]


def _meet(
    box: Outbox, action: Action, discord: Channels, *, fate: str, now: int, recorded: dict[str, tuple[int, int]]
) -> bool:
    """Carry one action out as fate wills; whether the process died in it."""
    assert isinstance(action, Send | Look)
    outcome: Outcome = Later()
    if not fate.endswith("before"):
        outcome = discord.take(action, now)
    if fate.startswith("killed"):
        return True
    for fact in box.done(action, Later() if fate.startswith("lost") else outcome, now):
        assert isinstance(fact, facts.Posted)
        recorded[fact.key] = fact.part + 1, fact.message
    return False
