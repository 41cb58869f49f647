"""What a text costs to show grows with it, whatever it is made of, and does not hold the event loop up.

Work is counted in calls and in lines that were measured: a clock would judge the machine.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from math import isqrt
from types import FrameType
from typing import Any

import pytest

from connector import facts, posting, render_pack
from connector.ports import Part
from connector.post_parts import Packed, made
from connector.render import AsFile, Parts, costly, render
from connector.render_pack import pack
from connector.render_rewrite import rewrite
from tests.connector.posting_setting import Setting, owed

KINDS: dict[str, Callable[[int], str]] = {
    "underlines": lambda n: "a\n=\n" * n,
    "quotes": lambda n: ">" * 4 * n,
    "quoted lines": lambda n: "> a\n\n" * n,
    "lines behind quotes": lambda n: "> " * 20 + "a\n" * n,
    "lines behind items": lambda n: "- " * 9 + "a\n" * n,
    "brackets": lambda n: "[" * 4 * n,
    "emphasis": lambda n: "*a " * n,
    "items in items": lambda n: "- " * 2 * n,
    "items": lambda n: "- a\n" * n,
    "lists": lambda n: "- a\n* b\n" * n,
    "empty items": lambda n: "-\n\n" * n,
    "deeper items": lambda n: "".join(" " * depth + "- a\n" for depth in range(isqrt(2 * n))),
    "one table": lambda n: "|a|b|\n|-|-|\n" + "|x|y|\n" * n,
    "tables": lambda n: "a|b\n-|-\n" * n,
    "columns": lambda n: "|" + "a|" * n + "\n|" + "-|" * n + "\n|x|\n",
    "columns and rows": lambda n: "|" + "a|" * n + "\n|" + "-|" * n + "\n" + "x\n" * n,
    "backticks": lambda n: "".join("`" * count + "a" for count in range(isqrt(2 * n))),
    "fences": lambda n: "```\na\n```\n" * n,
    "open fences": lambda n: "~~~\n" * n,
    "one fence": lambda n: "```\n" + "a\n" * n + "```\n",
    "angles": lambda n: "<" * 4 * n,
    "html": lambda n: "<div>\n" * n,
    "references": lambda n: "[a]: b\n" * n,
    "headings": lambda n: "#### a\n" * n,
    "rules": lambda n: "***\n" * n,
    "short lines": lambda n: "a\n" * n,
    "paragraphs": lambda n: "a\n\n" * n,
}


class Work:
    """Counts, while it is entered, every call there is and every line that is measured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done = 0
        size = render_pack._size

        def measured(lines: Sequence[str]) -> int:
            self.done += len(lines)
            return size(lines)

        monkeypatch.setattr(render_pack, "_size", measured)

    def of(self, work: Callable[[], object]) -> int:
        work()  # what a kind of text imports and makes once counts for nobody, whichever test comes first
        self.done = 0
        sys.setprofile(self._count)
        try:
            work()
        finally:
            sys.setprofile(None)
        return self.done

    def _count(self, _frame: FrameType, event: str, _given: Any) -> None:
        self.done += event in {"call", "c_call"}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Work:
    render("a\n")  # what is imported and made once counts for nobody
    return Work(monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_text_is_twice_the_work(kind: str, counted: Work) -> None:
    def shown(n: int) -> int:
        text = KINDS[kind](n)
        return counted.of(lambda: pack(rewrite(text), 100, 1_000))

    # What is constant makes it less, never more; of what is quadratic it is four times.
    assert shown(300) <= 2.4 * shown(150)


def test_lines_behind_quotes_cost_what_lines_cost(counted: Work) -> None:
    def shown(text: str) -> int:
        return counted.of(lambda: pack(rewrite(text), 100, 1_000))

    assert shown("> " * 20 + "a\n" * 300) <= 2 * shown("a\n" * 300)


@pytest.mark.parametrize("kind", ["paragraphs", "short lines", "one fence", "items"])
def test_a_line_costs_the_same_however_much_its_part_holds(kind: str, counted: Work) -> None:
    text = KINDS[kind](1_000)

    def packed(limit: int) -> int:
        return counted.of(lambda: pack(text, limit, 1_000))

    assert packed(1_900) <= 1.5 * packed(100)


@pytest.mark.parametrize(
    "text", ["#### a" + " " * 200_000 + "b", "#### a" + " #" * 100_000 + "b"], ids=["blanks", "marks"]
)
def test_a_headings_end_is_found_at_once(text: str) -> None:
    """A search that begins anew at each blank would reach the bound of a test: there is nothing else to count."""
    assert rewrite(text) == f"**{text.removeprefix('#### ')}**"


@pytest.mark.parametrize("kind", ["items", "short lines", "tables", "one fence"])
def test_of_what_becomes_a_file_only_the_beginning_is_looked_at(kind: str, counted: Work) -> None:
    small, large = KINDS[kind](5_000), KINDS[kind](500_000)
    few, many = counted.of(lambda: render(small)), counted.of(lambda: render(large))
    # Beyond the number of characters that is hopeless anyway its lines are not even counted.
    assert many <= 1.1 * few


def test_no_more_parts_are_made_than_are_posted(counted: Work) -> None:
    text = rewrite("word " * 20_000)
    assert len(pack(text, 2_000, 5)) == 6
    assert counted.of(lambda: pack(text, 2_000, 5)) <= 0.2 * counted.of(lambda: pack(text, 2_000, 1_000))


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("a\n" * 4_999 + "a", False),  # 9,999 characters, and a break between two parts is none of them
        ("a\n" * 5_010, True),
        ("| a |\n|---|\n" + "| b |\n" * 900, False),
        ("a\n" + ">\n" * 9_000 + "b", False),
        ("a" + "\n" * 15_000 + "b", False),
    ],
)
def test_what_is_sure_to_need_more_parts_is_sure(text: str, file: bool) -> None:
    """The look at the lines alone, before any parsing, must never make a file of what fits."""
    shown = render(text)
    assert isinstance(shown, AsFile) is file
    if isinstance(shown, Parts):
        assert shown.parts[-1].endswith(text.strip()[-1] if "|" not in text else "```")


# -- beside the loop -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "there"),
    [("a short answer", False), ("word " * 3_000, False), ("- a\n" * 100, True), ("word " * 400_000, True)],
)
@pytest.mark.anyio
async def test_what_may_take_long_is_rendered_in_a_thread(
    text: str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noted(one: facts.Owed, packed: Packed | None = None) -> tuple[Part, ...]:
        threads.append(threading.current_thread())
        return made(one, packed)

    monkeypatch.setattr(posting, "made", noted)
    setting = Setting()
    task = asyncio.create_task(setting.posting.run())
    setting.posting.owe(owed(text=text))
    await setting.until(lambda: any(isinstance(fact, facts.Posted) for fact in setting.told))
    task.cancel()
    await asyncio.wait({task})
    assert costly(text) is there
    assert (threads[0] is not threading.main_thread()) is there
