"""What PROTOCOL §0 (ten rules), §1 (start-up) and §2 (framing) claim, each with the recordings that pin it."""

from tests.engine.claims.claim import Claim, Unpinned, pins, words_of
from tests.engine.claims.seen import (
    answered,
    calls,
    data,
    echoes,
    errors,
    notes,
    records,
    responses,
    stderr,
    texts,
)

IDLE_ENDS = "j_eof_idle+ j_sigterm_idle+ j_sighup_idle+ j_sigint_idle+ j_sigkill_idle+"

CLAIMS: list[Claim] = [
    # -- §0, what is not said again below ----------------------------------------------------------------------------
    pins(
        "§0.1",
        "of prompts in one write all are accepted and one runs",
        "f_prompts_one_write+ f_prompts_one_write_followup+",
        "prompt started / prompt started / prompt started / prompt started",
        also=lambda r: calls(r) == 1 and len(texts(r)) == 1,
    ),
    pins(
        "§0.1",
        "of prompt and abort in one write the abort is answered first, and does nothing",
        "f_prompt_abort_one_write",
        "> prompt / > abort / abort ok / prompt started / message_end assistant stop",
        never="message_end assistant aborted",
    ),
    pins(
        "§0.6",
        "accepted is not worked: the failure is an assistant message",
        "r_401+ g_retry_disabled+",
        "prompt started / message_end assistant error / turn_end / agent_end / settled",
        never="prompt refused / auto_retry_start",
    ),
    # -- §1 ----------------------------------------------------------------------------------------------------------
    pins(
        "§1",
        "there is no ready record: the first line is the answer to what waited in the pipe",
        IDLE_ENDS,
        "> get_state / get_state ok",
        also=lambda r: len(r.out) == 1 and len(words_of(r)) == 4,
    ),
    pins(
        "§1",
        "input closed at once: what waits is still answered, then exit 0",
        "j_eof_at_startup+",
        "> get_state / > eof / get_state ok / exit 0",
    ),
    pins(
        "§1",
        "SIGTERM before the handler is there: death by the signal",
        "j_sigterm_at_startup+",
        "> SIGTERM / exit -15",
        never="get_state ok",
    ),
    pins(
        "§1",
        "what an extension prints goes to standard error",
        "l_commands+",
        also=lambda r: all(text in stderr(r) for text in ("console.log from extension", "raw stdout write")),
    ),
    pins(
        "§1",
        "warnings are free text on standard error",
        "r_no_models_at_all r_bad_models_json r_unknown_model_flag+",
        also=lambda r: "Warning: " in stderr(r),
    ),
    pins(
        "§1",
        "an unknown option: a line on standard error and exit 1, nothing on standard output",
        "r_wrong_flag+",
        "exit 1",
        also=lambda r: "Error: Unknown option: --no-such-flag" in stderr(r) and not r.out,
    ),
    pins(
        "§1",
        "a project's extensions are not loaded by default, and nothing is asked",
        "r_project_trust_default r_project_trust_no_approve",
        also=lambda r: notes(r, "commands") == [["llama", "mcp"]] and not records(r, "extension_ui_request"),
    ),
    pins("§1", "--approve loads them", "r_project_trust_approve", also=lambda r: "local" in notes(r, "commands")[0]),
    pins(
        "§1",
        "0.73.1 loads them always",
        "r_project_trust_default@0.73.1",
        also=lambda r: notes(r, "commands") == [["local"]],
    ),
    pins(
        "§1",
        "AGENTS.md reaches the model in all cases",
        "r_project_trust_default+ r_project_trust_approve r_project_trust_no_approve",
        also=lambda r: notes(r, "context_file_reached_the_model") == [True],
    ),
    pins(
        "§1",
        "a broken models.json: it starts, and every prompt is refused",
        "r_bad_models_json+",
        "get_state ok / prompt refused",
        never="agent_start",
    ),
    # -- §2 ----------------------------------------------------------------------------------------------------------
    pins("§2", "a trailing CR is stripped", "k_malformed+", also=lambda r: "crlf" in answered(r)),
    pins(
        "§2",
        "a last line without LF is handled at the end of input",
        "k_last_line_without_newline+",
        "> get_session_stats / > eof / get_session_stats ok / exit 0",
    ),
    pins(
        "§2",
        "UTF-8 may be cut anywhere between writes",
        "k_split_writes+",
        "prompt started",
        also=lambda r: echoes(r) == ["split \U0001f600 across writes"],
    ),
    pins(
        "§2",
        "U+2028, U+2029 and U+0085 come raw inside strings",
        "k_unicode+",
        also=lambda r: any(all(mark in s.line for mark in "\u2028\u2029\x85") for s in r.out),
    ),
    pins(
        "§2",
        "lone surrogates come as escapes, are echoed, and kept from the provider",
        "k_unicode+",
        also=lambda r: (
            any("\\ud83d and low \\ude00" in s.line for s in r.out)
            and any("lone high  and low  end" in seen for seen in notes(r, "provider_saw"))
        ),
    ),
    pins(
        "§2",
        "no JSON, an empty line, a blank one: a parse error without an id",
        "k_malformed+",
        "> ? / parse refused / > ? / parse refused / > ? / parse refused / > ? / parse refused",
        also=lambda r: (
            not any("id" in each for each in responses(r, "parse"))
            and all(each["error"].startswith("Failed to parse command: ") for each in responses(r, "parse"))
        ),
    ),
    pins(
        "§2",
        "a number, a list, a string, {}: an unknown command, neither id nor command",
        "k_malformed+",
        also=lambda r: (
            [sorted(each) for each in records(r, "response") if each.get("error") == "Unknown command: undefined"]
            == [["error", "success", "type"]] * 4
        ),
    ),
    pins(
        "§2",
        "the line `null` kills pi, with a stack trace on standard error",
        "k_null_line+",
        "> ? / exit 1",
        also=lambda r: "TypeError: Cannot read properties of null" in stderr(r),
    ),
    pins(
        "§2",
        "an unknown type is refused by its name, with its id",
        "k_malformed",
        also=lambda r: (
            [(each.get("id"), each["error"]) for each in responses(r, "no_such_command")]
            == [("x2", "Unknown command: no_such_command")]
        ),
    ),
    pins(
        "§2",
        "0.73.1 refuses an unknown type without its id",
        "k_malformed@0.73.1 f_clear_queue@0.73.1",
        also=lambda r: all("id" not in each for each in responses(r) if "Unknown command" in each.get("error", "")),
    ),
    pins(
        "§2",
        "missing and wrong fields give raw JavaScript errors",
        "k_malformed+",
        "prompt refused / prompt refused / steer refused / set_session_name refused / follow_up refused",
        also=lambda r: "Cannot read properties of undefined (reading 'startsWith')" in errors(r),
    ),
    pins(
        "§2",
        "a nonsense thinking level succeeds, and is off",
        "k_malformed+",
        "> set_thinking_level / thinking_level_changed / set_thinking_level ok",
        also=lambda r: records(r, "thinking_level_changed")[0]["level"] == "off",
    ),
    pins("§2", "an id may be any JSON value", "k_malformed+", also=lambda r: 7 in answered(r)),
    pins(
        "§2",
        "an id twice is not noticed, a command without one is answered without one",
        "k_same_id_twice+",
        also=lambda r: answered(r)[1:] == ["dup", "dup", None],
    ),
    pins(
        "§2",
        "an answer to an unknown dialog is ignored, without a reply",
        "k_malformed+ l_commands+",
        "> extension_ui_response",
        also=lambda r: not responses(r, "extension_ui_response"),
    ),
    pins(
        "§2",
        "responses are not in the order of the commands",
        "m_set_model_while_busy+",
        "> set_model / > get_state / > get_messages / get_state ok / get_messages ok / set_model ok",
    ),
    pins(
        "§2",
        "get_state is a snapshot at handling time, no barrier",
        "e_many_queued",
        "queue_update / queue_update / queue_update / queue_update / queue_update / get_state ok / follow_up queued",
        also=lambda r: data(r, "get_state")[-1]["pendingMessageCount"] == 0,
    ),
    pins(
        "§2",
        "a prompt of 5 MB comes back in three lines of that size",
        "k_big_prompt+",
        also=lambda r: (
            [kind for kind, size in notes(r, "stdout_line_bytes")[0] if size > 5_000_000]
            == ["message_start", "message_end", "agent_end"]
        ),
    ),
    pins(
        "§2",
        "a long output is one line of 300 kB: cut in the content, whole in structuredContent",
        "b_tool_streaming_output",
        also=lambda r: (
            notes(r, "longest_stdout_line_bytes")[0] > 290_000
            and "output" in records(r, "tool_execution_end")[0]["result"]["structuredContent"]
        ),
    ),
    pins(
        "§2",
        "a long output is cut in the content, and 0.73.1 has it nowhere whole",
        "b_tool_streaming_output@0.73.1",
        also=lambda r: "structuredContent" not in records(r, "tool_execution_end")[0]["result"],
    ),
    pins(
        "§2",
        "a streamed answer of 400 kB is 2.1 MB of output",
        "k_huge_answer",
        also=lambda r: 2_000_000 < notes(r, "stdout_bytes")[0] < 2_300_000,
    ),
    pins(
        "§2",
        "0.73.1 repeats the whole message with each update: 164 MB",
        "k_huge_answer@0.73.1",
        also=lambda r: 160_000_000 < notes(r, "stdout_bytes")[0] < 170_000_000,
    ),
    pins(
        "§2",
        "a client that stops reading for 4 s: pi waits, and goes on",
        "k_client_stops_reading",
        "exit 0",
        also=lambda r: notes(r, "after_4s_unread")[0]["rss"] == "165612 kB",
    ),
    pins(
        "§2",
        "0.73.1 grows to 937 MB over that and crashes",
        "k_client_stops_reading@0.73.1",
        "exit 1",
        also=lambda r: notes(r, "after_4s_unread")[0]["rss"] == "936524 kB" and "ENOBUFS" in stderr(r),
    ),
]

UNPINNED: list[Unpinned] = [
    Unpinned(
        "§1",
        "the Node that each version needs, what an installation takes",
        "no recording is of an installation or of another Node; the tests bring the Node they need",
    ),
    Unpinned(
        "§1",
        "0.26-0.36 s from the spawn to the first response, memory when idle, 10-18 ms to exit",
        "figures of another machine, nothing relies on them; a recording pins only that the answer came",
    ),
    Unpinned(
        "§1",
        "PI_CODING_AGENT_DIR moves all state",
        "the recordings' own home was in place of theirs in every one; each real pi of the tests lives by it",
        "tests/contract/test_connector_sessions.py::test_a_session_goes_on_after_kill_9_of_the_child_an_idle_stop_and_a_restart",
    ),
    Unpinned("§1", "PI_OFFLINE=1 avoids the network at the start", "no recording was made without it"),
]
