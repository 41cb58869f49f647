"""Recorded runs with records that were tampered with: nonsense is a value, and the head never moves on it."""

import json
from functools import cache
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from engine import core, pi
from engine.events import Effect, Exited, Input, Limits, Read, Stop, Submit, Text, Tick, Write
from engine.state import Condition, State, deadline
from engine.wire import Malformed, Unknown, decode
from tests.engine.play import lines_of, text_of
from tests.fuzz.hostile import JSON, TEXTS, mutated, tried

NAMES = [
    "a_plain", "a_thinking", "b_bash_tool", "c_parallel_tools", "e_steer_during_tool", "f_abort_stream",
    "f_clear_queue", "g_retry_then_success", "i_drop_midstream", "l_commands", "l_confirm_timeout", "m_auto_compaction",
    "m_compact", "r_no_key", "k_unicode",
]  # fmt: skip


@cache
def recorded(name: str) -> tuple[dict[str, Any], ...]:
    """What pi said in a recording."""
    lines = [json.loads(line) for line in lines_of(name)]
    return tuple(line for line in lines if isinstance(line, dict))


KINDS = {record["type"]: record for name in NAMES for record in recorded(name)}


def line_of(value: Any) -> bytes:
    return json.dumps(value).encode()


@given(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: mutated(KINDS[kind], 3)))
@tried(150)
def test_a_tampered_record_keeps_its_name_and_holds_only_what_its_fields_may(value: Any) -> None:
    record = decode(line_of(value))
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(record, Malformed | Unknown):
        assert not isinstance(kind, str) or kind not in KINDS
        return
    assert record.__struct_config__.tag == kind
    # What was read is what its fields allow: it reads back from what it is written as, and holds no surrogate.
    assert msgspec.json.decode(msgspec.json.encode(record), type=type(record), strict=True) is not None


@given(st.sampled_from(sorted(KINDS)), st.dictionaries(TEXTS | st.sampled_from(["id", "data", "message"]), JSON))
@tried(40)
def test_a_known_name_with_any_fields_is_that_record(kind: str, fields: dict[str, Any]) -> None:
    record = decode(line_of({**fields, "type": kind}))
    assert record.__struct_config__.tag == kind


class Peer:
    """An engine whose child says anything; it ends in whatever the core makes of it, and never in an exception."""

    def __init__(self) -> None:
        self.now = 0
        self.state: State
        self.state, effects = core.start(1, Limits(), 0)
        self.written: list[str] = []
        self._keep(effects)

    def give(self, given: Input) -> None:
        self.now += 1_000_000
        self.state, effects = core.step(self.state, given, self.now)
        self._keep(effects)

    def _keep(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, Write):
                self.written += [getattr(command, "id", "") for command in effect.commands]
        repr(effects).encode("utf-8")

    def says(self, value: Any) -> None:
        self.give(Read(1, (decode(line_of(value)),)))


@st.composite
def tampered_runs(draw: Any) -> list[Any]:
    """A recorded run in which a few records were tampered with, doubled, lost or moved."""
    run: list[Any] = list(recorded(draw(st.sampled_from(NAMES))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(run) - 1))
        match draw(st.sampled_from(["tamper", "tamper", "twice", "lost", "moved"])):
            case "tamper":
                run[at] = draw(mutated(run[at], 2))
            case "twice":
                run.insert(at, run[at])
            case "lost" if len(run) > 1:
                del run[at]
            case _:
                run.insert(draw(st.integers(0, len(run) - 1)), run.pop(at))
    return run


@given(tampered_runs(), st.integers(0, 3))
@tried(40)
def test_a_tampered_run_is_no_exception_and_ends_by_its_bounds(run: list[Any], asked: int) -> None:
    peer = Peer()
    peer.says({"type": "response", "id": peer.written[0], "success": True, "data": {}})
    for number in range(asked):
        peer.give(Submit(f"t{number}", Text(text_of(f"t{number}"))))
    for record in run:
        if isinstance(record, dict) and record.get("type") == "response" and isinstance(record.get("id"), str):
            record = {**record, "id": peer.written[-1]}  # noqa: PLW2901 - as the child would have answered
        peer.says(record)
    for _ in range(200):  # whatever it said, bounds end what is open (BEHAVIOUR §7.27)
        due = deadline(peer.state)
        if due is None:
            break
        peer.now = max(peer.now, due)
        peer.give(Tick())
    assert deadline(peer.state) is None
    assert not peer.state.queue or peer.state.condition is not Condition.LIVE
    peer.give(Stop())
    peer.give(Exited(1, 0))


@st.composite
def strangers(draw: Any) -> Any:
    """A record that says nothing to anybody: no name of the vocabulary, or a response to what nobody asked."""
    value = draw(mutated(draw(st.sampled_from(list(KINDS.values()))), 3))
    if isinstance(value, dict) and str(value.get("type")) in KINDS:
        value = {**value, "type": "response", "id": draw(JSON.filter(lambda one: not isinstance(one, str)))}
    return value


@given(st.lists(strangers(), min_size=1, max_size=5))
@tried(40)
def test_the_head_never_moves_on_what_is_said_to_nobody(said: list[Any]) -> None:
    peer = Peer()
    peer.says({"type": "response", "id": peer.written[0], "success": True, "data": {}})
    peer.give(Submit("t", Text(text_of("t"))))
    head, run = peer.state.head, peer.state.run
    assert head is not None
    for record in said:
        peer.says(record)
    assert (peer.state.head, peer.state.run, peer.state.condition) == (head, run, Condition.LIVE)
    assert isinstance(decode(line_of(said[0])), pi.Response | Unknown | Malformed)
