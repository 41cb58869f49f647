"""What pi writes for one turn, as recorded, with as many deltas and as long a line as a bench asks for; pure but for
reading the recordings."""

import json
from pathlib import Path

from fakes.recordings import TRIM, Recording, load
from tests.bench.pinned import PINNED

TURN = "b_tool_streaming_output"
"""A run with a tool, whose whole output stands in one line, and an answer."""

ANSWERS = ("a_plain", "f_clear_queue", "m_state_commands", "m_new_session_while_busy")
"""Recordings that hold a response to each command that a child of the connector is given."""

PIECE = "word "


def turn(deltas: int, longest: int = 0) -> bytes:
    """The recorded run from its prompt's response to `agent_settled`.

    Its answer comes in `deltas` pieces of five characters, and stands whole wherever pi repeats it. `longest`: so many
    characters of output has the tool, in the one line that tells all of it; 0 as recorded.
    """
    lines = _run(load(TURN))
    said = json.dumps("done").encode()  # the recorded answer, in two deltas
    answer = json.dumps(PIECE * deltas).encode()
    out: list[bytes] = []
    streamed = False
    for line in lines:
        if b'"type":"text_delta"' in line:
            if not streamed:
                streamed = True
                out += [line.replace(b'"delta":"do"', b'"delta":"%s"' % PIECE.encode())] * deltas
        elif longest and b'"type":"tool_execution_end"' in line:
            out.append(_with_output(line, longest))
        else:
            out.append(line.replace(said, answer))
    return b"".join(line + b"\n" for line in out)


def answers() -> dict[str, str]:
    """A recorded good response to each command of ANSWERS, by the command's name."""
    found: dict[str, str] = {}
    for name in ANSWERS:
        for step in load(name).out:
            if step.type == "response" and step.record["success"]:
                found.setdefault(step.record["command"], step.line)
    return found


def lay(folder: Path, what: bytes) -> Path:
    """Put down what `tests.bench.replayer` reads: a turn, the answers to all but a prompt, and whose they are."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "turn.jsonl").write_bytes(what)
    (folder / "answers.json").write_text(json.dumps(answers()))
    (folder / "version").write_text(PINNED)
    return folder


def _run(recording: Recording) -> list[bytes]:
    """What was written from the prompt's response on; what was cut when it was saved is filled up."""
    lines = [step.line for step in recording.out]
    first = next(at for at, step in enumerate(recording.out) if step.type == "response" and '"prompt"' in step.line)
    return [TRIM.sub(lambda cut: "x" * int(cut[1]), line).encode() for line in lines[first:]]


def _with_output(line: bytes, size: int) -> bytes:
    record = json.loads(line)
    output = record["result"]["structuredContent"]["output"]
    record["result"]["structuredContent"]["output"] = (output * (size // len(output) + 1))[:size]
    return json.dumps(record, separators=(",", ":")).encode()
