"""What must hold of a soak, judged from what stands in Discord, in the ledger and in the process table; pure.

Six sums that must be zero: lost, doubled, misattributed, orphans, Stop ignored, cards left at work. Whose an answer
is, its text says by a token; whose a notice is, the message it refers to.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connector import facts
from tests.soak import sentences
from tests.soak.spoken import TOKEN, Said


@dataclass(frozen=True, slots=True)
class Stands:
    """One post of the bot as it stands; ids grow with time."""

    id: int
    place: int
    content: str
    reference: int | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the ledger has of one message: how it ended ("" for not), into which it was joined, and Stop's mark.

    `answered_after_stop`: an answer was recorded behind the mark. `card`: a start would still see to its card.
    """

    code: str = ""
    into: int = 0
    stopped: bool = False
    answered_after_stop: bool = False
    card: bool = False


def recorded(steps: Iterable[facts.AnyFact]) -> Recorded:
    """The facts of one message, oldest first, as the judge needs them."""
    code, into, stopped, after, card = "", 0, False, False, False
    for fact in steps:
        match fact:
            case facts.Ended():
                code, into = fact.code, int(fact.into.partition(".")[0] or 0)
            case facts.StopMarked():
                stopped = True
            case facts.Answered():
                after = after or stopped
            case facts.CardShown():
                card = True
            case facts.CardOver():
                card = False
            case _:
                pass
    return Recorded(code, into, stopped, after, card)


@dataclass
class Verdict:
    """What was found, each as message id (0: of none) and sentence; and the posts by kind."""

    lost: list[tuple[int, str]] = field(default_factory=list)
    doubled: list[tuple[int, str]] = field(default_factory=list)
    misattributed: list[tuple[int, str]] = field(default_factory=list)
    orphans: list[tuple[int, str]] = field(default_factory=list)
    ignored: list[tuple[int, str]] = field(default_factory=list)
    cards: list[tuple[int, str]] = field(default_factory=list)
    """Cards at work of which the ledger does not know: no start would ever show their end."""
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def sums(self) -> dict[str, list[tuple[int, str]]]:
        """The six by name."""
        return {
            "lost": self.lost,
            "doubled": self.doubled,
            "misattributed": self.misattributed,
            "orphans": self.orphans,
            "Stop ignored": self.ignored,
            "cards left at work": self.cards,
        }

    @property
    def clean(self) -> bool:
        """Whether all six are zero."""
        return not any(self.sums.values())


@dataclass
class Ends:
    """What stands of one message: posts of its answer, notices that end it, receipts of a Stop, cards; in order."""

    answers: list[Stands] = field(default_factory=list)
    notices: list[Stands] = field(default_factory=list)
    receipts: list[Stands] = field(default_factory=list)
    cards: list[Stands] = field(default_factory=list)

    def whole(self, said: Said) -> bool:
        """Whether an answer to one of its texts stands with all its posts."""
        contents = Counter(post.content for post in self.answers)
        return any(parts and not Counter(parts) - contents for parts in said.answers)


class Judge:
    """One judgement. `pressed`: the messages whose Stop was acknowledged as stopping something."""

    def __init__(
        self,
        said: Sequence[Said],
        posts: Iterable[Stands],
        ledger: Mapping[int, Recorded],
        pressed: Iterable[int] = (),
        left: Iterable[str] = (),
    ) -> None:
        self.verdict = Verdict()
        self._said = {one.id: one for one in said}
        self._token = {token: one for one in said for text in one.texts for token in TOKEN.findall(text)}
        self._ends = {one.id: Ends() for one in said}
        self._ledger = ledger
        for post in sorted(posts, key=lambda post: post.id):
            self._sort(post)
        for one in said:
            self._end(one)
        for message in sorted({*pressed, *(name for name, found in ledger.items() if found.stopped)}):
            self._stop(message)
        self.verdict.orphans += [(0, f"{process} is left") for process in left]

    def _recorded(self, message: int) -> Recorded:
        return self._ledger.get(message, Recorded())

    # -- whose is it, and does it stand in its place -------------------------------------------------------------

    def _sort(self, post: Stands) -> None:
        if card := sentences.card(post.content):
            self.verdict.kinds[card] += 1
            if card == sentences.LIVE and not self._recorded(post.reference or 0).card:
                self.verdict.cards.append((post.reference or 0, f"post {post.id}: {post.content[:80]!r}"))
            self._card(post)
            return
        tokens = set(TOKEN.findall(post.content))
        if tokens:
            self._answer(post, tokens)
            return
        kind = sentences.end_of(post.content)
        beside = "" if kind else sentences.beside(post.content)
        self.verdict.kinds[kind or beside or "unknown"] += 1
        one = self._said.get(post.reference or 0)
        if not kind and not beside:
            self._wrong(post, one, "is neither an answer nor a notice that is known")
        elif one is None and post.reference is not None:
            self._wrong(post, None, f"refers to {post.reference}, which nobody asked")
        elif one is not None and post.place != one.place.id:
            self._wrong(post, one, f"stands in {post.place} instead of {one.place.id}")
        elif one is not None and kind:
            ends = self._ends[one.id]
            (ends.receipts if kind == sentences.RECEIPT else ends.notices).append(post)

    def _card(self, post: Stands) -> None:
        """A card stands in its message's place, is its only one, and quotes what it, or a line joined into it, gets."""
        one = self._said.get(post.reference or 0)
        if one is None:
            if post.reference is not None:
                self._wrong(post, None, f"is a card of {post.reference}, which nobody asked")
            return
        if post.place != one.place.id:
            self._wrong(post, one, f"is a card in {post.place} instead of {one.place.id}")
        self._ends[one.id].cards.append(post)
        for token in sorted(set(TOKEN.findall(post.content))):
            owner = self._token.get(token)
            if owner is None or not self._within(owner.id, one.id):
                self._wrong(post, one, f"is a card that quotes {token}")

    def _within(self, message: int, head: int) -> bool:
        """Whether a message is this one, or was joined into it."""
        seen = set[int]()
        while message != head and message not in seen:
            seen.add(message)
            message = self._recorded(message).into
        return message == head

    def _answer(self, post: Stands, tokens: set[str]) -> None:
        self.verdict.kinds[sentences.ANSWER] += 1
        owners = [self._token[token] for token in sorted(tokens) if token in self._token]
        if len(tokens) != 1 or len(owners) != 1:
            self._wrong(post, None, f"carries {sorted(tokens)}")
            return
        [one] = owners
        self._ends[one.id].answers.append(post)
        if post.place != one.place.id:
            self._wrong(post, one, f"stands in {post.place} instead of {one.place.id}")
        elif not any(post.content in parts for parts in one.answers):
            self._wrong(post, one, "is no part of its answer")
        elif post.reference is None and not one.deleted and any(post.content in parts[:1] for parts in one.answers):
            self._wrong(post, one, "does not refer to its message")
        elif post.reference not in (None, one.id):
            self._wrong(post, one, f"refers to {post.reference}")

    def _wrong(self, post: Stands, one: Said | None, what: str) -> None:
        message = one.id if one is not None else post.reference or 0
        self.verdict.misattributed.append((message, f"post {post.id} {what}: {post.content[:120]!r}"))

    # -- one end -------------------------------------------------------------------------------------------------

    def _end(self, one: Said) -> None:
        ends, found = self._ends[one.id], self._recorded(one.id)
        for content, count in Counter(post.content for post in ends.answers).items():
            if count > 1:
                self.verdict.doubled.append((one.id, f"{one.texts} has {count} times the post {content[:80]!r}"))
        if len({self._revision(one, post) for post in ends.answers}) > 1:
            self.verdict.doubled.append((one.id, f"{one.texts} has answers to more than one of its texts"))
        told = [post.content[:60] for post in (*ends.notices, *ends.receipts)]
        whole = ends.whole(one)
        if len(told) > 1 or (whole and ends.notices):
            self.verdict.doubled.append((one.id, f"{one.texts} has {'an answer and ' if whole else ''}{told}"))
        if len(ends.cards) > 1:
            self.verdict.doubled.append((one.id, f"{one.texts} has the cards {[post.id for post in ends.cards]}"))
        if found.code in ("joined", "deleted") and (whole or ends.notices):
            its = "an answer" if whole else told
            self.verdict.doubled.append((one.id, f"{one.texts} was {found.code} and has {its} of its own"))
        if not self._ended(one.id, set()):
            why = f"the ledger says {found.code or 'nothing of an end'!r}"
            self.verdict.lost.append((one.id, f"{one.texts} has {len(ends.answers)} posts and no end, {why}"))

    def _revision(self, one: Said, post: Stands) -> int:
        return next((n for n, parts in enumerate(one.answers) if post.content in parts), -1)

    def _ended(self, message: int, seen: set[int]) -> bool:
        """Whether its author sees an end: its own, or that of the message it was joined into."""
        one = self._said.get(message)
        if one is None or message in seen:
            return False
        ends, found = self._ends[message], self._recorded(message)
        if ends.notices or ends.receipts or ends.whole(one):
            return True
        if one.word:
            return found.code == "handled"
        if one.deleted:
            return found.code != "" or message not in self._ledger
        return found.code == "joined" and self._ended(found.into, seen | {message})

    # -- Stop ----------------------------------------------------------------------------------------------------

    def _stop(self, message: int) -> None:
        one = self._said.get(message)
        if one is None or one.word:
            return
        ends, found = self._ends[message], self._recorded(message)
        told = f"{one.texts} was stopped, "
        if not ends.receipts and not one.deleted:
            self.verdict.ignored.append((message, f"{told}and no receipt says so"))
        elif found.code != "stopped":
            self.verdict.ignored.append((message, f"{told}and the ledger says {found.code!r}"))
        elif ends.answers and found.answered_after_stop:
            self.verdict.ignored.append((message, f"{told}and then answered"))
        elif ends.receipts and any(post.id > ends.receipts[0].id for post in ends.answers):
            self.verdict.ignored.append((message, f"{told}and its answer stands behind the receipt"))
