"""Facts about the posts of an extension's questions: a later start must know which of them still stand open.

What was asked and answered is between the child and the person; with the child's end every question is over.
"""

from connector.facts_base import Fact


class DialogShown(Fact, frozen=True, tag="dialog"):
    """A question of the agent stands in Discord as `message`, or may soon (0); `key` is its round and its name."""

    key: str
    channel: int
    message: int


class DialogOver(Fact, frozen=True, tag="dialog-over"):
    """A question's post shows its end, or is gone from Discord: nobody edits it any more."""

    key: str
