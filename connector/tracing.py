"""What became of one message, told step by step with times and reasons; pure: it reads no ledger, texts are lengths."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from connector import facts
from connector.findings import one_line
from connector.ledger_read import Step
from connector.redact import Redactor
from connector.world import World
from engine.events import SECOND

_TEXTS = frozenset({"text", "said"})
"""Fields that hold what people or the model wrote: a trace tells how long they are."""

_LISTS = frozenset({"files", "lines", "pictures"})
"""Fields that name a person's files: a trace tells how many there are."""

_REST = frozenset({"fact", "round", "at", "lane", "message"})
"""Fields that a step shows in another place."""

FOREIGN = frozenset({"detail"})
"""Fields with words of a provider, of pi or of its stderr: an operator may see them, redacted (CONTRACT)."""


class Trace(Struct, frozen=True):
    """What is recorded of one message, over all its rounds; never empty."""

    message: int
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """CONTRACT's `trace --json`; the id as text, since as a number JSON's readers may cut it."""
        return {
            "message_id": str(self.message),
            "lane": self.steps[-1].lane,
            "state": self.state(),
            "steps": [step_json(step) for step in self.steps],
        }

    def state(self) -> str:
        """The code of its last round once that has ended, else where that is."""
        last = [step.fact for step in self.steps if step.round == self.steps[-1].round]
        codes = [fact.code for fact in last if isinstance(fact, facts.Ended)]
        return codes[-1] if codes else next(iter(folded(last).rounds.values())).phase.name.lower()

    def lines(self, redactor: Redactor | None = None, *, hide: frozenset[str] = frozenset()) -> list[str]:
        """The same for a person, without the fields to `hide`."""
        return [one_line(line) for line in self._lines(redactor or Redactor(), hide)]

    def _lines(self, redactor: Redactor, hide: frozenset[str]) -> Iterator[str]:
        yield f"message {self.message} in lane {self.steps[-1].lane}: {self.state()}"
        shown = ""
        for step in self.steps:
            if step.round != shown:
                shown = step.round
                yield f"round {shown}"
            known = {key: value for key, value in _fields(step.fact, redactor).items() if key not in hide}
            fields = " ".join(f"{key}={_word(value)}" for key, value in known.items())
            yield f"  {instant(step.at)} {_name(step.fact)} {fields}".rstrip()


def folded(known: Iterable[facts.AnyFact]) -> World:
    """The world that these facts make."""
    world = World()
    for fact in known:
        world.apply(fact)
    return world


def step_json(step: Step) -> dict[str, Any]:
    """One step as `trace --json` shows it."""
    return {
        "at": instant(step.at),
        "step": _name(step.fact),
        "round": step.round,
        **_fields(step.fact, Redactor()),
    }


def instant(nanos: int) -> str:
    """As the log writes it, so that a step can be found there."""
    at = datetime.fromtimestamp(nanos // SECOND, UTC).replace(microsecond=nanos % SECOND // 1000)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _name(fact: facts.AnyFact) -> str:
    return str(type(fact).__struct_config__.tag)


def _fields(fact: facts.AnyFact, redactor: Redactor) -> dict[str, Any]:
    """What a step says beside its time and round: ids as texts, texts as their lengths, secrets taken out."""
    fields: dict[str, Any] = {}
    for key, value in msgspec.to_builtins(fact).items():
        if key in _TEXTS:
            fields[f"{key}_characters"] = len(value)
        elif key in _LISTS:
            fields[key] = len(value)
        elif key not in _REST:
            # Ids have 19 digits: as a number they would lose the last ones in what reads JSON with doubles.
            large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53
            fields[key] = str(value) if large else redactor.value(value)
    if "until" in fields:
        fields["until"] = instant(int(fields["until"]))
    return fields


def _word(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if text and not set(text) & set(' "=') else msgspec.json.encode(text).decode()
