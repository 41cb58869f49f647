"""Which parts of the connector work, wait or fail, in words and as values; it computes and performs nothing.

Instants are nanoseconds since the epoch, as `connector.clock` counts them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from engine.events import SECOND

PartName = Literal["gateway", "ledger", "children", "loop"]
"""The connection to Discord, the records on the disk, the agents, and the one task that owns the lanes."""

GOOD: Mapping[PartName, str] = MappingProxyType(
    {
        "gateway": "connected to Discord",
        "ledger": "the ledger is written",
        "children": "the agent answers",
        "loop": "the lanes answer",
    }
)


class Works(Struct, frozen=True):
    """Nothing is wrong with it."""


class Waiting(Struct, frozen=True):
    """It has not worked in this life yet: `what` says in words what is waited for. `due` as in `Failing`."""

    what: str
    since: int
    due: int


class Failing(Struct, frozen=True):
    """It failed and is tried again: `reason` in words, `retried` failures after the first one.

    `due`: it is heard of again until then, whatever that says; later it counts as stopped.
    """

    reason: str
    since: int
    due: int
    retried: int = 0


PartState = Works | Waiting | Failing


class Health(Struct, frozen=True):
    """The state of every part; each change gives a new value.

    `ready`: Discord and the agent have been seen to work at the same time, which ends a start.
    """

    gateway: PartState
    ledger: PartState
    children: PartState
    loop: PartState
    ready: bool = False

    @classmethod
    def starting(cls, now: int, *, gateway_due: int, children_due: int) -> "Health":
        """At the start of a life: Discord and the agent are waited for."""
        return cls(
            gateway=Waiting("Discord's gateway", now, gateway_due),
            ledger=Works(),
            children=Waiting("the agent's first answer", now, children_due),
            loop=Works(),
        )

    def parts(self) -> Mapping[str, PartState]:
        """The state of each part, by name."""
        return {"gateway": self.gateway, "ledger": self.ledger, "children": self.children, "loop": self.loop}

    @property
    def ok(self) -> bool:
        """Whether every part works."""
        return all(isinstance(state, Works) for state in self.parts().values())

    def stopped(self, now: int) -> tuple[str, ...]:
        """The parts that neither work nor are tried again as they should be: what only a new start mends."""
        return tuple(name for name, state in self.parts().items() if not isinstance(state, Works) and state.due < now)

    def works(self, part: PartName) -> "Health":
        """This part works (again)."""
        new = self._with(part, Works())
        up = isinstance(new.gateway, Works) and isinstance(new.children, Works)
        return replace(new, ready=True) if up and not new.ready else new

    def fails(self, part: PartName, reason: str, now: int, *, due: int, again: bool = True) -> "Health":
        """This part failed; it is heard of again until `due`. `again` False: the same failure goes on."""
        match self._of(part):
            case Failing(_, since, _, retried):
                state = Failing(reason, since, due, retried + again)
            case Waiting(_, since):
                state = Failing(reason, since, due)
            case Works():
                state = Failing(reason, now, due)
            case never:
                assert_never(never)
        return self._with(part, state)

    def until(self, part: PartName, due: int) -> "Health":
        """A sign of life of a part that does not work: it is heard of again until `due`."""
        state = self._of(part)
        return self if isinstance(state, Works) else self._with(part, replace(state, due=due))

    def status_line(self) -> str:
        """One line for an operator: what is waited for, what fails and since when, else that all is well."""
        states = self.parts()
        if self.ok:
            return f"Running: {', '.join(GOOD.values())}"
        awaited = [state.what for state in states.values() if isinstance(state, Waiting)]
        words = [f"waiting for {' and '.join(awaited)}"] if awaited else []
        words += [_failure(name, state) for name, state in states.items() if isinstance(state, Failing)]
        return f"{'Running' if self.ready else 'Starting'}: {'; '.join(words)}"

    def _of(self, part: PartName) -> PartState:
        match part:
            case "gateway":
                return self.gateway
            case "ledger":
                return self.ledger
            case "children":
                return self.children
            case "loop":
                return self.loop
            case _:
                assert_never(part)

    def _with(self, part: PartName, state: PartState) -> "Health":
        match part:
            case "gateway":
                return replace(self, gateway=state)
            case "ledger":
                return replace(self, ledger=state)
            case "children":
                return replace(self, children=state)
            case "loop":
                return replace(self, loop=state)
            case _:
                assert_never(part)


def _failure(name: str, state: Failing) -> str:
    since = datetime.fromtimestamp(state.since // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    tried = f", tried {state.retried + 1} times" if state.retried else ""
    return f"{name} fails since {since}{tried}: {state.reason}"
