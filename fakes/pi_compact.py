"""Compaction in the fake pi: what is kept, the calls for summaries, the events around them. Pure flows."""

from __future__ import annotations

from math import ceil

from fakes import behaviour as b
from fakes.loop import Flow, Gate
from fakes.pi_call import hops
from fakes.pi_records import Record, text_of, usage_of
from fakes.pi_state import Pi

__all__ = ["OVERFLOWED", "compact", "helps_no_more", "over_threshold", "pretend"]

TOO_SMALL = "Nothing to compact (session too small)"
CANCELLED = "Compaction cancelled"
FAILED = {
    "manual": "Compaction failed",
    "threshold": "Auto-compaction failed",
    "overflow": "Context overflow recovery failed",
}
OVERFLOWED = "context_length_exceeded"
NO_MORE = (
    "Context overflow recovery failed after one compact-and-retry attempt. "
    "Try reducing context or switching to a larger-context model."
)
ABORT_HOPS = 6


def over_threshold(pi: Pi) -> bool:
    """Whether the last answer's tokens call for a compaction."""
    if not pi.auto_compaction or pi.session.messages[-1:] == []:
        return False
    last = pi.session.messages[-1]
    if last is pi.session.compacted:
        return False
    used = int(last["usage"]["totalTokens"]) if last["role"] == "assistant" else 0
    return last.get("stopReason") == "stop" and used > pi.options.context_window - pi.options.reserve


def compact(pi: Pi, reason: str, cancel: Gate) -> Flow:
    """Compacts the session; returns (result or None, error). A cancel is an error without an `errorMessage`."""
    pi.compacting = cancel
    pi.emit("compaction_start", reason=reason)
    result, error = yield from _summaries(pi, reason, cancel)
    pi.compacting = None
    failed = error and error != CANCELLED
    pi.emit(
        "compaction_end",
        reason=reason,
        **({"result": result} if result else {}),
        aborted=error == CANCELLED,
        willRetry=reason == "overflow" and result is not None,
        **({"errorMessage": f"{FAILED[reason]}: {error}"} if failed else {}),
    )
    return result, error


def helps_no_more(pi: Pi) -> bool:
    """Tells, where the session ends in an overflow that was compacted for, that it is not compacted for again.

    An end without a start: behind the run's last `agent_end`, and again before the next prompt's response.
    """
    last = pi.session.messages[-1:]
    told = pi.auto_compaction and bool(last) and OVERFLOWED in last[0].get("errorMessage", "") and pi.overflowed
    if told:
        pi.emit("compaction_end", reason="overflow", aborted=False, willRetry=False, errorMessage=NO_MORE)
    return told


def pretend(pi: Pi, ms: float, cancel: Gate) -> Flow:
    """The events of a compaction that takes this long and changes nothing."""
    pi.compacting = cancel
    pi.emit("compaction_start", reason="threshold")
    whole = yield from pi.pause(ms, cancel)
    yield from hops(ABORT_HOPS)
    pi.compacting = None
    result = {} if not whole else {"result": _result(pi, "a scripted summary", "00000000", 1)}
    pi.emit("compaction_end", reason="threshold", **result, aborted=not whole, willRetry=False)


def _summaries(pi: Pi, reason: str, cancel: Gate) -> Flow:
    cut = _cut(pi)
    messages = pi.session.messages
    split = cut
    while split > 0 and messages[split]["role"] != "user":
        split -= 1
    history = [m for m in messages[:split] if m["role"] != "system"]
    if cut <= 1 or not (history or split < cut):
        return None, TOO_SMALL
    told = ["No prior history."]
    if history:
        summary, error = yield from _ask(pi, reason, cancel)
        if error:
            return None, error if error == CANCELLED else f"Summarization failed: {error}"
        told = [summary]
    if split < cut:
        summary, error = yield from _ask(pi, reason, cancel)
        if error:
            return None, error if error == CANCELLED else f"Turn prefix summarization failed: {error}"
        told.append(f"**Turn Context (split turn):**\n\n{summary}")
    kept = messages[cut:]
    entry = next(e["id"] for e in pi.session.entries if e["type"] == "message" and e["message"] is kept[0])
    result = _result(pi, "\n\n---\n\n".join(told), entry, bool(history) + (split < cut))
    pi.session.add("compaction", pi.wall_ms(), **result)
    note = {"role": "compactionSummary", "summary": result["summary"], "timestamp": pi.wall_ms()}
    pi.session.compacted = kept[-1]
    pi.session.messages = [*(m for m in messages if m["role"] == "system"), note, *kept]
    pi.save()
    return result, ""


def _result(pi: Pi, summary: str, kept: str, calls: int) -> Record:
    return {
        "summary": summary,
        "firstKeptEntryId": kept,
        "tokensBefore": sum(_tokens(m) for m in pi.session.messages),
        "estimatedTokensAfter": ceil(len(summary) / 4),
        "usage": usage_of(100 * calls, 10 * calls),
        "details": {"readFiles": [], "modifiedFiles": []},
    }


def _tokens(message: Record) -> int:
    return ceil(len(text_of(message)) / 4)


def _cut(pi: Pi) -> int:
    """The index of the first message that is kept: the newest ones that are large enough together."""
    size, at = 0, len(pi.session.messages)
    while at > 0 and size < pi.options.keep_recent:
        at -= 1
        size += _tokens(pi.session.messages[at])
    return at


def _ask(pi: Pi, reason: str, cancel: Gate) -> Flow:
    """One summary; returns (text, error), after as many tries as a run has."""
    attempt = 0
    while True:
        yield from pi.pause(pi.options.latency_ms, cancel)
        pi.provider_calls += 1
        behaviour = pi.options.source.summary()
        text, error = "", ""
        match behaviour:
            case b.Text(text=text, chunks=chunks, chunk_ms=ms, wait_ms=wait):
                yield from pi.pause(wait + ms * chunks, cancel)
            case b.Http():
                error = behaviour.text()
            case _:
                yield from pi.pause(60_000, cancel)
        if cancel.is_open:
            yield from hops(ABORT_HOPS)
            return "", CANCELLED
        retried = error.startswith(("5", "429")) and attempt < pi.options.retry_max
        if attempt and not retried:
            pi.emit("summarization_retry_finished")
        if not retried:
            return text, error
        attempt += 1
        delay = pi.options.retry_base_ms * 2 ** (attempt - 1)
        pi.emit(
            "summarization_retry_scheduled",
            attempt=attempt,
            maxAttempts=pi.options.retry_max,
            delayMs=delay,
            errorMessage=error,
        )
        yield from pi.pause(delay, cancel)
        pi.emit("summarization_retry_attempt_start", source="compaction", reason=reason)
