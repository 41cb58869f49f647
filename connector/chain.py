"""The row of failed starts, a fold over the ledger's facts (BEHAVIOUR §6); pure."""

from collections.abc import Iterable

from connector import facts
from connector.facts import AnyFact


def in_a_row(chain: Iterable[AnyFact], wedge_gap: int) -> int:
    """How many exits with 1 stand in a row, oldest fact first; `wedge_gap` in ns, without the time a turn ran.

    A settled good turn or an operator's `reset-wedges` ends a row, and so does a longer gap between two exits.
    Neither starting nor time alone does: a start that refuses goes on refusing. What falls in one life is one exit.
    """
    count, last, fell = 0, 0, False
    for fact in chain:
        match fact:
            case facts.Up():
                fell = False
            case facts.Fell(at, _, busy):
                if not fell or not count:
                    count = count + 1 if count and at - busy - last <= wedge_gap else 1
                last, fell = at, True
            case facts.Good() | facts.Forgiven():
                count = 0
            case _:
                pass
    return count


def last_exit(chain: Iterable[AnyFact]) -> str:
    """How the last run ended, in words: its code, or that it left no word."""
    words = "none"
    for fact in chain:
        match fact:
            case facts.Up():
                words = "killed"
            case facts.Down(_, code, reason):
                words = f"{code}: {reason}"
            case _:
                pass
    return words
