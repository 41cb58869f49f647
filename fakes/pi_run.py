"""Runs of the fake pi: turns, queues, retries, and how they end (PROTOCOL §4 to §8). Pure flows over shared state."""

from __future__ import annotations

import re
from typing import assert_never

from fakes import behaviour as b
from fakes.effects import Create, Die, HoldStdout, Stderr
from fakes.loop import HOP, Flow, Gate
from fakes.pi_call import call
from fakes.pi_compact import OVERFLOWED, compact, helps_no_more, over_threshold
from fakes.pi_extension import FIELDS, ask, chosen, notify_all, start_later
from fakes.pi_records import Record, asked_of, system_message, user_message
from fakes.pi_state import Pi, Queued, Run
from fakes.pi_tools import run_tools
from fakes.script import message_key

__all__ = ["start"]

RETRIED = re.compile(r"(429|5\d\d)\b|Request timed out|terminated|Connection error|Stream ended")
LONGEST_DELAY_MS = 60_000  # pi's own bound: a base of 600,000 ms is told as this


def start(pi: Pi, run: Run) -> Flow:
    """A run, from its start to its settling; while another is at work it is lost, with a false settle (PROTOCOL §5)."""
    if pi.active is not None:
        pi.streaming = False
        pi.emit("agent_settled", aborted=False)
        return
    pi.active, pi.streaming = run, True
    run.said = run.plan
    fresh = True
    while True:
        last = yield from _low_run(pi, run, fresh=fresh)
        fresh = False
        if not (yield from _goes_on(pi, run, last)):
            break
    _settle(pi, run)


# ---- one agent_start … agent_end
def _low_run(pi: Pi, run: Run, *, fresh: bool) -> Flow:
    """One low-level run; returns its last assistant message."""
    run.messages = []
    pi.emit("agent_start")
    yield HOP
    if fresh and run.plan.lies.lost:
        pi.streaming = False
        pi.emit("agent_settled", aborted=False)
    pi.emit("turn_start")
    if fresh:
        yield from _opening(pi, run)
    waiting = _take(pi, run, "steering")
    if not fresh and not waiting and run.messages == [] and _ended(pi):
        waiting = _take(pi, run, "followUp")
    while True:
        for queued in waiting:
            yield from _echo(pi, run, queued)
        message = yield from call(pi, run)
        stop = message["stopReason"]
        if run.attempt and stop != "error":
            pi.emit("auto_retry_end", success=True, attempt=run.attempt)
            run.attempt = 0
        results = (yield from run_tools(pi, run, message)) if stop == "toolUse" else []
        pi.emit("turn_end", message=message, toolResults=results)
        if stop in {"error", "aborted"}:
            break
        waiting = _take(pi, run, "steering")
        if not waiting and not results:
            waiting = _take(pi, run, "followUp")
            if not waiting:
                break
        yield HOP
        pi.emit("turn_start")
    for _ in range(2 if run.plan.lies.doubled else 1):
        pi.emit("agent_end", messages=run.messages, willRetry=_retries(pi, run, message))
    return message


def _ended(pi: Pi) -> bool:
    """Whether the session's last word is an answer, so that only a queued text can be the next."""
    return pi.session.messages[-1:] != [] and pi.session.messages[-1]["role"] == "assistant"


def _opening(pi: Pi, run: Run) -> Flow:
    if not any(m["role"] == "system" for m in pi.session.messages):
        pi.say_message(system_message(pi.options.cwd, pi.wall_ms()))
    run.key = message_key(run.content[0]["text"])
    pi.say_message(user_message(run.content, pi.wall_ms()))
    yield from _perform(pi, run, run.plan)


def _take(pi: Pi, run: Run, which: str) -> list[Queued]:
    """What is taken from a queue now: the first, or all of it; it leaves the queue as it is echoed."""
    queue = pi.steering if which == "steering" else pi.follow_ups
    if run.plan.keep_steers and which == "steering":
        return []
    return list(queue) if pi.modes[which] == "all" else queue[:1]


def _echo(pi: Pi, run: Run, queued: Queued) -> Flow:
    for queue in (pi.steering, pi.follow_ups):
        if queued in queue:
            queue.remove(queued)
            break
    pi.queue_update()
    pi.say_message(user_message(queued.content, pi.wall_ms()))
    run.said, run.calls, run.key = pi.options.source.plan(asked_of(queued.content)), 0, message_key(queued.text)
    yield from _perform(pi, run, run.said)


def _perform(pi: Pi, run: Run, plan: b.Plan) -> Flow:
    """What a text does right after its echo."""
    for act in plan.acts:
        match act:
            case b.Quit(code):
                pi.exit(code, clean=False)
                yield Gate()
            case b.Kill(signal):
                pi.wire.flush()
                pi.effects.append(Die(signal))
                pi.quiet()
                yield Gate()
            case b.Flood(size):
                line = b"noise on standard error, and more of it\n"
                pi.effects.append(Stderr((line * (size // len(line) + 1))[:size]))
            case b.Raw(lines):
                for line in lines:
                    pi.wire.raw(line + b"\n")
            case b.Dialog(method, choices, timeout):
                more: Record = {"options": [f"choice {n}" for n in range(choices)]} if choices else {}
                more |= {} if timeout is None else {"timeout": timeout}
                run.value = chosen((yield from ask(pi, method, FIELDS[method] | more)))
            case b.Notify():
                notify_all(pi, "a scripted notice")
            case b.Grandchild(ms):
                pi.effects.append(HoldStdout(ms))
            case b.Unkillable():
                pi.unkillable = True
            case b.StopReads():
                pi.stop_reading()
            case b.MakeFile(path):
                pi.effects.append(Create(path, b"made by the scripted child\n"))
            case _:
                assert_never(act)


# ---- between agent_end and agent_settled
def _retries(pi: Pi, run: Run, last: Record) -> bool:
    error = last.get("errorMessage", "")
    if last["stopReason"] != "error" or not pi.auto_retry or run.attempt >= pi.options.retry_max:
        return False
    return RETRIED.match(error) is not None and "insufficient_quota" not in error


def _goes_on(pi: Pi, run: Run, last: Record) -> Flow:
    """Waits for a retry, compacts, or finds a queued text after an error; returns whether another low run follows."""
    error = last.get("errorMessage", "")
    if _retries(pi, run, last):
        return (yield from _wait_for_retry(pi, run, error))
    if run.attempt:
        pi.emit("auto_retry_end", success=False, attempt=run.attempt, finalError=error)
        run.attempt = 0
    if last["stopReason"] == "length":
        pi.emit("entry_appended", entry=pi.session.drop_last(pi.wall_ms()))
    if OVERFLOWED in error and pi.auto_compaction and not helps_no_more(pi):
        pi.overflowed = True
        pi.emit("entry_appended", entry=pi.session.drop_last(pi.wall_ms()))
        yield HOP
        result, _ = yield from compact(pi, "overflow", run.abort)
        return result is not None
    if over_threshold(pi):
        yield from compact(pi, "threshold", run.abort)
    waiting = pi.follow_ups or (pi.steering and not run.plan.keep_steers)
    return last["stopReason"] == "error" and bool(waiting)


def _wait_for_retry(pi: Pi, run: Run, error: str) -> Flow:
    run.attempt += 1
    delay = min(LONGEST_DELAY_MS, pi.options.retry_base_ms * 2 ** (run.attempt - 1))
    pi.emit(
        "auto_retry_start",
        attempt=run.attempt,
        maxAttempts=pi.options.retry_max,
        delayMs=round(delay),
        errorMessage=error,
    )
    pi.emit("entry_appended", entry=pi.session.drop_last(pi.wall_ms()))
    if (yield from pi.pause(delay, run.abort, run.cancel_retry)):
        return True
    pi.emit("auto_retry_end", success=False, attempt=run.attempt, finalError="Retry cancelled")
    run.attempt = 0
    yield HOP
    return False


def _settle(pi: Pi, run: Run) -> None:
    aborted = run.aborted and pi.streaming
    pi.active, pi.streaming = None, False
    for _ in range(2 if run.plan.lies.doubled else 1):
        pi.emit("agent_settled", aborted=aborted)
    pi.be_idle()
    pi.wire.flush()
    pi.wire.mode = ""
    plan = run.plan
    if plan.lies.late:
        end = {"type": "agent_end", "messages": run.messages, "willRetry": False}
        pi.late = [(plan.lies.late, end), (plan.lies.late, {"type": "agent_settled", "aborted": False})]
    if plan.stall_ms is not None:
        pi.resume_reading()
    if plan.orphan_ms is not None:
        orphan = b.Plan((b.Text("an orphan's answer"),))
        text = "message from the extension: orphan"
        pi.loop.spawn(start_later(pi, text, plan.orphan_ms, lambda late: start(pi, late), orphan))
