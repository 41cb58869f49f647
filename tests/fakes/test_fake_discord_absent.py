"""Without Discord's specification beside the repository nothing is checked, unless it is said that it must be."""

from pathlib import Path

import pytest

from fakes import discord_spec


def test_a_specification_that_must_be_there_is_missed_aloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(discord_spec, "BESIDE", tmp_path / "openapi.json")
    monkeypatch.delenv("REQUIRE_SPEC", raising=False)
    assert discord_spec.beside() is None
    monkeypatch.setenv("REQUIRE_SPEC", "1")
    with pytest.raises(FileNotFoundError, match="REQUIRE_SPEC=1"):
        discord_spec.beside()
