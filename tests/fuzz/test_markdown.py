"""Answers of every kind: no part too long or blank, every fence balanced, nothing lost or doubled, and no hang."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from connector.render import AsFile, Parts, render
from connector.render_blocks import closed, tokens
from connector.render_rewrite import APART, rewrite
from tests.fuzz.hostile import TEXTS, tried

WORD = st.sampled_from(
    [
        "word",
        "a",
        "Ünïcode",
        "שלום",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "漢字",
        "**bold**",
        "`code`",
        "e\u0301",
        "https://x.y/z",
        "[t](u)",
        "1.",
        "x" * 90,
    ]
)
LINE = st.lists(WORD, min_size=1, max_size=40).map(" ".join)
LANGUAGE = st.sampled_from(["", "py", "c++", "objective-c", "text title=x", "lang" + " more" * 60])


def _fenced(body: list[str], language: str, marker: str) -> list[str]:
    return [marker + language, *body, marker]


PARAGRAPH = st.lists(LINE, min_size=1, max_size=4)
CODE = st.builds(
    _fenced,
    st.lists(st.one_of(LINE, st.just(""), st.just("    deep")), min_size=1, max_size=12),
    LANGUAGE,
    st.sampled_from(["```", "~~~", "````"]),
)
HEADING = st.builds(lambda depth, line: [f"{'#' * depth} {line}"], st.integers(1, 6), LINE)
CELL = st.one_of(WORD, st.sampled_from(["", "```", "~~~", "# x", "- y", "`a \\| b`"]))
TABLE = st.lists(st.tuples(CELL, CELL), max_size=8).map(
    lambda rows: ["| h1 | |", "|---|--:|", *(f"| {a} | {b} |" for a, b in rows)]
)


def _quoted(block: list[str]) -> list[str]:
    return [f"> {line}".rstrip() for line in block]


def _item(marker: str, block: list[str]) -> list[str]:
    return [(marker if number == 0 else " " * len(marker)) + line for number, line in enumerate(block)]


BLOCK = st.recursive(
    st.one_of(PARAGRAPH, CODE, HEADING, TABLE),
    lambda inner: st.one_of(
        inner.map(_quoted),
        st.builds(_item, st.sampled_from(["- ", "1. ", "10. "]), inner),
        st.builds(lambda a, b: [*a, "", *b], inner, inner),
    ),
    max_leaves=4,
)
DOCUMENT = st.lists(BLOCK, min_size=1, max_size=6).map(lambda blocks: "\n\n".join("\n".join(block) for block in blocks))
CHAOS = st.text(st.sampled_from(list("``~~##>-*|:[]() \n\n\tab1.<\u0301🇩\u200d")), max_size=600)
LIMITS = st.sampled_from([100, 300, 2000])

_FENCE_LINE = re.compile(r"^([>\s]*(?:(?:[-+*]|\d+[.)])\s+)*[>\s]*)```[\w+.#-]*", re.MULTILINE)


def shown(text: str) -> str:
    """What a reader sees: no white space, fence marks with their language, quote marks or joiners of ours."""
    return re.sub(rf"[\s>{APART}]", "", _FENCE_LINE.sub(r"\1", text))


def seen(text: str, limit: int) -> list[str]:
    rendered = render(text, limit, 10**6)
    assert isinstance(rendered, Parts)
    return list(rendered.parts)


def assert_sound(parts: list[str], limit: int) -> None:
    for part in parts:
        assert 0 < len(part) <= limit
        assert part == part.strip()
        assert part.strip()
        fences = [token for token in tokens(part.split("\n")) if token.type == "fence"]
        assert all(closed(fence) for fence in fences), part


@given(text=DOCUMENT, limit=LIMITS)
@tried(30)
def test_documents_are_split_without_loss(text: str, limit: int) -> None:
    parts = seen(text, limit)
    assert_sound(parts, limit)
    assert shown("\n".join(parts)) == shown(rewrite(text.strip()))
    # Discord itself ends a code block at the next three backticks, wherever they stand.
    assert all(part.count("```") % 2 == 0 for part in parts)


@given(text=CHAOS, limit=LIMITS)
@example(text="`" * 300, limit=100)
@example(text="x " + "`" * 300, limit=100)
@example(text=">" * 300 + "a", limit=100)
@example(text="- " * 150 + "a", limit=100)
@tried(40)
def test_chaos_is_split_without_harm(text: str, limit: int) -> None:
    rendered = render(text, limit, 10**6)
    parts = list(rendered.parts) if isinstance(rendered, Parts) else [rendered.beginning]
    assert_sound(parts, limit)
    if isinstance(rendered, Parts):
        assert re.sub(r"[^ab1]", "", "".join(parts)) == re.sub(r"[^ab1]", "", rewrite(text.strip()))


@given(text=DOCUMENT, limit=LIMITS)
@tried(30)
def test_what_is_rewritten_and_fits_comes_back_as_it_is(text: str, limit: int) -> None:
    plain = rewrite(text.strip())
    if len(plain) <= limit:
        assert seen(text, limit) == [plain]
    assert rewrite(plain) == plain


@given(text=st.one_of(DOCUMENT, CHAOS), limit=LIMITS)
@tried(30)
def test_parts_are_rendered_to_themselves(text: str, limit: int) -> None:
    """So that a part read back from the ledger is posted as it was."""
    for part in seen(text, limit) if shown(text) else []:
        assert seen(part, limit) in ([part], [rewrite(part)])


@given(text=DOCUMENT)
@tried(30)
def test_too_many_parts_become_the_whole_text_and_its_beginning(text: str) -> None:
    rendered = render(text, 100, 2)
    if isinstance(rendered, AsFile):
        assert rendered.file_text == text
        assert_sound([rendered.beginning], 100)
    else:
        assert len(rendered.parts) <= 2


PIECES = st.one_of(
    st.sampled_from(
        [
            "a\n=\n",
            ">",
            "> ",
            ">\n",
            "[",
            "](",
            "*a ",
            "- ",
            "- a\n",
            "-\n\n",
            "* a\n- b\n",
            "1. ",
            "|a",
            "|",
            "|-|\n",
            "a|b\n-|-\n",
            "`",
            "```\n",
            "~~~\n",
            "```x\n",
            "<",
            "<div>\n",
            "[a]: b\n",
            "#### a ",
            "#### a #\n",
            " ",
            "\t",
            "\n",
            "\r",
            "***\n",
            "_",
            "\\",
            "\u0301",
            "👩\u200d",
            "🇩",
            "https://",
            "![](",
            "-# ",
            ">>> ",
            "  - a\n",
            "> - > - ",
            "x" * 70 + "\n",
        ]
    ),
    TEXTS,
)
HOSTILE = st.lists(st.tuples(PIECES, st.integers(1, 400)), min_size=1, max_size=4).map(
    lambda pieces: "".join(piece * times for piece, times in pieces)[:30_000]
)


@given(text=HOSTILE)
@example(text="#### a" + " " * 9_000 + "b")
@example(text="|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + "x\n" * 300)
@example(text="> " * 20 + "a\n" * 4_000)
@example(text="```" + "*a " * 267 + "```" * 400)
@example(text="> - ```" + "*a " * 700 + "```")
@tried(25)
def test_a_hostile_answer_becomes_messages_that_discord_takes(text: str) -> None:
    rendered = render(text)
    parts = list(rendered.parts) if isinstance(rendered, Parts) else [rendered.beginning]
    assert len(parts) <= 5
    assert_sound(parts, 2_000)
    if isinstance(rendered, AsFile):
        assert rendered.file_text == text
