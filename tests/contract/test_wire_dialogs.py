"""PROTOCOL's facts about extension dialogs and commands, seen again on the real pi by raw lines."""

from collections.abc import AsyncIterator

import pytest

from fakes.behaviour import Text
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.raw_child import RawChild
from fakes.real_pi import RealPi
from fakes.records import Record, outline, prompt, spoken, tool_results

pytestmark = pytest.mark.anyio

EXTENSION = """
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    const ok = await ctx.ui.confirm("Run it?", event.input.command);
    if (!ok) return { block: true, reason: "not wanted" };
  });
  pi.registerCommand("ask", { description: "asks", handler: async (args, ctx) => {
    const picked = await ctx.ui.select("Pick one", ["red", "green"]);
    const typed = await ctx.ui.input("Type", "placeholder");
    const edited = await ctx.ui.editor("Edit", "prefill");
    ctx.ui.notify([picked, typed, edited].join(), "info");
  }});
}
"""


@pytest.fixture
async def asking(real_pi: RealPi) -> AsyncIterator[RawChild]:
    async with RawChild.started(real_pi.launch(extension=EXTENSION)) as pi:
        yield pi


async def opened(pi: RawChild, provider: Provider) -> Record:
    """Start a run whose tool asks for leave, and return the open dialog."""
    provider.push(bash("echo allowed"), Text("finished"))
    await pi.send(prompt("run it"))
    return await pi.until("extension_ui_request", method="confirm")


def answer(dialog: Record, **value: object) -> Record:
    return {"type": "extension_ui_response", "id": dialog["id"], **value}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({"confirmed": True}, "allowed\n"),
        ({"confirmed": False}, "not wanted"),
        ({"cancelled": True}, "not wanted"),
    ],
)
async def test_a_dialog_waits_for_its_answer(
    asking: RawChild, provider: Provider, value: dict[str, object], result: str
) -> None:
    """PROTOCOL §9 [l_confirm_yes, l_confirm_no, l_confirm_cancelled]."""
    dialog = await opened(asking, provider)

    await asking.send(answer(dialog, **value))
    await asking.until("agent_settled")

    assert (dialog["title"], dialog["message"]) == ("Run it?", "echo allowed")
    assert tool_results(asking.records) == [("call_1_0", result)]
    assert spoken(asking.records)[-1] == ("stop", "finished")


async def test_an_open_dialog_blocks_an_abort_until_it_is_answered(asking: RawChild, provider: Provider) -> None:
    """PROTOCOL §9 [l_confirm_nobody_answers]."""
    dialog = await opened(asking, provider)
    start = len(asking.records)

    await asking.send({"id": "a1", "type": "abort"})
    await asking.ask({"type": "get_state"})
    blocked = outline(asking.records[start:])
    await asking.send(answer(dialog, cancelled=True))
    await asking.until("response", id="a1")

    assert blocked == ["response get_state"]
    assert tool_results(asking.records) == [("call_1_0", "Operation aborted")]
    assert outline(asking.records)[-2:] == ["agent_settled aborted", "response abort"]


async def test_a_cancel_and_an_abort_in_one_write_end_the_run(asking: RawChild, provider: Provider) -> None:
    """PROTOCOL §9, BEHAVIOUR §1.4 [x_A_cancel_first_1]: in the order in which the engine writes them."""
    dialog = await opened(asking, provider)

    await asking.send(answer(dialog, cancelled=True), {"id": "a1", "type": "abort"})
    await asking.until("response", id="a1")

    assert outline(asking.records)[-2:] == ["agent_settled aborted", "response abort"]
    assert len(provider.calls) == 1


async def test_the_dialogs_of_a_command_and_its_end_as_handled_without_a_run(asking: RawChild) -> None:
    """PROTOCOL §9 [l_commands]."""
    start = len(asking.records)
    await asking.send(prompt("/ask"))
    for method, value in (("select", "green"), ("input", "typed"), ("editor", "edited")):
        dialog = await asking.until("extension_ui_request", method=method)
        await asking.send(answer(dialog, value=value))
    note = await asking.until("extension_ui_request", method="notify")
    await asking.until("response", id="p1")

    assert note["message"] == "green,typed,edited"
    assert outline(asking.records[start:]) == [
        "dialog select",
        "dialog input",
        "dialog editor",
        "dialog notify",
        "response prompt handled",
    ]
