"""The order that PROTOCOL guarantees, as data, and the comparison of two stories by it.

Events are in an order where they share a strand; where they share none, either may come first (PROTOCOL §4, "not
guaranteed"). Two stories are the same where every strand of the one tells what that strand of the other does.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from tests.contract.stories.told import Event

RUN = (
    *("agent_start", "agent_end*", "settled*", "turn_*", "message_*", "text", "thinking", "tool_execution_*"),
    *("auto_retry_*", "compaction_*", "summarization_*", "entry_appended"),
)

STRANDS: dict[str, tuple[str, ...]] = {
    "what happens in a run, to its settle (§4)": RUN,
    "a prompt is accepted before its run starts (§4)": ("prompt started", "agent_start", "agent_end*"),
    "a queue_update comes before the `queued` it is of (§4)": ("queue_update", "* queued", "clear_queue *"),
    "a queue_update comes before the echo of what left the queue (§5)": ("queue_update", "message_* user", "turn_end"),
    "the settle comes before the abort's response (§4, §6)": ("settled*", "abort ok", "message_* assistant aborted"),
    "the settle comes before new_session's response (§6)": ("settled*", "new_session ok", "switch_session ok"),
    "abort_retry is answered before the settle (§7)": ("auto_retry_*", "abort_retry ok", "settled*"),
    "a compaction comes before the response that waits for it (§8)": (
        *("compaction_*", "prompt started", "compact *", "abort ok"),
    ),
    "a dialog comes in its tool, and before its command is handled (§9)": (
        *("asks *", "tool_execution_*", "prompt handled", "extension_error"),
    ),
    "output of bash comes before its response (§3)": ("bash_execution_update", "bash *"),
    "a changed setting is told before its response (§2, §3)": (
        *("thinking_level_changed", "session_info_changed", "set_*", "cycle_*"),
    ),
}
"""What must be in order, as words of events (``*`` stands for anything)."""


def strand(events: Iterable[Event], words: Sequence[str]) -> list[Event]:
    """Those of the events that belong to a strand, in their order."""
    return [event for event in events if any(fnmatchcase(event.word, word) for word in words)]


def differences(fake: list[Event], real: list[Event]) -> list[str]:
    """How two stories differ, strand by strand, as text to read; [] where they are the same."""
    found = []
    for word in dict.fromkeys(event.word for event in [*real, *fake]):
        found += _diff(f"every [{word}]", strand(fake, [_plain(word)]), strand(real, [_plain(word)]))
    for name, words in STRANDS.items():
        found += _diff(name, strand(fake, words), strand(real, words))
    return found


def _plain(word: str) -> str:
    """A pattern that is this word alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in word)


def _diff(name: str, fake: list[Event], real: list[Event]) -> list[str]:
    if fake == real:
        return []
    lines = difflib.unified_diff(
        [str(event) for event in real], [str(event) for event in fake], "the real pi", "the fake", n=2, lineterm=""
    )
    return [f"-- {name}", *lines]
