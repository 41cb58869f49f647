"""The sentences about threads and channels that are gone or closed to us; pure (see `connector.notices`)."""


def thread_gone(running: int, waiting: int) -> str:
    """Said in the channel above a deleted thread: what became of the messages that had no end yet."""
    ended = [f"{count} {what}" for count, what in ((running, "running"), (waiting, "waiting")) if count]
    number = running + waiting
    return (
        f"The thread was deleted, so {_message(number)} in it ({', '.join(ended)}) will get no answer."
        " Mention the bot here to ask again."
    )


def untold() -> str:
    """Said in the channel above a thread that takes no notice of what became of a message."""
    return (
        "A message in this thread got no answer, and Discord refused to say so there."
        " Mention the bot here to ask again."
    )


def _message(number: int) -> str:
    return f"{number} message{'' if number == 1 else 's'}"
