"""A child that stands for pi: it replays one turn for each prompt, as fast as it is read, and answers what it is asked.

`python -m tests.bench.replayer … FOLDER`, with what `tests.bench.stream.lay` put there. Started as a file, it imports
nothing of ours.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    folder = Path([word for word in sys.argv if word != "--version"][-1])
    if "--version" in sys.argv:
        print((folder / "version").read_text())
        return
    known = json.loads((folder / "answers.json").read_bytes())
    response, _, turn = (folder / "turn.jsonl").read_bytes().partition(b"\n")
    for line in sys.stdin.buffer:
        command = json.loads(line)
        prompt = command["type"] == "prompt"
        answer = json.loads(response if prompt else known[command["type"]])
        answer["id"] = command["id"]
        write(json.dumps(answer, separators=(",", ":")).encode() + b"\n" + (turn if prompt else b""))


def write(data: bytes) -> None:
    """All of it, in as few writes as the pipe takes."""
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    main()
