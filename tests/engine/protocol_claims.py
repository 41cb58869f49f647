"""Which claim of PROTOCOL each recording pins: an order of records found in it, or kinds that are not; values only."""

import json
from dataclasses import dataclass

from tests.engine.play import lines_of


@dataclass(frozen=True)
class Claim:
    """``order``: these kinds follow each other in this order, others between them; ``never``: these do not occur."""

    section: str
    says: str
    recordings: tuple[str, ...]
    order: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def holds(self, kinds: list[str]) -> bool:
        """Whether a recording bears it out."""
        rest = iter(kinds)
        return all(wanted in rest for wanted in self.order) and not set(self.never) & set(kinds)


def kinds_of(name: str) -> list[str]:
    """The kinds of all of a recording's records: type, and what tells it apart from others of its type."""
    return [_kind(json.loads(line)) for line in lines_of(name)]


def _kind(record: dict[str, object]) -> str:
    kind, message, data = str(record.get("type")), record.get("message"), record.get("data")
    if kind == "response":
        disposition = data.get("disposition", "") if isinstance(data, dict) else ""
        good = disposition or ("ok" if record.get("success") else "refused")
        return f"{record.get('command')} {good}"
    if kind == "agent_end":
        return "agent_end, retry" if record.get("willRetry") else "agent_end"
    if kind == "agent_settled":
        return "settled, aborted" if record.get("aborted") else "settled"
    if kind in {"message_start", "message_end"} and isinstance(message, dict):
        return f"{kind} {message.get('role')} {message.get('stopReason') or ''}".rstrip()
    if kind == "extension_ui_request":
        return f"asks {record.get('method')}"
    return kind


ECHO = "message_start user"
GOOD = "message_end assistant stop"
ERROR = "message_end assistant error"
ABORTED = "message_end assistant aborted"
TOOL = ("tool_execution_start", "tool_execution_end", "message_start toolResult", "turn_end")

CLAIMS = [
    Claim(
        "§4",
        "a plain run",
        ("a_plain", "a_thinking", "k_big_prompt", "k_huge_answer"),
        ("prompt started", "agent_start", ECHO, GOOD, "turn_end", "agent_end", "settled"),
    ),
    Claim(
        "§4",
        "a tool run is one low-level run",
        ("b_bash_tool", "b_tool_streaming_output"),
        ("agent_start", "message_end assistant toolUse", *TOOL, GOOD, "agent_end", "settled"),
    ),
    Claim(
        "§4",
        "parallel tools all start first",
        ("c_parallel_tools",),
        ("tool_execution_start", "tool_execution_start", "tool_execution_end", "tool_execution_end"),
    ),
    Claim(
        "§4",
        "no text is a legal answer; length is an end",
        ("a_empty_and_length",),
        (GOOD, "settled", "message_end assistant length", "settled"),
    ),
    Claim(
        "§5",
        "a second prompt is refused and the run untouched",
        ("d_busy_refusal",),
        ("agent_start", "prompt refused", GOOD, "settled"),
    ),
    Claim(
        "§5",
        "a queued text runs inside the run",
        (
            "d_prompt_steer",
            "d_prompt_followup",
            "e_steer_during_tool",
            "e_steer_while_answer_streams",
            "e_followup_during_tool",
        ),
        ("agent_start", ECHO, "queue_update", ECHO, GOOD, "agent_end", "settled"),
    ),
    Claim(
        "§5", "a steer may be accepted while idle", ("e_idle_then_prompt",), ("steer queued", "agent_start", ECHO, ECHO)
    ),
    Claim(
        "§5",
        "a fatal error starts a new low-level run for what is queued",
        ("g_followup_queued_then_fatal", "g_followup_queued_then_error"),
        (ERROR, "agent_end", "agent_start", ECHO, "settled"),
    ),
    Claim(
        "§5",
        "lost prompts settle inside the run",
        ("f_prompts_one_write", "f_prompts_one_write_followup"),
        ("agent_start", "settled", GOOD, "agent_end"),
    ),
    Claim(
        "§5",
        "after a lost prompt an abort is answered before the end",
        ("f_state_after_lost_prompt",),
        ("agent_start", "settled", "abort ok", ABORTED, "agent_end"),
    ),
    Claim(
        "§6",
        "an abort is answered after the settle",
        ("f_abort_stream", "f_abort_tool", "f_abort_parallel_tools", "h_hang_abort", "h_stall_abort"),
        ("agent_start", ABORTED, "agent_end", "settled, aborted", "abort ok"),
    ),
    Claim(
        "§6",
        "several aborts are all answered at the end",
        ("f_double_abort",),
        ("settled, aborted", "abort ok", "abort ok"),
    ),
    Claim("§6", "an abort while idle brings no event", ("f_abort_idle",), ("abort ok", "prompt started", GOOD)),
    Claim(
        "§6",
        "prompt and abort in one write: the run completes",
        ("f_prompt_abort_one_write",),
        ("abort ok", "prompt started", "agent_start", GOOD, "settled"),
        (ABORTED,),
    ),
    Claim(
        "§6",
        "abort and prompt in one write: the prompt is refused",
        ("f_abort_then_prompt_one_write",),
        ("prompt refused", "settled, aborted"),
    ),
    Claim(
        "§6",
        "the queue survives abort",
        ("f_abort_with_queue",),
        ("settled, aborted", "prompt started", ECHO, ECHO, ECHO),
    ),
    Claim(
        "§6", "clear_queue then abort is safe", ("f_clear_queue",), ("clear_queue ok", "settled, aborted", "abort ok")
    ),
    Claim(
        "§6",
        "new_session emits the ending first",
        ("m_new_session_while_busy",),
        (ABORTED, "settled, aborted", "new_session ok"),
    ),
    Claim(
        "§7",
        "a retry has no echo and no settle before it",
        ("g_retry_then_success", "i_drop_midstream"),
        (ECHO, ERROR, "agent_end, retry", "auto_retry_start", "agent_start", "auto_retry_end", "agent_end", "settled"),
    ),
    Claim(
        "§7",
        "exhausted retries end with a plain settle",
        ("g_retry_exhausted", "i_refused_connection"),
        ("auto_retry_start", ERROR, "agent_end", "auto_retry_end", "settled"),
    ),
    Claim(
        "§7",
        "an abort in the backoff brings no second agent_end",
        ("g_abort_in_backoff",),
        ("auto_retry_start", "auto_retry_end", "settled, aborted", "abort ok"),
    ),
    Claim(
        "§7",
        "abort_retry answers before a settle that says not aborted",
        ("g_abort_retry_in_backoff",),
        ("auto_retry_end", "abort_retry ok", "settled"),
    ),
    Claim(
        "§8",
        "compaction on a threshold delays the settle",
        ("m_auto_compaction", "m_compaction_fails"),
        ("agent_end", "compaction_start", "compaction_end", "settled"),
    ),
    Claim(
        "§8",
        "willRetry false is not final: overflow",
        ("m_overflow",),
        (ERROR, "agent_end", "compaction_start", "compaction_end", "agent_start", GOOD, "settled"),
    ),
    Claim(
        "§8",
        "compaction before a prompt delays its response",
        ("m_compaction_before_prompt",),
        ("compaction_start", "compaction_end", "prompt started"),
    ),
    Claim(
        "§8",
        "a prompt meanwhile is refused",
        ("m_compaction_before_prompt_busy",),
        ("compaction_start", "prompt refused"),
    ),
    Claim(
        "§9",
        "a command is handled without a run; an extension starts one later",
        ("l_commands",),
        ("asks select", "prompt handled", "extension_error", "prompt handled", "agent_start", "settled"),
    ),
    Claim(
        "§9",
        "an open dialog keeps the abort waiting",
        ("l_confirm_nobody_answers", "l_confirm_abort_then_cancel"),
        ("asks confirm", "settled, aborted", "abort ok"),
    ),
    Claim(
        "§9",
        "nothing tells that a dialog timed out",
        ("l_confirm_timeout",),
        ("asks confirm", "tool_execution_end", GOOD),
    ),
    Claim(
        "§9",
        "a dialog blocks SIGTERM: nothing more is said",
        ("l_confirm_pending_sigterm",),
        ("asks confirm",),
        ("agent_end", "settled"),
    ),
    Claim(
        "§0.9",
        "nothing after a signal or end of input",
        ("j_sigterm_bash", "j_eof_streaming", "j_sigkill_hang"),
        ("agent_start",),
        ("agent_end", "settled"),
    ),
    Claim(
        "§13",
        "an extension's run between prompt and response",
        ("x_N_slow",),
        ("prompt handled", "agent_start", GOOD, "settled", "prompt started", "agent_start", ECHO),
    ),
    Claim(
        "§13",
        "after handled an extension's run refuses our prompt",
        ("x_C_0", "x_C_1", "x_C_2"),
        ("prompt handled", "agent_start", "prompt refused", GOOD, "settled"),
    ),
    Claim(
        "§13",
        "clear_queue is answered before the steer is queued",
        ("x_D_2", "x_J"),
        ("clear_queue ok", "steer queued", "prompt started", ECHO, ECHO),
    ),
    Claim("§13", "a hook's dialog comes before the response", ("x_H",), ("asks confirm", "abort ok", "prompt handled")),
    Claim(
        "§13",
        "a second dialog under an abort keeps it waiting",
        ("x_B_cancel_first", "x_B_abort_first"),
        ("asks confirm", "asks confirm"),
        ("abort ok", "settled"),
    ),
]
"""Each is checked in every recording it names."""
