"""What is told of files: to the child a line each, to a person one sentence, to a trace their number."""

import msgspec
import pytest

from connector import facts, notices_files
from connector.fates import Fate, Lost, Saved, Shown, brought
from connector.lane_events import Brought, Missed
from connector.ledger_read import Step
from connector.notices_files import Why, missed, nothing_left, reason, size
from connector.tracing import Trace
from connector.world import World
from engine.commands import Image

FILE = facts.File(1, "notes.txt", 12, "text/plain", "https://cdn/notes?ex=1")
PICTURE = facts.File(2, "p.png", 9, "image/png")
IMAGE = Image("data", "image/png")
CLAIM = facts.Claimed(
    "7", "11", 11, 7, 7, 1, "Ann", "[discord] private · Ann (1) · 7\n\nhi", 100, files=(FILE, PICTURE)
)


def test_what_became_of_each_file_in_its_order() -> None:
    fates: list[Fate] = [
        Shown(PICTURE, "7-1.png", IMAGE, "/in/7-1.png"),
        Lost(FILE, Why.TOO_LARGE, 10),
        Saved(FILE, "/in/7-3.txt", 11),
        Saved(PICTURE, "/in/7-4.bin", 9, unreadable=True),
        Shown(PICTURE, "7-5.jpg", IMAGE),
    ]
    assert brought("7", "11", fates) == Brought(
        "7",
        "11",
        (
            "picture: p.png, image 1 of this message, a copy at /in/7-1.png",
            "file: notes.txt, 12 bytes, text/plain, not given: larger than 10 bytes",
            "file: notes.txt, 11 bytes, text/plain, saved as /in/7-3.txt",
            "file: p.png, 9 bytes, image/png, it could not be read as a picture, saved as /in/7-4.bin",
            "picture: p.png, image 2 of this message",
        ),
        pictures=("7-1.png", "7-5.jpg"),
        images=(IMAGE, IMAGE),
        missed=(
            Missed("notes.txt", "larger than 10 bytes"),
            Missed("p.png", "it could not be read as a picture, so it goes as a file"),
        ),
    )


def test_nothing_reaches_the_agent_where_all_are_lost() -> None:
    assert not brought("7", "11", [Lost(FILE, Why.GONE), Lost(FILE, Why.FAILED)]).some


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (10_485_760, "10 MiB")],
)
def test_sizes_that_people_read(number: int, words: str) -> None:
    assert size(number) == words


def test_a_person_is_told_in_one_line_which_files_and_why() -> None:
    hostile = Missed("a`b\n[@everyone](x).zip", reason(Why.TOO_LARGE, 10_485_760))
    assert missed([hostile]) == (
        "The agent does not get `a b  @everyone  x .zip` (larger than 10 MiB); everything else of this message is"
        " asked. Send it in another form if it matters."
    )
    others = [Missed(f"{number}.txt", reason(Why.FAILED, 0)) for number in range(5)]
    assert "`2.txt` (it could not be downloaded) and 2 more, and nothing else" in nothing_left(others)
    for sentence in (missed(others), nothing_left(others), *(reason(why, 1) for why in Why)):
        assert sentence == sentence.strip()
        assert len(sentence.splitlines()) == 1
        assert not sentence.startswith("Stopped")


def test_reasons_are_told_apart() -> None:
    assert len({reason(why, 7) for why in Why}) == len(Why)
    assert notices_files.left_out(FILE, Why.GONE, 0).endswith("not given: Discord has it no longer")


def test_a_later_word_takes_the_place_of_an_earlier_one() -> None:
    world = World()
    world.apply(CLAIM)
    assert world.rounds["7"].unfetched
    world.apply(facts.Fetched("7", ("picture: p.png",), ("7-2.png",)))
    world.apply(facts.Fetched("7", ("file: p.png, lost",)))
    round_ = world.rounds["7"]
    assert (round_.unfetched, round_.fetched) == (False, 2)
    assert (round_.lines, round_.pictures) == (("file: p.png, lost",), ())


def test_files_are_in_the_ledger_as_they_were_told() -> None:
    for fact in (CLAIM, facts.Fetched("7", ("a", "b"), ("7-2.png",))):
        told: object = msgspec.json.decode(msgspec.json.encode(fact), type=facts.AnyFact)
        assert told == fact


def test_an_older_ledger_knows_of_no_files() -> None:
    body = msgspec.json.encode(msgspec.structs.replace(CLAIM, files=()))
    assert b"files" not in body


def test_a_trace_tells_how_many_and_not_which() -> None:
    """Names are what people wrote, and addresses are signed."""
    fetched = facts.Fetched("7", ("file: notes.txt",), ("7-2.png",))
    steps = (Step(1, "7", "11", CLAIM), Step(2, "7", "11", fetched))
    told = Trace(7, steps)
    claimed, brought_ = told.as_json()["steps"]
    assert (claimed["files"], brought_["lines"], brought_["pictures"]) == (2, 1, 1)
    assert "notes" not in "\n".join(told.lines())
