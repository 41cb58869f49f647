"""What a provider's final error means (BEHAVIOUR §2.1, 2.3): by status and type alone; named waits; jitter upwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.backoff import Failed, Limited, Quota, Trouble, classify, jittered, reset_of, wait_of
from engine.events import SECOND

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
RECORDED: tuple[tuple[str, Trouble], ...] = (
    # as the recordings have them: 1.6.0 with the error's body, 0.73.1 with its message alone
    ('429: {"message":"Rate limit reached","type":"rate_limit_error","code":"rate_limit_exceeded"}', Limited(429)),
    ("429 Rate limit reached", Limited(429)),
    ('503: {"message":"overloaded","type":"server_error"}', Limited(503)),
    ("503 overloaded", Limited(503)),
    ('529: {"message":"Overloaded"}', Limited(529)),
    ('500: {"message":"boom"}', Failed(500)),
    ("500 Internal server error", Failed(500)),
    ("502 status code (no body)", Failed(502)),
    ("400 bad request", Failed(400)),
    ('401: {"message":"wrong key"}', Failed(401)),
    ("Request was aborted", Failed()),
    ("Connection error.: other side closed (UND_ERR_SOCKET)", Failed()),
    ('429: {"message":"You exceeded your current quota","type":"insufficient_quota"}', Quota(429)),
    ('429: {"error":{"message":"spent","code":"insufficient_quota"}}', Quota(429)),
    ("429 You exceeded your current quota", Quota(429)),
)


@pytest.mark.parametrize(("detail", "meaning"), RECORDED, ids=lambda value: str(value)[:40])
def test_the_errors_that_were_recorded(detail: str, meaning: Trouble) -> None:
    assert classify(detail) == meaning


@pytest.mark.parametrize(
    ("detail", "meaning"),
    [
        ("the model gpt-429 does not exist", Failed()),
        ('400: {"message":"429 tokens are too many, overloaded"}', Failed(400)),
        ("4290 things", Failed()),
        ("x429: no", Failed()),
        ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', Limited(529)),
        ("Overloaded", Limited(529)),
        ("the kitchen is overloaded with work", Failed()),
        ("", Failed()),
        ("429", Limited(429)),
        ("429: [1]", Limited(429)),
        ('429: {"message":5,"type":["insufficient_quota"]}', Limited(429)),
    ],
)
def test_never_by_a_number_or_a_word_somewhere_in_it(detail: str, meaning: Trouble) -> None:
    assert classify(detail) == meaning


@given(st.text())
def test_any_text_has_a_meaning(detail: str) -> None:
    assert isinstance(classify(detail), Limited | Quota | Failed)


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("Please try again in 20s.", 20 * SECOND),
        ("Please try again in 20ms.", 20 * SECOND // 1000),
        ("try again in 1.5 seconds", 3 * SECOND // 2),
        ("try again in 1m30s", 90 * SECOND),
        ("try again in 6m0s", 6 * MINUTE),
        ("try again in 1h 2m 3s", HOUR + 2 * MINUTE + 3 * SECOND),
        ("Retry in 2 hours and 3 minutes", 2 * HOUR + 3 * MINUTE),
        ("retry after 30", 30 * SECOND),
        ("Retry-After: 7", 7 * SECOND),
        ("please wait 10 secs", 10 * SECOND),
        ("wait for 5 min", 5 * MINUTE),
        ("try again in 2 days", 48 * HOUR),
        ("try again in 5s, or retry after 30 seconds", 30 * SECOND),
        ("Limit 30000, used 29000, requested 5000", 0),
        ("try again later", 0),
    ],
)
def test_the_wait_that_an_error_names_is_never_read_as_shorter(said: str, wait: int) -> None:
    assert wait_of(said) == wait
    assert classify(f"429 {said}") == Limited(429, wait)


@pytest.mark.parametrize(
    ("said", "reset"),
    [
        ("resets at 2030-01-02T03:04:05Z", 1893553445),
        ("Resets at 2030-01-02 03:04:05+00:00", 1893553445),
        ("resets on 2030-01-02T04:04:05+01:00", 1893553445),
        ("resets at 2030-01-02T03:04", 1893553440),
        ("resets at 1893553445", 1893553445),
        ("resets at 1893553445000", 1893553445),
        ("resets at 2030-13-45T99:00", None),
        ("resets soon", None),
        ("it reset at noon", None),
    ],
)
def test_the_instant_at_which_a_quota_resets(said: str, reset: int | None) -> None:
    expected = None if reset is None else reset * SECOND
    assert reset_of(said) == expected
    assert classify(f'429: {{"message":"{said}","type":"insufficient_quota"}}') == Quota(429, expected)


@given(st.integers(0, 10**15), st.floats(0, 1, exclude_max=True))
def test_jitter_only_lengthens_and_by_a_fifth_at_most(wait: int, dice: float) -> None:
    """Over its whole range (Issue 4)."""
    assert wait <= jittered(wait, dice) <= wait * 6 // 5 + 1
