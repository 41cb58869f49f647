"""What `/queue` shows: what waits, by whom, since when, a page at a time, with its buttons; pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from connector import clusters
from connector.ports import Button, Rows
from connector.status import MANY, PHASES
from connector.world import Phase, Round, World
from engine.events import SECOND

PAGE = 8
"""Items of a page: two of them share a row of buttons, and one row of five is left for turning pages."""

EXCERPT = 61
"""Characters of what was asked that are shown, the ellipsis included."""


class Page(Struct, frozen=True):
    """One page of a lane's queue."""

    text: str
    buttons: Rows


def queue_page(world: World, lane: str, number: int, may: Callable[[Round], bool]) -> Page:
    """Page `number` (from 0; the last one where there are fewer) of what waits in a lane, in the order it is asked.

    Only items that the person `may` cancel and move get buttons, and the first one cannot be moved to the front.
    """
    waiting = [world.rounds[name] for name in world.lane(lane).waiting]
    pages = max(1, -(-len(waiting) // PAGE))
    number = min(max(0, number), pages - 1)
    shown = list(enumerate(waiting, 1))[number * PAGE : (number + 1) * PAGE]
    lines = [_at_work(round_) for round_ in world.open_in(lane) if round_.phase is not Phase.WAITING]
    if waiting:
        lines.append(f"**{len(waiting)} waiting**" + (f", page {number + 1} of {pages}" if pages > 1 else ""))
    lines += [_item(place, round_) for place, round_ in shown]
    buttons = [pair for place, round_ in shown if may(round_) for pair in (_pair(place, round_.id),)]
    rows = [(*one, *other) for one, other in zip(buttons[::2], [*buttons[1::2], ()], strict=False)]
    turning = tuple(_turning(number, pages))
    return Page("\n".join(lines) or "Nothing waits here.", (*rows, turning) if turning else tuple(rows))


def page_of(world: World, round_: Round) -> int:
    """The page on which a waiting round stands."""
    return world.lane(round_.lane).waiting.index(round_.id) // PAGE if round_.phase is Phase.WAITING else 0


def other_lanes(world: World, here: str) -> list[str]:
    """One line for each other lane with something waiting: for an operator."""
    found = []
    for key in world.at_work():
        waiting = world.lane(key).waiting
        if key != here and waiting:
            since = min(world.rounds[name].at for name in waiting) // SECOND
            people = sorted({world.rounds[name].author for name in waiting})
            by = ", ".join(f"<@{person}>" for person in people[:5]) + (" and others" if len(people) > 5 else "")
            found.append(
                f"<#{world.lane(key).channel or key}>: {len(waiting)} waiting, by {by}, the oldest since <t:{since}:R>"
            )
    more = [f"… and {len(found) - MANY} more conversations."] if len(found) > MANY else []
    return found[:MANY] + more


def _at_work(round_: Round) -> str:
    when = f" <t:{round_.until // SECOND}:R>" if round_.phase is Phase.BACKOFF and round_.until else ""
    return f"{PHASES[round_.phase].capitalize()}{when}: {_whose(round_)}"


def _item(place: int, round_: Round) -> str:
    return f"{place}. {_whose(round_)}"


def _whose(round_: Round) -> str:
    count = len(round_.files)
    files = f", with {count} file{'' if count == 1 else 's'}" if count else ""
    return f"by <@{round_.author}>, since <t:{round_.at // SECOND}:R>{files}{excerpt(round_.text)}"


def excerpt(text: str) -> str:
    """The first words of what was asked, as code: nothing in it mentions anybody or ends its line."""
    asked = text.partition("\n\n")[2]
    words = " ".join("".join(char if char.isprintable() else " " for char in asked[: 4 * EXCERPT]).split())
    words = words.replace("`", "ˋ")
    return f": `{clusters.excerpt(words, EXCERPT)}`" if words else ""


def _pair(place: int, name: str) -> tuple[Button, ...]:
    cancel = Button(f"queue:cancel:{name}", f"Cancel {place}", "danger")
    return (cancel,) if place == 1 else (cancel, Button(f"queue:first:{name}", f"{place} to the front"))


def _turning(number: int, pages: int) -> Iterable[Button]:
    if number > 0:
        yield Button(f"queue:page:{number - 1}", "◀ Earlier")
    if number < pages - 1:
        yield Button(f"queue:page:{number + 1}", "Later ▶")
