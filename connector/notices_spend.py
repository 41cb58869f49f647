"""The sentences about spending, as in `connector.notices`; pure."""

from typing import assert_never

from connector.spend import Scope


def money(amount: float) -> str:
    """An amount in pi's unit: cents as a rule, more digits where it is small."""
    return f"{amount:.2f}" if amount >= 1 or not amount else f"{amount:.4f}"


def whose(scope: Scope) -> str:
    """The cap of a scope, in words to the author of what it holds back."""
    match scope:
        case "person":
            return "Your spending cap"
        case "lane":
            return "This conversation's spending cap"
        case "total":
            return "The spending cap of this bot"
        case _:
            assert_never(scope)


def capped(scope: Scope, cap: float, until: int) -> str:
    """The wait of a message that a cap holds back until `until`, seconds since the epoch."""
    return (
        f"{whose(scope)} ({money(cap)} a day, days in UTC) is reached; this message waits until <t:{until}:t>"
        f" (<t:{until}:R>), or until an operator extends the cap. Stop ends the wait."
    )


def waits_for_day(until: int) -> str:
    """The card of a message that a cap holds back."""
    return f"A spending cap is reached; this message waits until <t:{until}:R>. Stop ends the wait."


def extended(amount: float) -> str:
    """What the operator who extended a cap is told."""
    return f"Extended by {money(amount)} for today (UTC); what it held back goes on."


def nothing_spent(where: str) -> str:
    """The answer to `/usage` where nothing was spent, "here" or "anywhere"."""
    return f"Nothing was spent {where} in the last 7 days."
