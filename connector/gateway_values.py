"""Single values of Discord's payloads, taken only as what Discord says they are; pure, anything else is a ValueError.

What is let through here can be kept: a number fits into the ledger, and a text can be written as UTF-8.
"""

from engine.pi import without_surrogates

LARGEST = 2**63 - 1
"""The largest number that the ledger holds; a snowflake has 63 bits."""


def snowflake(value: object) -> int:
    """An id, written in digits or as a number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len(str(LARGEST)):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST:
        return value
    raise ValueError(f"{type(value).__name__} where an id belongs")


def maybe_snowflake(value: object) -> int | None:
    """An id, or none."""
    return None if value is None else snowflake(value)


def text(value: object) -> str:
    """A text; a lone surrogate in it, which nothing can write down, becomes U+FFFD."""
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} where a text belongs")  # noqa: TRY004 - one error for every payload
    return value if value.isascii() else str(without_surrogates(value))


def count(value: object) -> int:
    """A size or number, 0 or more."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return value
    raise ValueError(f"{type(value).__name__} where a number belongs")
