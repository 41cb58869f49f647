"""What is said about files that an answer names: to the child how it is done, to people what was not sent; pure."""

from connector.header import quote

OUTSIDE = "it lies outside the agent's working folder and this conversation's outbox"
HIDDEN = "files and folders whose names begin with a dot are not sent"
OURS = "it lies in the connector's own folder"
LINK = "it is reached over a link, and links are not followed"
MISSING = "there is no such file"
IRREGULAR = "it is no regular file"
UNREADABLE = "it could not be read"
UNKEPT = "this machine's disk did not take it"
REMOTE = "the agent's files are out of reach here"
REFUSED = "Discord did not take it"


def how_to_attach(outbox: str) -> str:
    """The bracketed line in the first prompt of a session, without its brackets."""
    form = 'to send a file with an answer, name it on a line of its own, outside fences, "attach: PATH"'
    return f"{form}; it lies in the working folder or in your outbox {quote(outbox)}"


def not_attached(name: str, why: str) -> str:
    """One file that an answer names and does not carry; `name` is fit to be shown."""
    return f"could not attach {name}: {why}"


def too_large(most: int) -> str:
    """A file beyond `files.max_bytes`."""
    return f"it is larger than {_size(most)}"


def too_many(more: int, most: int) -> str:
    """Files beyond `files.max_message`."""
    return f"could not attach {more} more: an answer carries at most {most} files"


def _size(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}".replace(".0 ", " ")
    return f"{count} bytes"
