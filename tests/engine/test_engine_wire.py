"""Framing and decoding (PROTOCOL §2): any split gives the same records, nonsense is a value, recordings are known."""

import json
from pathlib import Path

import pytest

from engine import pi
from engine.wire import TOO_LONG, Framer, Line, Malformed, Unknown, decode
from tests.engine.framed import BIG, END, START, framed, held
from tests.engine.play import TRANSCRIPTS, raw, said, spoke


def test_a_trailing_cr_is_no_part_of_a_line_and_blank_lines_are_none() -> None:
    assert Framer(BIG).read(START + b"\r\n\n\r\n \t\n" + END + b"\n") == (pi.AgentStart(), pi.AgentEnd(willRetry=True))


def test_a_last_line_without_lf_counts_at_the_end() -> None:
    framer = Framer(BIG)
    assert framer.read(START) == ()
    assert framer.close() == (pi.AgentStart(),)
    assert framer.close() == ()


def test_a_cut_last_line_is_malformed_and_not_lost_in_silence() -> None:
    framer = Framer(BIG)
    framer.read(START[:-3])
    assert framer.close() == (Malformed("no JSON", len(START) - 3),)


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_a_line_beyond_the_bound_is_malformed_and_the_next_one_counts(step: int) -> None:
    long = b'{"type":"extension_error","error":"' + b"x" * 1000 + b'"}'
    stream = START + b"\n" + long + b"\n" + END + b"\n"
    assert framed(stream, list(range(0, len(stream), step)), 100) == [
        pi.AgentStart(),
        Malformed(TOO_LONG, len(long)),
        pi.AgentEnd(willRetry=True),
    ]


def test_a_line_of_just_the_bound_is_read() -> None:
    assert framed(START + b"\n", [], len(START)) == [pi.AgentStart()]
    assert framed(START + b"\n", [3], len(START) - 1) == [Malformed(TOO_LONG, len(START))]


def test_an_endless_line_keeps_no_memory() -> None:
    framer = Framer(100)
    for _ in range(50):
        assert framer.read(b"x" * 60) == ()
    assert held(framer) == 0
    assert framer.read(b"\n" + START + b"\n") == (Malformed(TOO_LONG, 3000), pi.AgentStart())


def test_a_long_line_at_the_end_of_the_stream_is_told() -> None:
    framer = Framer(10)
    framer.read(b"x" * 11)
    assert framer.close() == (Malformed(TOO_LONG, 11),)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_lf_ends_a_line(separator: str) -> None:
    line = json.dumps(raw("extension_error", error=f"a{separator}b"), ensure_ascii=False)
    assert framed(line.encode() + b"\n" + START + b"\n", []) == [
        pi.ExtensionError(event="command", error=f"a{separator}b"),
        pi.AgentStart(),
    ]


@pytest.mark.parametrize(
    ("bad", "read"),
    [(b"a\xffb", "a\ufffdb"), (b"\xf0\x9f", "\ufffd"), (b"\\ud83d", "\ufffd"), (b"x\\udc00y", "x\ufffdy"),
     (b"\\ud83d\\ude00", "\U0001f600"), (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd")],
    ids=["byte", "half a sequence", "high surrogate", "low surrogate", "a pair", "raw surrogate"],
)  # fmt: skip
def test_bad_utf8_and_lone_surrogates_are_replaced_and_the_record_counts(bad: bytes, read: str) -> None:
    assert decode(b'{"type":"extension_error","error":"' + bad + b'"}') == pi.ExtensionError(error=read)


def test_the_recorded_echo_of_lone_surrogates_keeps_its_place() -> None:
    """k_unicode: the record still counts, and nothing behind the wire holds a surrogate."""
    found = [decode(line.encode()) for line in _lines(TRANSCRIPTS / "k_unicode.jsonl")]
    echoes = [record for record in found if isinstance(record, pi.MessageStart) and record.message.role == "user"]
    assert echoes
    for record in echoes:
        record.message.text.encode("utf-8")


def nested(depth: int) -> bytes:
    return b'{"type":"agent_settled","x":' + b"[" * depth + b"]" * depth + b"}"


def test_nesting_is_read_as_far_as_it_goes_and_told_beyond_it() -> None:
    assert decode(nested(50)) == pi.AgentSettled()
    assert decode(nested(200_000)) == Malformed("nested too deep", len(nested(200_000)))
    assert decode(b'{"type":"response","id":"\xff","data":' + b"[" * 400 + b"]" * 400 + b"}") is not None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"null", Malformed("no JSON object", 4)),
        (b"42", Malformed("no JSON object", 2)),
        (b"[]", Malformed("no JSON object", 2)),
        (b'"str"', Malformed("no JSON object", 5)),
        (b"{", Malformed("no JSON", 1)),
        (START + START, Malformed("no JSON", 2 * len(START))),
        (b"\xef\xbb\xbf" + START, Malformed("no JSON", 3 + len(START))),
        (b"{}", Unknown("None")),
        (b'{"type":null}', Unknown("None")),
        (b'{"type":7}', Unknown("7")),
        (b'{"type":["agent_start"]}', Unknown("['agent_start']")),
        (b'{"type":"agent_Start"}', Unknown("agent_Start")),
        (b'{"type":"' + b"x" * 200 + b'"}', Unknown("x" * 80)),
    ],
)
def test_what_is_no_record(line: bytes, expected: Line) -> None:
    assert decode(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"type":"agent_end","willRetry":"yes"}', pi.AgentEnd()),
        (b'{"type":"agent_end","messages":7}', pi.AgentEnd()),
        (b'{"type":"response","id":"t","success":1,"error":[],"command":5}', pi.Response(id="t")),
        (b'{"type":"response","id":{"a":1},"success":true}', pi.Response(id={"a": 1}, success=True)),
        (b'{"type":"message_end","message":null}', pi.MessageEnd()),
        (b'{"type":"message_end","message":"text"}', pi.MessageEnd()),
        (
            (
                b'{"type":"message_end","message":{"role":"user","content":[7,{"type":"text","text":5},'
                b'{"type":"text","text":"a"}]}}'
            ),
            pi.MessageEnd(pi.Message("user", [pi.Block("text"), pi.Block("text", "a")])),
        ),
        (
            b'{"type":"message_end","message":{"role":"assistant","content":{},"stopReason":4,"usage":"much"}}',
            pi.MessageEnd(pi.Message("assistant")),
        ),
        (b'{"type":"tool_execution_start","toolCallId":9,"toolName":"bash"}', pi.ToolStart(toolName="bash")),
        (b'{"type":"auto_retry_start","attempt":"1","delayMs":50}', pi.RetryStart(delayMs=50)),
        (b'{"type":"extension_ui_request","id":"d","method":"select","options":[1]}', pi.Dialog("d", "select")),
        (b'{"type":"agent_start","type":"agent_end"}', pi.AgentEnd()),
    ],
)
def test_a_field_of_another_shape_counts_as_absent_and_the_records_name_still_counts(
    line: bytes, expected: Line
) -> None:
    assert decode(line) == expected
    assert framed(line + b"\n", []) == [expected]


# -- the recordings ------------------------------------------------------------------------------------------------


def _lines(path: Path) -> list[str]:
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return [record["line"] for record in records if record["dir"] == "out"]


@pytest.mark.parametrize("version", ["1.6.0", "0.73.1"])
def test_every_recorded_line_is_a_known_record(version: str) -> None:
    paths = [path for path in sorted(TRANSCRIPTS.glob("*.jsonl")) if ("@" in path.name) == (version == "0.73.1")]
    assert len(paths) > 100
    strange: dict[str, set[str]] = {}
    for path in paths:
        for line in _lines(path):
            record = decode(line.encode("utf-8", "surrogatepass"))
            if isinstance(record, Malformed | Unknown):
                strange.setdefault(path.stem, set()).add(str(record))
            else:
                assert record.__struct_config__.tag == json.loads(line)["type"]
    assert strange == {}


@pytest.mark.parametrize(
    ("names", "chunk"), [("k_unicode.jsonl", 1), ("*.jsonl", 113), ("*.jsonl", 4096), ("*.jsonl", 1 << 20)]
)
def test_the_recorded_streams_are_the_same_in_any_chunks(names: str, chunk: int) -> None:
    lines = [line for path in sorted(TRANSCRIPTS.glob(names)) for line in _lines(path)]
    stream = "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")
    framer = Framer(BIG)
    found = [record for at in range(0, len(stream), chunk) for record in framer.read(stream[at : at + chunk])]
    assert found == [decode(line.encode("utf-8", "surrogatepass")) for line in lines]


def test_text_is_all_text_blocks_and_no_thinking() -> None:
    blocks = [pi.Block("thinking", "hm"), pi.Block("text", "a"), pi.Block("toolCall"), pi.Block("text", "b")]
    assert pi.Message(content=blocks).text == "ab"
    assert pi.Message(content="plain").text == "plain"
    assert spoke("answer", "x") == said("answer", message={"content": [{"type": "text", "text": "x"}]})
