"""Stop in each phase, a question, a wedge and what comes after it, as a person sees them in a browser."""

import re

from playwright.sync_api import Page, expect

from tests.system.browser.windows import Demo, Keep, Open, in_thread, of_bot, say, up


def test_stop_in_a_run(page: Page, picture: Keep) -> None:
    page.get_by_role("button", name="Inside", exact=True).click()
    in_thread(page, "tool 600000 bash until somebody presses Stop")
    card = of_bot(page, "bash sleep 600.000")
    lane = page.locator("#inside .lane").filter(has_text="until somebody presses Stop")
    expect(lane.locator(".at-work")).to_contain_text("running")
    expect(lane.locator(".child")).to_contain_text("in a turn")
    expect(card.get_by_role("button", name="Stop")).to_be_visible()
    picture(page, "card")
    card.get_by_role("button", name="Stop").click()
    expect(of_bot(page, "Stopped by @ada: running turn, 1 open tool")).to_be_visible()
    expect(of_bot(page, re.compile(r"stopped · 1 tool · \d+ s"))).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    say(page, "hello again")
    expect(of_bot(page, "echo: hello again")).to_be_visible()
    expect(lane.locator(".at-work")).to_have_count(0)


def test_stop_in_a_backoff(open_page: Open, own: Demo, picture: Keep) -> None:
    """In a demo of its own, since the provider's limit holds for every conversation; and in a long wait."""
    page = open_page(own.url)
    up(page)
    page.get_by_role("button", name="Inside", exact=True).click()
    in_thread(page, "quota 600 for a while")
    card = of_bot(page, "⏳")
    expect(card.get_by_role("button", name="Retry now")).to_be_visible()
    lane = page.locator("#inside .lane").filter(has_text="quota 600 for a while")
    expect(lane.locator(".at-work")).to_contain_text(re.compile(r"asked again.* until .*\(in \d+ minutes?\)"))
    picture(page, "backoff")
    card.get_by_role("button", name="Stop").click()
    expect(of_bot(page, "Stopped by @ada: wait before asking again")).to_be_visible()
    expect(lane.locator(".at-work")).to_have_count(0)
    expect(card).to_have_count(0)


def test_a_question_of_the_agent(page: Page, picture: Keep) -> None:
    in_thread(page, "dialog confirm")
    yes = page.get_by_role("button", name="Yes", exact=True)
    expect(yes).to_be_visible()
    picture(page, "dialog")
    yes.click()
    expect(of_bot(page, "you chose: yes")).to_be_visible()
    expect(yes).to_have_count(0)


def test_a_question_that_is_answered_in_a_form(page: Page) -> None:
    in_thread(page, "dialog input")
    page.get_by_role("button", name="Answer", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox").fill("a word of mine")
    form.get_by_role("button", name="Submit").click()
    expect(form).to_be_hidden()
    expect(of_bot(page, "a word of mine")).to_be_visible()


def test_a_wedge_and_the_recovery(open_page: Open, own: Demo, picture: Keep) -> None:
    """The demo plays systemd, and says so; what waits is answered by the next connector."""
    page = open_page(own.url)
    up(page)
    page.get_by_role("button", name="Inside", exact=True).click()
    say(page, "mute")
    of_bot(page, "began").get_by_role("button", name="Stop").click()
    expect(of_bot(page, "Stopped by @ada")).to_be_visible()
    say(page, "and who answers this?")
    expect(page.locator("#news")).to_have_text(re.compile(r"exited with 1 .*; starting it again, as systemd would"))
    expect(of_bot(page, "echo: and who answers this?")).to_be_visible()
    up(page)
    expect(page.locator("#inside .process")).to_contain_text("up, start 2")
    expect(page.locator("#inside .process")).to_contain_text("last exit 1")
    picture(page, "recovery")
