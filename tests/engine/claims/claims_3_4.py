"""What PROTOCOL §3 (commands and responses) and §4 (events) claim, each with the recordings that pin it."""

from tests.engine.claims.claim import Claim, Unpinned, pins
from tests.engine.claims.seen import (
    answers,
    data,
    errors,
    notes,
    records,
    responses,
    results,
    text_in,
    texts,
    updates,
)

STATE = {
    *("model", "thinkingLevel", "isStreaming", "isCompacting", "steeringMode", "followUpMode", "sessionId"),
    *("autoCompactionEnabled", "messageCount", "pendingMessageCount"),
}
STATS = {"tokens", "cost", "contextUsage"}
TOKENS = {"input", "output", "cacheRead", "cacheWrite", "total"}
ANSWER = "message_end assistant stop"
TOOL = "tool_execution_start / tool_execution_update / tool_execution_end / message_start toolResult"

CLAIMS: list[Claim] = [
    # -- §3 ----------------------------------------------------------------------------------------------------------
    pins(
        "§3",
        "a prompt's response tells its disposition: started, queued, handled",
        "d_prompt_steer l_commands",
        also=lambda r: {each["disposition"] for each in data(r, "prompt")} in ({"started", "queued"}, {"handled"}),
    ),
    pins(
        "§3",
        "0.73.1's has no data",
        "d_prompt_steer@0.73.1 l_commands@0.73.1",
        also=lambda r: not any("data" in each for each in responses(r, "prompt")),
    ),
    pins(
        "§3",
        "steer and follow_up are answered `queued`, also when idle",
        "e_idle_then_prompt",
        "> steer / steer queued / > follow_up / follow_up queued / > prompt",
    ),
    pins(
        "§3",
        "clear_queue gives the texts back",
        "f_clear_queue",
        also=lambda r: data(r, "clear_queue") == [{"steering": ["queued steer"], "followUp": ["queued follow-up"]}],
    ),
    pins("§3", "0.73.1 knows no clear_queue", "f_clear_queue@0.73.1", "> clear_queue / clear_queue refused"),
    pins(
        "§3",
        "new_session tells whether it was cancelled",
        "m_new_session_while_busy+ m_new_session_in_backoff+ m_new_session_during_tool",
        "new_session ok",
        also=lambda r: data(r, "new_session") == [{"cancelled": False}],
    ),
    pins(
        "§3",
        "get_state has these fields; sessionFile and sessionName only where there are any",
        "m_state_commands",
        also=lambda r: (
            all(each.keys() - {"sessionName"} == STATE for each in data(r, "get_state"))
            and "sessionName" not in data(r, "get_state")[0]
            and data(r, "get_state")[2]["sessionName"] == "my name"
        ),
    ),
    pins(
        "§3",
        "get_session_stats: counts, tokens, cost, the context's use",
        "m_state_commands+",
        also=lambda r: (
            data(r, "get_session_stats")[0].keys() >= STATS
            and data(r, "get_session_stats")[0]["tokens"].keys() == TOKENS
            and data(r, "get_session_stats")[0]["contextUsage"].keys() == {"tokens", "contextWindow", "percent"}
        ),
    ),
    pins(
        "§3",
        "get_last_assistant_text has no text where there is none",
        "m_state_commands+",
        also=lambda r: data(r, "get_last_assistant_text") == [{"text": "default answer"}, {}],
    ),
    pins(
        "§3",
        "get_messages: all of the session's",
        "m_state_commands+",
        also=lambda r: (
            [each["role"] for each in data(r, "get_messages")[0]["messages"]][-2:] == ["user", "assistant"]
            and data(r, "get_messages")[1] == {"messages": []}
        ),
    ),
    pins(
        "§3",
        "set_model gives the model, or an error",
        "m_state_commands+",
        also=lambda r: (
            [each["id"] for each in data(r, "set_model")] == ["scripted-2", "scripted"]
            and "Model not found: fake/nope" in errors(r)
        ),
    ),
    pins(
        "§3",
        "set_model in a run is used from the next call on",
        "m_set_model_while_busy",
        also=lambda r: notes(r, "models_requested") == [["scripted", "scripted-2"]],
    ),
    pins(
        "§3",
        "0.73.1 uses it from the next run on only",
        "m_set_model_while_busy@0.73.1",
        also=lambda r: notes(r, "models_requested") == [["scripted", "scripted"]],
    ),
    pins(
        "§3",
        "set_thinking_level is clamped to what the model can do",
        "m_state_commands",
        "set_thinking_level ok / set_model ok / thinking_level_changed / set_thinking_level ok",
        also=lambda r: [each["level"] for each in records(r, "thinking_level_changed")] == ["off", "high", "off"],
    ),
    pins(
        "§3",
        "compact gives its result; nothing to compact and a cancel are errors",
        "m_compact",
        "compact refused / compact ok / compact refused",
        also=lambda r: (
            "summary" in data(r, "compact")[0]
            and {"Nothing to compact (session too small)", "Compaction cancelled"} <= set(errors(r))
        ),
    ),
    pins(
        "§3",
        "0.73.1 compacts even an empty session, and an abort does not cancel that",
        "m_compact@0.73.1",
        "> compact / call / compact ok / > abort / abort ok / compaction_end / compact ok",
        never="compact refused",
    ),
    pins(
        "§3",
        "without auto retry a 429 is final",
        "g_retry_disabled+",
        "set_auto_retry ok / message_end assistant error / agent_end / settled",
        never="auto_retry_start / agent_end, retry",
    ),
    pins(
        "§3",
        "abort_retry is answered",
        "g_abort_retry_in_backoff+ f_abort_idle+",
        "> abort_retry / abort_retry ok",
    ),
    pins(
        "§3",
        "bash gives output, exit code, cancelled, truncated, with updates that name its id",
        "m_state_commands",
        "bash_execution_update / bash ok",
        also=lambda r: (
            data(r, "bash") == [{"output": "direct\n", "exitCode": 4, "cancelled": False, "truncated": False}]
            and records(r, "bash_execution_update")[0]["id"] == responses(r, "bash")[0]["id"]
        ),
    ),
    pins(
        "§3",
        "a bash that is aborted has no exit code",
        "m_rpc_bash+",
        "> abort_bash",
        also=lambda r: [(each.get("exitCode"), each["cancelled"]) for each in data(r, "bash")] == [(None, True)],
    ),
    pins(
        "§3",
        "models, thinking levels and a name are asked and set",
        "m_state_commands",
        "get_available_models ok / get_available_thinking_levels ok / session_info_changed / set_session_name ok",
        also=lambda r: (
            data(r, "get_available_thinking_levels")[0]["levels"] == ["off", "minimal", "low", "medium", "high"]
        ),
    ),
    pins(
        "§3",
        "0.73.1 has models and names; its thinking levels are not asked for by a command",
        "m_state_commands@0.73.1",
        "get_available_models ok / session_info_changed / set_session_name ok",
        also=lambda r: any("get_available_thinking_levels" in error for error in errors(r)),
    ),
    pins(
        "§3",
        "get_commands names, describes and tells the source",
        "l_commands+",
        also=lambda r: all(
            each.keys() >= {"name", "description", "source", "sourceInfo"}
            for each in data(r, "get_commands")[0]["commands"]
        ),
    ),
    pins(
        "§3",
        "switch_session to a missing file succeeds, and the next prompt works",
        "m_sessions_on_disk+",
        f"fork ok / fork refused / new_session ok / switch_session ok / switch_session ok / prompt started / {ANSWER}",
    ),
    pins(
        "§3",
        "get_state's model has the provider's address, a refusal the path of pi's docs",
        "r_no_key r_no_models_at_all+",
        also=lambda r: "baseUrl" in data(r, "get_state")[0]["model"] and "/docs/" in errors(r)[0],
    ),
    # -- §4 ----------------------------------------------------------------------------------------------------------
    pins(
        "§4",
        "a plain run",
        "a_plain+ a_thinking+ k_big_prompt+ k_huge_answer+ k_split_writes+",
        "prompt started / agent_start / turn_start / message_start system / message_end system / message_start user"
        f" / message_end user / message_start assistant pending / {ANSWER} / turn_end / agent_end / settled",
    ),
    pins(
        "§4",
        "the system message comes on a session's first run only",
        "d_behaviour_while_idle e_idle_then_prompt",
        also=lambda r: (
            sum(each["message"]["role"] == "system" for each in records(r, "message_start")) == 1 and answers(r) != []
        ),
    ),
    pins(
        "§4",
        "thinking comes before the text, in pieces of its own",
        "a_thinking+",
        f"thinking_start / thinking_delta / text_start / text_delta / text_end / {ANSWER}",
    ),
    pins(
        "§4",
        "an update holds its delta alone, and usage",
        "a_plain",
        also=lambda r: (
            all(each.keys() == {"type", "usage", "assistantMessageEvent"} for each in records(r, "message_update"))
            and "".join(each["delta"] for each in updates(r, "text_delta")) == texts(r)[0]
        ),
    ),
    pins(
        "§4",
        "0.73.1's holds the whole message, and no usage of its own",
        "a_plain@0.73.1",
        also=lambda r: all(
            "message" in each and "partial" in each["assistantMessageEvent"] and "usage" not in each
            for each in records(r, "message_update")
        ),
    ),
    pins(
        "§4",
        "a tool run is one low-level run",
        "b_bash_tool+ b_tool_streaming_output+ e_steer_during_tool+ i_drop_in_tool_call@0.73.1",
        f"agent_start / message_end assistant toolUse / {TOOL} / message_end toolResult / turn_end / turn_start"
        f" / {ANSWER} / agent_end / settled",
        also=lambda r: len(records(r, "agent_start")) == 1,
    ),
    pins(
        "§4",
        "a partial result is cumulative, the first one empty",
        "b_tool_streaming_output+",
        also=lambda r: (
            (parts := [each["partialResult"] for each in records(r, "tool_execution_update")])[0] == {"content": []}
            and text_in(parts[2]).startswith(text_in(parts[1]))
        ),
    ),
    pins(
        "§4",
        "parallel tools: all start first, end as they finish, and report in call order",
        "c_parallel_tools+",
        "tool_execution_start / tool_execution_start / tool_execution_end / tool_execution_end"
        " / message_start toolResult / message_start toolResult",
        also=lambda r: (
            [each["toolCallId"] for each in records(r, "tool_execution_end")]
            == [each["toolCallId"] for each in results(r)][::-1]
        ),
    ),
    pins(
        "§4",
        "an exit code other than 0 is an error with the code in its text",
        "b_bash_tool+",
        also=lambda r: (
            records(r, "tool_execution_end")[0]["isError"]
            and text_in(results(r)[0]).endswith("Command exited with code 3")
        ),
    ),
    pins(
        "§4",
        "an unknown tool and bad arguments start and end as errors, and the run goes on",
        "b_unknown_tool_and_bad_args+",
        f"tool_execution_start / tool_execution_end / tool_execution_start / tool_execution_end / {ANSWER}",
        also=lambda r: all(each["isError"] for each in records(r, "tool_execution_end")),
    ),
    pins(
        "§4",
        "an empty answer and one cut by length are legal",
        "a_empty_and_length",
        f"{ANSWER} / settled / message_end assistant length / entry_appended / settled",
        also=lambda r: texts(r)[:2] == ["", "cut off here"],
    ),
    pins(
        "§4",
        "so they are to 0.73.1",
        "a_empty_and_length@0.73.1",
        f"{ANSWER} / message_end assistant length",
        never="entry_appended",
        also=lambda r: texts(r)[:2] == ["", "cut off here"],
    ),
    pins(
        "§4",
        "an assistant message tells model, provider, usage and thinking level",
        "a_plain m_state_commands",
        also=lambda r: all(
            each.keys() >= {"stopReason", "usage", "model", "provider", "responseId", "thinkingLevel"}
            for each in answers(r)
        ),
    ),
    pins(
        "§4",
        "a failed try leaves a context_edit entry, and so does a cut by length",
        "g_retry_then_success a_empty_and_length",
        "entry_appended",
        also=lambda r: {each["entry"]["type"] for each in records(r, "entry_appended")} == {"context_edit"},
    ),
    pins(
        "§4",
        "what it costs is timed: durationMs of a tool, structuredContent of its result",
        "b_bash_tool c_parallel_tools",
        also=lambda r: all(
            "durationMs" in each and "structuredContent" in each["result"] for each in records(r, "tool_execution_end")
        ),
    ),
    pins(
        "§4",
        "a retry of a summary tells of itself",
        "m_compaction_fails",
        "compaction_start / summarization_retry_scheduled / summarization_retry_attempt_start"
        " / summarization_retry_finished / compaction_end",
    ),
    # -- §4, ordering ------------------------------------------------------------------------------------------------
    pins(
        "§4",
        "queue_update precedes the `queued` response",
        "d_prompt_steer+ d_prompt_followup+ e_steer_during_tool+ e_followup_during_tool+ e_many_queued+",
        "agent_start / queue_update / turn_end",
        also=lambda r: all(
            r.out.index(queued) > min(r.out.index(s) for s in r.out if s.type == "queue_update")
            for queued in r.out
            if queued.type == "response" and queued.record["command"] in {"steer", "follow_up"}
        ),
    ),
    pins(
        "§4",
        "the user's message precedes the provider's call for it",
        "a_plain+ e_many_queued+",
        "message_start user / call / message_start assistant pending",
    ),
    pins(
        "§4",
        "a run may be an extension's alone: its prompt was handled",
        "l_commands",
        "prompt handled / agent_start / message_start user / settled",
        also=lambda r: len(records(r, "agent_start")) == 1,
    ),
    pins(
        "§4",
        "there may be no agent_end at all: an abort in the backoff",
        "g_abort_in_backoff",
        "agent_end, retry / auto_retry_start / auto_retry_end / settled, aborted / abort ok",
        also=lambda r: [each["willRetry"] for each in records(r, "agent_end")] == [True, False],
    ),
]

UNPINNED: list[Unpinned] = [
    Unpinned(
        "§3",
        "a manual compact aborts a running run first (SOURCE)",
        "read in pi's code, not recorded; the engine never writes it while a run is open",
        "tests/engine/test_engine_cases.py::test_every_cause_of_busy_holds_a_prompt_back",
    ),
    Unpinned(
        "§4",
        "which version brought what (CHANGELOG)",
        "taken from pi's change log; only the two ends were recorded",
        "tests/connector/test_check_child.py::test_a_child_without_clear_queue_is_too_old",
    ),
]
