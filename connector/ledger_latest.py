"""Of which facts only the newest of a key counts, and by what key; the ledger's table `latest`; no SQL."""

from collections.abc import Callable

from connector import facts
from connector.facts import AnyFact

LATEST: dict[type, Callable[[AnyFact], str]] = {
    facts.Seen: lambda fact: str(fact.channel),  # type: ignore[union-attr]  # keyed by its own type
    facts.Gated: lambda fact: f"{fact.provider} {fact.model}",  # type: ignore[union-attr]
    facts.SessionSet: lambda fact: fact.lane,  # type: ignore[union-attr]
    facts.SessionKnown: lambda fact: f"{fact.lane} {fact.path}",  # type: ignore[union-attr]
    facts.ModelSet: lambda fact: fact.lane,  # type: ignore[union-attr]
    facts.ThinkingSet: lambda fact: fact.lane,  # type: ignore[union-attr]
    facts.ThreadOpened: lambda fact: str(fact.channel),  # type: ignore[union-attr]
    facts.Redirected: lambda fact: str(fact.channel),  # type: ignore[union-attr]
    facts.ChildStarted: lambda fact: str(fact.child),  # type: ignore[union-attr]
    facts.CardShown: lambda fact: fact.round,  # type: ignore[union-attr]
    facts.DialogShown: lambda fact: fact.key,  # type: ignore[union-attr]
    facts.Extended: lambda fact: f"{fact.scope} {fact.key}",  # type: ignore[union-attr]
}
ELSEWHERE = (*LATEST, facts.CardOver, facts.DialogOver, facts.Spent)
"""What a start learns from `latest` and `spent`, not from the rounds that are open."""

OFFERED = "Offered"
"""The topic of `latest` that tells the last Retry offered in each channel; no start has to know it."""
