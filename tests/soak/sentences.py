"""Which notice a post of the bot is, by its words alone, as a person reads it; it knows no rounds and no nonces."""

import re

from connector import notices
from connector.notices import Code

RECEIPT = "stopped"
ANSWER = "answer"
LIVE = "card at work"

_CODES = [code for code in Code if code is not Code.STOPPED]

_ENDS: dict[str, str] = {
    **{str(code): re.split(r"[(,;]", notices.failed(code))[0] for code in _CODES},
    "not-repeated": "This turn was cut off after it had begun to act",
    "empty": notices.empty(),
    "handled": notices.handled(),
    "nothing-to-ask": notices.nothing_to_ask(),
    "nothing-to-stop": notices.nothing_to_stop(),
    "answer-lost": notices.answer_lost(),
}
_FULL = re.compile(r"(\d+ messages? already wait here|You have \d+ messages? waiting)")
_BESIDE: dict[str, str] = {
    "disk-trouble": notices.disk_trouble(),
    "session-lost": notices.session_lost(),
    "files-missed": "The agent does not get ",
}
_FAILURES = re.compile(r"The agent failed \d+ times? in a row")


def end_of(content: str) -> str:
    """The kind of a notice that ends its message, "" for every other text."""
    if content.startswith("Stopped"):
        return RECEIPT
    if _FULL.match(content):
        return "full"
    return next((kind for kind, start in _ENDS.items() if content.startswith(start)), "")


def beside(content: str) -> str:
    """The kind of a notice that tells of something and ends nothing, "" for every other text."""
    if _FAILURES.match(content):
        return "too-many-failures"
    return next((kind for kind, start in _BESIDE.items() if content.startswith(start)), "")


def card(content: str) -> str:
    """The kind of a turn's card: of one that is over, or of one at work; "" for every other text."""
    if content.startswith("-#"):
        return "card"
    return LIVE if content.startswith(("⚙️", "⏳")) else ""
