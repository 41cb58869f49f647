"""Saying something and being answered, as a person sees it in a browser."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.system.browser.windows import Demo, Keep, Open, in_thread, of_bot, say, up


def test_a_message_its_card_and_its_answer(page: Page) -> None:
    """What is shown at the end is waited for: on a slow machine a card may be seen at its end only."""
    page.get_by_role("button", name="Inside", exact=True).click()
    in_thread(page, "tool 2500 bash of a card")
    expect(of_bot(page, "echo: tool 2500 bash of a card")).to_be_visible()
    expect(of_bot(page, re.compile(r"answered · 1 tool · \d+ s"))).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    expect(page.locator("#inside .lane").filter(has_text="of a card")).to_contain_text("head: none")
    expect(page.locator("#inside [data-fact=ended]").first).to_contain_text("code=answered")


def test_a_table_as_text_and_what_else_markdown_has(page: Page, picture: Keep) -> None:
    in_thread(page, "md")
    answer = of_bot(page, "A showcase").locator(".text")
    expect(answer.locator("h3")).to_have_text("A showcase")
    expect(answer.locator("strong").first).to_have_text("bold")
    expect(answer.locator("em").first).to_have_text("italic")
    expect(answer.locator("s")).to_have_text("struck")
    expect(answer.locator("a").first).to_have_attribute("href", "https://example.org/")
    expect(answer.locator("pre").first).to_contain_text("word  what it does    ms")
    expect(answer.locator("ol > li > ul > li").first).to_have_text("nested")
    expect(answer.locator("blockquote")).to_have_text("A quote,of two lines.")
    expect(answer.locator("pre .language").first).to_have_text("python")
    expect(answer.locator(".mention.all")).to_have_text("@everyone")
    answer.locator("h3").scroll_into_view_if_needed()
    picture(page, "markdown")


def test_a_fence_that_is_split_is_a_fence_in_both_parts(page: Page) -> None:
    """A table grows when it is aligned: this one no longer fits into one message."""
    rows = "\n".join(f"| {'w' * 60 if n == 0 else 'x'} | {n:03} |" for n in range(40))
    in_thread(page, "hello")
    say(page, f"echo a table\n\n| cell | row |\n|---|---|\n{rows}", shown="| x | 039 |")
    fences = page.locator("#messages > li.bot pre")
    expect(fences).to_have_count(2)
    expect(fences.first).to_contain_text(f"{'w' * 60}  000")
    expect(fences.last).to_contain_text(re.compile(r"x +039"))
    assert "`" not in "".join(page.locator("#messages > li.bot .text").all_inner_texts())


def test_a_reload_in_mid_turn_shows_the_same(page: Page) -> None:
    in_thread(page, "tool 600000 bash across a reload")
    card = of_bot(page, "bash sleep 600.000")
    expect(card.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator("#typing")).to_have_text("pi is typing…")
    place, address, order = page.locator("#place").inner_text(), page.url, message_ids(page)
    page.reload()
    assert page.url == address
    expect(page.locator("#place")).to_have_text(place)
    expect(card.get_by_role("button", name="Stop")).to_be_visible()
    assert message_ids(page) == order
    card.get_by_role("button", name="Stop").click()
    expect(of_bot(page, "Stopped by @ada")).to_be_visible()


def message_ids(page: Page) -> list[str]:
    """The messages that stand in this place, oldest first."""
    found: list[str] = page.locator("#messages > li").evaluate_all("all => all.map((one) => one.dataset.message)")
    return found


def test_a_message_is_replied_to_edited_reacted_to_and_deleted(page: Page) -> None:
    page.locator("#places").get_by_role("button", name="# workshop").click()
    first = say(page, "a line for nobody")
    menu = first.get_by_label("What to do with this message")
    menu.click()
    page.get_by_role("menuitem", name="Reply").click()
    second = say(page, "and one to it, @ben")
    expect(second.locator(".reply")).to_contain_text("ada a line for nobody")
    expect(second.locator(".mention")).to_have_text("@ben")

    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Message", exact=True)).to_have_value("and one to it, @ben")
    edited = say(page, "and one to it, said better")
    expect(edited).to_contain_text("(edited)")

    menu.click()
    page.get_by_role("menuitem", name="React 👍").click()
    expect(first.locator(".reaction")).to_have_attribute("aria-pressed", "true")
    first.locator(".reaction").click()
    expect(first.locator(".reaction")).to_have_count(0)

    edited.get_by_label("What to do with this message").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator("#messages > li").filter(has_text="said better")).to_have_count(0)


def test_files_go_in_and_come_out(page: Page, tmp_path: Path) -> None:
    note = tmp_path / "note.html"
    note.write_text("<script>parent.alarm = 1</script>")
    in_thread(page, "hello")
    page.locator("#files").set_input_files(note)
    expect(page.locator("#note")).to_contain_text("note.html")
    mine = say(page, "huge 30000")
    with page.expect_download() as brought:
        mine.get_by_role("link", name="note.html").click()
    assert Path(brought.value.path()).read_bytes() == note.read_bytes()

    whole = page.locator("#messages > li.bot .file a")
    with page.expect_download() as brought:
        whole.click()
    assert Path(brought.value.path()).read_text().count("y") == 30000


def test_the_address_bar_keeps_no_key_and_another_window_needs_it(open_page: Open, shared: Demo) -> None:
    page = open_page(shared.url)
    up(page)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/(#\d+/\d+)?", page.url)
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    stranger = open_page(page.url)
    expect(stranger.locator("body")).to_have_text("Open the address that the demo printed.")


def test_two_people_see_their_own(page: Page, open_page: Open, shared: Demo) -> None:
    """An ephemeral answer is its person's alone; a private channel too."""
    in_thread(page, "hello to two")
    expect(of_bot(page, "echo: hello to two")).to_be_visible()
    say_command(page, "status")
    mine = of_bot(page, "Only you can see this")
    expect(mine).to_contain_text("0 running")

    other = open_page(shared.url)
    other.get_by_label("You are").select_option("ben")
    other.locator("#places").get_by_role("button", name="hello to two").click()
    expect(of_bot(other, "echo: hello to two")).to_be_visible()
    expect(of_bot(other, "Only you can see this")).to_have_count(0)
    mine.get_by_role("button", name="Dismiss").click()
    expect(mine).to_have_count(0)


def say_command(page: Page, name: str) -> None:
    """A slash command without options, by keyboard."""
    page.get_by_label("Message", exact=True).fill(f"/{name}")
    expect(page.locator("#commands [aria-selected=true]")).to_contain_text(f"/{name}")
    page.keyboard.press("Enter")
