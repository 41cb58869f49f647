"""One run of the child and the texts in it: who owns which part, and what is owed to whom (BEHAVIOUR §1.15, §1.16)."""

from msgspec import Struct
from msgspec.structs import replace

from engine import pi
from engine.events import Answered, Code, Effect, Ended, Outcome


class Part(Struct, frozen=True):
    """The texts between two user echoes; ``owner`` None is nobody's."""

    owner: str | None
    text: str = ""


class Run(Struct, frozen=True):
    """A run from its first ``agent_start`` to its ``agent_settled``.

    ``head``: the turn whose run it is, None for an orphan. ``open``: a low-level run is open. ``last``: stop reason of
    the last assistant message, "" before any. ``detail``: that message's error text. ``final``: ``agent_end`` said
    ``willRetry:false``. ``ended``: turns that have had their one end. ``summary``: it stands for a compaction that pi
    named in a refusal and ends with it. ``heard``: marks of the steers that joined.
    """

    since: int
    head: str | None
    open: bool = True
    parts: tuple[Part, ...] = ()
    last: str = ""
    detail: str = ""
    final: bool = False
    ended: frozenset[str] = frozenset()
    aborted: int | None = None
    summary: bool = False
    heard: frozenset[str] = frozenset()

    @property
    def owner(self) -> str | None:
        """Who is answered by what comes next."""
        return self.parts[-1].owner if self.parts else self.head

    @property
    def good(self) -> bool:
        """Whether the last assistant message is there and is neither an error nor an abort."""
        return self.last not in {"", "error", "aborted"}

    def owns(self, turn: str) -> bool:
        """Whether ``turn`` has a part in this run."""
        return any(part.owner == turn for part in self.parts)


def begun(now: int, head: str | None, owner: str | None) -> Run:
    """A run that has just started; ``owner`` is answered by its first text."""
    return Run(since=now, head=head, parts=(Part(owner),))


def joined(run: Run, turn: str) -> Run:
    """The run after the echo of a steered message: what comes next answers it."""
    return replace(run, parts=(*run.parts, Part(turn)))


def spoken(run: Run, message: pi.Message) -> Run:
    """The run after an assistant message: text counts if it ended ``stop`` or ``length``, a failed try's is dropped."""
    reason = message.stopReason or "stop"
    run = replace(run, last=reason, detail=message.errorMessage or "")
    if reason not in {"stop", "length"} or not message.text.strip():
        return run
    last = run.parts[-1]
    text = f"{last.text}\n\n{message.text}" if last.text else message.text
    return replace(run, parts=(*run.parts[:-1], replace(last, text=text)))


def give_out(run: Run, *, settled: bool) -> tuple[Run, list[Effect]]:
    """What the run owes, once it is final: one end per owner, then further answers.

    ``settled``: nothing more can come, so an error or an abort is final too. A part without text is served by the next
    one that has some ("joined"); parts left without any end as the run ended, all but one of them joined to that one.
    """
    if not settled and not (run.final and run.good):
        return run, []
    ends: list[tuple[str, Outcome]] = []
    waiting: list[str] = []
    for part in run.parts:
        if part.owner is None:
            continue
        if not part.text:
            waiting.append(part.owner)
            continue
        ends += [(turn, Outcome(Code.JOINED, into=part.owner)) for turn in waiting]
        ends.append((part.owner, Outcome(Code.ANSWERED, text=part.text)))
        waiting = []
    waiting = [turn for turn in waiting if turn not in run.ended]
    if waiting:
        last = waiting[-1] if run.good else waiting[0]
        ends += [(turn, Outcome(Code.JOINED, into=last)) for turn in waiting if turn != last]
        ends.append((last, bare(run)))
    effects: list[Effect] = []
    ended = set(run.ended)
    for turn, outcome in ends:
        if turn not in ended:
            effects.append(Ended(turn, outcome))
            ended.add(turn)
        elif outcome.text:
            effects.append(Answered(turn, outcome.text))
    return replace(run, parts=(Part(run.owner),), ended=frozenset(ended)), effects


def bare(run: Run) -> Outcome:
    """How a turn ends that got no text of its own in this run (BEHAVIOUR §1.15)."""
    if run.good:
        return Outcome(Code.EMPTY)
    if run.last == "aborted":
        return Outcome(Code.INTERRUPTED, detail=run.detail)
    return Outcome(Code.PROVIDER, detail=run.detail)


def failed(run: Run, code: Code, detail: str = "") -> tuple[Run, list[Effect]]:
    """End everybody in the run who has not ended, with one code; texts not given out are dropped."""
    owners = dict.fromkeys(part.owner for part in run.parts if part.owner is not None)
    left = [turn for turn in owners if turn not in run.ended]
    effects: list[Effect] = [Ended(turn, Outcome(code, detail=detail)) for turn in left]
    return replace(run, parts=(Part(run.owner),), ended=run.ended | set(left)), effects
