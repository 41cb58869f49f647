"""Which files go on which message, where the lines stand that say what does not, and what is left after a refusal."""

from typing import Any

import pytest

from connector import facts
from connector.outbox import nonce
from connector.ports import Attached, Button, Part
from connector.post_parts import MOST_BYTES, Packed, made, without_files

KEY = "r1/answer/1"
RETRY = (Button("retry:r1", "Retry", "primary"),)
A, B = Attached("a.txt", b"a"), Attached("b.txt", b"b")
LINE = "could not attach c.txt: there is no such file"


def owed(**wanted: Any) -> facts.Owed:
    given: dict[str, Any] = {"round": "r1", "channel": 1, "kind": "answer", "text": "attach: x", "reply_to": 77}
    return facts.Owed(key=KEY, **{**given, **wanted})


def part(number: int, content: str, *files: Attached, buttons: tuple[Button, ...] = ()) -> Part:
    return Part(1, content, nonce(KEY, number), 0 if number else 77, buttons, files)


def names(parts: tuple[Part, ...]) -> list[list[str]]:
    return [[file.name for file in one.files] for one in parts]


def test_files_go_with_the_texts_last_message() -> None:
    assert made(owed(), Packed("hello", (A, B))) == (part(0, "hello", A, B),)
    text = "a" * 1500 + "\n\n" + "b" * 1500
    assert made(owed(), Packed(text, (A,))) == (part(0, "a" * 1500), part(1, "b" * 1500, A))


def test_files_without_a_text_are_a_message_without_content() -> None:
    assert made(owed(), Packed("\n", (A,))) == (part(0, "", A),)


def test_a_line_for_each_file_that_is_not_sent_ends_the_text() -> None:
    assert made(owed(), Packed("hello", (A,), (LINE, LINE))) == (part(0, f"hello\n\n{LINE}\n{LINE}", A),)
    assert made(owed(), Packed("", (), (LINE,))) == (part(0, LINE),)
    assert made(owed(), Packed("", (A,), (LINE,))) == (part(0, LINE, A),)
    fence = "```\ncode\n```"
    assert made(owed(), Packed(fence, (), (LINE,))) == (part(0, f"{fence}\n\n{LINE}"),)


def test_lines_that_do_not_fit_behind_the_text_are_a_message_of_their_own() -> None:
    fits = 2000 - len(LINE) - 2
    assert made(owed(), Packed("x" * fits, (A,), (LINE,))) == (part(0, "x" * fits + f"\n\n{LINE}", A),)
    text = "x" * (fits + 1)
    assert made(owed(), Packed(text, (A,), (LINE,))) == (part(0, text, A), part(1, LINE))
    many = tuple(f"could not attach {'y' * 60}: {n}" for n in range(100))
    parts = made(owed(), Packed("hello", (A,), many))
    assert all(0 < len(one.content) <= 2000 for one in parts)
    assert "\n".join(one.content for one in parts).split("\n") == ["hello", "", *many]


def test_more_files_than_discord_takes_in_one_message_go_in_further_ones() -> None:
    files = tuple(Attached(str(n), b"") for n in range(21))
    parts = made(owed(retry=True), Packed("hello", files, (LINE,)))
    assert names(parts) == [[str(n) for n in range(10)], [str(n) for n in range(10, 20)], ["20"]]
    assert [one.content for one in parts] == [f"hello\n\n{LINE}", "", ""]
    assert [one.nonce for one in parts] == [nonce(KEY, n) for n in range(3)]
    assert [one.reply_to for one in parts] == [77, 0, 0]
    assert [one.buttons for one in parts] == [(), (), RETRY]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([MOST_BYTES - 1, 1], [["0", "1"]]),
        ([MOST_BYTES, 1], [["0"], ["1"]]),
        ([1, MOST_BYTES, 1, 1], [["0"], ["1"], ["2", "3"]]),
        ([2 * MOST_BYTES, 1], [["0"], ["1"]]),
    ],
)
def test_files_that_are_too_large_together_go_apart(sizes: list[int], expected: list[list[str]]) -> None:
    files = tuple(Attached(str(n), kept=f"/{n}", size=size) for n, size in enumerate(sizes))
    assert names(made(owed(), Packed("hello", files))) == expected


def test_a_text_that_goes_as_a_file_goes_first() -> None:
    text = "\n\n".join(f"{n} " + "x" * 1500 for n in range(9))
    (one,) = made(owed(), Packed(text, (A,)))
    assert one.files == (Attached("answer.md", text.encode()), A)


def test_after_a_refusal_the_text_stays_and_says_so() -> None:
    refused = [f"could not attach {name}: Discord did not take it" for name in ("a.txt", "b.txt")]
    parts = made(owed(retry=True), Packed("hello", (A, B)))
    assert without_files(KEY, parts, 0) == (part(0, "hello\n\n" + "\n".join(refused), buttons=RETRY),)
    alone = made(owed(), Packed("", (A,)))
    assert without_files(KEY, alone, 0) == (part(0, refused[0]),)


def test_after_a_refusal_what_comes_behind_moves_on_when_the_lines_need_a_message() -> None:
    text = "x" * 1990
    files = tuple(Attached(str(n), b"") for n in range(11))
    parts = made(owed(retry=True), Packed(text, files))
    left = without_files(KEY, parts, 0)
    lines = "\n".join(f"could not attach {n}: Discord did not take it" for n in range(10))
    assert left == (part(0, text), part(1, lines), part(2, "", files[10], buttons=RETRY))
    last = without_files(KEY, parts, 1)
    line = "could not attach 10: Discord did not take it"
    assert last == (parts[0], part(1, line, buttons=RETRY))
