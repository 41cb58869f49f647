"""Further scenarios: dialogs and commands of extensions, sessions and settings, compaction, odd lines, pictures."""

from __future__ import annotations

import base64
import struct
import zlib

from tests.contract.stories.scenarios import BUSY_TOOL, SCENARIOS, scenario
from tests.contract.stories.stage import Home, Stage

__all__ = ["SCENARIOS"]

# -- extensions ----------------------------------------------------------------------------------------------------


@scenario("every kind of dialog, and what is only told")
async def _(stage: Stage) -> None:
    await stage.prompt("/ask")
    await stage.answer("select", value="green")
    await stage.answer("input", value="typed")
    await stage.answer("editor", value="edited")
    await stage.until("response", id="p1")


@scenario("a confirm before a tool: yes")
async def _(stage: Stage) -> None:
    await stage.prompt("tooldialog")
    await stage.answer("confirm", confirmed=True)
    await stage.until("agent_settled")


@scenario("a confirm before a tool: no")
async def _(stage: Stage) -> None:
    await stage.prompt("tooldialog")
    await stage.answer("confirm", confirmed=False)
    await stage.until("agent_settled")


@scenario("a confirm before a tool: cancelled, with an abort in the same write")
async def _(stage: Stage) -> None:
    await stage.prompt("tooldialog")
    dialog = await stage.until("extension_ui_request", method="confirm")
    await stage.send(
        {"type": "extension_ui_response", "id": dialog["id"], "cancelled": True}, {"id": "a1", "type": "abort"}
    )
    await stage.until("response", id="a1")


@scenario("an open dialog keeps an abort waiting")
async def _(stage: Stage) -> None:
    await stage.prompt("tooldialog")
    dialog = await stage.until("extension_ui_request", method="confirm")
    await stage.send({"id": "a1", "type": "abort"})
    await stage.ask("get_state")
    await stage.send({"type": "extension_ui_response", "id": dialog["id"], "cancelled": True})
    await stage.until("response", id="a1")


@scenario("two dialogs, one behind the other")
async def _(stage: Stage) -> None:
    await stage.prompt("dialog2")
    await stage.answer("confirm", confirmed=True)
    await stage.answer("confirm", confirmed=True)
    await stage.until("agent_settled")


@scenario("a hook's dialog: confirmed, then refused")
async def _(stage: Stage) -> None:
    await stage.prompt("hookdialog")
    await stage.answer("confirm", confirmed=True)
    await stage.until("agent_settled")
    await stage.prompt("hookdialog", "p2")
    await stage.answer("confirm", confirmed=False)
    await stage.until("response", id="p2")


@scenario("a text that an extension swallows")
async def _(stage: Stage) -> None:
    await stage.prompt("handled")
    await stage.until("response", id="p1")
    await stage.run("next", "p2")


@scenario("a response that comes late")
async def _(stage: Stage) -> None:
    await stage.run("lateresponse 200")


@scenario("commands: one that throws, one that does nothing, one that is not known")
async def _(stage: Stage) -> None:
    await stage.ask("prompt", message="/boom")
    await stage.ask("prompt", message="/nothing at all")
    await stage.run("/no-such-command")
    await stage.ask("get_commands")


@scenario("a command that starts a run")
async def _(stage: Stage) -> None:
    await stage.prompt("/say hello")
    await stage.until("agent_settled")


@scenario("an extension's run while nothing is asked, and a prompt behind it")
async def _(stage: Stage) -> None:
    await stage.ask("prompt", message="/later by itself")
    await stage.until("agent_settled")
    await stage.ask("get_state")
    await stage.run("ours")


@scenario("an extension's run between our prompt and its response")
async def _(stage: Stage) -> None:
    await stage.send(
        {"id": "c1", "type": "prompt", "message": "/later by itself"},
        {"id": "p1", "type": "prompt", "message": "hookdialog"},
    )
    dialog = await stage.until("extension_ui_request", method="confirm")
    await stage.until("agent_settled")
    await stage.send({"type": "extension_ui_response", "id": dialog["id"], "confirmed": True})
    await stage.until("agent_settled")


@scenario("an extension's run is busy when our prompt comes, and is aborted")
async def _(stage: Stage) -> None:
    await stage.prompt("/do tool 600000", "c1")
    await stage.until("tool_execution_start")
    await stage.until("tool_execution_update")
    await stage.ask("prompt", message="ours")
    await stage.ask("steer", message="by the way")
    await stage.ask("clear_queue")
    await stage.send({"id": "a1", "type": "abort"})
    await stage.until("response", id="a1")
    await stage.run("ours again", "p2")


@scenario("a command while a run is busy")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("prompt", message="/nothing")
    await stage.until("agent_settled")


# -- sessions and settings -----------------------------------------------------------------------------------------


@scenario("sessions on disk: state, fork, new, switch, a missing file", Home(sessions=True))
async def _(stage: Stage) -> None:
    await stage.run("one")
    await stage.run("two", "p2")
    first = (await stage.ask("get_state"))["data"]["sessionFile"]
    messages = (await stage.ask("get_fork_messages"))["data"]["messages"]
    await stage.ask("fork", entryId=messages[1]["entryId"])
    await stage.ask("get_state")
    await stage.ask("fork", entryId="nope")
    await stage.ask("new_session")
    await stage.ask("get_state")
    await stage.ask("switch_session", sessionPath=first)
    await stage.ask("get_state")
    await stage.run("recall", "p3")
    await stage.ask("switch_session", sessionPath=f"{first}.missing")
    await stage.ask("get_state")
    await stage.run("three", "p4")


@scenario("new_session in a tool")
async def _(stage: Stage) -> None:
    await stage.prompt("tool 600000")
    await stage.until("tool_execution_start")
    await stage.until("tool_execution_update")
    await stage.ask("new_session")
    await stage.run("fresh", "p2")


@scenario("models, thinking levels, names, counts")
async def _(stage: Stage) -> None:
    await stage.ask("get_available_models")
    await stage.ask("get_available_thinking_levels")
    await stage.ask("set_thinking_level", level="high")
    await stage.ask("set_thinking_level", level="nonsense")
    await stage.ask("set_model", provider="fake", modelId="scripted-2")
    await stage.ask("set_thinking_level", level="high")
    await stage.ask("get_state")
    await stage.run("hello")
    await stage.ask("set_model", provider="fake", modelId="nope")
    await stage.ask("set_model", provider="fake", modelId="scripted")
    await stage.ask("set_session_name", name="a name")
    await stage.ask("get_session_stats")
    await stage.ask("get_last_assistant_text")
    await stage.ask("get_state")


@scenario("set_model in a run")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("set_model", provider="fake", modelId="scripted-2")
    await stage.ask("get_state")
    await stage.until("agent_settled")


# -- compaction ----------------------------------------------------------------------------------------------------

SMALL = Home(
    settings={"retry": {"baseDelayMs": 10}, "compaction": {"reserveTokens": 4000, "keepRecentTokens": 10}},
    window=32_000,
)
MORE = "words " * 200


@scenario("compact: too small, then done", SMALL)
async def _(stage: Stage) -> None:
    await stage.ask("compact")
    await stage.run(f"one {MORE}")
    await stage.run(f"two {MORE}", "p2")
    await stage.ask("compact")
    await stage.run("three", "p3")


@scenario("a compaction behind an answer over the threshold", SMALL)
async def _(stage: Stage) -> None:
    await stage.run(f"one {MORE}")
    await stage.run(f"usage 30000 {MORE}", "p2")
    await stage.run("three", "p3")


@scenario("a compaction before a prompt", SMALL)
async def _(stage: Stage) -> None:
    await stage.ask("set_auto_compaction", enabled=False)
    await stage.run(f"one {MORE}")
    await stage.run(f"usage 30000 {MORE}", "p2")
    await stage.ask("set_auto_compaction", enabled=True)
    await stage.run("three", "p3")


@scenario("an overflow: compacted and answered, then one that compacting does not help", SMALL)
async def _(stage: Stage) -> None:
    await stage.run(f"one {MORE}")
    await stage.run("overflow 1", "p2")
    await stage.run("overflow 2 again", "p3")
    await stage.run("next", "p4")


@scenario("an overflow where nothing is compacted by itself", SMALL)
async def _(stage: Stage) -> None:
    await stage.ask("set_auto_compaction", enabled=False)
    await stage.run("overflow")
    await stage.run("next", "p2")


# -- the wire ------------------------------------------------------------------------------------------------------


@scenario("lines that are no command")
async def _(stage: Stage) -> None:
    await stage.write(b'not json\n{"type": "get_state"\n\n   \n42\n[]\n"text"\n{}\n{"id":"x1","type":null}\n')
    await stage.write(b'{"id":"x2","type":"no_such_command"}\n{"id":"x3","type":"prompt"}\n')
    await stage.write(b'{"id":"x4","type":"prompt","message":5}\n{"id":"x5","type":"steer"}\n')
    await stage.write(b'{"id":"x6","type":"extension_ui_response","value":"late"}\n')
    await stage.write(b'{"id":"crlf","type":"get_last_assistant_text"}\r\n')
    await stage.until("response", id="crlf")
    await stage.run("still there?")


@scenario("the line null")
async def _(stage: Stage) -> None:
    await stage.write(b"null\n")
    await stage.child.exited()


@scenario("an id of any kind, twice, and none")
async def _(stage: Stage) -> None:
    await stage.write(b'{"id":7,"type":"abort"}\n{"id":7,"type":"abort"}\n{"type":"abort"}\n')
    await stage.write(b'{"id":{"odd":[1]},"type":"abort"}\n')
    await stage.until("response", id={"odd": [1]})


@scenario("a character cut between two writes")
async def _(stage: Stage) -> None:
    line = '{"id":"p1","type":"prompt","message":"split \U0001f600 here"}\n'.encode()
    cut = line.index("\U0001f600".encode()) + 2
    await stage.write(line[:cut])
    await stage.write(line[cut:])
    await stage.until("agent_settled")


@scenario("line separators and lone surrogates")
async def _(stage: Stage) -> None:
    await stage.run("u2028: \u2028 u2029: \u2029 nel: \x85 emoji: \U0001f469\u200d\U0001f4bb")
    await stage.run("lone \ud83d and \ude00 end", "p2")
    await stage.run("nul \x00 esc \x1b bell \x07", "p3")


@scenario("a line of 2 MB")
async def _(stage: Stage) -> None:
    await stage.run("x" * 2_000_000)


# -- pictures ------------------------------------------------------------------------------------------------------


def png() -> str:
    """A picture of two by two dots."""

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack("!I", len(data)) + name + data + struct.pack("!I", zlib.crc32(name + data))

    rows = b"".join(b"\x00" + b"\x30\x60\x90" * 2 for _ in range(2))
    head = part(b"IHDR", struct.pack("!2I5B", 2, 2, 8, 2, 0, 0, 0))
    whole = b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
    return base64.b64encode(whole).decode()


@scenario("pictures: a good one, one that is none, one without data")
async def _(stage: Stage) -> None:
    await stage.run("good", images=[{"type": "image", "data": png(), "mimeType": "image/png"}])
    bad = base64.b64encode(b"not an image").decode()
    await stage.run("bad", "p2", images=[{"type": "image", "data": bad, "mimeType": "image/png"}])
    await stage.ask("prompt", message="none", images=[{"nonsense": 1}])


# -- bash of our own -----------------------------------------------------------------------------------------------


@scenario("a bash command beside the model")
async def _(stage: Stage) -> None:
    await stage.ask("bash", command="echo direct; exit 4")
    await stage.send({"id": "b1", "type": "bash", "command": "echo begun; sleep 600"})
    await stage.until("bash_execution_update", id="b1")
    await stage.ask("abort_bash")
    await stage.until("response", id="b1")
