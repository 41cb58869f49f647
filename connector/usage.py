"""What `/usage` says: costs and tokens by day, person and model, and what is left of caps; pure."""

from collections.abc import Callable, Iterable, Sequence

from connector.header import clean
from connector.ledger_spend import Sum
from connector.notices_spend import money, nothing_spent
from connector.spend import Amount, Caps, Today, day_end, keys
from engine.events import SECOND

DAYS = 7
MANY = 10
"""So many people, models and conversations are told one by one, those that cost most."""

CAPS = {"person": "you", "lane": "this conversation", "total": "everybody together"}


def lane_lines(sums: Sequence[Sum], day: int, caps: Caps, today: Today, whose: tuple[str, int]) -> list[str]:
    """One lane's, for whoever may see it, and the caps that hold for him there; `sums` of its last `DAYS` days.

    `whose`: the lane and the person.
    """
    return [*_both(sums, day, "here", (_people, _models)), *_caps(caps, today, day, whose)]


def all_lines(sums: Sequence[Sum], day: int) -> list[str]:
    """Those of all lanes together: for an operator."""
    return _both(sums, day, "everywhere", (_lanes, _people, _models))


Part = Callable[[Sum], str]


def _both(sums: Sequence[Sum], day: int, where: str, parts: tuple[Part, ...]) -> list[str]:
    if not any(one.amount.tokens or one.amount.cost for one in sums):
        return [nothing_spent("here" if where == "here" else "anywhere")]
    today = [one for one in sums if one.day == day]
    title = f"Today {where} (UTC, until <t:{day_end(day) // SECOND}:t>)"
    return [*_section(title, today, parts), *_section(f"The last {DAYS} days {where}", sums, parts)]


def _section(title: str, sums: Sequence[Sum], parts: tuple[Part, ...]) -> list[str]:
    """A sum, and what it is made of in each way; a way that would tell one thing is told too: it names that."""
    lines = [f"**{title}**: {_amount(_total(sums))}"]
    for part in parts:
        names = sorted({part(one) for one in sums})
        found = [(name, _total(one for one in sums if part(one) == name)) for name in names]
        found.sort(key=lambda pair: pair[1].cost, reverse=True)
        lines += [f"- {name}: {_amount(amount)}" for name, amount in found[:MANY]]
        lines += [f"- … and {len(found) - MANY} more."] if len(found) > MANY else []
    return lines


def _caps(caps: Caps, today: Today, day: int, whose: tuple[str, int]) -> list[str]:
    lines = []
    for scope, name in keys(*whose):
        if cap := caps.of(scope):
            spent, extra = today.of(day, scope, name)
            more = f", extended by {money(extra)}" if extra else ""
            lines.append(f"Cap of today for {CAPS[scope]}: {money(spent)} of {money(cap)} are spent{more}.")
    return lines


def _total(sums: Iterable[Sum]) -> Amount:
    return sum((one.amount for one in sums), Amount())


def _amount(amount: Amount) -> str:
    return f"{money(amount.cost)} · {amount.tokens:,} tokens"


def _people(one: Sum) -> str:
    return f"<@{one.person}>" if one.person else "nobody's turn"


def _models(one: Sum) -> str:
    if not one.model:
        return "tools and summaries"
    return f"`{clean(f'{one.provider}/{one.model}').replace('`', ' ').strip()}`"


def _lanes(one: Sum) -> str:
    return f"<#{one.lane}>"
