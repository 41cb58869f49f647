"""PROTOCOL's facts about a provider that refuses, hangs and drops, seen again on the real pi by raw lines."""

import pytest

from fakes.behaviour import Drop, Hang, RefuseConnection, Text
from fakes.provider import Provider
from fakes.provider_words import out_of_quota, rate_limited
from fakes.raw_child import RawChild
from fakes.real_pi import RealPi
from fakes.records import outline, prompt, spoken

pytestmark = pytest.mark.anyio

STARTED = ["response prompt started", "agent_start", "turn_start"]
SYSTEM = ["message_start system", "message_end system"]
ECHO = ["message_start user", "message_end user"]
FAILED = ["message_start assistant", "message_end assistant error", "turn_end"]
RATE_LIMIT = '429: {"message":"Rate limit reached","type":"rate_limit_error","code":"rate_limit_exceeded"}'


async def test_a_429_is_asked_again_inside_the_run_without_a_second_echo(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §7 [g_retry_then_success]."""
    records = await pi.run(prompt("err429 1"))

    assert outline(records) == [
        *STARTED,
        *SYSTEM,
        *ECHO,
        *FAILED,
        "agent_end retry",
        "auto_retry_start 1",
        "agent_start",
        "turn_start",
        "message_start assistant",
        "message_end assistant stop",
        "auto_retry_end success",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert spoken(records) == [("error", ""), ("stop", "echo: err429 1")]
    assert [call.outcome for call in provider.calls] == ["answered"] * 2


async def test_after_four_429_the_run_ends_and_only_its_last_message_says_that_it_failed(
    pi: RawChild, provider: Provider
) -> None:
    """PROTOCOL §7 [g_retry_exhausted]: `agent_settled` looks as after a success."""
    records = await pi.run(prompt("err429"))

    again = ["agent_start", "turn_start", *FAILED]
    assert outline(records) == [
        *STARTED,
        *SYSTEM,
        *ECHO,
        *FAILED,
        *["agent_end retry", "auto_retry_start 1", *again],
        *["agent_end retry", "auto_retry_start 2", *again],
        *["agent_end retry", "auto_retry_start 3", *again],
        *["agent_end", "auto_retry_end failure", "agent_settled"],
    ]
    starts = [record for record in records if record["type"] == "auto_retry_start"]
    assert [(r["attempt"], r["maxAttempts"], r["delayMs"]) for r in starts] == [
        (1, 3, 10),
        (2, 3, 20),
        (3, 3, 40),
    ]
    ends = [record["message"] for record in records if record["type"] == "turn_end"]
    assert [end["errorMessage"] for end in ends] == [RATE_LIMIT] * 4
    assert len(provider.calls) == 4


async def test_a_spent_quota_is_not_asked_again(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §7 [g_various_errors]."""
    provider.push(out_of_quota("You exceeded your current quota; it resets at 2030-01-01T00:00:00Z"))

    records = await pi.run(prompt("anything"))

    assert outline(records) == [*STARTED, *SYSTEM, *ECHO, *FAILED, "agent_end", "agent_settled"]
    assert len(provider.calls) == 1
    [end] = [record["message"] for record in records if record["type"] == "turn_end"]
    assert "it resets at 2030-01-01T00:00:00Z" in end["errorMessage"]


async def test_an_abort_in_the_backoff_ends_the_run_without_a_call_or_a_second_agent_end(
    real_pi: RealPi, provider: Provider
) -> None:
    """PROTOCOL §7 [g_abort_in_backoff]."""
    provider.push(rate_limited())
    async with RawChild.started(real_pi.launch(settings={"retry": {"baseDelayMs": 600_000}})) as pi:
        await pi.send(prompt("hi"))
        await pi.until("auto_retry_start")
        start = len(pi.records)

        await pi.ask({"type": "abort"})

        assert outline(pi.records[start:]) == [
            "auto_retry_end failure",
            "agent_settled aborted",
            "response abort",
        ]
        assert spoken(await pi.run(prompt("next", "p2"))) == [("stop", "echo: next")]
    assert len(provider.calls) == 2


async def test_a_hanging_provider_shows_as_nothing_and_an_abort_ends_it(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §7 [h_hang_abort]."""
    provider.push(Hang())
    await pi.send(prompt("hi"))
    await provider.wait_for(lambda p: len(p.calls) == 1)
    await pi.ask({"type": "get_state"})
    before = outline(pi.records)

    await pi.ask({"type": "abort"})

    assert before == ["response get_state", *STARTED, *SYSTEM, *ECHO, "response get_state"]
    assert spoken(pi.records) == [("aborted", "")]
    await provider.wait_for(lambda p: p.calls[0].outcome == "cut")
    assert spoken(await pi.run(prompt("next", "p2"))) == [("stop", "echo: next")]


async def test_a_stream_cut_off_is_an_error_with_the_partial_text_and_is_asked_again(
    pi: RawChild, provider: Provider
) -> None:
    """PROTOCOL §7 [i_drop_midstream]: why BEHAVIOUR §1.15 drops the text of a failed attempt."""
    provider.push(Drop("this text is cut off"), Text("complete on the second try"))

    records = await pi.run(prompt("hi"))

    assert spoken(records) == [("error", "this text is cut off"), ("stop", "complete on the second try")]
    ends = [record["message"] for record in records if record["type"] == "turn_end"]
    assert [end.get("errorMessage") for end in ends] == ["Stream ended without finish_reason", None]


async def test_a_connection_closed_without_an_answer_is_asked_again(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §7 [i_refused_connection]."""
    provider.push(RefuseConnection(), Text("second try"))

    records = await pi.run(prompt("hi"))

    assert spoken(records) == [("error", ""), ("stop", "second try")]


async def test_an_empty_and_a_cut_answer_are_no_failures(pi: RawChild, provider: Provider) -> None:
    """PROTOCOL §4 [a_empty_and_length]."""
    empty = await pi.run(prompt("empty"))
    cut = await pi.run(prompt("length", "p2"))

    assert (spoken(empty), spoken(cut)) == ([("stop", "")], [("length", "echo: length")])
    assert len(provider.calls) == 2
