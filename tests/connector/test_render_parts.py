"""Where an answer is split (CONTRACT: 2,000 characters, between blocks, fences closed and reopened, 5 parts)."""

import pytest

from connector.render import AsFile, Parts, render


def parts(text: str, limit: int = 100, max_parts: int = 50) -> list[str]:
    rendered = render(text, limit, max_parts)
    assert isinstance(rendered, Parts)
    return list(rendered.parts)


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


@pytest.mark.parametrize("blank", ["", " ", "\n\t\r\n", "\u2003"])
def test_a_text_that_shows_nothing_has_no_parts(blank: str) -> None:
    assert render(blank) == Parts(())


def test_a_short_text_is_one_part() -> None:
    assert render("x" * 2000) == Parts(("x" * 2000,))
    assert render("😀" * 2000) == Parts(("😀" * 2000,))


def test_paragraphs_are_kept_whole() -> None:
    one, two, three = words(10, "one"), words(16, "two"), words(5, "three")
    assert parts(f"{one}\n\n{two}\n\n\n{three}") == [one, f"{two}\n\n\n{three}"]


def test_a_heading_goes_with_what_it_heads() -> None:
    first, second = words(12), words(10)
    assert parts(f"{first}\n\n## Title\n\n{second}") == [first, f"## Title\n\n{second}"]
    assert parts(f"{first}\n\n#### Title\n\n{second}") == [first, f"**Title**\n\n{second}"]


def test_list_items_are_kept_whole_and_lose_the_indentation_of_a_list_left_behind() -> None:
    inner = [f"  - item {n} {words(4)}" for n in range(5)]
    text = "\n".join(["- top", *inner, "- end"])
    assert parts(text) == [
        "\n".join(["- top", *inner[:3]]),
        "\n".join([*(line[2:] for line in inner[3:]), "- end"]),
    ]


def test_a_fence_is_closed_and_reopened_with_its_language() -> None:
    body = [f"line number {n}" for n in range(12)]
    text = "\n".join(["intro", "", "```py title=x", *body, "```", "", "outro"])
    assert parts(text) == [
        "\n".join(["intro", "", "```py title=x", *body[:5], "```"]),
        "\n".join(["```py", *body[5:11], "```"]),
        "\n".join(["```py", *body[11:], "```", "", "outro"]),
    ]


def test_a_fence_in_a_quote_stays_in_it() -> None:
    body = [f"> line number {n}" for n in range(8)]
    text = "\n".join(["> ```py", *body, "> ```"])
    assert parts(text) == [
        "\n".join(["> ```py", *body[:5], "> ```"]),
        "\n".join(["> ```py", *body[5:], "> ```"]),
    ]


def test_a_fence_in_a_list_is_reopened_at_the_margin() -> None:
    body = [f"line number {n}" for n in range(8)]
    text = "\n".join(["10. ```py", *("    " + line for line in body), "    ```", "11. next"])
    assert parts(text) == [
        "\n".join(["10. ```py", *("    " + line for line in body[:4]), "    ```"]),
        "\n".join(["```py", *body[4:], "```", "11. next"]),
    ]


def test_a_fence_nested_too_deep_to_repeat_what_is_around_it() -> None:
    around = "1. 2. 3. 4. 5. "
    body = [f"line number {n}" for n in range(6)]
    text = "\n".join([around + "```py", *(" " * len(around) + line for line in body), " " * len(around) + "```"])
    assert parts(text) == [
        "\n".join([around.strip(), "```py", *body[:5], "```"]),
        "\n".join(["```py", *body[5:], "```"]),
    ]


def test_a_piece_of_a_fence_that_shows_nothing_is_left_out() -> None:
    """Discord takes a fence around blank lines for no code block and shows its backticks."""
    gap = [""] * 150
    text = "\n".join(["```py", "one", *gap, "two", *gap, "```"])
    shown = parts(text)
    assert ["".join(part.split()) for part in shown] == ["```pyone```", "```pytwo```"]


@pytest.mark.parametrize("length", [40, 150, 3000])
def test_an_info_string_of_any_length(length: int) -> None:
    info = "py " + "i" * length
    shown = parts(f"```{info}\n{'code ' * 30}\n```")
    assert all(len(part) <= 100 and part.startswith("```py") and part.endswith("\n```") for part in shown)
    assert "".join(shown).count("i") == length
    assert "".join(shown).replace("```", "").replace("\n", "").count("code") >= 29


def test_a_language_too_long_to_repeat_becomes_text_of_the_block() -> None:
    shown = parts(f"```{'z' * 300}\ncode\n```")
    assert all(part.startswith("```\n") and part.endswith("\n```") for part in shown)
    assert "".join(shown).count("z") == 300


def test_a_long_line_is_cut_between_words() -> None:
    assert parts(words(50)) == [words(20), words(20), words(10)]


def test_a_quoted_long_line_stays_quoted() -> None:
    assert parts("> " + words(30)) == ["> " + words(19), "> " + words(11)]


def test_a_link_is_not_broken_where_it_fits() -> None:
    url = "https://example.com/" + "a" * 60
    assert parts(f"{words(10)} {url} {words(10)}") == [words(10), f"{url} {words(4)}", words(6)]
    link = f"[the page]({url})"
    assert parts(f"{words(10)} {link} {words(10)}") == [words(10), f"{link} word", words(9)]


def test_a_cut_makes_no_block_of_its_own() -> None:
    shown = parts("a" * 60 + " " + "b" * 38 + " # " + "c" * 50)
    assert shown == ["a" * 60, "b" * 38 + " # " + "c" * 50]


@pytest.mark.parametrize("before", ["x ", "> x "])
def test_backticks_without_end_open_no_fence_and_come_to_an_end(before: str) -> None:
    ticks = parts(before + "`" * 500)
    assert all(len(part) <= 100 and not part.removeprefix("> ").startswith("```") for part in ticks)
    assert "".join(ticks).count("`") == 500


def test_an_emoji_is_never_cut() -> None:
    family = "👩\u200d👩\u200d👧"
    shown = parts(family * 60)
    assert all(len(part) % len(family) == 0 for part in shown)
    assert "".join(shown) == family * 60


def test_right_to_left_text_is_cut_like_any_other() -> None:
    shown = parts("שלום עולם " * 30)
    assert " ".join(shown).split() == ["שלום", "עולם"] * 30


def test_a_long_table_is_split_as_the_code_block_it_became() -> None:
    rows = "\n".join(f"| r{n} | v{n} |" for n in range(40))
    shown = parts(f"| a | b |\n|---|---|\n{rows}")
    assert all(part.startswith("```\n") and part.endswith("\n```") for part in shown)
    assert [w for w in "\n".join(shown).split() if w[0] in "rv"] == [w for n in range(40) for w in (f"r{n}", f"v{n}")]


def test_more_than_five_parts_go_as_a_file() -> None:
    paragraph = "p" * 1999
    five = "\n\n".join([paragraph] * 5)
    assert render(five) == Parts((paragraph,) * 5)
    six = f"{five}\n\n{paragraph}"
    assert render(six) == AsFile(paragraph, six)
    assert render(f"{six}\r\n") == AsFile(paragraph, f"{six}\r\n")


def test_of_a_huge_text_only_the_beginning_is_looked_at() -> None:
    text = "```py\n" + "x = 1\n" * 2_000_000 + "```"
    rendered = render(text)
    assert isinstance(rendered, AsFile)
    assert rendered.file_text is text
    assert len(rendered.beginning) <= 2000
    assert rendered.beginning.startswith("```py\nx = 1\n")
    assert rendered.beginning.endswith("x = 1\n```")


def test_nothing_but_quote_marks_is_still_said() -> None:
    assert render(">") == Parts((">",))
    assert render("> \n" * 900) == AsFile(("> \n" * 900)[:2000].rstrip(), "> \n" * 900)


def test_a_limit_too_small_to_hold_anything_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 100"):
        render("x" * 110, limit=99)
