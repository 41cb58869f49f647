"""Words of people, of the agent and of files' names: shown in their place, in bounds, and looked at once."""

import json
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connector import dialog_texts, facts, outgoing
from connector.attach_lines import named, sent_name, shown_name
from connector.backoff import Limited, Quota, classify
from connector.clusters import clip, excerpt
from connector.header import clean, compose, quote
from connector.inbox import extension_of
from connector.literals import LOOKED, code, literal, plain
from connector.messages import Attachment, Author, Forward, Message, Place, Reply
from connector.modals import Modal, TextField, payload
from connector.queue_page import EXCERPT
from connector.queue_page import excerpt as queued
from connector.redact import Redactor
from connector.render import LIMIT
from engine.marks import mark_of
from engine.pi import Dialog
from tests.fuzz.hostile import JSON, TEXTS, TIMES, mutated, tried

WORDS = st.one_of(
    TEXTS.map(lambda text: text.encode("utf-8", "replace").decode()),
    st.lists(
        st.sampled_from(
            [
                "[",
                "]",
                "(",
                ")",
                "·",
                "\n",
                "\u2028",
                "\x85",
                "\u202e",
                "`",
                "```",
                "@everyone",
                "<@1>",
                "attach: a.txt",
                "attach:",
                "- ",
                "1.",
                "sk-",
                "bearer ",
                "authorization: ",
                "\\",
                "/",
                "..",
                "\u200d",
                "👩",
                "\u0301",
                " ",
            ]
        ),
        max_size=60,
    ).map("".join),
)
NAMES = WORDS


@given(NAMES, NAMES, WORDS, WORDS, NAMES)
@tried(30)
def test_a_message_of_any_words_keeps_its_mark_and_its_lines(
    name: str, channel: str, text: str, told: str, filename: str
) -> None:
    file = Attachment(1, filename, 1, "text/plain", "")
    place = Place(20, channel, 30)
    reply = Reply(4, 8, name, told, to_us=False)
    forwards = (Forward(told, (file,)),)
    composed = compose(Message(555, place, Author(7, name), text, reply=reply, forwards=forwards, attachments=(file,)))
    assert mark_of(composed) == "555"
    above, _, below = composed.partition("\n\n")
    assert below == text
    assert all(line.startswith("[") and line.endswith("]") for line in above.split("\n")[1:])
    assert len(clean(filename)) <= 64
    assert extension_of(filename).isalnum()
    assert len(extension_of(filename)) <= 10


@given(WORDS, st.integers(1, 100))
@tried(30)
def test_any_words_stay_in_their_place(text: str, count: int) -> None:
    assert "\n" not in plain(text)
    assert len(plain(text)) <= LOOKED
    assert len(code(text, count)) <= max(count + 2, len("(nothing)"))
    assert code(text, count).strip("`").count("`") == 0
    assert "@everyone" not in literal(text)
    assert len(quote(text).splitlines()) <= 1
    assert len(excerpt(text, count)) <= count
    assert text.startswith(clip(text, count))
    assert len(queued(f"header\n\n{text}")) <= EXCERPT + len(": ``")
    classify(text)


ERRORS = st.lists(
    st.sampled_from(
        [
            "429 ",
            "503: ",
            "529",
            "429",
            " retry after ",
            "try again in ",
            "wait ",
            "9" * 400,
            "1.5",
            "20",
            "s",
            "ms",
            " hours",
            "d",
            " and ",
            "resets at ",
            "2026-13-45T99:99",
            "0001-01-01T00:00+14:00",
            "9999-12-31T23:59-14:00",
            "9999999999999",
            "[" * 5_000,
            '{"error":{"type":"overloaded_error","message":7}}',
            '{"error":',
            "insufficient_quota",
            "exceeded your current quota",
            "٣٤٥",
        ]
    ),
    max_size=6,
).map("".join)


@given(ERRORS | WORDS)
@example("429 try again in " + "9" * 400 + "s")
@example("429: " + "[" * 100_000)
@tried(30)
def test_any_error_of_a_provider_has_a_meaning_and_a_wait_that_can_be_waited(text: str) -> None:
    found = classify(text)
    if isinstance(found, Limited):
        assert 0 <= found.wait <= 10**18
    if isinstance(found, Quota) and found.reset is not None:
        assert abs(found.reset) < 10**21


@given(st.lists(WORDS, max_size=6))
@tried(30)
def test_lines_that_name_files_are_taken_out_and_names_can_be_sent(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = named(text)
    assert len(found.text) <= len(text)
    for path in found.paths:
        assert 0 < len(sent_name(path)) <= 100
        assert not set(sent_name(path)) & set('"\\/:*?<>|`\r\n')
        assert 0 < len(shown_name(path)) <= 64


@given(NAMES, st.lists(NAMES, max_size=7), WORDS)
@tried(40)
def test_a_form_of_any_words_is_one_that_discord_takes(title: str, labels: list[str], prefill: str) -> None:
    fields = tuple(TextField(label or "x", prefill, label) for label in labels)
    shown = payload(Modal("dialog:1:text", title, fields))
    assert len(shown["title"]) <= 45
    assert len(shown["components"]) <= 5
    for row in shown["components"]:
        (field,) = row["components"]
        assert len(field["label"]) <= 45
        assert len(field.get("value", "")) <= 4_000
        assert len(field.get("placeholder", "")) <= 100


@given(
    st.sampled_from(["confirm", "select", "input", "editor", "novelty"]),
    WORDS,
    WORDS,
    st.lists(WORDS, max_size=40),
    WORDS,
)
@tried(40)
def test_a_question_of_any_words_is_messages_that_discord_takes(
    method: str, title: str, message: str, options: list[str], prefill: str
) -> None:
    dialog = Dialog("1", method, title, message, options, prefill, prefill)
    parts = dialog_texts.parts(dialog)
    assert parts
    assert all(0 < len(part) <= LIMIT for part in parts)
    for page in range(dialog_texts.page_of(dialog, 0).pages if method == "select" else 1):
        assert len(dialog_texts.content("", dialog, page, "a line")) <= LIMIT
        dialog_texts.controls("1", dialog, page)
    dialog_texts.form("1", dialog)


TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"


@given(st.lists(WORDS, max_size=5), st.integers(0, 5))
@tried(30)
def test_a_secret_among_any_words_is_taken_out(words: list[str], at: int) -> None:
    words.insert(min(at, len(words)), f" {TOKEN} ")
    redactor = Redactor(TOKEN)
    assert TOKEN not in redactor.text("".join(words))
    assert TOKEN not in json.dumps(redactor.value({"words": words, "deep": [[{"a": words}]]}))


@given(JSON)
@tried(30)
def test_any_value_can_be_logged(value: Any) -> None:
    json.dumps(Redactor(TOKEN).value(value), allow_nan=False)


LISTED = {"files": [["a.txt", 3], ["b.txt", 0]], "refused": ["no"]}


@given(st.one_of(mutated(LISTED, 2).map(lambda one: json.dumps(one).encode()), st.binary(max_size=40)))
@tried(30)
def test_a_list_of_copies_that_was_bent_is_none(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "0").write_bytes(b"abc")
        (folder / "1").write_bytes(b"")
        (folder / "list.json").write_bytes(content)
        found = outgoing._listed(folder)
        if found is not None:
            assert msgspec.json.decode(msgspec.json.encode(found), type=outgoing._Listed) == found
            assert all((folder / str(n)).stat().st_size == size for n, (_, size) in enumerate(found.files))


BIG = 20_000 if TIMES == 1 else 300_000
PIECES = [
    *(
        "a",
        " ",
        "[",
        "`",
        "\\",
        "authorization",
        "authorization: ",
        "bearer ",
        "sk-",
        "eyJa.",
        "/webhooks/1",
        "1.",
        "9",
    ),
    *("attach: a ", "attach: a\n", "https://", "<", "*", "\n", "👩\u200d", "\u0301", "🇩", "try again in "),
]
LOOKS: dict[str, Callable[[str], object]] = {
    "redact": Redactor(TOKEN).text,
    "literal": literal,
    "plain": plain,
    "code": lambda text: code(text, 60),
    "quote": quote,
    "clean": clean,
    "named": named,
    "sent_name": sent_name,
    "clip": lambda text: clip(text, 1_900),
    "queued": queued,
    "extension_of": extension_of,
    "classify": classify,
    "question": lambda text: dialog_texts.parts(Dialog("1", "editor", text, text, [], text, text)),
    "claim": lambda text: msgspec.json.encode(facts.Edited("1", text)),
}


@pytest.mark.parametrize("look", LOOKS)
def test_long_words_are_looked_at_once(look: str) -> None:
    """What looked at them again from each of their places would reach the bound of a test."""
    for piece in PIECES:
        LOOKS[look](piece * (BIG // len(piece)))


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("piece", ["[", "a\n"])
def test_long_words_take_room_in_bounds(look: str, piece: str) -> None:
    text = piece * (20_000 // len(piece))
    tracemalloc.start()
    LOOKS[look](text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (16 << 20) + 100 * len(text)
