"""The table of PROTOCOL's claims: each names recordings and holds in them, and each recording is named."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.claims.claim import OLD, Claim, pins, recorded, words_of
from tests.engine.claims.table import CLAIMS, NEWER, OLDER, UNPINNED

ROOT = Path(__file__).parents[2]
PROTOCOL = ROOT.parent / "shared" / "pi" / "PROTOCOL.md"
SECTIONS = range(14)


def named(claim: Claim) -> str:
    return f"{claim.section} {claim.says}"


@pytest.mark.parametrize("claim", CLAIMS, ids=named)
def test_a_claim_holds_in_its_recordings(claim: Claim) -> None:
    assert [name for name in claim.recordings if not claim.holds(name)] == []


def test_every_claim_names_recordings_and_says_what_must_hold() -> None:
    assert [named(claim) for claim in CLAIMS if not claim.recordings] == []
    assert [named(claim) for claim in CLAIMS if not (claim.order or claim.never or claim.also)] == []
    assert len({named(claim) for claim in CLAIMS}) == len(CLAIMS)


def test_every_recording_is_named_by_a_claim_of_its_own() -> None:
    """What is said of whole versions does not count; a name without a recording is none."""
    pinned = {name for claim in CLAIMS if not claim.general for name in claim.recordings}
    assert pinned == {*NEWER, *OLDER}


def test_every_section_of_the_protocol_is_in_the_table() -> None:
    sections = [claim.section for claim in CLAIMS] + [each.section for each in UNPINNED]
    told = {int(section[1:].partition(".")[0]) for section in sections}
    assert told == set(SECTIONS)


def test_what_no_recording_pins_has_a_reason_and_the_test_that_it_names() -> None:
    assert [each.says for each in UNPINNED if not each.why] == []
    for each in UNPINNED:
        if each.test:
            path, _, name = each.test.partition("::")
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.skipif(not PROTOCOL.exists(), reason="PROTOCOL.md is not beside this repository")
def test_each_recording_that_the_protocol_names_is_in_the_table_under_that_section() -> None:
    parts = re.split(r"^## (\d+)\.", PROTOCOL.read_text(encoding="utf-8"), flags=re.MULTILINE)
    known = {*NEWER, *OLDER}
    missing = []
    for number, body in zip(parts[1::2], parts[2::2], strict=True):
        mentioned = set(re.findall(r"\b[a-z]_\w+(?:@0\.73\.1)?", body)) & known
        here = {
            name
            for claim in CLAIMS
            if claim.section[1:].partition(".")[0] == number
            for name in claim.recordings
            if not claim.general
        }
        missing += [(f"§{number}", name) for name in sorted(mentioned - here)]
        assert mentioned or number in {"3", "12"}
    assert missing == []


# -- the check itself must see what it is for ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        pins("§4", "two words the wrong way round", "a_plain", "agent_end / agent_start"),
        pins("§4", "a word too many", "a_plain", "agent_start / agent_start"),
        pins("§4", "a word that is there", "a_plain", never="turn_end"),
        pins("§4", "a field", "a_plain", also=lambda r: r.exit == 1),
        pins("§4", "in the older version too", f"a_plain{OLD}", "agent_end / agent_start"),
    ],
    ids=named,
)
def test_what_does_not_hold_is_seen(changed: Claim) -> None:
    assert not changed.holds(changed.recordings[0])


def test_what_the_older_version_never_says_is_asked_of_the_newer_alone() -> None:
    claim = pins("§4", "an end", "a_plain+", "prompt started / agent_end / settled")
    assert [claim.holds(name) for name in claim.recordings] == [True, True]
    assert not replace(claim, order=(*claim.order, "settled")).holds("a_plain")
    assert "settled" not in words_of(recorded(f"a_plain{OLD}"))
