"""Where a text may be cut so that no letter or emoji falls apart; pure, an approximation of Unicode's own rule.

Discord counts code points, as `len` does (its API is written in Python and says so in discord-api-docs #1315).
"""

import unicodedata

_ZWJ = "\u200d"
_LOOK_BACK = 64


def boundary(text: str, at: int) -> int:
    """The largest place not after `at` that splits no cluster; `at` itself where one is longer than 64 characters.

    Kept together: combining marks, joiner sequences, variation selectors, skin tones, tags, flags, conjoining
    Hangul, and two surrogate halves.
    """
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    for place in range(at, max(0, at - _LOOK_BACK), -1):
        if not _joined(text, place):
            return place
    return 0 if at <= _LOOK_BACK else at


def clip(text: str, count: int) -> str:
    """The first `count` characters at most, ending between clusters."""
    return text[: boundary(text, count)]


def excerpt(text: str, count: int) -> str:
    """The text, or its beginning with an ellipsis; `count` (at least 1) characters at most, the ellipsis included."""
    return text if len(text) <= count else clip(text, count - 1) + "…"


def _joined(text: str, place: int) -> bool:
    """Whether the characters on both sides of `place` (inside the text) belong to one cluster."""
    before, after = text[place - 1], text[place]
    if before < "\u0300" > after:
        return before == "\r" and after == "\n"
    if before == _ZWJ or _extends(after):
        return True
    if _flag(before) and _flag(after):
        start = place
        while start > 0 and _flag(text[start - 1]):
            start -= 1
        return (place - start) % 2 == 1
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char)[0] == "M"
        or char in {_ZWJ, "\u200c", "\u0e33", "\u0eb3"}
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
