"""When cards, questions and files learn of a step: before what is heard after it, and not at its prompt's expense."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from connector import facts
from connector.access import Rules
from connector.showing import Showing
from engine import events as engine
from fakes.discord import FakeDiscord
from fakes.house import House, house

pytestmark = pytest.mark.anyio


@pytest.fixture
async def home(world: FakeDiscord, tmp_path: Path) -> AsyncIterator[House]:
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    async with house(world, tmp_path, rules) as home:
        await world.wait_for(lambda: world.commands)
        yield home


async def test_what_is_heard_in_one_batch_comes_behind_what_was_decided_before_it(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the end of a turn would be learnt behind the words of the next one."""
    asked = await home.world.say(home.world.person("ann"), home.world.channel("general"), "one")
    await home.comes(asked, "RUNNING")
    await home.settle()
    order: list[str] = []
    record(monkeypatch, Showing, order)
    (lane,) = home.lanes.kids
    for _ in range(2):
        home.puppets.says(lane, engine.Progress("", "word"), busy=True)
    await home.settle()
    assert order == ["hear", "learn", "hear", "learn"]


async def test_a_prompt_does_not_wait_for_its_card(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    tell = home.puppets.tell

    def told(lane: str, child: int, given: engine.Input) -> None:
        order.append(type(given).__name__)
        tell(lane, child, given)

    monkeypatch.setattr(home.puppets, "tell", told)
    learn = Showing.learn

    def learnt(self: Showing, new: Sequence[facts.AnyFact]) -> None:
        order.extend(type(fact).__name__ for fact in new if isinstance(fact, facts.Written))
        learn(self, new)

    monkeypatch.setattr(Showing, "learn", learnt)
    asked = await home.world.say(home.world.person("ann"), home.world.channel("general"), "one")
    await home.comes(asked, "RUNNING")
    await home.settle()
    assert order == ["Submit", "Written"]


def record(monkeypatch: pytest.MonkeyPatch, kind: type[Showing], order: list[str]) -> None:
    """Write down which of the two is called."""
    for name in ("hear", "learn"):
        monkeypatch.setattr(kind, name, written_down(name, getattr(kind, name), order))


def written_down(name: str, real: Callable[..., None], order: list[str]) -> Callable[..., None]:
    def call(*given: object) -> None:
        order.append(name)
        real(*given)

    return call
