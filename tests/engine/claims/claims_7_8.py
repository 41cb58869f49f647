"""What PROTOCOL §7 (provider failures and retry) and §8 (compaction) claim, each with the recordings that pin it."""

from tests.engine.claims.claim import Claim, Unpinned, pins, words_of
from tests.engine.claims.seen import (
    calls,
    data,
    echoes,
    errors,
    failures,
    notes,
    records,
    responses,
    seconds,
    stderr,
    stops,
    texts,
)

ECHO = "message_start user"
GOOD = "message_end assistant stop"
ERROR = "message_end assistant error"
ABORTED = "message_end assistant aborted"

CLAIMS: list[Claim] = [
    # -- §7 ----------------------------------------------------------------------------------------------------------
    pins(
        "§7",
        "a failed call is a message, and a retry has no echo and no settle before it",
        "g_retry_then_success i_drop_midstream",
        f"{ECHO} / {ERROR} / turn_end / agent_end, retry / auto_retry_start / agent_start / {GOOD}"
        " / auto_retry_end / turn_end / agent_end / settled",
        also=lambda r: (
            len(echoes(r)) == 1
            and words_of(r).count("settled") == 1
            and [each["role"] for each in records(r, "agent_end")[-1]["messages"]] == ["assistant"]
        ),
    ),
    pins(
        "§7",
        "an error text begins with its status",
        "g_retry_then_success",
        also=lambda r: failures(r)[0].startswith('429: {"message":') and failures(r)[1].startswith("503: "),
    ),
    pins(
        "§7",
        "delays of 2, 4 and 8 s, three retries, four calls, 14 s",
        "g_retry_default_delays",
        "auto_retry_start / auto_retry_start / auto_retry_start / auto_retry_end / settled",
        also=lambda r: (
            [(each["delayMs"], each["maxAttempts"]) for each in records(r, "auto_retry_start")]
            == [(2000, 3), (4000, 3), (8000, 3)]
            and calls(r) == 4
            and 14 <= seconds(r, "call", "call", "call", "call") < 14.5
        ),
    ),
    pins(
        "§7",
        "Retry-After is ignored",
        "g_retry_after_header",
        f"{ERROR} / auto_retry_start / {GOOD} / settled / {ERROR} / auto_retry_start / {GOOD} / settled",
        also=lambda r: all(each["delayMs"] == 300 for each in records(r, "auto_retry_start")),
    ),
    pins(
        "§7",
        "0.73.1 obeys it silently: 30 s without a word",
        "g_retry_after_header@0.73.1",
        never="auto_retry_start",
        also=lambda r: bool(notes(r, "driver_error")) and seconds(r, "call", "call") > 3,
    ),
    pins(
        "§7",
        "0.73.1's HTTP layer makes two hidden retries: twelve calls",
        "g_retry_exhausted@0.73.1 g_retry_default_delays@0.73.1",
        "auto_retry_start / auto_retry_start / auto_retry_start / auto_retry_end",
        also=lambda r: words_of(r)[: words_of(r).index("auto_retry_end")].count("call") == 12,
    ),
    pins(
        "§7",
        "0.73.1: a success behind those hidden retries is no retry to a client",
        "g_retry_then_success@0.73.1",
        f"call / call / call / {GOOD} / agent_end",
        never="auto_retry_start",
    ),
    pins(
        "§7",
        "exhausted: a plain settle behind auto_retry_end; only the last message says that it failed",
        "g_retry_exhausted i_refused_connection",
        f"auto_retry_start / {ERROR} / agent_end / auto_retry_end / settled",
        never="settled, aborted",
        also=lambda r: (
            not records(r, "auto_retry_end")[0]["success"] and "finalError" in records(r, "auto_retry_end")[0]
        ),
    ),
    pins(
        "§7",
        "retried: 500, 529, 502; not retried: 400, 401, 402, 404, a spent quota",
        "g_various_errors",
        also=lambda r: (
            [failure[:3] for failure in failures(r)]
            == ["500", "500", "529", "529", "400", "401", "402", "429", "404", "502", "502"]
            and len(records(r, "auto_retry_start")) == 3
        ),
    ),
    pins(
        "§7",
        "0.73.1 tells of a retry for a spent quota, and hides its own for the rest",
        "g_various_errors@0.73.1",
        also=lambda r: [each["errorMessage"][:3] for each in records(r, "auto_retry_start")] == ["500", "429"],
    ),
    pins(
        "§7",
        "a content filter is not retried",
        "a_empty_and_length",
        f"{ERROR} / agent_end / settled",
        never="auto_retry_start",
        also=lambda r: failures(r) == ["Provider finish_reason: content_filter"],
    ),
    pins(
        "§7",
        "a connection closed without an answer is retried",
        "i_refused_connection",
        f"{ERROR} / agent_end, retry / auto_retry_start / {ERROR}",
    ),
    pins(
        "§7",
        "0.73.1 retries it out of sight",
        "i_refused_connection@0.73.1",
        f"call / call / call / {GOOD}",
        never="auto_retry_start",
    ),
    pins(
        "§7",
        "abort in the backoff: no further call, no second agent_end, then the response",
        "g_abort_in_backoff",
        "auto_retry_start / > abort / auto_retry_end / settled, aborted / abort ok",
        also=lambda r: (
            records(r, "auto_retry_end")[0]["finalError"] == "Retry cancelled"
            and words_of(r)[: words_of(r).index("abort ok")].count("call") == 1
        ),
    ),
    pins(
        "§7",
        "0.73.1 cancels a backoff too",
        "g_abort_in_backoff@0.73.1 g_abort_retry_in_backoff@0.73.1",
        "auto_retry_start / auto_retry_end",
        also=lambda r: not records(r, "auto_retry_end")[0]["success"],
    ),
    pins(
        "§7",
        "abort_retry: answered before a settle that says not aborted",
        "g_abort_retry_in_backoff",
        "auto_retry_start / > abort_retry / auto_retry_end / abort_retry ok / settled",
        never="settled, aborted",
    ),
    pins(
        "§7",
        "abort in the second attempt: auto_retry_end says success, then settled aborted",
        "g_abort_in_second_attempt+",
        f"auto_retry_start / agent_start / > abort / {ABORTED} / auto_retry_end / settled, aborted / abort ok",
        also=lambda r: bool(records(r, "auto_retry_end")[0]["success"]),
    ),
    pins(
        "§7",
        "a steer in the backoff is queued, and joins the retried call",
        "g_steer_in_backoff",
        f"auto_retry_start / > steer / steer queued / agent_start / {ECHO} / {GOOD} / auto_retry_end / settled",
        also=lambda r: texts(r)[0] == "" and texts(r)[1] == "answer after the backoff",
    ),
    pins(
        "§7",
        "a follow-up in the backoff is queued, and runs behind the answer",
        "g_followup_in_backoff",
        f"auto_retry_start / > follow_up / follow_up queued / agent_start / {GOOD} / {ECHO} / {GOOD} / settled",
    ),
    pins(
        "§7",
        "in 0.73.1 too they are queued in the backoff",
        "g_steer_in_backoff@0.73.1 g_followup_in_backoff@0.73.1",
        f"auto_retry_start / queue_update / agent_start / {GOOD}",
    ),
    pins(
        "§7",
        "0.73.1 in the backoff: not streaming; a prompt is accepted, its events withheld until the delay ends",
        "g_prompt_in_backoff@0.73.1",
        "auto_retry_start / get_state ok / > prompt / prompt ok / call / agent_start",
        also=lambda r: (
            not data(r, "get_state")[1]["isStreaming"]
            and seconds(r, "auto_retry_start", "> prompt", "prompt ok", "call", "agent_start") > 2.4
        ),
    ),
    pins(
        "§7",
        "a hang shows as nothing; an abort works",
        "h_hang_abort+",
        f"call / get_state ok / {ABORTED} / abort ok / prompt started / {GOOD}",
        never="auto_retry_start",
    ),
    pins(
        "§7",
        "a stall shows as nothing; an abort works",
        "h_stall_abort+",
        f"text_delta / > abort / {ABORTED} / agent_end / abort ok",
    ),
    pins(
        "§7",
        "pi gives a silent provider up after httpIdleTimeoutMs, as an error that is retried",
        "h_hang_idle_timeout",
        f"call / {ERROR} / agent_end, retry / auto_retry_start / {ERROR} / agent_end / settled",
        also=lambda r: 1.4 < seconds(r, "call", ERROR) < 2,
    ),
    pins(
        "§7",
        "0.73.1 knows no such setting, and hangs until it is aborted",
        "h_hang_idle_timeout@0.73.1",
        f"call / > abort / {ABORTED} / abort ok",
        never="auto_retry_start",
        also=lambda r: seconds(r, "call", "> abort") > 5,
    ),
    pins(
        "§7",
        "a stream cut in the middle is an error with the partial text; the second try repeats it",
        "i_drop_midstream i_drop_in_tool_call",
        f"text_delta / {ERROR} / agent_end, retry / auto_retry_start / {GOOD}",
        also=lambda r: (
            failures(r) == ["Stream ended without finish_reason"]
            and "" not in texts(r)[-2:]
            and stops(r)[-2] == "error"
        ),
    ),
    pins(
        "§7",
        "0.73.1 reports the cut text as a normal end",
        "i_drop_midstream@0.73.1 i_drop_in_tool_call@0.73.1",
        f"{GOOD} / agent_end",
        never=f"{ERROR} / auto_retry_start",
        also=lambda r: stops(r)[-1] == "stop",
    ),
    pins(
        "§7",
        "without a key, or without any model, the prompt itself is refused",
        "r_no_key r_no_models_at_all+ r_bad_models_json+",
        "prompt refused",
        never="agent_start",
        also=lambda r: errors(r)[0].startswith("No API key found for ") or "No model" in errors(r)[0],
    ),
    pins("§7", "a steer is still queued then", "r_no_models_at_all+", "prompt refused / steer queued"),
    pins(
        "§7",
        "0.73.1 took $NAME for a literal key",
        "r_no_key@0.73.1",
        f"prompt ok / call / {GOOD}",
    ),
    pins(
        "§7",
        "a wrong key: accepted, an error message, no retry",
        "r_401+",
        f"prompt started / agent_start / {ERROR} / agent_end / settled",
        never="auto_retry_start",
        also=lambda r: failures(r)[0].startswith("401") and calls(r) == 1,
    ),
    pins(
        "§7",
        "an unknown --model: a warning on standard error, the id is used as it is",
        "r_unknown_model_flag+",
        f"prompt started / {GOOD}",
        also=lambda r: (
            "Using custom model id" in stderr(r) and data(r, "get_state")[0]["model"]["id"] == "does-not-exist"
        ),
    ),
    # -- §8 ----------------------------------------------------------------------------------------------------------
    pins(
        "§8",
        "a threshold: behind agent_end, before the settle",
        "m_auto_compaction+ m_compaction_fails+",
        "agent_end / compaction_start / compaction_end / settled",
        also=lambda r: records(r, "compaction_start")[0]["reason"] == "threshold",
    ),
    pins(
        "§8",
        "a failure is told by compaction_end alone, the run counts as fine",
        "m_compaction_fails",
        f"{GOOD} / agent_end / compaction_start / compaction_end / settled",
        never="settled, aborted",
        also=lambda r: "errorMessage" in records(r, "compaction_end")[0] and set(stops(r)) == {"stop"},
    ),
    pins(
        "§8",
        "0.73.1 hides the failures of a summary behind its own retries",
        "m_compaction_fails@0.73.1",
        "compaction_start / call / call / call / call / call / compaction_end",
        also=lambda r: "result" in records(r, "compaction_end")[0],
    ),
    pins(
        "§8",
        "overflow: willRetry false is not final",
        "m_overflow",
        f"{ERROR} / agent_end / entry_appended / compaction_start / compaction_end / agent_start / {GOOD} / settled",
        also=lambda r: (
            records(r, "compaction_start")[0]["reason"] == "overflow" and records(r, "compaction_end")[0]["willRetry"]
        ),
    ),
    pins(
        "§8",
        "0.73.1 recovers from an overflow too",
        "m_overflow@0.73.1",
        f"{ERROR} / agent_end / compaction_start / compaction_end / agent_start / {GOOD}",
    ),
    pins(
        "§8",
        "before a prompt: the compaction comes before the response",
        "m_compaction_before_prompt+",
        f"> prompt / compaction_start / compaction_end / prompt started / agent_start / {GOOD}",
    ),
    pins(
        "§8",
        "another prompt meanwhile is refused as busy",
        "m_compaction_before_prompt_busy",
        "compaction_start / > prompt / prompt refused / compaction_end / prompt started",
        also=lambda r: errors(r)[0].startswith("Agent is already processing"),
    ),
    pins(
        "§8",
        "0.73.1 accepts it, and it overtakes the first",
        "m_compaction_before_prompt_busy@0.73.1",
        also=lambda r: echoes(r)[-2:] == ["another prompt meanwhile", "question 2"],
    ),
    pins(
        "§8",
        "a manual compact has no agent event",
        "m_compact",
        "> compact / compaction_start / compaction_end / compact ok",
        also=lambda r: (
            len(records(r, "agent_start")) == len(data(r, "prompt"))
            and len(responses(r, "compact")) == len(records(r, "compaction_start"))
        ),
    ),
    pins(
        "§8",
        "more than one agent_end a prompt: retry, overflow, a text queued behind a fatal error",
        "g_retry_then_success m_overflow g_followup_queued_then_fatal",
        "prompt started / agent_end / settled",
        also=lambda r: len(records(r, "agent_end")) > len(data(r, "prompt")),
    ),
]

UNPINNED: list[Unpinned] = [
    Unpinned(
        "§7",
        "503 and a missing header in time are retried, there is no jitter, maxRetries of the HTTP layer is 0 (SOURCE)",
        "503 is in g_retry_then_success; the rest was read in pi's code",
        "tests/contract/test_wire_failures.py::test_after_four_429_the_run_ends_and_only_its_last_message_says_that_it_failed",
    ),
    Unpinned(
        "§7",
        "300 s of silence by default",
        "nobody waited that long; the engine's own bound of silence is shorter",
        "tests/engine/test_engine_bounds.py::test_silence_bounds_hold_for_running_and_settling_heads",
    ),
]
