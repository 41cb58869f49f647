"""A window of a phone's size, and a person who has a keyboard only."""

from playwright.sync_api import Page, expect

from tests.system.browser.windows import PHONE, Demo, Keep, Open, of_bot, say, up


def test_a_window_of_a_phones_size(open_page: Open, shared: Demo, picture: Keep) -> None:
    page = open_page(shared.url, PHONE)
    up(page)
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_text("all words").click()
    word = page.locator("#tour dt").filter(has_text="dialog [")
    expect(word).to_have_text("dialog [confirm|select|input|editor] [N]")
    page.get_by_text("all words").click()
    page.get_by_role("button", name="Places").click()
    page.locator("#places").get_by_role("button", name="# general").click()
    expect(page.locator("#side")).to_be_hidden()
    expect(page.get_by_label("Message", exact=True)).to_have_attribute("placeholder", "@pi and what you want of it")
    asked = say(page, "@pi tool 600000 bash on a phone")
    asked.get_by_role("button", name="🧵").click()
    stop = of_bot(page, "bash sleep 600.000").get_by_role("button", name="Stop")
    expect(stop).to_be_in_viewport()
    picture(page, "phone")
    stop.click()
    expect(of_bot(page, "Stopped by @ada")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport()
    page.get_by_role("button", name="Inside", exact=True).click()
    expect(page.locator("#inside [data-fact=ended]").first).to_be_visible()
    page.get_by_role("button", name="Close").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_with_a_keyboard_only(open_page: Open, shared: Demo) -> None:
    """Everything is reached, named and left again by keys; an edit of the card takes no focus away."""
    page = open_page(shared.url)
    up(page)
    keys = page.keyboard
    composer = page.get_by_label("Message", exact=True)
    expect(composer).to_be_focused()

    # To the channel: backwards over what lies between, then Enter.
    tab_to(page, "# workshop", back=True)
    keys.press("Enter")
    expect(page.locator("#place")).to_have_text("# workshop")
    expect(composer).to_be_focused()
    keys.type("@pi hang for the keyboard")
    keys.press("Enter")
    tab_to(page, "🧵 hang for the keyboard", back=True)
    keys.press("Enter")
    expect(page.locator("#place")).to_have_text("🧵 hang for the keyboard")

    # Stop on the card, which goes on being edited while it has the focus.
    stop = of_bot(page, "began").get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    tab_to(page, "Stop", back=True)
    expect(stop).to_be_focused()
    keys.press("Enter")
    expect(of_bot(page, "Stopped by @ada: running turn")).to_be_visible()

    # The button is gone now, and what has the focus is where one writes. A command from the list, its answer
    # dismissed; then the menu of a message, left with Escape, then used.
    expect(composer).to_be_focused()
    keys.type("/qu")
    expect(page.locator("#commands [aria-selected=true]")).to_contain_text("/queue")
    keys.press("Enter")
    expect(of_bot(page, "Nothing waits here.")).to_be_visible()
    tab_to(page, "Dismiss", back=True)
    keys.press("Enter")
    expect(of_bot(page, "Nothing waits here.")).to_have_count(0)
    expect(composer).to_be_focused()
    more = of_bot(page, "Stopped by @ada").get_by_label("What to do with this message")
    more.focus()
    keys.press("Enter")
    expect(page.get_by_role("menuitem", name="Reply")).to_be_focused()
    keys.press("Escape")
    expect(more).to_be_focused()
    keys.press("Enter")
    keys.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Apps: Ask pi")).to_be_focused()
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(of_bot(page, "ada used Trace")).to_contain_text("Only you can see this")


def tab_to(page: Page, name: str, *, back: bool = False) -> None:
    """Press Tab until what has the focus has this name; each stop on the way must have a name of its own."""
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        focused = page.evaluate(NAME)
        assert focused, page.evaluate("document.activeElement.outerHTML")
        if focused == name:
            return
    raise AssertionError(f"{name} is not reached by Tab")


NAME = """(() => {
  const node = document.activeElement;
  const label = node.getAttribute("aria-label") ?? node.labels?.[0]?.innerText ?? "";
  return (label || node.innerText || document.title).trim();
})()"""
