"""What a person is told: one line of ours, no word of anybody else's (CONTRACT, "What Discord sees")."""

import inspect
from collections.abc import Callable

import pytest

from connector import notices
from connector.notices import Code, Halted, asked_again, failed, stopped

CODES = {
    "engine-timeout",
    "engine-wedged",
    "engine-down",
    "engine-refused",
    "engine-exit",
    "provider-error",
    "rate-limited",
    "stopped",
    "interrupted",
    "restart",
    "dead",
}
OTHERS: dict[str, Callable[[], str]] = {
    "nothing_to_stop": notices.nothing_to_stop,
    "nothing_to_ask": notices.nothing_to_ask,
    "empty": notices.empty,
    "handled": notices.handled,
    "lane_full": lambda: notices.lane_full(500),
    "person_full": lambda: notices.person_full(20),
    "asked_again": lambda: asked_again(99),
    "disk_trouble": notices.disk_trouble,
    "disk_unread": notices.disk_unread,
    "answer_lost": notices.answer_lost,
    "not_repeated": notices.not_repeated,
    "repeat_note": notices.repeat_note,
    "session_lost": notices.session_lost,
    "too_many_failures": lambda: notices.too_many_failures(5),
    "no_thread": notices.no_thread,
    "stopping": lambda: notices.stopping(2),
    "moved": notices.moved,
    "cancelled": notices.cancelled,
    "asked": notices.asked,
    "behind_gate": notices.behind_gate,
    "waits_again": notices.waits_again,
    "waits_for_restart": notices.waits_for_restart,
    "own_message": notices.own_message,
    "untold": notices.untold,
    "retrying": notices.retrying,
    "nothing_to_retry": notices.nothing_to_retry,
    "refused": notices.refused,
    "outdated": notices.outdated,
}


def is_one_line(sentence: str) -> bool:
    return sentence == sentence.strip() and len(sentence.splitlines()) == 1 and len(sentence) <= 300


def test_the_codes_are_the_contracts() -> None:
    assert {code.value for code in Code} == CODES


@pytest.mark.parametrize("code", sorted(CODES))
@pytest.mark.parametrize("retry", [False, True])
def test_every_code_has_a_line_that_says_what_to_do(code: str, retry: bool) -> None:
    sentence = failed(code, retry=retry, status=429, model="m")
    assert is_one_line(sentence)
    assert sentence.startswith("Stopped") == (code == "stopped")
    if code != "stopped":
        assert ("ress Retry" in sentence, "end it again" in sentence) == (retry, not retry)


def test_codes_do_not_share_a_sentence() -> None:
    assert len({failed(code) for code in CODES}) == len(CODES)


def test_an_unknown_code_is_our_own_fault() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        failed("nonsense")


def test_every_other_sentence_is_one_line_and_none_is_forgotten() -> None:
    public = {name for name, thing in vars(notices).items() if inspect.isfunction(thing) and name[0] != "_"}
    assert public - {"clean", "assert_never", "failed", "stopped", "settled"} == set(OTHERS)
    for say in OTHERS.values():
        assert is_one_line(say())
        assert not say().startswith("Stopped ")


def test_status_and_model_are_all_that_is_told_of_a_provider() -> None:
    assert failed("provider-error", status=503, model="big`\n@everyone [x]") == (
        "The model's provider failed (status 503, model `big  @everyone  x`), so there is no answer."
        " Send it again to try once more."
    )
    assert "(" not in failed("provider-error")
    assert asked_again(1700, status=429) == (
        "The model's provider is at its limit (status 429); asked again <t:1700:R>. Stop ends the wait."
    )


def test_the_receipts_of_stop() -> None:
    assert stopped() == "Stopped."
    assert stopped(Halted.RUNNING, tools=1, kept=2) == "Stopped: running turn, 1 open tool, 2 waiting messages kept."
    assert stopped(Halted.BACKOFF, by=7, until=1700) == (
        "Stopped by <@7>: wait before asking again."
        " The turn is still ending; the next message waits until <t:1700:T> at most."
    )
    assert notices.settled("Stopped.", ()) == "Stopped."
    assert notices.settled("Stopped.", ["sleep (7)"]) == "Stopped. Still running: sleep  7."
    assert notices.settled("Stopped.", None) == "Stopped. Whether its tools are gone cannot be verified here."
