"""The mark a prompt's header carries and pi's echo returns; it reads the first line only and knows no Discord."""

HEADER_START = "[discord] "
_DIGITS = "0123456789"


def mark_of(text: str) -> str | None:
    """The mark of a text written to a child, or of its echo: the digits that end the first line (BEHAVIOUR §1.13).

    Only a first line that begins with `[discord] ` has one; a number anywhere else is the person's own. None where
    there is none: an extension may have rewritten the text, which proves nothing.
    """
    if not text.startswith(HEADER_START):
        return None
    end = text.find("\n")
    line = text if end < 0 else text[:end]
    return line[len(line.rstrip(_DIGITS)) :] or None
