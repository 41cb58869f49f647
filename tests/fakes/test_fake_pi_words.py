"""The script words of the fake pi that answer, run tools or ask. In memory, on a simulated clock."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fakes import script
from fakes.effects import Create, EndTool, StartTool
from fakes.memory import MemoryChild
from fakes.pi_core import Options
from tests.fakes.word_helpers import MS, answers, names, of, prompt, ran, replies, said


def test_every_word_has_help_and_a_line_in_the_table() -> None:
    documented = (script.__doc__ or "").split("`")[1::2]
    missing = [word for word in script.WORDS if not any(line.split()[0] == word for line in documented if line)]
    assert missing == []
    assert all(script.WORDS.values())


@pytest.mark.parametrize("text", ["hello there", "echo hello there", said("hello there"), said("echo hello there")])
def test_what_is_no_script_is_echoed(text: str) -> None:
    """CONTRACT: the fake child answers what is none of its script words with `echo: TEXT`."""
    assert answers(ran(text)) == [("echo: hello there", "stop")]


def test_the_provider_is_asked_without_lone_surrogates_and_with_the_hints_of_pictures() -> None:
    """PROTOCOL §2, §11, and seen beside the real pi: the echo is not the text that the provider gets."""
    assert answers(ran("lone \ud83d here")) == [("echo: lone  here", "stop")]
    child = MemoryChild()
    bad = {"type": "image", "data": base64.b64encode(b"none").decode(), "mimeType": "image/png"}
    child.send({"id": "p1", "type": "prompt", "message": "look", "images": [bad]})
    child.settle()
    assert answers(child)[0][0].startswith("echo: look\n\n[Image omitted: ")


@pytest.mark.parametrize(("base", "delays"), [(2000, [2000, 4000, 8000]), (40_000, [40_000, 60_000, 60_000])])
def test_a_delay_of_pis_own_retries_is_never_longer_than_a_minute(base: float, delays: list[int]) -> None:
    """Seen beside the real pi: a base of ten minutes is told as one."""
    child = MemoryChild(Options(retry_base_ms=base))
    prompt(child, "err429")
    child.settle()
    assert [record["delayMs"] for record in of(child, "auto_retry_start")] == delays


@pytest.mark.parametrize("text", ["slow down please", "tool", "tools 2", "line up now", "usage", ""])
def test_a_word_without_its_number_is_no_script(text: str) -> None:
    """`line` has a size of its own; the others need theirs."""
    child = ran(text)
    assert answers(child)[-1] == (f"echo: {text}", "stop")


def test_the_echo_is_the_text_as_it_was_given() -> None:
    """BEHAVIOUR §1.13: the echo names the message."""
    child = ran(said("hello"))
    users = [r["message"]["content"] for r in of(child, "message_start") if r["message"]["role"] == "user"]
    assert users == [[{"type": "text", "text": said("hello")}]]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("slow 300", ("echo: slow 300", "stop")),
        ("empty", ("", "stop")),
        ("length", ("echo: length", "length")),
        ("huge 50000", ("y" * 50_000, "stop")),
        ("think", ("echo: think", "stop")),
        ("usage 30000", ("echo: usage 30000", "stop")),
        ("attach notes.txt", ("Here it is.\n\nattach: notes.txt", "stop")),
        ("notify", ("echo: notify", "stop")),
        ("u2028", ("echo: u2028 one\u2028two\u2029three\x85four", "stop")),
        ("surrogate", ("echo: surrogate lone \ud83d surrogate", "stop")),
        ("half", ("echo: half ½ äöü", "stop")),
        ("two", ("echo: two", "stop")),
        ("unknown", ("echo: unknown", "stop")),
        ("notjson", ("echo: notjson", "stop")),
        ("doubled", ("echo: doubled", "stop")),
        ("lateresponse 50", ("echo: lateresponse 50", "stop")),
        ("compacting 50", ("echo: compacting 50", "stop")),
        ("late 400", ("echo: late 400", "stop")),
        ("stall 400", ("echo: stall 400", "stop")),
        ("lost", ("echo: lost", "stop")),
        ("stderr 100000", ("echo: stderr 100000", "stop")),
    ],
)
def test_words_that_answer(text: str, answer: tuple[str, str]) -> None:
    assert answers(ran(text)) == [answer]


def test_slow_takes_its_time() -> None:
    child = ran("slow 300")
    assert 300 * MS <= child.now <= 330 * MS


def test_every_page_is_long_and_carries_the_text() -> None:
    text = answers(ran("pages 3 m1"))[0][0]
    assert [page.split(" and so on")[0] for page in text.split("\n\n")] == [
        f"echo: pages 3 m1 page {number}" for number in (1, 2, 3)
    ]
    assert all(1000 < len(page) < 2000 for page in text.split("\n\n"))


def test_long_and_md() -> None:
    assert len(answers(ran("long 5000"))[0][0]) == 5000
    assert "```python" in answers(ran("md"))[0][0]


def test_usage_costs() -> None:
    ends = [r["message"] for r in of(ran("usage 30000"), "message_end") if r["message"]["role"] == "assistant"]
    assert (ends[0]["usage"]["input"], ends[0]["usage"]["cost"]["total"]) == (30_000, 0.03 + 0.00002)


def test_seen_tells_what_came_with_the_text() -> None:
    picture = base64.b64encode(b"GIF8 a picture").decode()
    child = MemoryChild()
    image = {"type": "image", "data": picture, "mimeType": "image/gif"}
    child.send({"id": "p1", "type": "prompt", "message": said("seen"), "images": [image]})
    child.settle()
    assert answers(child) == [("I see:\nin reply to Bob: hi\nimage/gif, 14 bytes, c9e55ff4151a", "stop")]


def test_attach_makes_a_file() -> None:
    child = MemoryChild()
    prompt(child, "attach out/notes.txt")
    assert child.files == {"out/notes.txt": b"made by the scripted child\n"}
    assert not [e for e in child.others if isinstance(e, Create)]


# ---- tools and dialogs
def test_tool_is_a_process_that_is_ended() -> None:
    child = ran("tool 1000")
    started = [e for e in child.others if isinstance(e, StartTool)]
    assert [(e.ms, e.leaves_ms) for e in started] == [(1000, 0)]
    assert [e.key for e in child.others if isinstance(e, EndTool)] == [started[0].key]
    assert answers(child) == [("", "toolUse"), ("echo: tool 1000", "stop")]


def test_tool_takes_a_name() -> None:
    assert of(ran("tool 10 read"), "tool_execution_start")[0]["toolName"] == "read"


def test_tools_end_in_another_order_than_they_start() -> None:
    """PROTOCOL §4: starts first, ends as they come, results in the order of the calls."""
    child = ran("tools 3 300")
    starts = [r["toolCallId"] for r in of(child, "tool_execution_start")]
    ends = [r["toolCallId"] for r in of(child, "tool_execution_end")]
    results = [r["message"]["toolCallId"] for r in of(child, "message_end") if r["message"]["role"] == "toolResult"]
    assert ends == starts[::-1]
    assert results == starts


def test_abort_in_a_tool() -> None:
    """PROTOCOL §6: an empty aborted message of its own behind the tool."""
    child = MemoryChild()
    prompt(child, "tool 5000")
    child.advance(1000 * MS)
    child.send({"id": "a1", "type": "abort"})
    child.settle()
    assert answers(child) == [("", "toolUse"), ("", "aborted")]
    assert child.now < 1100 * MS
    assert [e for e in child.others if isinstance(e, EndTool)] != []


@pytest.mark.parametrize(
    ("word", "reply", "answer"),
    [
        ("tooldialog", {"confirmed": True}, "echo: tooldialog"),
        ("tooldialog", {"cancelled": True}, "echo: tooldialog"),
        ("dialog", {"confirmed": True}, "you chose: yes"),
        ("dialog select", {"value": "green"}, "you chose: green"),
        ("dialog select 30", {"value": "choice 29"}, "you chose: choice 29"),
        ("dialog input", {"value": "typed"}, "you chose: typed"),
        ("dialog editor", {"cancelled": True}, "you chose: nothing"),
        ("hookdialog", {"confirmed": True}, "echo: hookdialog"),
    ],
)
def test_dialogs_wait_for_their_answer(word: str, reply: dict[str, Any], answer: str) -> None:
    child = ran(word)
    dialog = of(child, "extension_ui_request")[0]
    assert "agent_settled" not in names(child)
    child.send({"type": "extension_ui_response", "id": dialog["id"], **reply})
    child.settle()
    assert answers(child)[-1] == (answer, "stop")


def test_dialog2_opens_a_second_one_after_an_abort() -> None:
    """x_B: the abort is not answered until the second one is, too."""
    child = ran("dialog2")
    first = of(child, "extension_ui_request")[0]
    answer = {"type": "extension_ui_response", "id": first["id"], "cancelled": True}
    child.send({"id": "a1", "type": "abort"}, answer)
    child.settle()
    assert "a1" not in replies(child)
    second = of(child, "extension_ui_request")[1]
    child.send({**answer, "id": second["id"]})
    child.settle()
    assert replies(child)["a1"] is True
    assert of(child, "agent_settled") == [{"type": "agent_settled", "aborted": True}]


def test_hookdialog_swallows_the_prompt() -> None:
    """x_H: cancelled, the prompt is `handled` and nothing runs."""
    child = ran("hookdialog")
    dialog = of(child, "extension_ui_request")[0]
    child.send({"type": "extension_ui_response", "id": dialog["id"], "cancelled": True})
    child.settle()
    assert replies(child) == {"p1": {"disposition": "handled"}}
    assert "agent_start" not in names(child)
