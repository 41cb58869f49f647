"""Exit codes of CONTRACT, and the exceptions that carry them."""

import pytest

from connector.exits import ExitCode, Fault, Refusal
from connector.findings import Finding


def test_codes_are_those_of_the_contract() -> None:
    assert {code.name: int(code) for code in ExitCode} == {"STOPPED": 0, "FAULT": 1, "USAGE": 2, "REFUSED": 3}
    assert (Fault("x").code, Refusal("x", "y").code) == (1, 3)


def test_refusal_says_what_is_wrong_and_what_to_do() -> None:
    refusal = Refusal("the token is wrong", "copy it anew")
    assert refusal.lines() == ("error: the token is wrong; copy it anew",)
    assert str(refusal) == "error: the token is wrong; copy it anew"
    assert refusal.reason == "the token is wrong"


def test_refusal_of_several_findings_has_a_line_for_each_and_one_for_the_log() -> None:
    findings = (Finding("error", "a.b", "is x", "give y", "FILE"), Finding("error", "c", "is z", "do w"))
    refusal = Refusal.of(findings)
    assert refusal.lines() == ("error: a.b: is x; give y (FILE)", "error: c: is z; do w")
    assert refusal.reason == "error: a.b: is x; give y (FILE) | error: c: is z; do w"


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\x1b[2Jb", "a\u2028b", "a\u202eb", "a\ud800b"])
def test_finding_is_always_one_printable_line(text: str) -> None:
    line = Finding("warning", "k", text, text, text).line()
    assert line.isprintable()
    line.encode()
