"""Redaction: the known value and what is shaped like a secret go, `<@id>` and ordinary words stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.redact import REMOVED, Redactor
from connector.token import Secret

TOKEN = "MTAwMDAwMDAwMDAwMDAwMDAwMQ.GaBcDe.abcdefghijklmnopqrstuvwxyz0123456789AB"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"login with {TOKEN}!", f"login with {REMOVED}!"),
        (f"Authorization: Bot {TOKEN}", f"Authorization: {REMOVED}"),
        ("authorization: Bearer abc", f"authorization: {REMOVED}"),
        ("{'Authorization': 'Bot abc', 'A': 1}", f"{{'Authorization': '{REMOVED}', 'A': 1}}"),
        ('{"Authorization":"Basic YWJj","A":1}', f'{{"Authorization":"{REMOVED}","A":1}}'),
        (r'"{\"Authorization\": \"abc\", \"A\": 1}"', rf'"{{\"Authorization\": \"{REMOVED}\", \"A\": 1}}"'),
        ("Bearer abc123", f"Bearer {REMOVED}"),
        ("x-api-key: abc, b", f"x-api-key: {REMOVED}, b"),
        ("api_key=abc&b=1", f"api_key={REMOVED}"),
        ("key sk-ant-api03-abcdefgh-12345", f"key {REMOVED}"),
        ("wrong key (sk-proj-abcdefgh)", f"wrong key ({REMOVED})"),
        ("\nsk-or-v1-0123456789abcdef\n", f"\n{REMOVED}\n"),
        ("AIza" + "x" * 35, REMOVED),
        ("ghp_" + "a1" * 18, REMOVED),
        (
            "POST /api/v10/webhooks/12345/aW50ZXJhY3Rpb246MTIz/messages",
            f"POST /api/v10/webhooks/12345/{REMOVED}/messages",
        ),
        ("/interactions/12345/aW50ZXJhY3Rpb246MTIz/callback", f"/interactions/12345/{REMOVED}/callback"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", REMOVED),
    ],
)
def test_shapes(before: str, after: str) -> None:
    assert Redactor().text(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "<@123456789012345678> <@!1> <@&2> <#3>",
        "the task-management-system of a desk-bound risk-averse clerk",
        "the bearer of this letter, bearer bonds",
        "Bot of the year",
        "connector.gateway.session 1.2.3 discord.com/api/v10/channels/123456789012345678/messages",
        "a" * 64,
        "2026-01-02T03:04:05.678901Z",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor(TOKEN).text(text) == text


def test_the_known_value_goes_wherever_it_stands() -> None:
    redactor = Redactor("odd-shaped+token")
    assert redactor.text("xodd-shaped+tokenx odd-shaped+token") == f"x{REMOVED}x {REMOVED}"


def test_a_value_that_is_part_of_another_leaves_no_rest() -> None:
    redactor = Redactor("abcdefgh", "abcdefghijkl")
    assert redactor.text("abcdefghijkl abcdefgh") == f"{REMOVED} {REMOVED}"


def test_mention_stays_even_where_its_digits_are_a_known_value() -> None:
    assert Redactor("123456789").text("<@123456789> 123456789") == f"<@123456789> {REMOVED}"


def test_a_short_value_does_not_eat_the_log() -> None:
    assert Redactor("a").text("a banana") == "a banana"


@given(st.text(), st.text())
def test_the_token_never_stays(before: str, after: str) -> None:
    assert TOKEN not in Redactor(TOKEN).text(before + TOKEN + after)


@given(
    st.integers(0, 2**63), st.sampled_from(["<@{}>", "<@!{}>", "<@&{}>", "<#{}>"]), st.text("ab <@!&>#1", max_size=20)
)
def test_mentions_always_stay(number: int, form: str, around: str) -> None:
    mention = form.format(number)
    assert mention in Redactor(TOKEN).text(f"{around} {mention} {around}")


class _Broken:
    def __repr__(self) -> str:
        raise RuntimeError


def test_nested_values_become_plain_ones_without_secrets() -> None:
    value = {
        "a": [f"x {TOKEN}", (1, 2.5, None, True), {TOKEN}],
        TOKEN: b"\xff" + TOKEN.encode(),
        "headers": {"Authorization": "odd", "X-Api-Key": b"odd", "token": 5},
        "odd": float("nan"),
        "object": Secret(TOKEN),
        "broken": _Broken(),
    }
    assert Redactor().value(value) == {
        "a": [f"x {REMOVED}", [1, 2.5, None, True], [REMOVED]],
        REMOVED: f"\ufffd{REMOVED}",
        "headers": {"Authorization": REMOVED, "X-Api-Key": REMOVED, "token": 5},
        "odd": "nan",
        "object": "Secret(…)",
        "broken": "<_Broken>",
    }


def test_a_value_that_holds_itself_ends() -> None:
    value: list[object] = [TOKEN]
    value.append(value)
    assert TOKEN not in repr(Redactor().value(value))
