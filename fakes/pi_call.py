"""One provider call of the fake pi, from the request to the assistant message. Pure flows over the shared state."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from typing import assert_never

from fakes import behaviour as b
from fakes.loop import HOP, Flow, Gate
from fakes.pi_records import NO_USAGE, Record, assistant_message, seen, text_of, usage_of
from fakes.pi_state import MS, Pi, Run

__all__ = ["call"]

ABORT_HOPS = 6  # a stream ends some steps after the abort: what came in the same write is answered first [x_J]
TIMED_OUT = "Request timed out.: This operation was aborted (20)"
BODY_TIMED_OUT = "terminated: Body Timeout Error (UND_ERR_BODY_TIMEOUT)"
CUT = "Stream ended without finish_reason"
NOT_CONNECTED = "Connection error.: other side closed (UND_ERR_SOCKET)"


def call(pi: Pi, run: Run) -> Flow:
    """Asks the provider; says and keeps the assistant message, and returns it."""
    began = pi.loop.now
    if _aborted(run):
        yield HOP
        return _broken(pi, began, "aborted", "This operation was aborted")
    latency = pi.options.latency_ms if pi.provider_calls else pi.options.first_latency_ms
    if not (yield from pi.pause(latency, run.abort)):
        yield from hops(ABORT_HOPS)
        return _broken(pi, began, "aborted", "Request aborted")
    pi.provider_calls += 1
    behaviour = _settled(pi, run, pi.options.source.call(run.said, run.calls))
    run.calls += 1
    match behaviour:
        case b.Text() | b.Tools() | b.Stall() | b.Drop():
            return (yield from _stream(pi, run, behaviour, began))
        case b.Http(wait_ms=ms):
            if not (yield from pi.pause(ms, run.abort)):
                yield from hops(ABORT_HOPS)
                return _broken(pi, began, "aborted", "Request aborted")
            return _broken(pi, began, "error", behaviour.text())
        case b.RefuseConnection():
            return _broken(pi, began, "error", NOT_CONNECTED)
        case b.Hang(deaf=deaf):
            yield from _silence(pi, *(() if deaf else (run.abort,)))
            yield from hops(ABORT_HOPS)
            if _aborted(run) and not deaf:
                return _broken(pi, began, "aborted", "Request aborted")
            return _broken(pi, began, "error", TIMED_OUT)
        case _:
            assert_never(behaviour)


def _aborted(run: Run) -> bool:
    return run.abort.is_open


def hops(count: int) -> Flow:
    """Waits for so many rounds of whatever else is ready."""
    for _ in range(count):
        yield HOP


_Resolved = b.Text | b.Tools | b.Http | b.Hang | b.Stall | b.Drop | b.RefuseConnection


def _settled(pi: Pi, run: Run, behaviour: b.Call) -> _Resolved:
    """What depends on what was before: counted failures, a quota's reset, an answer that recounts."""
    match behaviour:
        case b.Http(times=int(times), then=then):
            failed = pi.failed.get(run.key, 0)
            if failed >= times:
                pi.failed.pop(run.key, None)
                return b.Text(then)
            pi.failed[run.key] = failed + 1
        case b.Http(reset_s=float(seconds), then=then):
            reset = pi.resets.setdefault(run.key, pi.loop.now + round(seconds * 1e9))
            if pi.loop.now >= reset:
                del pi.resets[run.key]
                return b.Text(then)
            at = datetime.fromtimestamp(ceil((pi.options.wall + reset - pi.start) / 1e9), UTC)
            message = f"{behaviour.message}; it resets at {at.isoformat(timespec='seconds')}"
            return b.Http(behaviour.status, message, behaviour.kind, behaviour.code)
        case b.Recount("dialog"):
            return b.Text(f"you chose: {run.value}")
        case b.Recount("seen"):
            newest = next(m for m in reversed(pi.session.messages) if m["role"] == "user")
            return b.Text("\n".join(["I see:", *seen(newest["content"])]))
        case b.Recount():
            texts = [text_of(m) for m in pi.session.messages if m["role"] == "user"]
            return b.Text("\n".join(["I remember:", *texts]))
        case _:
            pass
    return behaviour


def _silence(pi: Pi, *signals: Gate) -> Flow:
    """Waits for pi's own patience with a silent provider to end, or for a signal."""
    ms = pi.options.idle_timeout_ms
    if ms is None:
        yield pi.loop.first(*signals)
    else:
        yield from pi.pause(ms, *signals)


def _model(pi: Pi) -> Record:
    assert pi.model is not None
    return pi.model


def _took(pi: Pi, began: int) -> Record:
    return {"durationMs": (pi.loop.now - began) // MS, "thinkingLevel": pi.thinking}


def _broken(pi: Pi, began: int, stop: str, error: str) -> Record:
    """A message that never began: both records are the same one, without a `pending` before [h_hang_abort]."""
    ends = {"errorMessage": error, **_took(pi, began)}
    message = assistant_message(_model(pi), [], stop, NO_USAGE, pi.wall_ms(), **ends)
    pi.say_message(message)
    return message


def _stream(pi: Pi, run: Run, behaviour: b.Text | b.Tools | b.Stall | b.Drop, began: int) -> Flow:
    """A message that comes in pieces, to its end or to an abort, a cut or a silence."""
    deaf = isinstance(behaviour, b.Text) and behaviour.deaf
    abort = Gate() if deaf else run.abort
    if isinstance(behaviour, b.Text) and not (yield from pi.pause(behaviour.wait_ms, abort)):
        yield from hops(ABORT_HOPS)
        return _broken(pi, began, "aborted", "Request aborted")
    at = pi.wall_ms()
    pi.emit("message_start", message=assistant_message(_model(pi), [], "pending", NO_USAGE, at))
    writer = _Parts(pi)
    if isinstance(behaviour, b.Text) and behaviour.think:
        writer.think(behaviour.think)
    whole = yield from _pieces(pi, behaviour, writer, abort)
    stop, error, raw = "stop", "", ""
    match behaviour:
        case b.Stall() if whole:
            yield from _silence(pi, abort)
            stop, error = ("aborted", "Request was aborted") if abort.is_open else ("error", BODY_TIMED_OUT)
        case b.Drop() if whole:
            stop, error = "error", CUT
        case b.Tools(tools) if whole:
            for n, tool in enumerate(tools):
                writer.tool(f"call_{pi.provider_calls}_{n}", tool)
            stop, raw, run.tools = "toolUse", "tool_calls", tools
        case b.Text(finish=finish) if whole:
            stop = raw = finish
            if finish == "content_filter":
                stop, error = "error", "Provider finish_reason: content_filter"
        case _:
            stop, error = "aborted", "Request was aborted"
    if stop == "aborted":
        yield from hops(ABORT_HOPS)
    writer.finish()
    usage = usage_of(*(behaviour.usage if isinstance(behaviour, b.Text) else (100, 10))) if raw else NO_USAGE
    ends: Record = {"responseId": f"resp-{pi.provider_calls}"}
    ends |= {"rawStopReason": raw} if raw else {}
    ends |= {"errorMessage": error} if error else {}
    message = assistant_message(_model(pi), writer.content, stop, usage, at, **ends, **_took(pi, began))
    pi.keep(message)
    pi.emit("message_end", message=message)
    return message


def _pieces(pi: Pi, behaviour: b.Text | b.Tools | b.Stall | b.Drop, writer: _Parts, abort: Gate) -> Flow:
    """Says the text; returns False if an abort cut it."""
    text = behaviour.text
    chunks = 3 if isinstance(behaviour, b.Tools) else behaviour.chunks
    ms = behaviour.chunk_ms if isinstance(behaviour, b.Text) else 0
    size = max(1, -(-len(text) // max(1, chunks)))
    for at in range(0, len(text), size):
        writer.text(text[at : at + size])
        if not (yield from pi.pause(ms, abort)):
            return False
    return not abort.is_open


class _Parts:
    """The content of a message while it streams, and the updates that tell of it."""

    def __init__(self, pi: Pi) -> None:
        self.content: list[Record] = []
        self._pi = pi
        self._open: list[tuple[int, str]] = []
        self._said: list[str] = []  # the pieces of its one text, joined at the end: it may be huge

    def think(self, text: str) -> None:
        """A thought, whole."""
        self._update("thinking_start")
        self.content.append({"type": "thinking", "thinking": text, "thinkingSignature": "reasoning_content"})
        self._update("thinking_delta", at=len(self.content) - 1, delta=text)
        self._open.append((len(self.content) - 1, "thinking"))

    def text(self, piece: str) -> None:
        """A piece of the answer's text."""
        if not self.content or self.content[-1]["type"] != "text":
            self._update("text_start")
            self.content.append({"type": "text", "text": ""})
            self._open.append((len(self.content) - 1, "text"))
        self._said.append(piece)
        self._update("text_delta", at=len(self.content) - 1, delta=piece)

    def tool(self, call: str, tool: b.Tool) -> None:
        """A tool call."""
        self._update("toolcall_start", id=call, toolName=tool.name)
        self.content.append({"type": "toolCall", "id": call, "name": tool.name, "arguments": tool.args})
        self._update("toolcall_delta", at=len(self.content) - 1, delta="")
        self._open.append((len(self.content) - 1, "toolCall"))

    def finish(self) -> None:
        """The end of every part."""
        for part in self.content:
            if part["type"] == "text":
                part["text"] = "".join(self._said)
        for at, kind in self._open:
            part = self.content[at]
            if kind == "toolCall":
                self._update("toolcall_end", at=at, toolCall=part)
            else:
                self._update(f"{kind}_end", at=at, content=part[kind])

    def _update(self, kind: str, at: int | None = None, **fields: object) -> None:
        index = len(self.content) if at is None else at
        event = {"type": kind, "contentIndex": index, **fields}
        self._pi.emit("message_update", usage=NO_USAGE, assistantMessageEvent=event)
