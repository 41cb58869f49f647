"""The tool calls of one assistant message in the fake pi. Pure flows over the shared state."""

from __future__ import annotations

from fakes import behaviour as b
from fakes.effects import EndTool, StartTool
from fakes.loop import Flow, Gate
from fakes.pi_call import hops
from fakes.pi_extension import ask
from fakes.pi_records import Record, tool_result
from fakes.pi_state import MS, Pi, Run

__all__ = ["run_tools"]

# so much of an output stands in the content; all of it in `structuredContent` (PROTOCOL §2)
KEPT_LINES, KEPT_BYTES = 2000, 50 * 1024
LEFTOVER_MS = 60_000
CONFIRM = ("Run bash?", None)


def run_tools(pi: Pi, run: Run, message: Record) -> Flow:
    """Runs a message's calls, all at once; says and returns their results in the order of the calls.

    The starts come first, the ends as they happen, the results after the last end (PROTOCOL §4).
    """
    calls = [part for part in message["content"] if part["type"] == "toolCall"]
    waiting: list[tuple[Record, Gate]] = []
    for part, tool in zip(calls, run.tools, strict=True):
        pi.emit("tool_execution_start", toolCallId=part["id"], toolName=part["name"], args=part["arguments"])
        blocked = tool.result
        if blocked is None:
            blocked = yield from _asked(pi, run, tool)
        if blocked is None:
            waiting.append((part, pi.loop.spawn(_one(pi, run, part, tool))))
        else:
            done = Gate()
            done.open(_end(pi, part, _plain(blocked), failed=True))
            waiting.append((part, done))
    results: list[Record] = []
    for _, done in waiting:
        results.append((yield done))
    for result in results:
        pi.say_message(result)
    return results


def _asked(pi: Pi, run: Run, tool: b.Tool) -> Flow:
    """The dialogs before a tool; returns why it does not run, or None."""
    extension = pi.options.extension
    confirms = extension.confirms if tool.name == "bash" else ()
    if tool.ask is not None:
        confirms = (CONFIRM, ("Really?", "Once more."))[: tool.ask]
    refused = False
    for n, (title, message) in enumerate(confirms):
        if n:
            yield from pi.pause(1)
        fields: Record = {"title": title, "message": message or tool.args.get("command", "")}
        if extension.timeout_ms is not None:
            fields["timeout"] = extension.timeout_ms
        answer = yield from ask(pi, "confirm", fields, run.abort if extension.signal else None)
        refused = refused or answer is None or not answer.get("confirmed")
    if run.abort.is_open:
        return "Operation aborted"
    return "refused by the user" if refused else None


def _one(pi: Pi, run: Run, part: Record, tool: b.Tool) -> Flow:
    """One running tool, to its end or its abort; returns its result message."""
    began = pi.loop.now
    key = pi.next_id("tool-")
    abort = Gate() if tool.deaf else run.abort
    pi.tools.add(key)
    lives = round(tool.ms) if tool.quit is None else LEFTOVER_MS
    pi.effects.append(StartTool(key, lives, LEFTOVER_MS if tool.grandchild else 0))
    _update(pi, part, {"content": []})
    whole, said, at = True, "", 0.0
    if tool.quit is not None:
        yield from pi.pause(tool.ms / 2)
        pi.exit(tool.quit, clean=False)
        yield Gate()
    for moment, output in (*tool.steps, (tool.ms, None)):
        whole = yield from pi.pause(moment - at, abort)
        if not whole:
            break
        at = moment
        if output is not None:
            said = output
            _update(pi, part, {"content": _text(_shown(said)), "details": {}})
    pi.tools.discard(key)
    pi.effects.append(EndTool(key))
    took = (pi.loop.now - began) // MS
    if not whole:
        yield from hops(2)
        return _end(pi, part, _plain(f"{said}\n\nCommand aborted" if said else "Command aborted"), True, took)
    return _end(pi, part, _result(part, tool, said, took), failed=tool.code != 0, took=took)


def _result(part: Record, tool: b.Tool, said: str, took: int) -> Record:
    whole = "x" * tool.structured or said
    text = _shown(whole)
    path = f"/workspace/tmp/pi-bash-{0:016x}.log"
    cut: Record = {}
    if text is not whole:
        total = whole.count("\n")
        cut = {"details": {"truncation": {"truncated": True}, "fullOutputPath": path}}
        text += f"\n\n[Showing lines {total - text.count(chr(10))}-{total} of {total}. Full output: {path}]"
    if tool.code:
        text = f"{text}\n\nCommand exited with code {tool.code}"
    if part["name"] != "bash":
        return {"content": _text(text), "details": {}}
    structured = {
        "output": whole,
        "truncated": bool(cut),
        "exit_code": tool.code,
        "wall_time_seconds": round(took / 1000, 1),
    }
    result: Record = {"content": _text(text), **cut, "structuredContent": structured}
    return {**result, "isError": True} if tool.code else result


def _shown(whole: str) -> str:
    """The end of an output that is too long; the output itself when it is not."""
    lines = whole.split("\n")
    if len(lines) <= KEPT_LINES + 1 and len(whole) <= KEPT_BYTES:
        return whole
    return "\n".join(lines[-KEPT_LINES - 1 : -1] if len(lines) > KEPT_LINES else lines)[-KEPT_BYTES:]


def _text(text: str) -> list[Record]:
    return [{"type": "text", "text": text}]


def _plain(text: str) -> Record:
    return {"content": _text(text), "details": {}}


def _update(pi: Pi, part: Record, partial: Record) -> None:
    pi.emit(
        "tool_execution_update",
        toolCallId=part["id"],
        toolName=part["name"],
        args=part["arguments"],
        partialResult=partial,
    )


def _end(pi: Pi, part: Record, result: Record, failed: bool, took: int | None = None) -> Record:
    times = {} if took is None else {"durationMs": took}
    ids = {"toolCallId": part["id"], "toolName": part["name"]}
    pi.emit("tool_execution_end", **ids, result=result, isError=failed, **times)
    return tool_result(part["id"], part["name"], result, pi.wall_ms(), failed=failed, took=took)
