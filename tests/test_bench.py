"""What the benches stand on: the replayed turn is as recorded, a long past as written; README's tables are a run's."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connector import ledger
from engine import core
from engine.commands import encode
from engine.events import Code, Effect, Ended, Input, Limits, Note, Outcome, Read, Released, Submit, Text, Write
from engine.wire import Framer
from fakes.recordings import load
from tests.bench import run
from tests.bench.past import FIRST, filled, message
from tests.bench.report import BEGIN, END, missed, placed, tables, time
from tests.bench.stream import PIECE, TURN, answers, turn

FIGURE = {
    "name": "one thing, by another",
    "bound": 1.5,
    "at_most": True,
    "ratio": 1.6,
    "low": 1.512,
    "high": 10.04,
    "pairs": 300,
    "ours_us": 12.34,
    "theirs_us": 1234.5,
    "ours_p99_us": 123456.7,
    "theirs_p99_us": 2345678.9,
    "holds": False,
}
SURPLUS = {
    "name": "memory",
    "unit": "MB",
    "bound": 35,
    "ours": 73.5,
    "theirs": 44.0,
    "why": "",
    "more": 29.5,
    "holds": True,
}
REPORT: dict[str, Any] = {
    "machine": {"cpu": "A CPU", "cores": 2, "kernel": "6.1", "python": "3.11.7", "sqlite": "3.40", "node": "22.1"},
    "command": "make bench",
    "day": "2026-01-02",
    "figures": [
        FIGURE,
        {**FIGURE, "name": "another", "at_most": False, "bound": 1, "holds": True},
        {**FIGURE, "name": "shown", "bound": None, "holds": True},
        SURPLUS,
        {**SURPLUS, "name": "wake-ups", "why": "a reason", "bound": None},
    ],
}
TABLES = """\
`make bench` on 2026-01-02: A CPU, 2 cores, Linux 6.1, Python 3.11.7, SQLite 3.40, Node 22.1.

| figure (pairs) | median | 95 % | bound | connector, p99 | counterpart, p99 |
|---|---|---|---|---|---|
| one thing, by another (300) | 1.60 | 1.51–10.0 | ≤ 1.5, missed | 12.3 µs, 123 ms | 1.23 ms, 2.35 s |
| another (300) | 1.60 | 1.51–10.0 | ≥ 1 | 12.3 µs, 123 ms | 1.23 ms, 2.35 s |
| shown (300) | 1.60 | 1.51–10.0 |  | 12.3 µs, 123 ms | 1.23 ms, 2.35 s |

| figure | more | bound | connector | counterpart |
|---|---|---|---|---|
| memory | 29.5 MB | ≤ 35 MB | 73.5 MB | 44 MB |
| wake-ups: a reason | 29.5 MB |  | 73.5 MB | 44 MB |
"""


def test_a_report_as_tables() -> None:
    assert tables(REPORT) == TABLES
    assert missed(REPORT) == ["one thing, by another"]


def test_the_tables_take_the_place_of_those_before() -> None:
    old = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    new = placed(old, REPORT)
    assert new == f"before\n{BEGIN}\n\n{TABLES}\n{END}\nafter\n"
    assert placed(new, REPORT) == new
    with pytest.raises(ValueError, match="no place for figures"):
        placed("before\nafter\n", REPORT)


@pytest.mark.parametrize(("microseconds", "words"), [(0.5, "0.5 µs"), (999.4, "999 µs"), (1e3, "1 ms"), (1e6, "1 s")])
def test_a_duration_in_a_unit_that_suits_it(microseconds: float, words: str) -> None:
    assert time(microseconds) == words


def test_readme_has_the_figures_of_the_run_beside_the_benches() -> None:
    """`make bench ARGS=--readme` mends it."""
    readme = run.README.read_text()
    assert readme == placed(readme, json.loads(run.REPORT.read_text()))


def test_a_replayed_turn_is_the_recorded_one_with_more_deltas_and_a_longer_line() -> None:
    recorded = [step.record for step in load(TURN).out]
    start = next(at for at, record in enumerate(recorded) if record.get("command") == "prompt")
    streamed = [record for record in recorded[start:] if "text_delta" in json.dumps(record)]
    kept = [record for record in recorded[start:] if record not in streamed[1:]]
    lines = [json.loads(line) for line in turn(7, 5_000).splitlines()]
    assert [line for line in lines if "text_delta" in json.dumps(line)] == [
        {**streamed[0], "assistantMessageEvent": {**streamed[0]["assistantMessageEvent"], "delta": PIECE}}
    ] * 7
    once = [line for at, line in enumerate(lines) if line != lines[at - 1]]
    assert [(line["type"], sorted(line)) for line in once] == [(line["type"], sorted(line)) for line in kept]
    (tool,) = (line for line in lines if line["type"] == "tool_execution_end")
    assert len(tool["result"]["structuredContent"]["output"]) == 5_000


def test_the_engine_takes_a_replayed_turn_as_one_answered() -> None:
    framer, (state, written) = Framer(1 << 20), core.start(1, Limits(), 0)
    told = list[Effect]()

    def give(given: Input) -> str:
        """The id of the command that this brought about."""
        nonlocal state, written
        state, written = core.step(state, given, 1)
        told.extend(written)
        return named(written)

    def named(effects: tuple[Effect, ...]) -> str:
        return next(
            (json.loads(encode(effect.commands[0]))["id"] for effect in effects if isinstance(effect, Write)), ""
        )

    hello = json.loads(answers()["get_state"]) | {"id": named(written)}
    give(Read(1, framer.read(json.dumps(hello).encode() + b"\n")))
    asked = give(Submit("a", Text("run it")))
    give(Read(1, framer.read(turn(3).replace(b'"id":"p1"', f'"id":"{asked}"'.encode(), 1))))
    assert [effect for effect in told if isinstance(effect, Ended | Released | Note)] == [
        Ended("a", Outcome(Code.ANSWERED, PIECE * 3)),
        Released("a"),
    ]


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in ("facts", "rounds", "latest", "lanes")}


def test_a_long_past_is_what_writing_it_leaves(tmp_path: Path) -> None:
    asyncio.run(filled(tmp_path / "made", 5).close())
    written = tmp_path / "written.sqlite"
    with closing(ledger.connect(written)) as db:
        for number in range(FIRST, FIRST + 5):
            for fact in message(number):
                ledger.write(db, fact, number)
        db.execute("UPDATE rounds SET open = 0")
    assert rows(tmp_path / "made" / ledger.FILE) == rows(written)
