"""The one-line sentences a person sees: what happened, what it means for him, what he can do; pure.

No text of a provider, of pi's errors or of its stderr enters one (CONTRACT, "What Discord sees"): only sentences of
ours, numbers, Discord's own tags, a model's name and a file's, both cleaned. Only Stop's begin with `Stopped`.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from connector.header import clean


class Code(StrEnum):
    """Why a turn failed (CONTRACT, "Codes of a failed turn")."""

    ENGINE_TIMEOUT = "engine-timeout"
    ENGINE_WEDGED = "engine-wedged"
    ENGINE_DOWN = "engine-down"
    ENGINE_REFUSED = "engine-refused"
    ENGINE_EXIT = "engine-exit"
    PROVIDER_ERROR = "provider-error"
    RATE_LIMITED = "rate-limited"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    RESTART = "restart"
    DEAD = "dead"


class Halted(StrEnum):
    """What Stop ended, by the phase it met the round in (BEHAVIOUR §2)."""

    QUEUED = "waiting message"
    STARTING = "turn that was starting"
    RUNNING = "running turn"
    STEERING = "line given to the running turn"
    BACKOFF = "wait before asking again"
    GATE = "wait for the provider"
    POSTING = "answer not posted yet"


def failed(code: str, *, status: int | None = None, model: str | None = None, retry: bool = False) -> str:
    """The notice of a failed turn; `status` is the provider's, `retry` says that a Retry button is below it.

    Raises ValueError for a code that CONTRACT does not name.
    """
    again = _again(retry=retry)
    match Code(code):
        case Code.ENGINE_TIMEOUT:
            return f"The agent fell silent, so this turn was ended without an answer; some work may be done. {again}"
        case Code.ENGINE_WEDGED:
            return f"The agent stopped responding and is being restarted, so this message has no answer. {again}"
        case Code.ENGINE_DOWN:
            return f"The agent was not running, so this message did not reach it. {again}"
        case Code.ENGINE_REFUSED:
            return f"The agent did not take this message, so nothing was done. {again}"
        case Code.ENGINE_EXIT:
            return f"The agent ended in the middle of this turn; part of the work may be done. {again}"
        case Code.PROVIDER_ERROR:
            return f"The model's provider failed{_detail(status, model)}, so there is no answer. {again}"
        case Code.RATE_LIMITED:
            later = "Wait a while, then press Retry." if retry else "Wait a while, then send it again."
            return f"The model's provider is at its limit{_detail(status, model)}, so there is no answer. {later}"
        case Code.STOPPED:
            return stopped()
        case Code.INTERRUPTED:
            return f"This turn was cut off before its end; what it had done stays done. {again}"
        case Code.RESTART:
            return f"The connector restarted during this turn, so it was cut off; part of the work may be done. {again}"
        case Code.DEAD:
            return f"This message was tried as often as allowed and failed each time, so it was given up. {again}"
        case _ as unknown:
            assert_never(unknown)


def stopped(
    what: Halted | None = None, *, by: int | None = None, tools: int = 0, kept: int = 0, until: int | None = None
) -> str:
    """Stop's receipt: what it ended, who asked (a user id), open tools ended, messages that still wait.

    `until`, in seconds since the epoch: the run is still ending and the next message waits until then at most.
    """
    ended = [what.value] if what else []
    ended += [_count(tools, "open tool")] if tools else []
    ended += [f"{_count(kept, 'waiting message')} kept"] if kept else []
    who = f" by <@{by}>" if by is not None else ""
    receipt = f"Stopped{who}{': ' if ended else ''}{', '.join(ended)}."
    if until is None:
        return receipt
    return f"{receipt} The turn is still ending; the next message waits until <t:{until}:T> at most."


def settled(receipt: str, left: Sequence[str] | None) -> str:
    """Stop's receipt once the run is over: what its tools left running, or that this cannot be seen from here."""
    if left is None:
        return f"{receipt} Whether its tools are gone cannot be verified here."
    if not left:
        return receipt
    return f"{receipt} Still running: {', '.join(clean(name).strip() for name in left[:5])}."


def nothing_to_stop() -> str:
    """The answer to a Stop that found nothing."""
    return "There was nothing to stop: no turn is running or waiting here. Write a message to start one."


def nothing_to_ask() -> str:
    """The answer to a message without text, files or anything forwarded."""
    return (
        "There is nothing to ask in this message, so the agent was not called. Write what you want after the mention."
    )


def empty() -> str:
    """The end of a turn whose answer has no text."""
    return "The agent finished without writing anything, so there is no answer. Ask again if you expected one."


def handled() -> str:
    """The end of a text that one of pi's extensions took for itself."""
    return "An extension of the agent handled this itself and gave no answer. Nothing more will come; carry on."


def lane_full(capacity: int) -> str:
    """The refusal of a message beyond `lanes.capacity`."""
    return (
        f"{_count(capacity, 'message')} already wait here, so this one was not taken. Send it again when some are done."
    )


def person_full(limit: int) -> str:
    """The refusal of a message beyond `lanes.per_person`."""
    return f"You have {_count(limit, 'message')} waiting, so this one was not taken. Send it again when some are done."


def asked_again(until: int, *, status: int | None = None, model: str | None = None) -> str:
    """The wait of a round in backoff or parked, until `until` seconds since the epoch, kept current by Discord."""
    return (
        f"The model's provider is at its limit{_detail(status, model)}; asked again <t:{until}:R>. Stop ends the wait."
    )


def behind_gate(until: int = 0) -> str:
    """The wait of a message for a provider that is known to be at its limit, until `until`; 0: nobody knows yet."""
    when = f"asked <t:{until}:R>" if until else "asked as soon as it answers again"
    return f"The model's provider is at its limit; this message waits uncharged, {when}. Stop ends the wait."


def waits_again() -> str:
    """The card of a message whose turn was cut and that is asked again by itself."""
    return "This message waits to be asked again. Stop ends the wait."


def waits_for_restart() -> str:
    """The card of a turn that our own shutdown has cut."""
    return "The connector restarts; this message is looked after when it is back. Nothing needs to be done."


def own_message() -> str:
    """The refusal to ask one of the bot's own messages (BEHAVIOUR §3.1)."""
    return "This is a message of the bot itself, so it is not asked. Choose another one, or write what you want."


def untold() -> str:
    """The answer to a trace of a message that is not known here, or that is not his to see."""
    return "Nothing is known of this message here. Use the command where the message stands."


def disk_trouble() -> str:
    """The delay of work that cannot be recorded now."""
    return (
        "The connector cannot write to its disk, so the agent is asked nothing. Your message is taken once that is"
        " mended; tell the operator."
    )


def disk_unread() -> str:
    """The answer to who asks for what stands in the records, while they cannot be read."""
    return (
        "The connector cannot read its disk now, so what stands there can be neither shown nor asked again. Try later;"
        " tell the operator."
    )


def answer_lost() -> str:
    """The end of an answer that Discord refused for good where it belongs."""
    return "The work is done, but Discord refused the answer where it was asked for. Ask for it again elsewhere."


def not_repeated(*, retry: bool = False) -> str:
    """A turn cut after its tools began or part of it was posted: never asked again by itself (BEHAVIOUR §6)."""
    again = _again(retry=retry)
    return f"This turn was cut off after it had begun to act; it is not repeated by itself. {again}"


def repeat_note() -> str:
    """The note that flags a re-ask or a further attempt to the child (`header.compose`'s `notes`)."""
    return "this message is sent again: an earlier try was cut off, and what it did may be done already"


def session_lost() -> str:
    """The start of a new session where the lane's old one could not be read."""
    return "The earlier conversation could not be read, so the agent starts afresh here. Repeat what it needs to know."


def too_many_failures(starts: int) -> str:
    """The post in each lane with a waiting message when the next start refuses (exit 3)."""
    return f"The agent failed {_count(starts, 'time')} in a row and stays off; messages are kept. Tell the operator."


def no_thread() -> str:
    """The fallback of an answer that was to open a thread."""
    return "No thread could be opened here, so the answer comes in the channel. An operator can grant the permission."


def refused() -> str:
    """The refusal of an act, which tells nothing about the lists (CONTRACT, "Who may do what")."""
    return "You may not do this here, so nothing was changed. Ask whoever runs this bot."


def outdated() -> str:
    """The answer to a button, menu or modal whose round is over or belongs elsewhere."""
    return "This control belongs to something that is over, so nothing was changed. Use a newer one or write a message."


def stopping(count: int) -> str:
    """What the person who pressed Stop or Cancel is told at once; each message's own receipt follows in the channel."""
    return f"Stopping {_count(count, 'message')}; each gets its receipt." if count else "Stopping what runs here."


def cancelled() -> str:
    """What the person who cancelled a waiting message is told."""
    return "Cancelled; its receipt stands below the message."


def asked() -> str:
    """What the person who chose "Ask pi" is told."""
    return "Asked; the answer refers to that message."


def moved() -> str:
    """What the person who moved a message is told."""
    return "Moved to the front; it is asked next."


def retrying() -> str:
    """What the person who pressed Retry is told."""
    return "Asked again; the answer refers to the original message."


def nothing_to_retry() -> str:
    """The answer to a `/retry` that found nothing."""
    return "Nothing here waits to be asked again, and nothing failed with a Retry that is still open. Write a message."


def _again(*, retry: bool) -> str:
    return "Press Retry to ask again." if retry else "Send it again to try once more."


def _detail(status: int | None, model: str | None) -> str:
    """Status and model in brackets, as far as known; a name in code cannot mention anybody or end its code."""
    name = clean(model).replace("`", " ").strip() if model else ""
    known = [*([f"status {status}"] if status is not None else []), *([f"model `{name}`"] if name else [])]
    return f" ({', '.join(known)})" if known else ""


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
