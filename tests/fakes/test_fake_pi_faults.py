"""The script words of the fake pi that do something wrong, and its sessions. In memory, on a simulated clock."""

from __future__ import annotations

import json

import pytest

from fakes.effects import EndTool, HoldStdout, ResumeReading, StartTool, StopReading
from fakes.memory import MemoryChild
from fakes.pi_core import Options
from fakes.script_texts import BUSY, COMPACTING, NO_KEY
from tests.fakes.word_helpers import MS, STARTED, answers, names, of, prompt, ran, replies, said


# ---- failures of the provider
@pytest.mark.parametrize(("word", "calls"), [("err429", 4), ("err500", 4), ("overloaded", 4), ("err400", 1)])
def test_errors_are_final_after_pis_own_retries(word: str, calls: int) -> None:
    """PROTOCOL §7: four calls, or one for what is not retried."""
    child = ran(word)
    assert [stop for _, stop in answers(child)] == ["error"] * calls
    assert [r["delayMs"] for r in of(child, "auto_retry_start")] == [2000, 4000, 8000][: calls - 1]
    assert names(child)[-1] == "agent_settled"


def test_err429_counts_over_the_process() -> None:
    """So that a re-ask of ours, header and all, can succeed; then it begins anew."""
    child = MemoryChild()
    for n in range(2):
        prompt(child, said("err429 6"), f"p{n}")
        child.settle()
    assert [stop for _, stop in answers(child)] == ["error"] * 6 + ["stop"]
    prompt(child, said("err429 6", "4712"), "p3")
    child.settle()
    assert [stop for _, stop in answers(child)][7:] == ["error"] * 4


def test_quota_names_its_reset_and_answers_from_then_on() -> None:
    child = MemoryChild()
    prompt(child, "quota 60")
    child.settle()
    error = of(child, "message_end")[-1]["message"]["errorMessage"]
    assert error.startswith('429: {"message":"You exceeded your current quota; it resets at 2026-11-30T14:47:41+00:00"')
    assert '"insufficient_quota"' in error
    child.advance(61_000 * MS)
    prompt(child, "quota 60", "p2")
    child.settle()
    assert [stop for _, stop in answers(child)] == ["error", "stop"]


def test_quota_without_a_time() -> None:
    error = of(ran("quota"), "message_end")[-1]["message"]["errorMessage"]
    assert "resets" not in error


def test_drop_is_retried() -> None:
    """i_drop_midstream: the text of the failed try is on the wire."""
    assert answers(ran("drop")) == [("this text is cut off", "error"), ("echo: drop", "stop")]


# ---- before the response
@pytest.mark.parametrize(
    ("text", "error"), [("refuse", NO_KEY), ("refuse busy", BUSY), ("refuse compacting", COMPACTING)]
)
def test_refuse(text: str, error: str) -> None:
    child = ran(text)
    assert replies(child) == {"p1": error}
    assert names(child) == ["response"]


def test_refuse_as_a_steer() -> None:
    """BEHAVIOUR §4: a steer can fail, too; the run goes on."""
    child = MemoryChild()
    prompt(child, "slow 300")
    child.send({"id": "s1", "type": "steer", "message": "refuse"})
    child.settle()
    assert replies(child) == {"p1": STARTED, "s1": NO_KEY}
    assert answers(child) == [("echo: slow 300", "stop")]


def test_handled() -> None:
    child = ran("handled")
    assert replies(child) == {"p1": {"disposition": "handled"}}
    assert names(child) == ["response"]


def test_late_response_and_compaction_come_before_the_response() -> None:
    child = MemoryChild()
    prompt(child, "lateresponse 400")
    child.advance(399 * MS)
    assert child.records() == []
    child.settle()
    assert names(child)[:2] == ["response", "agent_start"]
    assert names(ran("compacting 400"))[:3] == ["compaction_start", "compaction_end", "response"]


def test_orphanbefore_runs_between_our_prompt_and_its_response() -> None:
    """x_N_slow."""
    child = ran("orphanbefore 300")
    told = [n for n in names(child) if n in {"response", "agent_start", "agent_end", "agent_settled"}]
    assert told == [
        "agent_start",
        "agent_end",
        "agent_settled",
        "response",
        "agent_start",
        "agent_end",
        "agent_settled",
    ]
    assert answers(child) == [("an orphan's answer", "stop"), ("echo: orphanbefore 300", "stop")]


def test_orphan_runs_after_ours() -> None:
    child = ran("orphan 100")
    assert answers(child) == [("echo: orphan 100", "stop"), ("an orphan's answer", "stop")]
    assert names(child).count("response") == 1


def test_say_is_handled_and_then_starts_a_run() -> None:
    """l_commands, x_C_0: a prompt behind it is refused as busy."""
    child = MemoryChild()
    prompt(child, "/say hello")
    prompt(child, "mine", "p2")
    child.settle()
    assert replies(child) == {"p1": {"disposition": "handled"}, "p2": BUSY}
    assert answers(child) == [("echo: message from the extension: hello", "stop")]


# ---- lies
def test_residue_leaves_a_steer_in_the_queue() -> None:
    """BEHAVIOUR §4: `clear_queue` gives it back."""
    child = MemoryChild()
    prompt(child, "residue")
    child.send({"id": "s1", "type": "steer", "message": "late to the party"})
    child.settle()
    assert answers(child) == [("echo: residue", "stop")]
    child.send({"id": "c1", "type": "clear_queue"})
    child.settle()
    assert replies(child)["c1"] == {"steering": ["late to the party"], "followUp": []}


def test_lost_settles_falsely_while_it_streams() -> None:
    """f_prompts_one_write."""
    told = [n for n in names(ran("lost")) if n.startswith("agent_")]
    assert told == ["agent_start", "agent_settled", "agent_end", "agent_settled"]


def test_doubled_ends() -> None:
    told = [n for n in names(ran("doubled")) if n.startswith("agent_")]
    assert told == ["agent_start", "agent_end", "agent_end", "agent_settled", "agent_settled"]


@pytest.mark.parametrize(("text", "before"), [("lateend", True), ("lateend after", False)])
def test_late_ends_come_with_the_next_prompt(text: str, before: bool) -> None:
    child = ran(text)
    seen = len(child.records())
    prompt(child, "next", "p2")
    child.settle()
    late = ["agent_end", "agent_settled"]
    assert names(child)[seen : seen + 4] == (
        [*late, "response", "agent_start"] if before else ["response", *late, "agent_start"]
    )


# ---- silence
def test_mute_hears_and_says_nothing_more() -> None:
    child = ran("mute")
    child.send({"id": "a1", "type": "abort"}, {"id": "g1", "type": "get_state"})
    child.settle()
    assert child.records() == []
    assert [c["type"] for c in child.heard] == ["prompt", "abort", "get_state"]
    child.signal("TERM")
    assert child.code == 143


def test_stall_reads_on_when_its_run_has_settled() -> None:
    """BEHAVIOUR §1: accepted, reads nothing, runs the stalled prompt to its end, only then reads on."""
    child = MemoryChild()
    prompt(child, "stall 400")
    prompt(child, "second", "p2")
    child.advance(399 * MS)
    assert names(child) == ["response"]
    assert [c["id"] for c in child.heard] == ["p1"]
    child.settle()
    assert answers(child) == [("echo: stall 400", "stop"), ("echo: second", "stop")]
    assert [e for e in child.others if isinstance(e, StopReading | ResumeReading)] == [StopReading(), ResumeReading()]


def test_late_starts_at_once_and_is_deaf_to_abort() -> None:
    child = MemoryChild()
    prompt(child, "late 400")
    assert names(child)[:3] == ["response", "agent_start", "turn_start"]
    child.advance(150 * MS)
    child.send({"id": "a1", "type": "abort"})
    child.settle()
    assert answers(child) == [("echo: late 400", "stop")]
    assert names(child)[-2:] == ["agent_settled", "response"]


@pytest.mark.parametrize(("text", "heard"), [("hang", True), ("stallmid", True), ("ignoreabort", False)])
def test_runs_that_never_end(text: str, heard: bool) -> None:
    child = ran(text)
    assert "agent_end" not in names(child)
    child.send({"id": "a1", "type": "abort"})
    child.settle()
    assert ("agent_settled" in names(child)) == heard
    assert ("a1" in replies(child)) == heard


def test_ignoreterm_goes_on_with_a_script() -> None:
    child = ran("ignoreterm hang")
    child.close_stdin()
    child.signal("TERM")
    child.signal("TERM")
    assert (child.code, "agent_end" in names(child)) == (None, False)
    child.signal("KILL")
    assert child.code == -9


def test_noread_answers_and_reads_no_more() -> None:
    child = ran("noread")
    prompt(child, "second", "p2")
    child.settle()
    assert answers(child) == [("echo: noread", "stop")]
    assert [c["id"] for c in child.heard] == ["p1"]


# ---- ends of the process
@pytest.mark.parametrize(
    ("text", "code", "last"),
    [
        ("exit 7", 7, "message_end"),
        ("exit", 0, "message_end"),
        ("exitnow 3", 3, None),
        ("exitmid 5", 5, "tool_execution_update"),
        ("die", -9, "message_end"),
        ("die TERM", -15, "message_end"),
        ("holdstdout 4", 4, "message_end"),
    ],
)
def test_words_that_end_it(text: str, code: int, last: str | None) -> None:
    child = ran(text)
    assert (child.code, names(child)[-1:]) == (code, [] if last is None else [last])


def test_what_is_left_behind() -> None:
    assert [e.leaves_ms for e in ran("setsid").others if isinstance(e, StartTool)] == [60_000]
    assert HoldStdout(60_000) in ran("holdstdout").others
    assert not [e for e in ran("exitmid").others if isinstance(e, EndTool)]


# ---- odd bytes
def test_line_is_one_very_long_record() -> None:
    sizes = sorted(len(data) for data in ran("line 1000000").written)
    assert sizes[-2] < 100_000
    assert sizes[-1] > 1_000_000


def test_odd_characters_are_written_as_pi_writes_them() -> None:
    """k_unicode: separators raw, lone surrogates escaped."""
    assert "one\u2028two\u2029three\x85four".encode() in b"".join(ran("u2028").written)
    assert b"lone \\ud83d surrogate" in b"".join(ran("surrogate").written)


def test_badutf8_is_no_utf8() -> None:
    lines = b"".join(ran("badutf8").written).split(b"\n")
    assert sum(b"bad \xff\xfe bytes" in line for line in lines) >= 3


def test_half_cuts_every_line_between_two_writes() -> None:
    writes = ran("half").written
    cut = [data for data in writes if not data.endswith(b"\n")]
    assert len(cut) > 10
    assert all(json.loads(line) for line in b"".join(writes).split(b"\n")[:-1])


def test_two_puts_two_lines_into_every_write() -> None:
    counts = [data.count(b"\n") for data in ran("two").written]
    assert set(counts) == {1, 2}
    assert counts.count(2) > 5


def test_unknown_and_notjson_are_in_the_run() -> None:
    assert "moon_phase" in names(ran("unknown"))
    lines = b"".join(ran("notjson").written).split(b"\n")
    assert b"this is not json" in lines
    assert b"42" in lines


def test_stderr_floods() -> None:
    assert len(ran("stderr 100000").stderr) == 100_000


# ---- sessions
def test_a_session_is_remembered_over_processes() -> None:
    """CONTRACT: a lane's session is chosen over the wire; what it holds is in its file."""
    files: dict[str, bytes] = {}
    child = MemoryChild(Options(session_dir="/sessions"), files=files)
    prompt(child, said("my name is Ada"))
    child.settle()
    (path,) = files
    again = MemoryChild(Options(session_dir="/sessions", seed="0001"), files=files)
    again.send({"id": "w1", "type": "switch_session", "sessionPath": path})
    again.settle()
    again.send({"id": "g1", "type": "get_state"})
    prompt(again, "recall")
    again.settle()
    assert replies(again)["g1"]["messageCount"] == 3
    assert "my name is Ada" in answers(again)[-1][0]
    kinds = [json.loads(line)["type"] for line in files[path].decode().split("\n") if line]
    assert kinds == ["session", "model_change", "thinking_level_change", *["message"] * 5]


def test_a_missing_session_file_is_an_empty_session() -> None:
    """m_sessions_on_disk: the switch succeeds, and the next prompt creates the file."""
    child = MemoryChild(Options(session_dir="/sessions"))
    child.send({"id": "w1", "type": "switch_session", "sessionPath": "/no/such/file.jsonl"})
    child.settle()
    prompt(child, "hello")
    child.settle()
    assert replies(child)["w1"] == {"cancelled": False}
    assert list(child.files) == ["/no/such/file.jsonl"]
