"""What Discord cannot show is rewritten as what it can (tables, deep headings, fences), and nothing else is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.render import Parts, render
from connector.render_blocks import tokens
from connector.render_rewrite import APART, rewrite

KINDS = {"fence", "table_open", "heading_open"}


def held_apart(code: str) -> str:
    return code.replace("```", APART.join("```"))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("#### Deep", "**Deep**"),
        ("###### Deep ###", "**Deep**"),
        ("#### The **big** `a**b` one", "**The big `a**b` one**"),
        ("- #### in a list\n  more", "- **in a list**\n  more"),
        ("> ##### quoted", "> **quoted**"),
        ("a\n#### b\nc", "a\n**b**\nc"),
    ],
)
def test_deep_headings_become_bold(source: str, shown: str) -> None:
    assert rewrite(source) == shown


@pytest.mark.parametrize(
    "source",
    [
        "# One\n## Two\n### Three\n####\n####no heading",
        "> quote\n> more\n\n- a\n  - b\n1. c\n",
        "```py\n#### comment\n| a | b |\n|---|---|\n```",
        "- ```\n  x\n  ```\n- y",
        "Title\n=====\n\n    indented\n\n[a]: http://x\n<b>\n",
        "a | b",
        "",
    ],
)
def test_what_discord_shows_is_left_to_the_character(source: str) -> None:
    assert rewrite(source) == source


@given(st.text(alphabet=" \t\n#>-+*=_:.()[]\\1ab", max_size=60).filter(lambda text: "####" not in text))
def test_a_text_that_is_not_looked_at_has_nothing_to_rewrite(source: str) -> None:
    """A plain text is the most frequent answer: it is not parsed only to be left as it is."""
    found = [(token.type, len(token.markup)) for token in tokens(source.split("\n"))]
    assert [(kind, size) for kind, size in found if kind in KINDS and (kind != "heading_open" or size > 3)] == []


def test_a_table_becomes_an_aligned_code_block() -> None:
    source = "before\n\n| Name | Size | 漢字 |\n|:-----|-----:|:--:|\n| **a** | 1 | x |\n| `b\\|c` | 1234 |\n\nafter"
    assert rewrite(source) == (
        "before\n\n```\nName  Size  漢字\n────  ────  ────\na        1   x\nb|c   1234\n```\n\nafter"
    )


def test_a_cell_beyond_the_header_is_not_lost() -> None:
    assert rewrite("a | b\n--|--\n1 | 2 | 3") == "```\na  b\n─  ─  ─\n1  2  3\n```"


def test_a_table_too_wide_or_with_links_becomes_a_list() -> None:
    wide = "w" * 80
    assert rewrite(f"| A | **B** |\n|---|---|\n| 1 | {wide} |\n| 2 | |\n|  | 3 |") == (
        f"- **A:** 1\n  - **B:** {wide}\n- **A:** 2\n- **B:** 3"
    )
    assert rewrite("> | A | |\n> |---|---|\n> | [x](http://y) | z |") == "> - **A:** [x](http://y)\n>   - z"
    assert rewrite(f"|{wide}|B|\n|---|---|") == f"- {wide}\n- B"


def test_a_table_in_a_list_stays_in_it() -> None:
    assert rewrite("- one\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- two") == (
        "- one\n\n  ```\n  a  b\n  ─  ─\n  1  2\n  ```\n- two"
    )
    assert rewrite("1. | a | b |\n   |---|---|\n   | 1 | 2 |") == "1. ```\n   a  b\n   ─  ─\n   1  2\n   ```"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("~~~js\nlet a\n~~~", "```js\nlet a\n```"),
        ("````\ncode\n````", "```\ncode\n```"),
        ("````md\n```py\nx\n```\n````", f"```md\n{held_apart('```py')}\nx\n{held_apart('```')}\n```"),
        ('```py\ns = "```"\n```', f'```py\ns = "{held_apart("```")}"\n```'),
        ("> ~~~ a`b\n> x\n> ~~~", "> ``` a'b\n> x\n> ```"),
    ],
)
def test_fences_become_what_discord_takes_for_one(source: str, shown: str) -> None:
    assert rewrite(source) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("```py\nopen", "```py\nopen\n```"),
        ("```py\nopen\n\n\n", "```py\nopen\n```"),
        ("```", "```\n```"),
        ("> ```py\n> open\n\nafter", "> ```py\n> open\n> ```\n\nafter"),
        ("- ```py\n  open\n- next", "- ```py\n  open\n  ```\n- next"),
    ],
)
def test_an_open_fence_is_closed(source: str, shown: str) -> None:
    assert rewrite(source) == shown


@pytest.mark.parametrize("source", ["#### a\n\n|a|b|\n|-|-|\n|1|2|", "````md\n```\nx\n```\n````\n\n> ~~~\n> y"])
def test_a_second_pass_changes_nothing(source: str) -> None:
    assert rewrite(rewrite(source)) == rewrite(source)


def test_line_ends_and_white_space_around_are_what_discord_would_keep() -> None:
    assert render(" \r\n\na\r\nb\rc\0 \n") == Parts(("a\nb\nc\ufffd",))
