"""What PROTOCOL §11 to §13 (pictures, what breaks careless clients) claim, each with its recordings."""

from tests.engine.claims.claim import Claim, Unpinned, pins, words_of
from tests.engine.claims.seen import (
    calls,
    data,
    echoes,
    errors,
    notes,
    records,
    stops,
    texts,
)

BUSY = "Agent is already processing"
ECHO = "message_start user"
GOOD = "message_end assistant stop"
ABORTED = "message_end assistant aborted"
CLAIMS: list[Claim] = [
    # -- §11 ---------------------------------------------------------------------------------------------------------
    pins(
        "§11",
        "unreadable data is replaced by a hint, a malformed entry refuses the prompt, a picture is echoed",
        "k_image",
        "prompt started / prompt started / prompt refused / prompt refused",
        also=lambda r: (
            "[Image omitted: " in echoes(r)[1]
            and [part["type"] for part in records(r, "message_start")[1]["message"]["content"]] == ["text", "image"]
        ),
    ),
    pins(
        "§11",
        "0.73.1 checks nothing",
        "k_image@0.73.1",
        never="prompt refused",
        also=lambda r: any("data:undefined;base64,undefined" in seen for seen in notes(r, "provider_saw")),
    ),
    # -- §13 ---------------------------------------------------------------------------------------------------------
    pins(
        "§13",
        "an extension's run between our prompt and its response",
        "x_N_slow",
        f"prompt handled / > prompt / agent_start / {GOOD} / agent_end / settled / prompt started / agent_start"
        f" / {ECHO}",
    ),
    pins(
        "§13",
        "else the first wins: the extension gets an extension_error, or ours is refused",
        "x_M_fast x_M_slow",
        "extension_error / prompt refused",
        also=lambda r: any(error.startswith(BUSY) for error in errors(r)),
    ),
    pins(
        "§13",
        "no run starts before the response of its own prompt",
        "x_M_fast x_M_slow x_N_slow x_C_0 x_C_1 x_C_2",
        "agent_start",
        also=lambda r: _own_responses_first(words_of(r), echoes(r)),
    ),
    pins(
        "§13",
        "handled, an extension's agent_start, then our prompt is refused; a later one starts",
        "x_C_0 x_C_1",
        f"prompt handled / > prompt / agent_start / prompt refused / {GOOD} / settled / prompt started / {GOOD}",
    ),
    pins(
        "§13",
        "its agent_start may come before our write",
        "x_C_2",
        f"prompt handled / agent_start / > prompt / prompt refused / {GOOD} / settled / prompt started / {GOOD}",
    ),
    pins(
        "§13",
        "a steer at agent_end, then clear_queue and prompt: cleared empty, and the steer joins the next run",
        "x_D_2",
        "agent_end / > steer / > clear_queue / > prompt / clear_queue ok / steer queued / prompt started"
        f" / {ECHO} / {ECHO}",
        also=lambda r: data(r, "clear_queue") == [{"steering": [], "followUp": []}],
    ),
    pins(
        "§13",
        "the same without clear_queue",
        "x_D_0 x_D_1",
        f"> steer / > prompt / steer queued / prompt started / {ECHO} / {ECHO}",
        also=lambda r: echoes(r) == ["one", "two", "late steer"],
    ),
    pins(
        "§13",
        "steer, clear_queue, abort leave it for the next prompt",
        "x_J",
        f"> steer / > clear_queue / > abort / clear_queue ok / steer queued / abort ok / prompt started / {ECHO}"
        f" / {ECHO}",
        also=lambda r: echoes(r) == ["one", "two", "a steer"],
    ),
    pins(
        "§13",
        "a hook's dialog: the abort is answered, then the prompt as handled, no run",
        "x_H",
        "asks confirm / > clear_queue / > abort / > extension_ui_response / abort ok / prompt handled / prompt started",
        also=lambda r: echoes(r) == ["[d] next"],
    ),
    pins(
        "§13",
        "one open dialog: cancel and abort work in either order",
        "x_A_cancel_first_1 x_A_cancel_first_2 x_A_abort_first_1",
        f"asks confirm / tool_execution_end / {ABORTED} / settled, aborted / abort ok",
        also=lambda r: notes(r, "provider_calls") == [1],
    ),
    pins(
        "§13",
        "a second dialog behind the first: the abort waits for that one too",
        "x_B_cancel_first x_B_abort_first",
        "asks confirm / > abort / asks confirm",
        never="abort ok / settled, aborted",
    ),
    pins(
        "§13",
        "end of input and SIGTERM with a dialog open: exits",
        "x_E",
        "asks confirm / > SIGTERM / exit 0",
        also=lambda r: notes(r, "exited_after_s")[0] < 0.035,
    ),
    pins(
        "§13",
        "abort while idle and a prompt in one write: it runs",
        "x_K",
        f"> abort / > prompt / abort ok / prompt started / {GOOD} / settled",
        also=lambda r: stops(r) == ["stop"] * 3,
    ),
    pins(
        "§13",
        "a prompt right behind agent_settled and two aborts: it runs",
        "x_L",
        f"> abort / > abort / settled, aborted / abort ok / abort ok / > prompt / prompt started / {GOOD} / settled",
        also=lambda r: calls(r) == 1 and texts(r)[0] == "",
    ),
]


def _own_responses_first(words: list[str], said: list[str]) -> bool:
    """Whether each run that echoes one of our own texts starts behind a `started` of its own."""
    started = runs = 0
    echoed = iter(said)
    for word in words:
        started += word == "prompt started"
        if word == "agent_start":
            ours = not next(echoed).startswith(("EXT RUN", "message from the extension"))
            runs += ours
            if ours and started < runs:
                return False
    return True


UNPINNED: list[Unpinned] = [
    Unpinned(
        "§12",
        "real providers, OAuth, other APIs, other systems, MCP servers, deaf tools and extensions, slow handlers,"
        " two pi on one file, very long sessions, versions between the two, 300 s of silence, export_html, clone,"
        " get_tree",
        "PROTOCOL itself says that these were not verified",
    ),
]
