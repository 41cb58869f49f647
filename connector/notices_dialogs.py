"""What a person reads at and around a question of the agent's extensions: one line each; pure.

What an extension wrote stands in the question itself, never in one of these, an answer's excerpt apart.
"""

ANSWER = 120
"""Characters of an answer that are shown."""


def asks() -> str:
    """The heading of a question that has none of its own."""
    return "The agent asks something"


def waits(author: int, until: int) -> str:
    """The last line of an open question: who may answer it, and until when (seconds since the epoch)."""
    return f"-# <@{author}> or an operator can answer; without an answer it is cancelled <t:{until}:R>."


def answered(by: int, what: str) -> str:
    """The last line of a question that was answered."""
    return f"✅ Answered by <@{by}>: {what}"


def cancelled(by: int) -> str:
    """The last line of a question that a person cancelled."""
    return f"🚫 Cancelled by <@{by}>; the agent goes on without an answer."


def timed_out() -> str:
    """The last line of a question that nobody answered."""
    return "⌛ Nobody answered in time, so the agent goes on without an answer. Write a message if you still want to."


def stopped() -> str:
    """The last line of a question whose turn was stopped."""
    return "🛑 The turn was stopped, so this needs no answer any more."


def turn_over() -> str:
    """The last line of a question whose turn ended around it."""
    return "➖ The turn has ended, so this needs no answer any more."


def restarting() -> str:
    """The last line of a question whose turn our own end, or that of another child, cuts."""
    return "➖ The agent is being restarted, so this needs no answer any more; its message is looked at again then."


def restarted() -> str:
    """What stands in the place of a question after a restart."""
    return "➖ The agent asked something here, but was restarted since: it needs no answer any more."


def too_long(count: int) -> str:
    """The line below a text of which only the beginning is shown."""
    return f"-# This is the beginning of {count:,} characters; the rest is not shown here."


def uneditable(count: int) -> str:
    """The line below a text that no form can hold."""
    return f"-# {count:,} characters are too many to be edited here: what you write replaces the whole text."
