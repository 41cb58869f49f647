"""Prompts, steers and follow-ups of the fake pi, up to their response. Pure flows over the shared state.

How many hops a handler takes before it looks, answers and starts is what orders its records among those of other
commands that came in the same write; the numbers are those of the recordings (f_*_one_write, x_D_2, x_J).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fakes import behaviour as b
from fakes.loop import HOP, Flow, Gate
from fakes.pi_compact import compact, helps_no_more, over_threshold, pretend
from fakes.pi_extension import command_flow, hook_flow, known_commands
from fakes.pi_records import Record, asked_of, image_content, response
from fakes.pi_run import start
from fakes.pi_state import Pi, Queued, Run
from fakes.script_texts import BUSY, COMPACTING, NO_KEY

__all__ = ["prompt_flow", "queue_flow", "say"]


def say(pi: Pi, command: Record, *, data: Any = None, error: str | None = None) -> None:
    """Answers a command."""
    pi.wire.send(response(command, data=data, error=error))


def _wrong_text(command: Record) -> str | None:
    """What JavaScript says about a `message` that is no string (k_malformed)."""
    if "message" not in command:
        return "Cannot read properties of undefined (reading 'startsWith')"
    return None if isinstance(command["message"], str) else "text.startsWith is not a function"


def prompt_flow(pi: Pi, command: Record) -> Flow:
    """A `prompt`, from its line to the settling of its run."""
    if error := _wrong_text(command):
        yield HOP
        say(pi, command, error=error)
        return
    text: str = command["message"]
    _say_late(pi, "before")
    name, _, args = text.removeprefix("/").partition(" ")
    if text.startswith("/") and name in {c["name"] for c in known_commands(pi)}:
        yield HOP
        yield from command_flow(pi, name, args, lambda run: start(pi, run))
        yield HOP
        say(pi, command, data={"disposition": "handled"})
        return
    plan = pi.options.source.plan(text)
    if plan.mute:
        pi.muted = pi.wire.closed = True
        return
    taken = plan.hook is None or (yield from hook_flow(pi, plan.hook, lambda run: start(pi, run)))
    if not taken or plan.handled:
        yield HOP
        say(pi, command, data={"disposition": "handled"})
        return
    try:
        content = image_content(text, command.get("images"))
    except ValueError as bad:
        yield HOP
        say(pi, command, error=str(bad))
        return
    if (asked := asked_of(content)) != text:
        plan = replace(plan, calls=pi.options.source.plan(asked).calls)
    yield HOP
    yield HOP
    if not (yield from _refused(pi, command, content, plan)):
        yield from _accepted(pi, command, Run(plan, content))


def _refused(pi: Pi, command: Record, content: list[Record], plan: b.Plan) -> Flow:
    """Answers a prompt that does not start a run: refused, or queued behind one."""
    busy = pi.streaming or pi.preflight is not None
    if behaviour := busy and command.get("streamingBehavior"):
        queue = pi.follow_ups if behaviour == "followUp" else pi.steering
        queue.append(Queued(command["message"], content))
        pi.queue_update()
        yield HOP
        say(pi, command, data={"disposition": "queued"})
        return True
    error = plan.refuse
    if busy:
        error = BUSY
    elif pi.compacting is not None:
        error = COMPACTING
    elif pi.model is None:
        error = NO_KEY.replace("for fake", "for the selected model")
    elif not pi.options.auth:
        error = NO_KEY
    if error:
        yield HOP
        say(pi, command, error=error)
    return bool(error)


def _accepted(pi: Pi, command: Record, run: Run) -> Flow:
    plan = run.plan
    if isinstance(plan.hook, b.CompactFirst) or over_threshold(pi):
        pi.preflight = run
        if isinstance(plan.hook, b.CompactFirst):
            yield from pretend(pi, plan.hook.ms, run.abort)
        else:
            yield from compact(pi, "threshold", run.abort)
        pi.preflight = None
    else:
        helps_no_more(pi)
    pi.wire.mode = plan.lies.wire
    yield HOP
    say(pi, command, data={"disposition": "started"})
    _say_late(pi, "after")
    if plan.stall_ms is not None:
        pi.stop_reading()
        yield from pi.pause(plan.stall_ms)
    yield HOP
    yield from start(pi, run)


def _say_late(pi: Pi, when: str) -> None:
    for moment, record in pi.late:
        if moment == when:
            pi.wire.send(record)
    pi.late = [(moment, record) for moment, record in pi.late if moment != when]


def queue_flow(pi: Pi, command: Record) -> Flow:
    """A `steer` or `follow_up`: queued, also when idle (e_idle_then_prompt)."""
    if error := _wrong_text(command):
        yield HOP
        say(pi, command, error=error)
        return
    text: str = command["message"]
    plan = pi.options.source.plan(text)
    if plan.mute:
        pi.muted = pi.wire.closed = True
        yield Gate()
    if isinstance(plan.hook, b.WaitFirst):
        yield from pi.pause(plan.hook.ms)
    yield HOP
    try:
        content = image_content(text, command.get("images"))
        error = plan.refuse
    except ValueError as bad:
        content, error = [], str(bad)
    if error:
        yield HOP
        say(pi, command, error=error)
        return
    queue = pi.follow_ups if command["type"] == "follow_up" else pi.steering
    queue.append(Queued(text, content))
    pi.queue_update()
    yield HOP
    say(pi, command, data={"disposition": "queued"})
