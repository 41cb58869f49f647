"""Discord's Markdown as the page shows it; whatever a message contains becomes text, never markup or a script."""

from playwright.sync_api import Page, expect

RENDER = """async (texts) => {
  const { markdown } = await import("/web/markdown.js");
  const names = { users: { 5: "ada" }, channels: { 7: "general" }, roles: { 9: "staff" } };
  return texts.map((text) => {
    const box = document.createElement("div");
    box.append(markdown(text, names));
    return box.innerHTML.replaceAll(' target="_blank" rel="noopener noreferrer"', "");
  });
}"""

SHOWN = {
    "**bold** *it* _it_ __under__ ~~gone~~ ***both***": (
        "<p><strong>bold</strong> <em>it</em> <em>it</em> <u>under</u> <s>gone</s> <strong><em>both</em></strong></p>"
    ),
    "snake_case_name and 2 * 3 * 4": "<p>snake_case_name and 2 * 3 * 4</p>",
    "`a ** b` ``x ` y``": "<p><code>a ** b</code> <code>x ` y</code></p>",
    r"\*plain\* \`too\`": "<p>*plain* `too`</p>",
    "<@5> <@!5> <@6> <#7> <@&9> @here": (
        '<p><span class="mention user">@ada</span> <span class="mention user">@ada</span> '
        '<span class="mention user">@someone</span> <span class="mention channel">#general</span> '
        '<span class="mention role">@staff</span> <span class="mention all">@here</span></p>'
    ),
    "[a *b*](https://x.example/y_z) <https://x.example> https://x.example/a_b_c.": (
        '<p><a href="https://x.example/y_z">a <em>b</em></a> <a href="https://x.example">https://x.example</a> '
        '<a href="https://x.example/a_b_c">https://x.example/a_b_c</a>.</p>'
    ),
    "[x](javascript:alert(1)) javascript:alert(1)": "<p>[x](javascript:alert(1)) javascript:alert(1)</p>",
    "<img src=x onerror=alert(1)><script>alert(1)</script>": (
        "<p>&lt;img src=x onerror=alert(1)&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>"
    ),
    '```"><b>x\n<b>\n```': '<pre tabindex="0" aria-label="Code"><code>"&gt;&lt;b&gt;x\n&lt;b&gt;</code></pre>',
    "a\n```c\n**x**\n```\nb": (
        '<p>a</p><pre tabindex="0" aria-label="Code c"><span class="language">c</span><code>**x**</code></pre><p>b</p>'
    ),
    "``` not closed": "<p>``` not closed</p>",
    "# One\n### Three\n#no\n-# small": '<h3>One</h3><h5>Three</h5><p>#no</p><p class="small">small</p>',
    "> a\n> - b\nc\n>>> d\ne": (
        "<blockquote><p>a</p><ul><li>b</li></ul></blockquote><p>c</p><blockquote><p>d<br>e</p></blockquote>"
    ),
    "3. c\n   - d\n     1. e\n4. f": (
        '<ol start="3"><li>c<ul><li>d<ol start="1"><li>e</li></ol></li></ul></li><li>f</li></ol>'
    ),
    "one\ntwo\n\nthree": "<p>one<br>two<br><br>three</p>",
    "||hidden||": '<p><button type="button" class="spoiler">hidden</button></p>',
}


def test_each_kind_of_markdown(page: Page) -> None:
    shown = page.evaluate(RENDER, list(SHOWN))
    assert dict(zip(SHOWN, shown, strict=True)) == SHOWN


def test_relative_times_stay_current(page: Page) -> None:
    """The clock of the page is moved; nobody waits."""
    page.clock.install()
    page.evaluate(
        """async () => {
          const { instant } = await import("/web/dom.js");
          document.body.append(instant(Math.floor(Date.now() / 1000) + 180000, "R"));
        }"""
    )
    times = page.locator("body > time")
    expect(times).to_have_text("in 2 days")
    page.clock.fast_forward(130_000_000)
    expect(times).to_have_text("in 13 hours")
