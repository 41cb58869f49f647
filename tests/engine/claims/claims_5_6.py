"""What PROTOCOL §5 (busy, queues, attribution) and §6 (abort) claim, each with the recordings that pin it."""

from tests.engine.claims.claim import Claim, Unpinned, pins, words_of
from tests.engine.claims.seen import (
    answers,
    between,
    calls,
    data,
    echoes,
    errors,
    failures,
    left,
    notes,
    records,
    responses,
    seconds,
    stops,
    text_in,
    texts,
)

BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
COMPACTING = "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
ECHO = "message_start user"
GOOD = "message_end assistant stop"
ERROR = "message_end assistant error"
ABORTED = "message_end assistant aborted"

CLAIMS: list[Claim] = [
    # -- §5 ----------------------------------------------------------------------------------------------------------
    pins(
        "§5",
        "a second prompt is refused in these words, and the run untouched",
        "d_busy_refusal+",
        f"agent_start / prompt refused / {GOOD} / settled",
        also=lambda r: errors(r) == [BUSY] and calls(r) == 1,
    ),
    pins(
        "§5",
        "during a manual compaction in others",
        "m_compact",
        "prompt refused",
        also=lambda r: COMPACTING in errors(r),
    ),
    pins(
        "§5",
        "inside a retry's backoff a prompt is refused",
        "g_prompt_in_backoff",
        "auto_retry_start / prompt refused / agent_start",
        also=lambda r: errors(r) == [BUSY],
    ),
    pins(
        "§5",
        "a prompt written at agent_end reaches pi after the settle, and starts",
        "f_prompt_at_agent_end+",
        f"agent_end / > prompt / prompt started / agent_start / {GOOD}",
    ),
    pins(
        "§5",
        "with streamingBehavior it is queued, any other string counts as steer",
        "d_prompt_steer+ d_prompt_followup+ d_prompt_behaviour_bogus+",
        "> prompt / queue_update / prompt queued",
        also=lambda r: bool(records(r, "queue_update")[0]["steering"]) != r.name.endswith("followup"),
    ),
    pins(
        "§5",
        "when idle streamingBehavior is ignored",
        "d_behaviour_while_idle+",
        f"prompt started / {GOOD} / settled / prompt started / {GOOD} / settled",
        never="queue_update",
    ),
    pins(
        "§5",
        "a queued text runs inside the run, behind a queue_update and a turn_start",
        "d_prompt_steer+ d_prompt_followup+ e_steer_during_tool+ e_followup_during_tool+ e_many_queued+",
        f"agent_start / {ECHO} / queue_update / turn_end / turn_start / queue_update / {ECHO} / {GOOD} / agent_end",
        also=lambda r: len(records(r, "agent_start")) == len(records(r, "agent_end")) == 1,
    ),
    pins(
        "§5",
        "a steer in the final answer gets a turn of its own, and does not cut it",
        "e_steer_while_answer_streams+",
        f"agent_start / > steer / {GOOD} / {ECHO} / {GOOD} / agent_end",
        also=lambda r: texts(r) == ["a long final answer", "answer to the steer"],
    ),
    pins(
        "§5",
        "steers go before follow-ups, each in its order, one a turn",
        "e_many_queued+",
        also=lambda r: echoes(r) == ["base", "S1", "S2", "S1", "F1", "F2"] and len(texts(r)) == 6,
    ),
    pins(
        "§5",
        "mode `all`: all in one turn, one answer",
        "e_mode_all+",
        also=lambda r: echoes(r) == ["base", "F1", "F2", "F3"] and texts(r) == ["base answer", "answer to all three"],
    ),
    pins(
        "§5",
        "what was queued while idle waits for the next prompt: the steer joins its first call",
        "e_idle_then_prompt+",
        f"steer queued / follow_up queued / get_state ok / agent_start / {ECHO} / {ECHO} / {GOOD} / {ECHO} / {GOOD}",
        also=lambda r: (
            [each["pendingMessageCount"] for each in data(r, "get_state")] == [0, 2, 0]
            and echoes(r) == ["the next prompt", "steer sent while idle", "follow-up sent while idle"]
        ),
    ),
    pins(
        "§5",
        "the echo is the text with hints added to it",
        "k_image",
        also=lambda r: echoes(r)[1].startswith("image case 1\n\n[Image omitted: "),
    ),
    pins(
        "§5",
        "a fatal error starts a new low-level run for a queued follow-up, before any settle",
        "g_followup_queued_then_fatal g_followup_queued_then_error",
        f"{ERROR} / agent_end / agent_start / {ECHO} / {GOOD} / agent_end / settled",
        also=lambda r: words_of(r).index("settled") > words_of(r).index(GOOD),
    ),
    pins(
        "§5",
        "0.73.1 leaves it in the queue, idle",
        "g_followup_queued_then_fatal@0.73.1",
        f"{ERROR} / agent_end / get_state ok",
        never=GOOD,
        also=lambda r: data(r, "get_state")[-1]["pendingMessageCount"] == 1,
    ),
    pins(
        "§5",
        "0.73.1's hidden retries leave no error to see: the follow-up runs behind the answer",
        "g_followup_queued_then_error@0.73.1",
        f"follow_up queued / call / call / call / {GOOD} / {ECHO} / {GOOD} / agent_end",
        never=ERROR,
    ),
    pins(
        "§5",
        "each lost prompt settles falsely while the first still streams; the end says not aborted",
        "f_prompts_one_write f_prompts_one_write_followup",
        f"agent_start / settled / settled / settled / {GOOD} / agent_end / settled",
        never="settled, aborted",
    ),
    pins(
        "§5",
        "pi then believes it is idle: a third prompt is lost too, an abort answered before the end",
        "f_state_after_lost_prompt",
        "agent_start / settled / get_state ok / prompt started / settled / abort ok / agent_end / settled",
        also=lambda r: (
            not data(r, "get_state")[1]["isStreaming"]
            and sum(each["role"] == "user" for each in data(r, "get_messages")[0]["messages"]) == 1
        ),
    ),
    pins(
        "§5",
        "0.73.1 loses them without any event",
        "f_prompts_one_write@0.73.1 f_prompts_one_write_followup@0.73.1 f_state_after_lost_prompt@0.73.1",
        "prompt ok / prompt ok / agent_start / agent_end",
        also=lambda r: len(records(r, "agent_start")) == len(records(r, "agent_end")) == calls(r) == 1,
    ),
    pins(
        "§5",
        "prompt and steer (or follow_up) in one write: the queue's command is answered first, the text is kept",
        "f_prompt_steer_one_write",
        f"queue_update / steer queued / prompt started / {ECHO} / {ECHO} / follow_up queued / prompt started / {ECHO}",
        also=lambda r: {"steer right behind the prompt", "follow-up right behind the prompt"} <= set(echoes(r)),
    ),
    pins(
        "§5",
        "0.73.1 keeps it too, but answers the prompt first (PROTOCOL speaks of 1.6.0)",
        "f_prompt_steer_one_write@0.73.1",
        f"queue_update / prompt ok / steer ok / {ECHO} / {ECHO} / queue_update / prompt ok / follow_up ok / {ECHO}",
        also=lambda r: {"steer right behind the prompt", "follow-up right behind the prompt"} <= set(echoes(r)),
    ),
    # -- §6 ----------------------------------------------------------------------------------------------------------
    pins(
        "§6",
        "in mid-stream: the call is cut, the partial text kept, the abort answered after the settle",
        "f_abort_stream+ h_stall_abort",
        f"agent_start / text_delta / > abort / {ABORTED} / turn_end / agent_end / settled, aborted / abort ok",
        also=lambda r: (
            "Request was aborted" in failures(r)[0]
            and texts(r)[0] != ""
            and "client_disconnected_early" in notes(r, "provider")
        ),
    ),
    pins(
        "§6",
        "it takes about 10 ms, in which at most two late updates come",
        "f_abort_stream+ f_double_abort+ f_abort_then_prompt_at_settled+",
        also=lambda r: (
            seconds(r, "> abort", "abort ok") < 0.1 and between(r, "> abort", ABORTED).count("text_delta") <= 2
        ),
    ),
    pins(
        "§6",
        "during bash: the group is killed, and an empty aborted message comes last",
        "f_abort_tool+ f_abort_parallel_tools+ j_setsid_grandchild+",
        "> abort / tool_execution_end / message_start toolResult / turn_end / turn_start"
        f" / {ABORTED} / agent_end / settled, aborted / abort ok",
        also=lambda r: (
            records(r, "tool_execution_end")[-1]["isError"]
            and "Command aborted" in text_in(records(r, "tool_execution_end")[-1]["result"])
            and text_in(next(each for each in answers(r) if each["stopReason"] == "aborted")) == ""
        ),
    ),
    pins("§6", "grandchildren in the group die", "f_abort_tool+", also=lambda r: left(r) == []),
    pins(
        "§6",
        "a setsid child survives",
        "j_setsid_grandchild+",
        also=lambda r: [each["cmd"] for each in left(r)] == ["sleep 271.6"],
    ),
    pins(
        "§6",
        "what a finished tool left in the background survives",
        "j_background_grandchild+ j_background_holding_stdout+",
        f"tool_execution_end / {GOOD} / settled",
        also=lambda r: len(left(r)) == 1,
    ),
    pins(
        "§6",
        "several aborts are all answered at the end",
        "f_double_abort+",
        "> abort / > abort / > abort / settled, aborted / abort ok / abort ok / abort ok",
    ),
    pins(
        "§6",
        "while idle: success, and no event",
        "f_abort_idle+",
        "> abort / abort ok / > abort_retry / abort_retry ok / > abort_bash / abort_bash ok / prompt started",
        also=lambda r: len(records(r, "agent_start", "agent_end")) == 2,
    ),
    pins(
        "§6",
        "before the provider answered: no call if early enough",
        "f_abort_on_response+",
        f"> abort / {ABORTED} / agent_end / abort ok",
        also=lambda r: calls(r) < 3 and set(stops(r)) == {"aborted"},
    ),
    pins(
        "§6",
        "while pi compacts before a prompt: both are cancelled, the prompt is started and ends aborted",
        "m_compaction_before_prompt_abort",
        f"compaction_start / > abort / compaction_end / prompt started / {ABORTED} / settled, aborted / abort ok",
    ),
    pins(
        "§6",
        "0.73.1 answers that abort at once, and runs the prompt",
        "m_compaction_before_prompt_abort@0.73.1",
        f"compaction_start / > abort / abort ok / compaction_end / prompt ok / {GOOD} / agent_end",
        never=ABORTED,
    ),
    pins(
        "§6",
        "prompt and abort in one write: the run completes, four times of four",
        "f_prompt_abort_one_write+",
        f"> prompt / > abort / {GOOD} / agent_end",
        never=f"{ABORTED} / settled, aborted",
        also=lambda r: stops(r) == ["stop"] * 4,
    ),
    pins(
        "§6",
        "abort and prompt in one write: the prompt is refused as busy",
        "f_abort_then_prompt_one_write+",
        "> abort / > prompt / prompt refused / settled, aborted / abort ok",
        also=lambda r: errors(r) == [BUSY],
    ),
    pins(
        "§6",
        "with followUp it is queued, and stuck until the next prompt",
        "f_abort_then_prompt_followup_one_write+",
        f"prompt queued / settled, aborted / abort ok / get_state ok / prompt started / {ECHO} / {ECHO}",
        also=lambda r: data(r, "get_state")[-1]["pendingMessageCount"] == 1,
    ),
    pins(
        "§6",
        "a prompt written on reading the abort's response works",
        "f_abort_then_prompt_at_settled+",
        f"abort ok / > prompt / prompt started / agent_start / {GOOD}",
        also=lambda r: stops(r)[-1] == "stop",
    ),
    pins(
        "§6",
        "the queue survives an abort, and joins the next prompt's run",
        "f_abort_with_queue+",
        f"settled, aborted / abort ok / get_state ok / prompt started / {ECHO} / {ECHO} / {ECHO}",
        also=lambda r: [each["pendingMessageCount"] for each in data(r, "get_state")] == [0, 2, 0],
    ),
    pins(
        "§6",
        "aborted in a tool, a queued steer is consumed: its echo, then the aborted empty answer",
        "f_abort_during_tool_with_queue+",
        f"> abort / tool_execution_end / turn_end / queue_update / {ECHO} / {ABORTED} / abort ok",
    ),
    pins(
        "§6",
        "clear_queue and abort in one write are safe",
        "f_clear_queue",
        "> clear_queue / > abort / clear_queue ok / settled, aborted / abort ok / prompt started",
        also=lambda r: echoes(r) == ["long", "a later prompt"],
    ),
    pins(
        "§6",
        "new_session drops the queue",
        "f_new_session_drops_queue+",
        f"abort ok / new_session ok / get_state ok / prompt started / {ECHO} / {GOOD}",
        also=lambda r: data(r, "get_state")[-1]["pendingMessageCount"] == 0 and echoes(r) == ["long", "fresh"],
    ),
    pins(
        "§6",
        "abort does not touch an RPC bash, abort_bash ends it",
        "m_rpc_bash+",
        "> bash / > abort / abort ok / > prompt / > abort_bash / bash ok",
        also=lambda r: [len(found) for found in notes(r, "found")] == [1, 0],
    ),
    pins(
        "§6",
        "abort cancels a manual compaction",
        "m_compact",
        "compaction_start / > abort / compaction_end / compact refused / abort ok",
        also=lambda r: records(r, "compaction_end")[-1]["aborted"],
    ),
    pins(
        "§6",
        "new_session while busy: the whole ending, then the answer",
        "m_new_session_while_busy m_new_session_during_tool",
        f"> new_session / {ABORTED} / turn_end / agent_end / settled, aborted / new_session ok",
    ),
    pins(
        "§6",
        "new_session in the backoff: the same without another message",
        "m_new_session_in_backoff",
        "auto_retry_start / > new_session / auto_retry_end / settled, aborted / new_session ok",
    ),
    pins(
        "§6",
        "0.73.1 cuts the event stream there, and leaves the tool running",
        "m_new_session_during_tool@0.73.1",
        "tool_execution_start / > new_session / new_session ok",
        never="agent_end / tool_execution_end",
        also=lambda r: len(left(r)) == 2,
    ),
    pins(
        "§6",
        "0.73.1 has no end of the run that new_session cut",
        "m_new_session_while_busy@0.73.1 m_new_session_in_backoff@0.73.1",
        "agent_start / > new_session / new_session ok",
        also=lambda r: len(responses(r, "new_session")) == 1,
    ),
]

UNPINNED: list[Unpinned] = [
    Unpinned(
        "§5",
        "a prompt between agent_end and agent_settled is refused (SOURCE)",
        "read in pi's code; f_prompt_at_agent_end came too late for it",
        "tests/engine/test_engine_cases.py::test_every_cause_of_busy_holds_a_prompt_back",
    ),
    Unpinned(
        "§5",
        "two equal texts are indistinguishable, and pi removes queue entries by text (SOURCE)",
        "read in pi's code; the connector's texts differ by their marks",
        "tests/engine/test_engine_steering.py::test_a_steers_mark_is_remembered_like_a_prompts",
    ),
]
