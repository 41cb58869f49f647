"""The validation against Discord's specification finds what is wrong, and says nothing of what is right."""

from typing import Any

import pytest

from fakes.discord_spec import BESIDE, Spec, absent, load

pytestmark = pytest.mark.skipif(absent(), reason="Discord's openapi.json is not at hand")

POST = ("POST", "/channels/1/messages")


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load(BESIDE)


@pytest.mark.parametrize(
    "body",
    [
        {"content": "x", "nonce": "n", "enforce_nonce": True, "tts": False},
        {"content": "x", "message_reference": {"message_id": 12, "channel_id": 3, "fail_if_not_exists": False}},
        {"content": "x", "allowed_mentions": {"parse": [], "replied_user": True}},
    ],
)
def test_a_good_request_passes(spec: Spec, body: Any) -> None:
    assert spec.check_request(*POST, body) == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"content": 7}, "content"),
        ({"content": "x", "nonce": "n" * 26}, "nonce"),
        ({"content": "x", "allowed_mentions": {"parse": ["nobody"]}}, "allowed_mentions/parse/0"),
        ({"content": "x", "enforced_nonce": True}, "enforced_nonce"),
        ({"components": [{"type": 1, "components": [{"type": 2, "style": 9, "custom_id": "a"}]}]}, "components/0/"),
    ],
)
def test_a_bad_request_is_told_where(spec: Spec, body: Any, where: str) -> None:
    (violation,) = spec.check_request(*POST, body)
    assert (violation.side, violation.route) == ("request", "/channels/{channel_id}/messages")
    assert violation.where.startswith(where)


def test_an_unknown_operation_is_a_violation(spec: Spec) -> None:
    assert [v.problem for v in spec.check_request("GET", "/no/such", None)] == ["no such operation"]
    assert [v.problem for v in spec.check_request("PUT", "/gateway", None)] == ["no such operation"]


def test_replies_are_held_to_status_and_shape(spec: Spec) -> None:
    assert spec.check_reply("GET", "/gateway", 200, {"url": "wss://x/"}) == []
    assert spec.check_reply("GET", "/gateway", 503, None) == []
    assert spec.check_reply(*POST, 400, {"message": "no", "code": 50006}) == []
    assert [v.where for v in spec.check_reply("GET", "/gateway", 200, {"url": 1})] == ["url"]
    assert "status 201" in spec.check_reply("GET", "/gateway", 201, {"url": "x"})[0].problem
    assert spec.check_reply("POST", "/channels/1/typing", 204, None) == []


def test_the_most_literal_template_wins(spec: Spec) -> None:
    assert spec.template("/channels/1/messages/pins") == "/channels/{channel_id}/messages/pins"
    assert spec.template("/users/@me") == "/users/@me"
    assert spec.template("/users/12") == "/users/{user_id}"
    assert spec.template("/users") is None
