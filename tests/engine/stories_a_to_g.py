"""What becomes of every recording of 1.6.0 from a_ to g_, as ``replay.Replay.story`` tells it: values only."""

STORIES: dict[str, list[str]] = {
    "a_empty_and_length": [
        "empty answer: empty",
        "length stop: answered cut off here",
        "content filter: provider-error",
    ],
    "a_plain": [
        "hello: answered Hello from the scripted model.",
    ],
    "a_thinking": [
        "hello: answered The answer.",
    ],
    "b_bash_tool": [
        "run it: answered Exit code was 3.",
    ],
    "b_tool_streaming_output": [
        "run it: answered done",
    ],
    "b_unknown_tool_and_bad_args": [
        "go: answered sorry",
    ],
    "c_parallel_tools": [
        "two tools: answered both ran",
    ],
    "d_behaviour_while_idle": [
        "idle with followUp: answered default answer",
        "idle with steer: answered default answer",
    ],
    "d_busy_refusal": [
        "first: answered first answer being streamed slowly to th",
        "second: engine-exit",
    ],
    "d_prompt_behaviour_bogus": [
        "second: heard",
        "first: answered first answer being streamed slowly to th",
        "second: answered second answer",
    ],
    "d_prompt_followup": [
        "second: heard",
        "first: answered first answer being streamed slowly to th",
        "second: answered second answer",
    ],
    "d_prompt_steer": [
        "second: heard",
        "first: answered first answer being streamed slowly to th",
        "second: answered second answer",
    ],
    "e_followup_during_tool": [
        "follow-up text: heard",
        "original: answered answer to the original",
        "follow-up text: answered answer to the follow-up",
    ],
    "e_idle_then_prompt": [
        "steer sent while idl: returned unwritten",
        "follow-up sent while: returned unwritten",
        "the next prompt: answered answer A\n\nanswer B",
    ],
    "e_many_queued": [
        "S1: heard",
        "S2: heard",
        "S1: heard",
        "F1: heard",
        "F2: heard",
        "base: answered base answer",
        "S1: answered answer 1",
        "S2: answered answer 2",
        "S1: answered answer 3",
        "F1: answered answer 4",
        "F2: answered answer 5",
    ],
    "e_mode_all": [
        "F1: heard",
        "F2: heard",
        "F3: heard",
        "base: answered base answer",
        "F1: joined F3",
        "F2: joined F3",
        "F3: answered answer to all three",
    ],
    "e_steer_during_tool": [
        "steered text: heard",
        "original: joined steered text",
        "steered text: answered answer after the steer",
    ],
    "e_steer_while_answer_streams": [
        "steered text: heard",
        "original: answered a long final answer",
        "steered text: answered answer to the steer",
    ],
    "f_abort_during_tool_with_queue": [
        "long tool: stopped",
        "queued steer: heard",
        "queued steer: stopped",
        "queued follow-up: engine-exit",
    ],
    "f_abort_idle": [
        "does it still work: answered default answer",
    ],
    "f_abort_on_response": [
        "prompt 0: stopped",
        "prompt 1: stopped",
        "prompt 2: stopped",
    ],
    "f_abort_parallel_tools": [
        "tools: stopped",
    ],
    "f_abort_stream": [
        "long: stopped",
        "next: answered after the abort",
    ],
    "f_abort_then_prompt_at_settled": [
        "old: stopped",
        "new at agent_end: answered answer to the new prompt",
        "old again: stopped",
        "new at abort respons: answered another",
    ],
    "f_abort_then_prompt_followup_one_write": [
        "old: stopped",
        "new as followUp: answered answer Y",
        "third: engine-down",
    ],
    "f_abort_then_prompt_one_write": [
        "old: stopped",
        "new: engine-exit",
    ],
    "f_abort_tool": [
        "long tool: stopped",
        "next: answered after the abort",
    ],
    "f_abort_with_queue": [
        "long: stopped",
        "queued steer: heard",
        "queued follow-up: heard",
        "queued steer: answered answer 1",
        "queued follow-up: answered answer 2",
        "a later prompt: engine-down",
    ],
    "f_clear_queue": [
        "long: stopped",
        "queued steer: returned",
        "queued follow-up: heard",
        "queued follow-up: stopped",
        "a later prompt: answered answer to the later prompt",
    ],
    "f_double_abort": [
        "long: stopped",
    ],
    "f_new_session_drops_queue": [
        "long: stopped",
        "queued follow-up: engine-exit",
        "fresh: engine-down",
    ],
    "f_prompt_abort_one_write": [
        "prompt 0: stopped",
        "prompt 1: stopped",
        "prompt 2: stopped",
        "prompt 3: stopped",
    ],
    "f_prompt_at_agent_end": [
        "one: answered default answer",
        "two, right at agent_: answered default answer",
    ],
    "f_prompt_steer_one_write": [
        "steer right behind t: returned unwritten",
        "prompt A: answered some answer",
        "follow-up right behi: returned unwritten",
        "prompt B: answered some answer\n\nsome answer",
        "prompt C: engine-wedged",
        "wedged: position lost: agent_settled inside a run",
        "prompt D as steer: engine-wedged",
    ],
    "f_prompts_one_write": [
        "prompt 0: engine-wedged",
        "wedged: position lost: agent_settled inside a run",
        "prompt 1: engine-wedged",
        "prompt 2: engine-wedged",
        "prompt 3: engine-wedged",
    ],
    "f_prompts_one_write_followup": [
        "prompt 0: engine-wedged",
        "wedged: position lost: agent_settled inside a run",
        "prompt 1: engine-wedged",
        "prompt 2: engine-wedged",
        "prompt 3: engine-wedged",
    ],
    "f_state_after_lost_prompt": [
        "prompt A: engine-wedged",
        "wedged: position lost: agent_settled inside a run",
        "prompt B: engine-wedged",
        "prompt C: engine-down",
    ],
    "g_abort_in_backoff": [
        "hi: stopped",
        "and now: answered answer after the backoff",
    ],
    "g_abort_in_second_attempt": [
        "hi: stopped",
    ],
    "g_abort_retry_in_backoff": [
        "hi: provider-error",
        "and now: answered answer after the backoff",
    ],
    "g_followup_in_backoff": [
        "follow-up inside the: returned unwritten",
        "hi: answered answer after the backoff\n\nsecond answer",
        "and now: answered third",
    ],
    "g_followup_queued_then_error": [
        "queued follow-up: heard",
        "original: joined queued follow-up",
        "queued follow-up: answered answer X",
        "later: answered answer Y",
    ],
    "g_followup_queued_then_fatal": [
        "queued follow-up: heard",
        "original: joined queued follow-up",
        "queued follow-up: answered answer X",
    ],
    "g_prompt_in_backoff": [
        "hi: answered answer after the backoff",
        "a prompt inside the : engine-exit",
        "and now: engine-down",
    ],
    "g_retry_after_header": [
        "hi 0: answered ok",
        "hi 1: answered ok",
    ],
    "g_retry_default_delays": [
        "hi: provider-error",
    ],
    "g_retry_disabled": [
        "hi: provider-error",
    ],
    "g_retry_exhausted": [
        "hi: provider-error",
        "again: answered works again",
    ],
    "g_retry_then_success": [
        "hi: answered third time lucky",
    ],
    "g_steer_in_backoff": [
        "steer inside the bac: returned unwritten",
        "hi: answered answer after the backoff",
        "and now: answered second answer",
    ],
    "g_various_errors": [
        "error 0: 500: provider-error",
        "error 1: 529: provider-error",
        "error 2: 400: provider-error",
        "error 3: 401: provider-error",
        "error 4: 402: provider-error",
        "error 5: 429: provider-error",
        "error 6: 404: provider-error",
        "error 7: 502: provider-error",
    ],
}
