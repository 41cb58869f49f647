"""What the provider and the extensions did in each 1.6.0 recording, so that the fake can be told to do the same.

Taken from the scenarios that were recorded. A recording that is missing here is named in LEFT_OUT with the reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fakes.behaviour import (
    AskFirst,
    Call,
    Drop,
    Extension,
    Hang,
    Http,
    Plan,
    RefuseConnection,
    Stall,
    Text,
    Tool,
    Tools,
    WaitFirst,
)
from fakes.pi_core import Options
from fakes.shell import bash

DEFAULT = Text("default answer")


class Queue:
    """A provider that does these things in order, then `default` again and again."""

    def __init__(self, calls: tuple[Call, ...], default: Call, hooks: Mapping[str, Plan]) -> None:
        self._calls = deque(calls)
        self._default = default
        self._hooks = hooks

    def plan(self, text: str) -> Plan:
        """See `Source`."""
        return next((plan for word, plan in self._hooks.items() if word in text), Plan())

    def call(self, plan: Plan, index: int) -> Call:
        """See `Source`."""
        return self._calls.popleft() if self._calls else self._default

    def summary(self) -> Call:
        """See `Source`."""
        return self.call(Plan(), 0)


@dataclass(frozen=True)
class Row:
    """One recording's scenario. `eof_after`: see `replay`; `after`: whose files it goes on with."""

    calls: tuple[Call, ...] = ()
    default: Call = DEFAULT
    hooks: Mapping[str, Plan] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    instead: Mapping[int, bytes | str] = field(default_factory=dict)
    after: str = ""
    eof_after: int | None = None

    def make(self) -> Options:
        """The options of a fake that plays it."""
        base = Options(
            source=Queue(self.calls, self.default, self.hooks), latency_ms=5, first_latency_ms=30, retry_base_ms=300
        )
        return replace(base, **{"extension": Extension(), **self.options})


def slow(text: str, seconds: float, chunks: int = 15) -> Text:
    return Text(text, chunks=chunks, chunk_ms=seconds * 1000 / chunks)


def tools(*commands: str, text: str = "", **more: object) -> Tools:
    return Tools(tuple(bash(command, **more) for command in commands), text)


TEN = "one two three four five six seven eight nine ten"
RATE = Http(429, "Rate limit reached", "rate_limit_error", "rate_limit_exceeded")
FIRST = "first answer being streamed slowly to the client"
BUSY = Row((slow(FIRST, 1.5), Text("second answer")))
EXT = Extension(
    commands=(("ask", ""), ("boom", ""), ("say", ""), ("log", "")),
    confirms=(("Run bash?", None),),
)
TWICE = Extension(confirms=(("first?", "1"), ("second?", "2")))
LATER = Extension(commands=(("later", ""),), later_ms=40)
SAY = Extension(commands=(("say", ""),))
BACKOFF = Row(
    (RATE, Text("answer after the backoff"), Text("second answer"), Text("third")),
    options={"retry_base_ms": 2500},
)
ONCE = {"retry_max": 1, "retry_base_ms": 300}
SMALL = {"context_window": 32_000, "reserve": 4000, "keep_recent": 10}
MORE = "words " * 200
FULL = (30_000, 100)
STREAM = Row((slow(TEN, 20, 40),))
SLEEP = Row((tools("sleep 271.3; echo never"),))
HANGS = Row((Hang(),))
OVER = Http(
    400,
    "This model's maximum context length is 32000 tokens. However, your messages resulted in 40000 tokens.",
    "invalid_request_error",
    "context_length_exceeded",
)
CONFIRM = Row((tools("echo confirmed"), Text("finished")), options={"extension": EXT})
BEFORE = Row(
    (Text("answer " + MORE), Text("answer " + MORE, usage=FULL), slow("THE SUMMARY", 1.1), Text("next"), Text("next")),
    options=SMALL,
)
OTHER_TOOL = Tool(name="nosuchtool", args={"x": 1}, result="Tool nosuchtool not found")
BAD_ARGS = Tool(
    args={"wrong": True},
    result='Validation failed for tool "bash":\n  - command: missing\n\nReceived arguments:\n{\n  "wrong": true\n}',
)
SEQ = "for i in 1 2 3 4; do echo line $i; sleep 0.4; done; seq 1 40000"
ANSWERS = tuple(Text(f"ANSWER A{n}", chunk_ms=30) for n in range(6))

# noted in words, not as bytes; the cut is inside the four bytes of the emoji
SPLIT = '{"id": "p1", "type": "prompt", "message": "split \U0001f600 across writes"}\n'.encode()
CUT = SPLIT.index("\U0001f600".encode()) + 2

ROWS: dict[str, Row] = {
    "a_plain": Row((Text("Hello from the scripted model."),)),
    "a_thinking": Row((Text("The answer.", think="Let me think about that."),)),
    "a_empty_and_length": Row(
        (Text("", 1), Text("cut off here", finish="length"), Text("blocked", finish="content_filter"))
    ),
    "b_bash_tool": Row((tools("echo hello; echo oops >&2; exit 3", text="I will look."), Text("Exit code was 3."))),
    "b_unknown_tool_and_bad_args": Row((Tools((OTHER_TOOL, BAD_ARGS)), Text("sorry"))),
    "c_parallel_tools": Row((tools("sleep 0.8; echo first", "sleep 0.2; echo second"), Text("both ran"))),
    "d_busy_refusal": BUSY,
    "d_prompt_steer": BUSY,
    "d_prompt_followup": BUSY,
    "d_prompt_behaviour_bogus": BUSY,
    "d_behaviour_while_idle": Row(),
    "e_steer_during_tool": Row((tools("sleep 1; echo tool finished"), Text("answer after the steer"))),
    "e_followup_during_tool": Row(
        (
            tools("sleep 1; echo tool finished"),
            Text("answer to the original"),
            Text("answer to the follow-up"),
        )
    ),
    "e_steer_while_answer_streams": Row((slow("a long final answer", 1.2), Text("answer to the steer"))),
    "e_many_queued": Row((slow("base answer", 1.2), *(Text(f"answer {n}") for n in range(1, 6)))),
    "e_mode_all": Row((slow("base answer", 1.0), Text("answer to all three"))),
    "e_idle_then_prompt": Row((Text("answer A"), Text("answer B"), Text("answer C"))),
    "f_abort_stream": Row((slow(TEN, 4), Text("after the abort"))),
    "f_abort_tool": Row((tools("echo begun; (sleep 271.1 & wait); sleep 271.1"), Text("after the abort"))),
    "f_abort_parallel_tools": Row((tools("echo quick", "sleep 271.2", "sleep 271.2"),)),
    "f_abort_idle": Row(),
    "f_prompt_abort_one_write": Row(tuple(slow(f"answer {n} that should not be seen", 1.0) for n in range(4))),
    "f_abort_on_response": Row(tuple(slow("should not be seen", 1.0) for _ in range(3))),
    "f_prompts_one_write": Row(default=slow("some answer", 0.6)),
    "f_prompts_one_write_followup": Row(default=slow("some answer", 0.3)),
    "f_abort_then_prompt_one_write": Row((slow(TEN, 3),)),
    "f_abort_then_prompt_followup_one_write": Row((slow(TEN, 3), Text("answer X"), Text("answer Y"))),
    "f_prompt_at_agent_end": Row(),
    "f_abort_with_queue": Row((slow(TEN, 4), *(Text(f"answer {n}") for n in range(1, 4)))),
    "f_clear_queue": Row((slow(TEN, 4), Text("answer to the later prompt"))),
    "f_double_abort": Row((slow(TEN, 4),)),
    "f_prompt_steer_one_write": Row(default=slow("some answer", 0.3)),
    "f_state_after_lost_prompt": Row(default=slow("some long answer", 2.0)),
    "f_abort_then_prompt_at_settled": Row(
        (slow(TEN, 3), Text("answer to the new prompt"), slow(TEN, 3), Text("another"))
    ),
    "f_abort_during_tool_with_queue": Row((tools("sleep 271.35"), Text("answer 1"))),
    "f_new_session_drops_queue": Row((slow(TEN, 3), Text("answer 1"))),
    "g_retry_then_success": Row((RATE, Http(503, "overloaded"), Text("third time lucky"))),
    "g_retry_exhausted": Row((RATE,) * 4, default=Text("works again")),
    "g_retry_default_delays": Row(default=Http(500, "Internal server error"), options={"retry_base_ms": 2000}),
    "g_retry_after_header": Row((RATE, Text("ok"), RATE, Text("ok"))),
    "g_various_errors": Row(
        (
            *(Http(500, "boom"),) * 2,
            *(Http(529, "Overloaded"),) * 2,
            Http(400, "bad request"),
            Http(401, "invalid api key"),
            Http(402, "insufficient_quota: you exceeded your current quota"),
            Http(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
            Http(404, "model not found"),
            *(Http(502),) * 2,
        ),
        options={"retry_max": 1, "retry_base_ms": 50},
    ),
    "g_retry_disabled": Row(default=RATE),
    "g_abort_in_backoff": BACKOFF,
    "g_abort_retry_in_backoff": BACKOFF,
    "g_prompt_in_backoff": BACKOFF,
    "g_followup_in_backoff": BACKOFF,
    "g_steer_in_backoff": BACKOFF,
    "g_followup_queued_then_error": Row(
        (Http(500, "boom", wait_ms=800), Http(500, "boom again"), Text("answer X"), Text("answer Y")),
        options=ONCE,
    ),
    "g_followup_queued_then_fatal": Row((Http(400, "bad request", wait_ms=800), Text("answer X"))),
    "g_abort_in_second_attempt": Row((Http(503, "overloaded"), slow(TEN, 3))),
    "h_hang_abort": Row((Hang(), Text("fine again"))),
    "h_stall_abort": Row((Stall("partial text then silence"),)),
    "h_hang_idle_timeout": Row(
        (Hang(), Stall("partial text then silence")),
        options={"retry_max": 1, "retry_base_ms": 200, "idle_timeout_ms": 1500},
    ),
    "i_drop_midstream": Row((Drop("this text is cut off", 4), Text("complete on the second try"))),
    "i_refused_connection": Row((RefuseConnection(),) * 2, options={"retry_max": 1, "retry_base_ms": 200}),
    "i_drop_in_tool_call": Row((tools("echo one"), Drop("after the tool", 2), Text("finished"))),
    **{f"j_{how}_idle": Row() for how in ("eof", "sigterm", "sigkill", "sigint", "sighup")},
    **{f"j_{how}_streaming": STREAM for how in ("eof", "sigterm", "sigkill", "sigint", "sighup")},
    **{f"j_{how}_hang": HANGS for how in ("eof", "sigterm", "sigkill", "sigint", "sighup")},
    **{f"j_{how}_bash": SLEEP for how in ("eof", "sigterm", "sigkill", "sigint", "sighup")},
    "j_eof_at_startup": Row(),
    "j_background_grandchild": Row((tools("nohup sleep 271.4 >/dev/null 2>&1 & echo started"), Text("started it"))),
    "j_background_holding_stdout": Row((tools("sleep 271.5 & echo started"), Text("started it"))),
    "j_setsid_grandchild": Row((tools("setsid sleep 271.6 & sleep 271.6"),)),
    "j_sigterm_ignoring_tool": Row((tools("trap '' TERM HUP INT; sleep 271.7; sleep 271.7"),)),
    "j_killpg": Row((tools("sleep 271.8; echo never"),)),
    "j_eof_with_pending_command": Row((slow("an answer", 1.0),), eof_after=8),
    "k_malformed": Row(instead={21: b'\xff\xfe{"type":"get_state"}\n'}),
    "k_null_line": Row(),
    "k_empty_prompt": Row(),
    "k_big_prompt": Row(),
    "k_huge_answer": Row((Text("y" * 400_000, chunks=400),)),
    "k_unicode": Row((Text("line\u2028sep \U0001f600 done\u2029", chunks=1), Text("ok"), Text("ok"))),
    "k_image": Row(),
    "k_same_id_twice": Row(),
    "l_confirm_yes": CONFIRM,
    "l_confirm_no": CONFIRM,
    "l_confirm_cancelled": CONFIRM,
    "l_confirm_nobody_answers": CONFIRM,
    "l_confirm_abort_then_cancel": CONFIRM,
    "l_confirm_pending_sigterm": CONFIRM,
    "l_confirm_pending_eof": CONFIRM,
    "l_confirm_pending_two_sigterms": CONFIRM,
    "l_confirm_pending_new_session": CONFIRM,
    "l_confirm_timeout": replace(CONFIRM, options={"extension": replace(EXT, timeout_ms=1000)}),
    "l_confirm_signal": replace(CONFIRM, options={"extension": replace(EXT, signal=True)}),
    "l_commands": Row(options={"extension": EXT}),
    "m_state_commands": Row(),
    "m_new_session_while_busy": Row((slow(TEN, 3), Text("answer in the new session"))),
    "m_new_session_during_tool": Row((tools("sleep 271.9; echo never"),)),
    "m_new_session_in_backoff": BACKOFF,
    "m_set_model_while_busy": Row((tools("sleep 0.6; echo x"), Text("done"))),
    "m_compact": Row(
        (
            *(Text(f"answer {n} {MORE}") for n in range(3)),
            Text("SUMMARY OF IT ALL"),
            DEFAULT,
            slow("slow summary", 2.4, 12),
            slow("slow summary", 3.0),
        ),
        options={"reserve": 1000, "keep_recent": 10},
    ),
    "m_auto_compaction": Row(
        (
            Text("first answer " + MORE),
            Text("second answer " + MORE, usage=FULL),
            Text("THE SUMMARY", chunk_ms=300),
            Text("after"),
        ),
        options=SMALL,
    ),
    "m_compaction_before_prompt": BEFORE,
    "m_compaction_before_prompt_abort": BEFORE,
    "m_compaction_before_prompt_busy": BEFORE,
    "m_overflow": Row(
        (
            Text("first answer " + MORE),
            OVER,
            Text("THE SUMMARY", chunk_ms=300),
            Text("answer after recovery"),
            OVER,
            Text("THE SUMMARY 2"),
            OVER,
        ),
        options=SMALL,
    ),
    "m_compaction_fails": Row(
        (Text("first answer " + MORE), Text("second answer " + MORE, usage=FULL), *(Http(500, "boom"),) * 3),
        options={**SMALL, "retry_max": 1, "retry_base_ms": 200},
    ),
    "m_sessions_on_disk": Row((Text("answer 0"), Text("answer 1")), options={"session_dir": "/sessions"}),
    "m_resume_after_kill": Row((Text("answer 0"), tools("sleep 271.95")), options={"session_dir": "/sessions"}),
    "m_resume_after_kill_2": Row(options={"session_dir": "/sessions"}, after="m_resume_after_kill"),
    "m_rpc_bash": Row((Text("answer while bash runs"),)),
    "r_no_key": Row(options={"auth": False}),
    "r_no_models_at_all": Row(options={"model": None}),
    "r_unknown_model_flag": Row(options={"model": "does-not-exist"}),
    "r_bad_models_json": Row(options={"model": None}),
    "r_project_trust_default": Row(),
    "r_project_trust_approve": Row(options={"extension": Extension(commands=(("local", ""),))}),
    "r_project_trust_no_approve": Row(),
    "r_401": Row((Http(401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"),)),
    **dict.fromkeys(
        ("x_A_abort_first_1", "x_A_cancel_first_1", "x_A_cancel_first_2"),
        Row((tools("echo confirmed"),), options={"extension": EXT}),
    ),
    "x_B_abort_first": Row((tools("echo c"),), options={"extension": TWICE}),
    "x_B_cancel_first": Row((tools("echo c"),), options={"extension": TWICE}),
    **dict.fromkeys(
        ("x_C_0", "x_C_1", "x_C_2"),
        Row((Text("TO EXT", 6, 100), Text("TO P2")), options={"extension": SAY}),
    ),
    **dict.fromkeys(("x_D_0", "x_D_1", "x_D_2"), Row((Text("answer one"), Text("answer two")))),
    "x_E": Row((tools("sleep 271.77"),), options={"extension": TWICE}, eof_after=13),
    "x_H": Row((Text("x"),), hooks={"HOOK": Plan(hook=AskFirst())}),
    "x_J": Row((slow(TEN, 3), Text("two"))),
    "x_K": Row((Text("one"), Text("two"))),
    "x_L": Row((slow(TEN, 1.6),)),
    "x_M_fast": Row(ANSWERS, options={"extension": LATER, "latency_ms": 12}),
    "x_M_slow": Row(ANSWERS, hooks={"SLOWHOOK": Plan(hook=WaitFirst(31))}, options={"extension": LATER}),
    "x_N_slow": Row(
        (ANSWERS[0], Text("ANSWER B0"), ANSWERS[1], Text("ANSWER B1")),
        hooks={"SLOWHOOK": Plan(hook=WaitFirst(600))},
        options={"extension": LATER},
    ),
    "k_split_writes": Row(instead={1: SPLIT[:CUT], 2: SPLIT[CUT:]}),
    "k_last_line_without_newline": Row(instead={1: b'{"id":"z","type":"get_session_stats"}'}),
    "b_tool_streaming_output": Row((tools(SEQ), Text("done"))),
}

LEFT_OUT: dict[str, str] = {
    "j_sigterm_at_startup": "death before pi has installed its handler: the fake has no such time",
    "k_client_stops_reading": "the client's side of a pipe: nothing of pi's output was kept while it was not read",
    "r_wrong_flag": "arguments, no wire: a test of the process",
}
