"""What becomes of every recording of 1.6.0 from h_ to x_, as ``replay.Replay.story`` tells it: values only."""

STORIES: dict[str, list[str]] = {
    "h_hang_abort": [
        "hi: stopped",
        "again: answered fine again",
    ],
    "h_hang_idle_timeout": [
        "hi: provider-error",
    ],
    "h_stall_abort": [
        "hi: stopped",
    ],
    "i_drop_in_tool_call": [
        "hi: answered finished",
    ],
    "i_drop_midstream": [
        "hi: answered complete on the second try",
    ],
    "i_refused_connection": [
        "hi: provider-error",
    ],
    "k_big_prompt": [
        "xxxxxxxxxxxxxxxxxxxx: answered default answer",
    ],
    "k_client_stops_reading": [
        "long please: engine-exit",
    ],
    "k_empty_prompt": [
        ": answered default answer",
        "/nosuchcommand with : answered default answer",
        "@/etc/hostname !ls: answered default answer",
    ],
    "k_huge_answer": [
        "long please: answered yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    ],
    "k_image": [
        "image case 0: answered default answer",
        "image case 1: answered default answer",
        "image case 2: engine-refused",
        "image case 3: engine-refused",
    ],
    "k_last_line_without_newline": [],
    "k_malformed": [
        "still alive?: answered default answer",
    ],
    "k_null_line": [],
    "k_same_id_twice": [],
    "k_split_writes": [],
    "k_unicode": [
        "u2028:\u2028 u2029:\u2029 nel:: answered line\u2028sep \U0001f600 done",
        "lone high \ud83d and low : answered ok",
        "nul \u0000 esc \u001b bell \u0007: answered ok",
    ],
    "l_commands": [
        "/ask: handled",
        "/boom: handled",
        "/log: handled",
        "/say hello: handled",
        "/say hello: also default answer",
    ],
    "l_confirm_abort_then_cancel": [
        "run it: stopped",
    ],
    "l_confirm_cancelled": [
        "run it: answered finished",
    ],
    "l_confirm_no": [
        "run it: answered finished",
    ],
    "l_confirm_nobody_answers": [
        "run it: stopped",
    ],
    "l_confirm_pending_eof": [
        "run it: engine-exit",
    ],
    "l_confirm_pending_new_session": [
        "run it: interrupted",
    ],
    "l_confirm_pending_sigterm": [
        "run it: engine-exit",
    ],
    "l_confirm_pending_two_sigterms": [
        "run it: engine-exit",
    ],
    "l_confirm_signal": [
        "run it: stopped",
    ],
    "l_confirm_timeout": [
        "run it: answered finished",
    ],
    "l_confirm_yes": [
        "run it: answered finished",
    ],
    "m_auto_compaction": [
        "question one words w: answered first answer words words words words wor",
        "question two words w: answered second answer words words words words wo",
        "question three: answered default answer",
    ],
    "m_compact": [
        "question 0 words wor: answered answer 0 words words words words words w",
        "question 1 words wor: answered answer 1 words words words words words w",
        "question 2 words wor: answered answer 2 words words words words words w",
        "one more words words: answered slow summary",
        "during compaction: engine-exit",
    ],
    "m_compaction_before_prompt": [
        "question 0 words wor: answered answer words words words words words wor",
        "question 1 words wor: answered answer words words words words words wor",
        "question 2: answered next",
    ],
    "m_compaction_before_prompt_abort": [
        "question 0 words wor: answered answer words words words words words wor",
        "question 1 words wor: answered answer words words words words words wor",
        "question 2: stopped",
    ],
    "m_compaction_before_prompt_busy": [
        "question 0 words wor: answered answer words words words words words wor",
        "question 1 words wor: answered answer words words words words words wor",
        "question 2: answered next",
        "another prompt meanw: engine-exit",
    ],
    "m_compaction_fails": [
        "question one words w: answered first answer words words words words wor",
        "question two words w: answered second answer words words words words wo",
    ],
    "m_new_session_during_tool": [
        "old session: interrupted",
    ],
    "m_new_session_in_backoff": [
        "hi: provider-error",
        "and now: answered answer after the backoff",
    ],
    "m_new_session_while_busy": [
        "old session: interrupted",
        "new session: answered answer in the new session",
    ],
    "m_overflow": [
        "question one words w: answered first answer words words words words wor",
        "question two: answered answer after recovery",
        "question three: provider-error",
    ],
    "m_resume_after_kill": [
        "question 0: answered answer 0",
        "question 1: engine-exit",
    ],
    "m_resume_after_kill_2": [
        "are you there?: answered default answer",
    ],
    "m_rpc_bash": [
        "prompt while the rpc: answered answer while bash runs",
    ],
    "m_sessions_on_disk": [
        "question 0: answered answer 0",
        "question 1: answered answer 1",
        "after the switch: answered default answer",
    ],
    "m_set_model_while_busy": [
        "go: answered done",
    ],
    "m_state_commands": [
        "hello: answered default answer",
    ],
    "r_401": [
        "hi: provider-error",
    ],
    "r_bad_models_json": [
        "hi: engine-refused",
    ],
    "r_no_key": [
        "hi: engine-refused",
    ],
    "r_no_models_at_all": [
        "hi: engine-refused",
        "x: returned unwritten",
    ],
    "r_project_trust_approve": [
        "hi: answered default answer",
    ],
    "r_project_trust_default": [
        "hi: answered default answer",
    ],
    "r_project_trust_no_approve": [
        "hi: answered default answer",
    ],
    "r_unknown_model_flag": [
        "hi: answered default answer",
    ],
    "r_wrong_flag": [],
    "x_A_abort_first_1": [
        "run it: stopped",
    ],
    "x_A_cancel_first_1": [
        "run it: stopped",
    ],
    "x_A_cancel_first_2": [
        "run it: stopped",
    ],
    "x_B_abort_first": [
        "run it: stopped",
    ],
    "x_B_cancel_first": [
        "run it: stopped",
    ],
    "x_C_0": [
        "/say hello: handled",
        "[discord] my prompt: engine-refused later",
        "[discord] third: answered TO P2",
    ],
    "x_C_1": [
        "/say hello: handled",
        "[discord] my prompt: engine-refused later",
        "[discord] third: answered TO P2",
    ],
    "x_C_2": [
        "/say hello: handled",
        "/say hello: also TO EXT",
        "[discord] my prompt: engine-exit",
        "[discord] third: engine-down",
    ],
    "x_D_0": [
        "one: answered answer one",
        "late steer: heard",
        "late steer: answered answer two",
        "two: engine-down",
    ],
    "x_D_1": [
        "one: answered answer one",
        "late steer: returned unwritten",
        "two: answered answer two",
    ],
    "x_D_2": [
        "one: answered answer one",
        "late steer: returned unwritten",
        "two: answered answer two",
    ],
    "x_E": [
        "run it: engine-exit",
    ],
    "x_H": [
        "[d] HOOK: stopped",
        "[d] next: answered x",
    ],
    "x_J": [
        "one: stopped",
        "a steer: heard",
        "a steer: answered two",
        "two: engine-down",
    ],
    "x_K": [
        "idle abort then prom: answered one",
        "idle abort then prom: answered two",
        "idle abort then prom: answered default answer",
    ],
    "x_L": [
        "one: stopped",
        "two: answered one two three four five six seven eight",
    ],
    "x_M_fast": [
        "/later 0: handled",
        "[discord] mine 0 : answered ANSWER A0",
        "/later 1: handled",
        "[discord] mine 1 : answered ANSWER A1",
        "/later 2: handled",
        "[discord] mine 2 : answered ANSWER A2",
        "/later 3: handled",
        "[discord] mine 3 : answered ANSWER A3",
        "/later 4: handled",
        "[discord] mine 4 : engine-refused later",
        "/later 5: handled",
        "[discord] mine 5 : engine-refused later",
    ],
    "x_M_slow": [
        "/later 0: handled",
        "[discord] mine 0 SLO: answered ANSWER A0",
        "/later 1: handled",
        "[discord] mine 1 SLO: engine-refused later",
        "/later 2: handled",
        "[discord] mine 2 SLO: engine-refused later",
        "/later 3: handled",
        "[discord] mine 3 SLO: engine-refused later",
        "/later 4: handled",
        "[discord] mine 4 SLO: engine-refused later",
        "/later 5: handled",
        "[discord] mine 5 SLO: engine-refused later",
    ],
    "x_N_slow": [
        "/later 0: handled",
        "[discord] mine 0 SLO: answered ANSWER B0",
        "/later 1: handled",
        "[discord] mine 1 SLO: answered ANSWER B1",
    ],
}
