"""The blocks of a text as Discord sees them: fences at any depth, and no block that Discord does not know."""

import pytest

from connector.render_blocks import Block, tree


def kinds(text: str) -> list[str]:
    return [block.kind for block in tree(text.split("\n")).children]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    ```\n    code\n    ```", ["fence"]),
        ("<div>\n```\ncode\n```\n</div>", ["paragraph", "fence", "paragraph"]),
        ("[a]: http://x", ["paragraph"]),
        ("Title\n===", ["paragraph"]),
        ("Title\n---\n# Other", ["paragraph", "hr", "heading"]),
        ("a\n\n> b\n\n- c\n\n\n1. d", ["paragraph", "blockquote", "bullet_list", "ordered_list"]),
        ("| a |\n|---|", ["paragraph"]),
    ],
)
def test_what_discord_knows(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_every_line_that_is_not_blank_lies_in_one_leaf() -> None:
    lines = ["-", "  text", "", ">", "> - q", "> ", "end"]
    assert tree(lines).children == [
        Block(
            "bullet_list",
            0,
            2,
            children=[Block("list_item", 0, 2, children=[Block("text", 0, 1), Block("paragraph", 1, 2)])],
        ),
        Block(
            "blockquote",
            3,
            5,
            quotes=1,
            children=[
                Block(
                    "bullet_list",
                    4,
                    5,
                    quotes=1,
                    children=[Block("list_item", 4, 5, quotes=1, children=[Block("paragraph", 4, 5, quotes=1)])],
                )
            ],
        ),
        Block("paragraph", 6, 7),
    ]
