"""What PROTOCOL §9 (dialogs) and §10 (termination) claim, each with the recordings that pin it."""

from tests.engine.claims.claim import Claim, Unpinned, pins, words_of
from tests.engine.claims.seen import (
    data,
    echoes,
    left,
    notes,
    records,
    responses,
    results,
    seconds,
    text_in,
)

BUSY = "Agent is already processing"
ECHO = "message_start user"
GOOD = "message_end assistant stop"
ABORTED = "message_end assistant aborted"
CONFIRMED = "l_confirm_yes+ l_confirm_no+ l_confirm_cancelled+"
FIELDS = {
    "select": {"title", "options"},
    "confirm": {"title", "message"},
    "input": {"title", "placeholder"},
    "editor": {"title", "prefill"},
    "notify": {"message", "notifyType"},
    "setStatus": {"statusKey", "statusText"},
    "setWidget": {"widgetKey", "widgetLines"},
    "setTitle": {"title"},
    "set_editor_text": {"text"},
}
ENDS = ("eof", "sigterm", "sighup", "sigint", "sigkill")


def ends(where: str, *how: str) -> str:
    """The recordings of both versions in which pi was ended so."""
    return " ".join(f"j_{each}_{where}+" for each in how)


CLAIMS: list[Claim] = [
    # -- §9 ----------------------------------------------------------------------------------------------------------
    pins(
        "§9",
        "each request has its method's fields",
        "l_commands+ l_confirm_yes+",
        also=lambda r: all(
            each.keys() - {"type", "id", "method"} == FIELDS[each["method"]]
            for each in records(r, "extension_ui_request")
        ),
    ),
    pins(
        "§9",
        "an answer gets no response, and the run goes on by it",
        CONFIRMED,
        f"asks confirm / > extension_ui_response / tool_execution_end / {GOOD} / settled",
        also=lambda r: (
            ("confirmed" in text_in(results(r)[0])) == (r.name == "l_confirm_yes")
            and not responses(r, "extension_ui_response")
        ),
    ),
    pins(
        "§9",
        "nobody answers: get_state works, the abort is not answered until the dialog is",
        "l_confirm_nobody_answers+",
        "asks confirm / > abort / get_state ok / > extension_ui_response / tool_execution_end / settled, aborted"
        " / abort ok",
        also=lambda r: text_in(results(r)[0]).endswith(" aborted"),
    ),
    pins(
        "§9",
        "new_session waits likewise",
        "l_confirm_pending_new_session",
        "asks confirm / > new_session / > extension_ui_response / settled, aborted / new_session ok",
    ),
    pins(
        "§9",
        "0.73.1's new_session does not wait for a dialog",
        "l_confirm_pending_new_session@0.73.1",
        "asks confirm / > new_session / new_session ok",
        never="agent_end",
    ),
    pins(
        "§9",
        "abort and cancelled in one write end it at once",
        "l_confirm_abort_then_cancel+",
        f"asks confirm / > abort / > extension_ui_response / tool_execution_end / {ABORTED} / abort ok",
        also=lambda r: seconds(r, "> abort", "abort ok") < 0.2,
    ),
    pins(
        "§9",
        "with a timeout pi resolves it itself, and tells nothing of it",
        "l_confirm_timeout+",
        f"asks confirm / tool_execution_end / {GOOD}",
        never="> extension_ui_response",
        also=lambda r: (
            records(r, "extension_ui_request")[0]["timeout"] == 1000
            and 1 <= seconds(r, "asks confirm", "tool_execution_end") < 1.2
        ),
    ),
    pins(
        "§9",
        "with the run's signal an abort works without an answer, and a late answer is ignored",
        "l_confirm_signal+",
        f"asks confirm / > abort / tool_execution_end / {ABORTED} / abort ok / > extension_ui_response / > eof",
        also=lambda r: words_of(r)[-3:] == ["> extension_ui_response", "> eof", "exit 0"],
    ),
    pins(
        "§9",
        "SIGTERM while a dialog waits: no exit for 8 s, and nothing more is said",
        "l_confirm_pending_sigterm",
        "asks confirm / > SIGTERM / > eof / exit 0",
        never="agent_end / settled",
        also=lambda r: notes(r, "still_alive_after_s") == [8],
    ),
    pins(
        "§9",
        "a second SIGTERM exits at once",
        "l_confirm_pending_two_sigterms",
        "asks confirm / > SIGTERM / > SIGTERM / exit 143",
        also=lambda r: notes(r, "exited_after_s")[0] < 0.035,
    ),
    pins("§9", "end of input exits", "l_confirm_pending_eof+", "asks confirm / > eof / exit 0"),
    pins(
        "§9",
        "0.73.1 exits at once on SIGTERM",
        "l_confirm_pending_sigterm@0.73.1 l_confirm_pending_two_sigterms@0.73.1",
        "asks confirm / > SIGTERM / exit 143",
    ),
    pins(
        "§9",
        "a command is handled when its handler returns, without a run of its own",
        "l_commands",
        "> prompt / asks select / asks input / asks editor / asks notify / prompt handled",
    ),
    pins(
        "§9",
        "0.73.1 handles a command so too",
        "l_commands@0.73.1",
        "> prompt / asks select / asks input / asks editor / asks notify / prompt ok / extension_error / prompt ok",
    ),
    pins("§9", "a throw is an extension_error, and still a success", "l_commands", "extension_error / prompt handled"),
    pins(
        "§9",
        "an unknown /name goes to the model as text",
        "k_empty_prompt+",
        "prompt started / agent_start",
        also=lambda r: any(text.startswith("/") for text in echoes(r)),
    ),
    pins(
        "§9",
        "get_commands lists them; llama and mcp are built in",
        "l_commands k_same_id_twice",
        also=lambda r: {"llama", "mcp"} <= {each["name"] for each in data(r, "get_commands")[0]["commands"]},
    ),
    # -- §10 ---------------------------------------------------------------------------------------------------------
    pins("§10", "end of input while idle: exit 0", "j_eof_idle+", "> eof / exit 0"),
    pins("§10", "end of input in a stream or a hang: exit 0", "j_eof_streaming+ j_eof_hang+", "call / > eof / exit 0"),
    pins(
        "§10",
        "end of input in bash: the tree is killed",
        "j_eof_bash",
        "tool_execution_start / > eof / exit 0",
        also=lambda r: left(r) == [],
    ),
    pins(
        "§10",
        "0.73.1 orphans the tree there",
        "j_eof_bash@0.73.1",
        "tool_execution_start / > eof / exit 0",
        also=lambda r: [each["ppid"] for each in left(r)] == [1, left(r)[0]["pid"]],
    ),
    pins("§10", "SIGTERM: 143", "j_sigterm_idle+ j_sigterm_streaming+ j_sigterm_hang+", "> SIGTERM / exit 143"),
    pins(
        "§10",
        "SIGTERM in bash: the tree is killed, also one that ignores it",
        "j_sigterm_bash+ j_sigterm_ignoring_tool+",
        "tool_execution_start / > SIGTERM / exit 143",
        also=lambda r: left(r) == [],
    ),
    pins("§10", "SIGHUP: 129", "j_sighup_idle+ j_sighup_streaming+ j_sighup_hang+", "> SIGHUP / exit 129"),
    pins(
        "§10",
        "SIGHUP in bash: the tree is killed",
        "j_sighup_bash+",
        "tool_execution_start / > SIGHUP / exit 129",
        also=lambda r: left(r) == [],
    ),
    pins("§10", "SIGINT: pi dies of it", "j_sigint_idle+ j_sigint_streaming+ j_sigint_hang+", "> SIGINT / exit -2"),
    pins("§10", "SIGKILL: dies", "j_sigkill_idle+ j_sigkill_streaming+ j_sigkill_hang+", "> SIGKILL / exit -9"),
    pins(
        "§10",
        "SIGINT, SIGKILL and killpg orphan the tree of bash",
        "j_sigint_bash+ j_sigkill_bash+ j_killpg+",
        "tool_execution_start",
        also=lambda r: len(left(r)) == 2 and left(r)[0]["ppid"] == 1,
    ),
    pins(
        "§10",
        "all of that within 40 ms (PROTOCOL says 35, j_eof_idle@0.73.1 took 37)",
        " ".join(ends(where, *ENDS) for where in ("idle", "streaming", "hang", "bash")),
        also=lambda r: notes(r, "exited_after_s")[0] <= 0.04,
    ),
    pins(
        "§10",
        "bash has a session and a group of its own, and pi for its parent",
        "j_sigterm_bash+ j_killpg+",
        also=lambda r: (
            (tool := notes(r, "found")[0][0])["pgid"] == tool["sid"] == tool["pid"]
            and tool["ppid"] == notes(r, "pi_pid")[0]
        ),
    ),
    pins(
        "§10",
        "nothing more is said after a signal or the end of input",
        " ".join(ends(where, *ENDS) for where in ("streaming", "hang", "bash")),
        "agent_start",
        never="agent_end / settled / settled, aborted / abort ok",
    ),
    pins(
        "§10",
        "a prompt and the end of input: response and echo may come, then exit 0 without an end",
        "j_eof_with_pending_command+",
        f"prompt started / {ECHO} / exit 0",
        never="agent_end / call",
    ),
    pins(
        "§10",
        "a session's file ends with the tool's call after a kill in it",
        "m_resume_after_kill+",
        "tool_execution_start / > SIGKILL / exit -9",
        also=lambda r: '"toolCall"' in notes(r, "session_file_line")[-1],
    ),
    pins(
        "§10",
        "--continue loads it without an event; the model is shown that the call has no result",
        "m_resume_after_kill_2+",
        f"get_state ok / get_messages ok / prompt started / agent_start / {GOOD}",
        also=lambda r: "No result provided" in str(notes(r, "roles_sent_to_the_model")),
    ),
    pins(
        "§10",
        "without sessions there is no sessionFile, and new_session changes the id",
        "m_state_commands",
        also=lambda r: (
            not any("sessionFile" in each for each in data(r, "get_state"))
            and data(r, "get_state")[0]["sessionId"] != data(r, "get_state")[-1]["sessionId"]
        ),
    ),
    pins(
        "§10",
        "0.73.1 has a sessionFile behind new_session in spite of --no-session (PROTOCOL says there is none)",
        "m_state_commands@0.73.1",
        "new_session ok / get_state ok",
        also=lambda r: ["sessionFile" in each for each in data(r, "get_state")] == [False, False, False, True],
    ),
]

UNPINNED: list[Unpinned] = [
    Unpinned(
        "§9",
        "a relayed text that starts with / can trigger a command",
        "no recording is of relayed chat; every text of a person has a header before it",
        "tests/connector/test_header_text.py::test_nothing_a_person_supplies_forges_the_header",
    ),
    Unpinned(
        "§10",
        "pi waits for the run to end on shutdown; standard output is not flushed on SIGTERM (SOURCE)",
        "read in pi's code; a last line that is cut is a value to the engine",
        "tests/engine/test_engine_wire.py::test_a_cut_last_line_is_malformed_and_not_lost_in_silence",
    ),
    Unpinned(
        "§10",
        "pi in the terminal's foreground group dies of Ctrl-C",
        "no recording had a terminal; each child has a session of its own",
        "tests/engine/test_child_streams.py::test_the_child_gets_its_environment_and_folder_and_a_session_of_its_own",
    ),
]
