"""What people say in the soak, each with a token of its own, and the answers it may get; by the caller's dice."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fakes.discord import Place
from tests.system.crash_laws import like
from tests.system.crash_scenes import Asked, answer_to

TOKEN = re.compile(r"\bm\d{6}\b")
"""What names one message in its text and in its answer."""

Script = Callable[[random.Random], str]


def _between(form: str, low: int, high: int) -> Script:
    return lambda dice: form.format(dice.randint(low, high))


def _just(text: str) -> Script:
    return lambda _dice: text


USUAL: tuple[tuple[int, Script], ...] = (
    (60, _just("echo")),
    (16, _between("slow {}", 20, 300)),
    (5, _between("slow {}", 600, 2000)),
    (8, _between("tool {} bash", 10, 200)),
    (3, _between("tool {} bash", 600, 2000)),
    (3, _between("tools 3 {}", 20, 120)),
    (4, _between("pages {}", 2, 4)),
    (2, _just("think")),
    (2, _just("drop")),
    (2, _just("half")),
    (1, _just("two")),
    (1, _just("unknown")),
    (1, _just("notjson")),
    (1, _just("lateend after")),
    (1, _just("doubled")),
    (1, _between("orphan {}", 20, 100)),
    (1, _between("orphanbefore {}", 20, 100)),
    (1, _between("residue {}", 50, 300)),
    (1, _between("lateresponse {}", 20, 200)),
    (1, _between("compacting {}", 20, 200)),
    (1, _between("late {}", 50, 400)),
    (1, _between("stderr {}", 1000, 200_000)),
    (1, _just("ignoreterm slow 50")),
    (3, _between("err429 {}", 1, 3)),
    (1, _just("err429 5")),
    (2, _between("err500 {}", 1, 3)),
    (1, _just("err400")),
    (1, _just("empty")),
    (1, _just("handled")),
    (1, _just("refuse")),
)
"""Weight and script of what is said all the time: most of it is answered, nothing of it ends a child."""

HARMFUL: tuple[Script, ...] = tuple(
    map(
        _just,
        (
            "hang",
            "stallmid",
            "mute",
            "ignoreabort",
            "exitmid",
            "exit 1",
            "exitnow 1",
            "die KILL",
            "lost 100",
            "noread",
            "holdstdout",
        ),
    )
)
"""What hangs, wedges or kills its child; said now and then."""


def chosen(dice: random.Random) -> str:
    """One usual script."""
    [script] = dice.choices([script for _, script in USUAL], [weight for weight, _ in USUAL])
    return script(dice)


@dataclass
class Said:
    """One message: what it said at first and after each edit, and whether it was deleted.

    `word`: it is the word "stop", which is asked of nobody.
    """

    id: int
    place: Place
    author: int
    texts: list[str]
    deleted: bool = False
    word: bool = False
    answers: list[tuple[str, ...]] = field(init=False, default_factory=list)
    """What each text's answer looks like in Discord: the contents of its posts."""

    def __post_init__(self) -> None:
        self.answers += [] if self.word else [shown(self, text) for text in self.texts]

    def edit(self, text: str) -> None:
        """Its author changes it."""
        self.texts.append(text)
        self.answers.append(shown(self, text))


def shown(said: Said, text: str) -> tuple[str, ...]:
    """The posts of the answer to this text."""
    asked = Asked(said.id, said.place, text, answer_to(text))
    return tuple(like(part)[0] for part in asked.posts("answer", asked.answer))
