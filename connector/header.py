"""What the child sees of a Discord message: a header line, bracketed lines, an empty line, the person's own text.

Pure. Whatever Discord or another person supplied stays inside its own line and brackets (CONTRACT, "What the child
sees"): only the connector writes a first line that begins with `[discord] `.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from connector.clusters import clip
from connector.messages import Message, Place, Reply
from engine.marks import HEADER_START

NAME_LIMIT = 64
REPLY_LIMIT = 2_000

# The characters with Unicode's property Bidi_Control.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_UNSEEN = {"Cc", "Cf", "Cs", "Cn", "Zs", "Zl", "Zp"}


def compose(message: Message, *, notes: Sequence[str] = ()) -> str:
    """The text of `prompt.message` or `steer.message`; `message.text` is to be without mentions of the bot.

    `notes` are lines of the connector's own (a repeat, what was interrupted), without brackets; those of files come
    later (`filed`). The message id ends the first line: it is the mark (BEHAVIOUR §1.13).
    """
    where = _where(message.place)
    who = f"{clean(message.author.name)} ({message.author.id})"
    lines = [f"{HEADER_START}{where} · {who} · {message.id}"]
    lines += [f"[{line}]" for line in _bracketed(message, notes)]
    return "\n".join(lines) + "\n\n" + message.text


def filed(text: str, lines: Sequence[str]) -> str:
    """A composed text with one more bracketed line for each of `lines`, under those it has."""
    if not lines:
        return text
    above, _, below = text.partition("\n\n")
    return "\n".join([above, *(f"[{quote(line)}]" for line in lines)]) + "\n\n" + below


def bare(text: str) -> bool:
    """Whether a composed text asks nothing by itself: no bracketed line, and nothing to be seen below."""
    above, _, below = text.partition("\n\n")
    return "\n" not in above and not _visible(below)


def nothing_to_ask(message: Message) -> bool:
    """Whether a message (mentions of the bot removed) asks nothing: no visible text, no file, nothing forwarded.

    A bare mention in reply to another person's message does ask: about that message.
    """
    asks_about = message.reply is not None and not message.reply.to_us and _visible(message.reply.text)
    return not (_visible(message.text) or message.attachments or message.forwards or asks_about)


def clean(name: str) -> str:
    """A name of a person, channel or file that can end neither its line nor its place in it; 64 characters at most."""
    return clip("".join(" " if char in "[]()·" or _unruly(char) else char for char in name), NAME_LIMIT)


def quote(text: str) -> str:
    """Another text on one line: line ends become `⏎`, square brackets `⟦⟧`, other controls a blank.

    So it can end neither its line nor its brackets, nor write a header or the empty line below them.
    """
    flat = _LINE_ENDS.sub("⏎", text).replace("[", "⟦").replace("]", "⟧")
    return "".join(" " if _unruly(char) else char for char in flat)


def _where(place: Place) -> str:
    match place.kind:
        case "private":
            return "private"
        case "channel" | "thread":
            return f"#{clean(place.name)}"


def _bracketed(message: Message, notes: Sequence[str]) -> Iterator[str]:
    yield from map(quote, notes)
    if message.reply is not None:
        yield _replied(message.reply)
    for forward in message.forwards:
        yield f"forwarded: {quote(forward.text)}" if _visible(forward.text) else "forwarded, without a text"


def _replied(reply: Reply) -> str:
    who = f"{'you, ' if reply.to_us else ''}{clean(reply.author_name)} ({reply.author})"
    if not _visible(reply.text):
        return f"in reply to {who}, whose message has no text"
    kept = clip(reply.text, REPLY_LIMIT)
    return f"in reply to {who}: {quote(kept)}{'' if kept == reply.text else '…'}"


def _unruly(char: str) -> bool:
    return char in _BIDI or unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}


def _visible(text: str) -> bool:
    return any(unicodedata.category(char) not in _UNSEEN for char in text)
