"""How `init` asks: a person at a terminal, or a script on standard input, one answer a line; it knows no question."""

import getpass
import re
import sys
from collections.abc import Callable
from typing import Protocol, TextIO, TypeVar

from connector.exits import Refusal
from connector.findings import one_line
from connector.settings_values import LARGEST_ID

T = TypeVar("T")


class Asker(Protocol):
    """Whoever answers. A default is what an empty answer means."""

    def say(self, text: str) -> None:
        """Tell something."""

    def line(self, question: str, default: str) -> str:
        """One line of answer."""

    def secret(self, question: str) -> str:
        """One line that is neither shown nor repeated; "" for none."""

    def pause(self, text: str) -> None:
        """Let a person do something first; a script has done it."""

    def wrong(self, question: str, why: str) -> None:
        """An answer was no good: it is asked again, or, of a script, Refusal is raised."""


class Terminal:
    """A person: wrong answers are asked again."""

    def say(self, text: str) -> None:
        """Tell something."""
        sys.stdout.write(f"{text}\n")

    def line(self, question: str, default: str) -> str:
        """One line of answer."""
        return _answered(lambda: input(_prompt(question, default)))

    def secret(self, question: str) -> str:
        """One line, not echoed."""
        return _answered(lambda: getpass.getpass(f"{question}: "))

    def pause(self, text: str) -> None:
        """Wait for Enter."""
        _answered(lambda: input(f"{text} "))

    def wrong(self, question: str, why: str) -> None:
        """Say why; whoever asks asks again."""
        del question
        self.say(f"   {why}")


def _answered(ask: Callable[[], str]) -> str:
    try:
        return ask().strip()
    except EOFError:
        raise Refusal("the answers ended early, so nothing was written", "run init again") from None


class Script:
    """Lines of standard input: an empty or missing one is the default, a wrong one ends it before all writing."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines

    def say(self, text: str) -> None:
        """Tell something."""
        sys.stdout.write(f"{text}\n")

    def line(self, question: str, default: str) -> str:
        """The next line, repeated."""
        answer = self._lines.readline().strip()
        self.say(one_line(f"{_prompt(question, default)}{answer}"))
        return answer

    def secret(self, question: str) -> str:
        """The next line, not repeated."""
        answer = self._lines.readline().strip()
        self.say(f"{question}: {'(given)' if answer else ''}")
        return answer

    def pause(self, text: str) -> None:
        """Nothing to wait for."""

    def wrong(self, question: str, why: str) -> None:
        """Nobody is there to answer again."""
        raise Refusal(f'to "{question}": {why}, so nothing was written', "correct the answer, then run init again")


def _prompt(question: str, default: str) -> str:
    return f"{question} [{default}]: " if default else f"{question}: "


def ask(asker: Asker, question: str, default: str, parse: Callable[[str], T]) -> T:
    """Ask until `parse` takes the answer; it raises ValueError with what is wrong in words."""
    while True:
        try:
            return parse(asker.line(question, default) or default)
        except ValueError as error:
            asker.wrong(question, str(error))


def yes(asker: Asker, question: str, *, default: bool) -> bool:
    """Ask for yes or no."""
    return ask(asker, f"{question} (y/n)", "y" if default else "n", _truth)


def _truth(text: str) -> bool:
    if text.casefold() not in {"y", "yes", "n", "no"}:
        raise ValueError("answer y or n")
    return text.casefold().startswith("y")


def ids(text: str) -> tuple[int, ...]:
    """Return Discord ids written with spaces or commas between them; ValueError for anything else."""
    found = [word for word in re.split(r"[\s,]+", text) if word]
    for word in found:
        if not re.fullmatch(r"[0-9]{1,20}", word, re.ASCII) or not 0 < int(word) <= LARGEST_ID:
            raise ValueError(f'"{word[:40]}" is no Discord id, which is a number of about 18 digits')
    return tuple(dict.fromkeys(map(int, found)))
