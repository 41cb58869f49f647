"""What the benches stand on: the replayed turn is as recorded, a long past as written; README's tables
are one whole run's, and what no run can be made of is refused."""

import asyncio
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connector import ledger
from connector.started import version_command
from engine import core
from engine.commands import encode
from engine.events import Code, Effect, Ended, Input, Limits, Note, Outcome, Read, Released, Submit, Text, Write
from engine.wire import Framer
from fakes.recordings import load
from tests.bench import asked, bench_growth, bench_idle, bench_wire, run
from tests.bench.pairs import Surplus, figure
from tests.bench.past import FIRST, filled, message
from tests.bench.pinned import PINNED, pinned
from tests.bench.readers_how import Reader, Spent, command
from tests.bench.report import BEGIN, END, missed, placed, tables, time
from tests.bench.stream import PIECE, TURN, answers, lay, turn

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
    "ours_far_us": 123456.7,
    "theirs_far_us": 2345678.9,
    "far": "p99",
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
        {**FIGURE, "name": "shown", "bound": None, "pairs": 99, "far": "max", "holds": True},
        SURPLUS,
        {**SURPLUS, "name": "wake-ups", "why": "a reason", "bound": None},
    ],
}
TABLES = """\
`make bench` on 2026-01-02: A CPU, 2 cores, Linux 6.1, Python 3.11.7, SQLite 3.40, Node 22.1.

| figure (pairs) | median | 95 % | bound | connector | counterpart |
|---|---|---|---|---|---|
| one thing, by another (300) | 1.60 | 1.51–10.0 | ≤ 1.5, missed | 12.3 µs, p99 123 ms | 1.23 ms, p99 2.35 s |
| another (300) | 1.60 | 1.51–10.0 | ≥ 1 | 12.3 µs, p99 123 ms | 1.23 ms, p99 2.35 s |
| shown (99) | 1.60 | 1.51–10.0 |  | 12.3 µs, max 123 ms | 1.23 ms, max 2.35 s |

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


def test_the_figures_are_of_one_whole_run() -> None:
    """`make bench` mends it: one run of all benches, however many pairs it was asked for."""
    report = json.loads(run.REPORT.read_text())
    assert report["command"] == run.command([], dict(re.findall(r"(\S+)=(\S+) ", report["command"])))
    assert tuple(dict.fromkeys(row["bench"] for row in report["figures"])) == run.BENCHES


def test_how_a_run_was_started() -> None:
    environ = {"BENCH_TURNS": "100", "BENCH_PAIRS": "7", "HOME": "/"}
    assert run.command([], {}) == "make bench"
    assert run.command(["bench_wire", "bench_sign"], environ) == (
        'BENCH_PAIRS=7 BENCH_TURNS=100 make bench ARGS="bench_wire bench_sign"'
    )


@pytest.mark.parametrize(
    ("name", "value", "mend"),
    [
        ("BENCH_PAIRS", "abc", "pairs, 1 at least; without it 300 are taken"),
        ("BENCH_PAIRS", "0", "pairs, 1 at least; without it 300 are taken"),
        ("BENCH_PAIRS", "-1", "pairs, 1 at least; without it 300 are taken"),
        ("BENCH_TURNS", "", "turns, 10 at least; without it 10000 are taken"),
        ("BENCH_TURNS", "9", "turns, 10 at least; without it 10000 are taken"),
        ("BENCH_IDLE", "119", "seconds, 120 at least; without it 240 are taken"),
        ("BENCH_IDLE", "120.5", "seconds, 120 at least; without it 240 are taken"),
    ],
)
def test_a_variable_that_no_run_can_be_made_of_is_refused(
    name: str, value: str, mend: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(run, "measured", None)  # nothing starts
    assert run.main(["bench_sign"]) == 2
    assert capsys.readouterr() == ("", f"bench: {name}={value}: it takes a whole number of {mend}\n")


def test_what_is_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BENCH_PAIRS", "BENCH_IDLE", "BENCH_TURNS"):
        monkeypatch.delenv(name, raising=False)
    assert (asked.pairs(), asked.IDLE.read(), asked.TURNS.read()) == (300, 240, 10_000)
    monkeypatch.setenv("BENCH_PAIRS", "50")
    monkeypatch.setenv("BENCH_IDLE", "120")
    assert (asked.pairs(), asked.IDLE.read()) == (50, 120)


def test_an_unknown_bench_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(run, "measured", None)
    assert run.main(["bench_sign", "bench_speed"]) == 2
    known = ", ".join(run.BENCHES)
    assert capsys.readouterr() == (
        "",
        f"bench: unknown bench bench_speed: it takes some of {known}, or --readme alone\n",
    )


def test_where_pi_is_missing_no_bench_of_it_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "pinned", lambda: pinned(tmp_path))
    monkeypatch.setattr(run, "measured", lambda _: 0)
    for names in ([], ["bench_wire"], ["bench_sign", "bench_relay"], ["bench_ready"]):
        assert run.main(names) == 2
        assert capsys.readouterr() == (
            "",
            f"bench: pi {PINNED} is missing: run make contract (or .ci/pi-install) first\n",
        )
    assert run.main([name for name in run.BENCHES if name not in run.NEED_PI]) == 0


@pytest.mark.parametrize("name", run.BENCHES)
def test_a_bench_that_needs_pi_is_known_as_one(name: str) -> None:
    source = (Path(run.__file__).parent / f"{name}.py").read_text()
    assert ("import PINNED, pinned" in source or "import pinned" in source) == (name in run.NEED_PI)


def test_what_fails_is_told_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others run, and what was kept before stays."""

    def failing() -> list[Surplus]:
        raise IndexError

    monkeypatch.delenv("BENCH_JSON", raising=False)
    monkeypatch.setattr(run, "BENCHES", ("bench_growth", "bench_idle"))
    monkeypatch.setattr(run, "REPORT", tmp_path / "figures.json")
    monkeypatch.setattr(bench_idle, "run", lambda: [Surplus("idle", "MB", 5, 3, 1)])
    monkeypatch.setattr(bench_growth, "run", failing)
    assert run.main([]) == 1
    out, err = capsys.readouterr()
    assert "| idle | 2 MB | ≤ 5 MB | 3 MB | 1 MB |" in out
    assert "IndexError" in err
    assert not run.REPORT.exists()
    monkeypatch.setattr(bench_growth, "run", lambda: [Surplus("growth", "MB", 5, 9, 1)])
    assert run.main([]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "missed: growth"
    kept = json.loads(run.REPORT.read_text())["figures"]
    assert [(row["bench"], row["name"], row["holds"]) for row in kept] == [
        ("bench_growth", "growth", False),
        ("bench_idle", "idle", True),
    ]


def test_an_interrupted_run_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> list[Surplus]:
        raise KeyboardInterrupt

    monkeypatch.setenv("BENCH_JSON", str(tmp_path / "figures.json"))
    monkeypatch.setattr(bench_idle, "run", interrupted)
    assert run.main(["bench_idle"]) == 130
    assert capsys.readouterr() == ("", "bench: interrupted; what was measured is not kept\n")
    assert not (tmp_path / "figures.json").exists()


@pytest.mark.parametrize(("pairs", "far", "value"), [(99, "max", 99), (100, "p99", 99), (300, "p99", 297)])
def test_a_p99_only_from_a_hundred_pairs_on(pairs: int, far: str, value: int) -> None:
    times = [number / 1e6 for number in range(pairs, 0, -1)]
    row = figure("one", times, times, bound=None).row()
    assert (row["pairs"], row["far"], row["ours_far_us"], row["theirs_far_us"]) == (pairs, far, value, value)


def test_few_pairs_replay_the_whole_stream_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(Reader):
        turns = 0

        def __init__(self) -> None:
            """Without a process."""

        def turn(self) -> Spent:
            self.turns += 1
            return Spent(1.0, self.turns)

    found = dict[str, tuple[int, int]]()
    for few in ("1", "21"):
        monkeypatch.setenv("BENCH_PAIRS", few)
        reader = Counted()
        found[few] = len(bench_wire.measured({"one": reader})["one"]), reader.turns
    assert found == {"1": (20, 40), "21": (21, 41)}


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


def test_the_replayer_tells_the_release_that_it_stands_for(tmp_path: Path) -> None:
    words = version_command(command(str(lay(tmp_path, b""))))
    assert subprocess.run(words, capture_output=True, check=True).stdout == f"{PINNED}\n".encode()


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
