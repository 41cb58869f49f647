"""Which lines of an answer name files, and what is left of the text; the names as people and Discord get them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.attach_lines import Named, named, sent_name, shown_name

NAMING = [
    ("attach: a.txt", "", ("a.txt",)),
    ("Here.\n\nattach: a.txt", "Here.\n", ("a.txt",)),
    ("Here.\n\nattach: a.txt\n\nThat is all.", "Here.\n\nThat is all.", ("a.txt",)),
    ("attach: a.txt\n\nThat is all.", "That is all.", ("a.txt",)),
    ("one\nattach: a.txt\ntwo", "one\ntwo", ("a.txt",)),
    ("attach: a\nattach: b/c d.txt\t \nattach: a", "", ("a", "b/c d.txt")),
    ("x\r\nattach: a.txt\r\ny\rz", "x\ny\nz", ("a.txt",)),
    ("   attach: \t a.txt", "", ("a.txt",)),
    ("```\ncode\n```\nattach: a.txt", "```\ncode\n```", ("a.txt",)),
    ("- ```\n  code\nattach: a.txt", "- ```\n  code", ("a.txt",)),  # the list's end is the fence's
    ("attach: a\u2028b\u202e.txt", "", ("a\u2028b\u202e.txt",)),
]


@pytest.mark.parametrize(("text", "left", "paths"), NAMING)
def test_a_line_of_its_own_names_a_file_and_is_taken_out(text: str, left: str, paths: tuple[str, ...]) -> None:
    assert named(text) == Named(left, paths)


@pytest.mark.parametrize(
    "text",
    [
        "no file at all\r\n\r\n",
        "attach:a.txt",
        "attach:",
        "attach: ",
        "Attach: a.txt",
        "please attach: a.txt",
        "    attach: a.txt",
        "> attach: a.txt",
        "- attach: a.txt",
        "`attach: a.txt`",
        "```\nattach: a.txt\n```",
        "~~~ text\nattach: a.txt\n~~~",
        "````\n```\nattach: a.txt\n```\n````",
        "```\nattach: never closed",
        "1. ```\n   attach: a.txt\n   ```",
        "```\n~~~\nattach: a.txt\n```",
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert named(text) == Named(text)


LINES = st.sampled_from(["", "word", "attach: a.txt", "attach: b", "```", "~~~", "> quote", "- item", "    deep"])


@given(st.lists(LINES, max_size=12))
def test_what_is_not_a_naming_line_stays_and_none_is_left(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = named(text)
    kept = found.text.split("\n")
    assert [line for line in kept if line.strip() and not line.startswith("attach: ")] == [
        line for line in lines if line.strip() and not line.startswith("attach: ")
    ]
    if found.paths:
        assert len(kept) < len(lines) or found.text == ""


@pytest.mark.parametrize(
    ("path", "shown", "sent"),
    [
        ("out/report.pdf", "report.pdf", "report.pdf"),
        ("/abs/Ünï côdé (1).txt", "Ünï côdé  1 .txt", "Ünï côdé (1).txt"),
        ('a"b\\c.txt', 'a"b\\c.txt', "a_b_c.txt"),
        ("evil\u202etxt.exe", "evil txt.exe", "evil_txt.exe"),
        ("a\r\nb\x00.txt", "a  b .txt", "a__b_.txt"),
        ("lone \udcff.txt", "lone  .txt", "lone _.txt"),
        ("[x](y)·", "x  y", "[x](y)·"),
        ("folder/", "folder", "folder"),
        ("/", "a file without a name", "file"),
        ("x" * 300 + ".tar", "x" * 64, "x" * 96 + ".tar"),
        ("x" * 300, "x" * 64, "x" * 100),
        ("x." + "y" * 300, "x." + "y" * 62, "x." + "y" * 98),
    ],
)
def test_a_name_ends_neither_its_line_nor_its_place(path: str, shown: str, sent: str) -> None:
    assert (shown_name(path), sent_name(path)) == (shown, sent)
