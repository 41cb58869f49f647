"""The fake pi's extensions: dialogs, commands, hooks and the runs they start. Pure flows over the shared state."""

from __future__ import annotations

from collections.abc import Callable

from fakes import behaviour as b
from fakes.effects import Stderr
from fakes.loop import HOP, Flow, Gate
from fakes.pi_records import Record
from fakes.pi_state import MS, Pi, Run
from fakes.script_texts import BUSY

__all__ = ["ask", "command_flow", "hook_flow", "known_commands", "notify_all", "start_later"]

Start = Callable[[Run], Flow]

BUILTIN = (
    ("llama", "Manage llama.cpp router models", "builtin:llama.cpp"),
    ("mcp", "Manage MCP servers: sign in, reconnect, enable or disable, and change exposure", "builtin:mcp"),
)
FIELDS: dict[str, Record] = {
    "confirm": {"title": "Sure?", "message": "A scripted question."},
    "select": {"title": "Pick one", "options": ["red", "green"]},
    "input": {"title": "Type", "placeholder": "placeholder"},
    "editor": {"title": "Edit", "prefill": "prefill"},
}


def known_commands(pi: Pi) -> list[Record]:
    """What `get_commands` lists."""
    own = [(name, title, pi.options.extension.path, "cli") for name, title in pi.options.extension.commands]
    built = [(name, title, path, "builtin") for name, title, path in BUILTIN]
    return [
        {
            "name": name,
            "description": title,
            "source": "extension",
            "sourceInfo": {"path": path, "source": source, "scope": "temporary", "origin": "top-level"},
        }
        for name, title, path, source in (*own, *built)
    ]


def ask(pi: Pi, method: str, fields: Record, signal: Gate | None = None) -> Flow:
    """Opens a dialog; returns the answer's record, or None after a timeout or the signal.

    Without a signal nothing but an answer ends it, not even an abort [l_confirm_nobody_answers].
    """
    dialog = pi.next_id("dialog-")
    answered = pi.dialogs[dialog] = Gate()
    pi.emit("extension_ui_request", id=dialog, method=method, **fields)
    gates = [answered]
    timer = pi.loop.after(round(fields["timeout"] * MS)) if "timeout" in fields else None
    if timer is not None:
        gates.append(timer)
    if signal is not None:
        gates.append(signal)
    yield pi.loop.first(*gates)
    pi.dialogs.pop(dialog, None)
    answer = answered.value if answered.is_open else None
    if timer is not None:
        timer.open()  # else it would stay a deadline
    return answer


def chosen(answer: Record | None) -> str:
    """What was answered, in words."""
    if answer is None or answer.get("cancelled"):
        return "nothing"
    return str(answer["value"]) if "value" in answer else ("yes" if answer.get("confirmed") else "no")


def notify_all(pi: Pi, text: str) -> None:
    """The one-way requests."""
    for method, fields in (
        ("notify", {"message": text, "notifyType": "info"}),
        ("setStatus", {"statusKey": "k", "statusText": "status text"}),
        ("setWidget", {"widgetKey": "w", "widgetLines": ["line one", "line two"]}),
        ("setTitle", {"title": "title"}),
        ("set_editor_text", {"text": "editor text"}),
    ):
        pi.emit("extension_ui_request", id=pi.next_id("ui-"), method=method, **fields)


def command_flow(pi: Pi, name: str, args: str, start: Start) -> Flow:
    """The handler of `/name args`; a throw is an `extension_error`."""
    match name:
        case "ask":
            pick = yield from ask(pi, "select", FIELDS["select"])
            typed = yield from ask(pi, "input", FIELDS["input"])
            text = yield from ask(pi, "editor", FIELDS["editor"])
            notify_all(pi, f"picked {chosen(pick)}, typed {chosen(typed)}, edited {chosen(text)}")
        case "boom":
            yield HOP
            error = "boom from the extension"
            pi.emit("extension_error", extensionPath="command:boom", event="command", error=error)
        case "say":
            pi.loop.spawn(start_later(pi, f"message from the extension: {args}", 0, start))
        case "later":
            pi.loop.spawn(start_later(pi, f"EXT RUN {args}", pi.options.extension.later_ms, start))
        case "do":
            pi.loop.spawn(start_later(pi, args, 0, start))
        case "log":
            for line in ("console.log from extension", "console.error from extension", "raw stdout write"):
                pi.effects.append(Stderr(line.encode() + b"\n"))
        case _:
            pass


def start_later(pi: Pi, text: str, ms: float, start: Start, plan: b.Plan | None = None) -> Flow:
    """An extension says something to the model by itself: a run, or an `extension_error` when pi is busy [x_M_fast]."""
    if ms:
        yield from pi.pause(ms)
    yield HOP
    yield HOP
    if pi.streaming or pi.preflight is not None:
        pi.emit("extension_error", extensionPath="<runtime>", event="send_user_message", error=BUSY)
        return
    yield HOP
    yield HOP
    run = Run(plan or pi.options.source.plan(text), [{"type": "text", "text": text}])
    yield from start(run)


def hook_flow(pi: Pi, hook: b.Hook, start: Start) -> Flow:
    """What happens before a prompt is looked at; returns False when a hook swallowed it."""
    match hook:
        case b.WaitFirst(ms):
            yield from pi.pause(ms)
        case b.AskFirst(title, message):
            answer = yield from ask(pi, "confirm", {"title": title, "message": message})
            return answer is not None and bool(answer.get("confirmed"))
        case b.OrphanFirst(ms):
            plan = b.Plan((b.Text("an orphan's answer", wait_ms=ms),))
            yield pi.loop.spawn(start_later(pi, "message from the extension: orphan", 0, start, plan))
            yield from pi.pause(5)
        case b.CompactFirst():
            pass  # not a hook of an extension: pi_run does it, where the prompt has been checked
        case b.QuitFirst(code):
            pi.exit(code, clean=False)
            yield Gate()
    return True
