"""The fake pi's other commands, each a flow from its line to its response. Pure flows over the shared state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakes.loop import HOP, Flow, Gate
from fakes.pi_compact import compact
from fakes.pi_extension import known_commands
from fakes.pi_prompt import prompt_flow, queue_flow, say
from fakes.pi_records import LEVELS, MODELS, Record, text_of
from fakes.pi_state import Pi
from fakes.shell import bash

__all__ = ["command"]

SWITCH_MS = 30  # a new session takes that long after the old run has ended [m_new_session_while_busy]


def command(pi: Pi, record: Record) -> Flow:
    """Handles one command record."""
    kind = record.get("type")
    if kind == "extension_ui_response":
        dialog = pi.dialogs.get(str(record.get("id")))
        if dialog is not None:
            dialog.open(record)
        return
    flow = _FLOWS.get(kind) if isinstance(kind, str) else None
    if flow is not None:
        yield from flow(pi, record)
        return
    answer = _ANSWERS.get(kind) if isinstance(kind, str) else None
    if answer is None:
        shown = {None: "null"}.get(kind, kind) if "type" in record else "undefined"
        yield HOP
        say(pi, record, error=f"Unknown command: {shown}")
        return
    data, error = answer(pi, record)
    yield HOP
    say(pi, record, data=data, error=error)


# ---- what waits
def _abort(pi: Pi, record: Record) -> Flow:
    run = pi.active or pi.preflight
    waits = pi.streaming or pi.preflight is not None or pi.compacting is not None
    if pi.compacting is not None:
        pi.compacting.open()
    if run is not None:
        run.aborted = run.aborted or pi.streaming or pi.preflight is not None
        run.abort.open()
    yield pi.idle if waits else HOP
    say(pi, record)


def _abort_retry(pi: Pi, record: Record) -> Flow:
    if pi.active is not None and pi.active.attempt:
        pi.active.cancel_retry.open()
    yield HOP
    say(pi, record)


def _clear_queue(pi: Pi, record: Record) -> Flow:
    data = {"steering": [q.text for q in pi.steering], "followUp": [q.text for q in pi.follow_ups]}
    pi.steering.clear()
    pi.follow_ups.clear()
    pi.queue_update()
    yield HOP
    say(pi, record, data=data)


def _leave(pi: Pi) -> Flow:
    """Ends the run at work, as every change of session does."""
    if pi.active is not None:
        pi.active.aborted = True
        pi.active.abort.open()
        yield pi.idle
    yield from pi.pause(SWITCH_MS)
    pi.steering.clear()
    pi.follow_ups.clear()


def _new_session(pi: Pi, record: Record) -> Flow:
    yield from _leave(pi)
    pi.thinking = pi.default_thinking()
    pi.session = pi.new_session()
    say(pi, record, data={"cancelled": False})


def _switch_session(pi: Pi, record: Record) -> Flow:
    yield from _leave(pi)
    pi.open_session(str(record.get("sessionPath")))
    say(pi, record, data={"cancelled": False})


def _fork(pi: Pi, record: Record) -> Flow:
    old = pi.session
    entries = old.before(str(record.get("entryId")))
    if entries is None:
        yield HOP
        say(pi, record, error="Invalid entry ID for forking")
        return
    text = dict(old.user_entries())[str(record["entryId"])]
    yield from _leave(pi)
    pi.session = pi.new_session()
    pi.session.entries.clear()
    pi.session.unsaved.clear()
    pi.session.adopt(entries)
    pi.session.rewrite()
    pi.save()
    say(pi, record, data={"text": text, "cancelled": False})


def _compact(pi: Pi, record: Record) -> Flow:
    if pi.active is not None:
        pi.active.aborted = True
        pi.active.abort.open()
        yield pi.idle
    result, error = yield from compact(pi, "manual", Gate())
    say(pi, record, data=result, error=error or None)
    pi.be_idle()


def _set_model(pi: Pi, record: Record) -> Flow:
    yield HOP
    name = f"{record.get('provider', 'undefined')}/{record.get('modelId', 'undefined')}"
    found = [m for m in MODELS if f"{m['provider']}/{m['id']}" == name]
    if not found:
        yield HOP
        say(pi, record, error=f"Model not found: {name}")
        return
    yield HOP
    pi.model = {**found[0], "contextWindow": pi.options.context_window}
    pi.session.add("model_change", pi.wall_ms(), provider=pi.model["provider"], modelId=pi.model["id"])
    _think(pi, pi.clamp(pi.thinking))
    say(pi, record, data=pi.model)


def _bash(pi: Pi, record: Record) -> Flow:
    tool = bash(str(record.get("command", "")))
    stop = Gate()
    pi.bashes.append(stop)
    said, at, whole = "", 0.0, True
    for moment, output in (*tool.steps, (tool.ms, None)):
        whole = yield from pi.pause(moment - at, stop)
        if not whole:
            break
        at = moment
        if output is not None:
            pi.emit("bash_execution_update", id=record.get("id"), delta=output[len(said) :])
            said = output
    pi.bashes.remove(stop)
    yield HOP
    code = {"exitCode": tool.code} if whole else {}
    pi.session.add_message({"role": "bashExecution", "command": record.get("command"), "output": said}, pi.wall_ms())
    say(pi, record, data={"output": said, **code, "cancelled": not whole, "truncated": False})


def _abort_bash(pi: Pi, record: Record) -> Flow:
    for stop in pi.bashes:
        stop.open()
    yield HOP
    say(pi, record)


_FLOWS: dict[str, Callable[[Pi, Record], Flow]] = {
    "prompt": prompt_flow,
    "steer": queue_flow,
    "follow_up": queue_flow,
    "abort": _abort,
    "abort_retry": _abort_retry,
    "abort_bash": _abort_bash,
    "bash": _bash,
    "clear_queue": _clear_queue,
    "compact": _compact,
    "fork": _fork,
    "new_session": _new_session,
    "set_model": _set_model,
    "switch_session": _switch_session,
}


# ---- what is answered at once
_Answer = tuple[Any, str | None]
UNKNOWN_MODEL: Record = {
    **dict.fromkeys(("id", "name", "api", "provider"), "unknown"),
    "baseUrl": "",
    "reasoning": False,
    "input": [],
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    "contextWindow": 0,
    "maxTokens": 0,
}


def _state(pi: Pi, _: Record) -> _Answer:
    session = pi.session
    return {
        "model": pi.model or UNKNOWN_MODEL,
        "thinkingLevel": pi.thinking,
        "isStreaming": pi.streaming or pi.preflight is not None,
        "isCompacting": pi.compacting is not None,
        "steeringMode": pi.modes["steering"],
        "followUpMode": pi.modes["followUp"],
        **({"sessionFile": session.path} if session.path is not None else {}),
        "sessionId": session.id,
        **({"sessionName": session.name} if session.name is not None else {}),
        "autoCompactionEnabled": pi.auto_compaction,
        "messageCount": len(session.messages),
        "pendingMessageCount": len(pi.steering) + len(pi.follow_ups),
    }, None


def _stats(pi: Pi, _: Record) -> _Answer:
    messages = pi.session.messages
    answers = [m for m in messages if m["role"] == "assistant"]
    calls = sum(part["type"] == "toolCall" for m in answers for part in m["content"])
    tokens = {k: sum(m["usage"][k] for m in answers) for k in ("input", "output", "cacheRead", "cacheWrite")}
    last = answers[-1]["usage"]["totalTokens"] if answers else 0
    window = pi.options.context_window
    return {
        "sessionId": pi.session.id,
        "userMessages": sum(m["role"] == "user" for m in messages),
        "assistantMessages": len(answers),
        "toolCalls": calls,
        "toolResults": sum(m["role"] == "toolResult" for m in messages),
        "totalMessages": len(messages),
        "tokens": {**tokens, "total": sum(tokens.values())},
        "cost": sum(m["usage"]["cost"]["total"] for m in answers),
        "contextUsage": {"tokens": last, "contextWindow": window, "percent": last / window * 100},
    }, None


def _last_text(pi: Pi, _: Record) -> _Answer:
    answers = [m for m in pi.session.messages if m["role"] == "assistant"]
    return ({"text": text_of(answers[-1])} if answers else {}), None


def _fork_messages(pi: Pi, _: Record) -> _Answer:
    return {"messages": [{"entryId": entry, "text": text} for entry, text in pi.session.user_entries()]}, None


def _think(pi: Pi, level: str) -> None:
    if level != pi.thinking:
        pi.thinking = level
        pi.session.add("thinking_level_change", pi.wall_ms(), thinkingLevel=level)
        pi.emit("thinking_level_changed", level=level)


def _set_thinking(pi: Pi, record: Record) -> _Answer:
    _think(pi, pi.clamp(record.get("level")))
    return None, None


def _levels(pi: Pi) -> list[str]:
    return list(LEVELS) if pi.model is not None and pi.model["reasoning"] else ["off"]


def _cycle_thinking(pi: Pi, _: Record) -> _Answer:
    levels = _levels(pi)
    _think(pi, levels[(levels.index(pi.thinking) + 1) % len(levels)])
    return {"level": pi.thinking}, None


def _set_name(pi: Pi, record: Record) -> _Answer:
    if not isinstance(record.get("name"), str):
        return None, "Cannot read properties of undefined (reading 'trim')"
    pi.session.name = record["name"].strip()
    pi.session.add("session_info", pi.wall_ms(), name=pi.session.name)
    pi.save()
    pi.emit("session_info_changed", name=pi.session.name)
    return None, None


def _set(field: str) -> Callable[[Pi, Record], _Answer]:
    def answer(pi: Pi, record: Record) -> _Answer:
        setattr(pi, field, bool(record.get("enabled")))
        return None, None

    return answer


def _mode(which: str) -> Callable[[Pi, Record], _Answer]:
    def answer(pi: Pi, record: Record) -> _Answer:
        pi.modes[which] = str(record.get("mode"))
        return None, None

    return answer


_ANSWERS: dict[str, Callable[[Pi, Record], _Answer]] = {
    "cycle_thinking_level": _cycle_thinking,
    "get_available_models": lambda _pi, _: ({"models": list(MODELS)}, None),
    "get_available_thinking_levels": lambda pi, _: ({"levels": _levels(pi)}, None),
    "get_commands": lambda pi, _: ({"commands": known_commands(pi)}, None),
    "get_entries": lambda pi, _: ({"entries": list(pi.session.entries), "leafId": pi.session.entries[-1]["id"]}, None),
    "get_fork_messages": _fork_messages,
    "get_last_assistant_text": _last_text,
    "get_messages": lambda pi, _: ({"messages": list(pi.session.messages)}, None),
    "get_session_stats": _stats,
    "get_state": _state,
    "set_auto_compaction": _set("auto_compaction"),
    "set_auto_retry": _set("auto_retry"),
    "set_follow_up_mode": _mode("followUp"),
    "set_session_name": _set_name,
    "set_steering_mode": _mode("steering"),
    "set_thinking_level": _set_thinking,
}
