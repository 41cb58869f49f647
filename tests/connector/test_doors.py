"""Every door, enumerated from the code itself, tried by who may not: nothing happens but the refusal (CONTRACT).

A door is a slash command, an entry of a message's menu, an option that completes, or a kind of `custom_id`. A new one
of any kind is tried here without this file being changed, or fails for having no example below.
"""

import ast
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

import connector
from connector import facts, notices
from connector.access import Rules
from connector.commands_session import SESSION_COMMANDS
from connector.interactions import COMMANDS, PREFIXES, CommandSpec
from connector.settings import Settings
from connector.token import Secret, Token
from connector.wiring import discord_options
from engine import events as told
from fakes.discord import FakeDiscord, Person, Place
from fakes.discord_acts import Act
from fakes.house import House, house
from fakes.recorded_dialogs import recorded

pytestmark = pytest.mark.anyio

SPECS = (*COMMANDS, *SESSION_COMMANDS)
BUTTONS = {
    "stop:": ("stop:{round}",),
    "retry:": ("retry:{round}", "retry:{ended}"),
    "queue:": ("queue:cancel:{waits}", "queue:first:{waits}", "queue:page:1"),
    "dialog:": (
        *("dialog:{confirm}:yes", "dialog:{confirm}:no", "dialog:{select}:0", "dialog:{select}:menu"),
        *("dialog:{select}:page:1", "dialog:{input}:open", "dialog:{editor}:open", "dialog:{editor}:text"),
        *(f"dialog:{{{kind}}}:cancel" for kind in ("confirm", "select", "input", "editor")),
    ),
    "spend:": ("spend:7",),
}
"""What each prefix is pressed with; {round} runs, {waits} waits, {ended} ended with a Retry button.

Four questions of the round that runs are open, one of each kind.
"""

AUTHORS = frozenset({"retry:{ended}", "queue:cancel:{waits}", "queue:first:{waits}", *BUTTONS["dialog:"]})
"""Presses that are the author's (and an operator's) alone: refused to somebody else with access."""

OF_A_ROUND = [name for names in BUTTONS.values() for name in names if "{" in name]
NOTES = (facts.Seen, facts.Posted, facts.DialogShown)
"""Facts that come by themselves, when what was said stands in Discord."""

LISTED = ("users", "roles", "operator", "guild", "list", "allow")


@pytest.fixture
async def home(world: FakeDiscord, tmp_path: Path) -> AsyncIterator[House]:
    """Ann's line runs, one waits, one of Zoe's ended with Retry; Bob has access too, Eve has none."""
    people = frozenset(world.person(name).id for name in ("ann", "bob"))
    channels = frozenset({world.channel("general").id, world.channel("other").id})
    rules = Rules(users=people, channels=channels, respond="all")
    async with house(world, tmp_path, rules, cards=False) as home:
        await world.wait_for(lambda: world.commands)
        yield home


class Doors:
    """The same three rounds, and every way to press or type something about them."""

    def __init__(self, home: House, names: dict[str, str], post: int) -> None:
        self.home, self.names, self.post = home, names, post

    @classmethod
    async def built(cls, home: House) -> "Doors":
        world, general = home.world, home.world.channel("general")
        ann = world.person("ann")
        ended = str(await world.say(ann, general, "fails"))
        await home.comes(ended, "RUNNING")
        await home.fails(ended)
        running = str(await world.say(ann, general, "runs"))
        await home.comes(running, "RUNNING")
        waits = str(await world.say(ann, general, "waits"))
        await home.comes(waits, "WAITING")
        await home.post(general)
        # A chance of the author's own, so that the lane is nobody's alone.
        other = str(await world.say(world.person("bob"), general, "me too"))
        await home.comes(other, "WAITING")
        asked = {kind: kind for kind in ("confirm", "select", "input", "editor")}
        turn = home.lanes.world.rounds[running].turn
        for kind in asked:
            home.puppets.says(str(general.id), told.Asked(turn, recorded(kind, id=kind)), busy=True)
        stand = home.lanes.world.dialogs
        await home.until(lambda: sum(message > 0 for _, message in stand.values()) == len(asked))
        await home.settle()
        return cls(home, {"round": running, "waits": waits, "ended": ended, **asked}, world.posts(general)[0].id)

    def pressing(self, who: Person, name: str, message: int = 0) -> Callable[[], Awaitable[Act]]:
        custom_id = name.format(**self.names)
        if custom_id.endswith(":menu"):
            return lambda: self.home.world.select(who, message or self.under(name), custom_id, ["0"], force=True)
        return lambda: self.home.world.click(who, message or self.under(name), custom_id, force=True)

    def filling(self, who: Person, place: Place, name: str = "input") -> Callable[[], Awaitable[Act]]:
        return lambda: self.home.world.forge_modal(who, place, f"dialog:{name}:text", {"text": "made up"})

    def using(self, who: Person, place: Place, spec: CommandSpec) -> Callable[[], Awaitable[Act]]:
        world = self.home.world
        if spec.kind == "message":
            target = int(self.names["waits"])
            return lambda: world.context_menu(who, place, spec.name, target)
        given = {one.name: one.choices[0][1] if one.choices else self.names["waits"] for one in spec.options}
        return lambda: world.slash(who, place, spec.name, given)

    def under(self, name: str) -> int:
        """The message whose control this would be: of a question its own."""
        kind = name.partition("{")[2].partition("}")[0]
        posts = self.home.world.posts(self.home.world.channel("general"))
        asked = (post.id for post in posts if f"dialog:{kind}:cancel" in self.home.buttons(post.id))
        return next(asked, self.post)

    async def state(self) -> tuple[object, ...]:
        """Everything that could have happened: recorded, written to a child, posted."""
        await self.home.settle()
        world = self.home.lanes.world
        general, other = self.home.world.channel("general"), self.home.world.channel("other")
        visible = [(post.id, post.content) for place in (general, other) for post in self.home.world.posts(place)]
        rounds = {
            name: (one.phase, one.stopped, one.first, one.text) for name, one in world.rounds.items() if one.pending
        }
        recorded = [fact for fact in self.home.kept if not isinstance(fact, NOTES)]
        lanes = {
            key: (lane.waiting, lane.held, lane.session, lane.model, lane.thinking) for key, lane in world.lanes.items()
        }
        return recorded, list(self.home.puppets.heard), visible, lanes, rounds

    async def nothing(self, do: Callable[[], Awaitable[Act]], *allowed: str) -> None:
        """Do it: it is answered to him alone, by one of these sentences, and nothing else changes."""
        before = await self.state()
        act = await do()
        said = await self.home.told(act)
        assert said in allowed
        assert not [word for word in LISTED if word in said.lower()]
        assert await self.state() == before
        if act.now().message_id is not None:
            assert act.now().ephemeral or act.now().content == ""


def test_every_kind_of_custom_id_is_tried() -> None:
    assert tuple(BUTTONS) == PREFIXES
    assert all(name.startswith(prefix) for prefix, names in BUTTONS.items() for name in names)


def made_by_the_code() -> set[str]:
    """Every form of `custom_id` that a literal of the connector makes, `{}` for what is filled in."""
    found = set[str]()
    for file in Path(connector.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
                text = "".join(map(str, parts))
                if text.startswith(PREFIXES) and not set(text) & set(" \n"):
                    found.add(text)
    return found


def test_every_form_of_custom_id_that_the_code_makes_is_tried() -> None:
    """A button, menu or form that is new needs an example above."""
    examples = [name for names in BUTTONS.values() for name in names]
    untried = [
        form
        for form in made_by_the_code()
        if not any(re.fullmatch(re.escape(form).replace(r"\{\}", "[^:]+"), name) for name in examples)
    ]
    assert untried == []
    assert len(made_by_the_code()) >= len(PREFIXES)


def test_every_registered_command_is_tried() -> None:
    settings = Settings.model_validate({"access": {"users": [1]}})
    assert discord_options(settings, Token(Secret("x"), "a test")).commands == SPECS


async def test_a_stranger_finds_every_door_shut(home: House) -> None:
    doors = await Doors.built(home)
    eve, general = home.world.person("eve"), home.world.channel("general")
    for spec in SPECS:
        await doors.nothing(doors.using(eve, general, spec), notices.refused())
    for name in (name for names in BUTTONS.values() for name in names):
        await doors.nothing(doors.pressing(eve, name), notices.refused())
    await doors.nothing(doors.pressing(eve, "dialog:nobody:open"), notices.refused())
    for name in ("input", "editor", "confirm", "nothing"):
        await doors.nothing(doors.filling(eve, general, name), notices.refused())
    await doors.nothing(doors.pressing(eve, "elsewhere:7"), notices.outdated())


async def test_a_stranger_finds_every_door_shut_in_private(home: House) -> None:
    doors = await Doors.built(home)
    eve = home.world.person("eve")
    for spec in SPECS:
        if spec.kind == "slash":
            await doors.nothing(doors.using(eve, home.world.dm(eve), spec), notices.refused())


async def test_who_has_access_finds_them_shut_in_a_channel_that_is_not_allowed(home: House) -> None:
    doors = await Doors.built(home)
    ann, cellar = home.world.person("ann"), home.world.channel("cellar")
    line = await home.world.say(ann, cellar, "hello")
    doors.names["waits"] = str(line)
    for spec in SPECS:
        await doors.nothing(doors.using(ann, cellar, spec), notices.refused())


async def test_completing_offers_a_stranger_nothing(home: House) -> None:
    await Doors.built(home)
    eve, general = home.world.person("eve"), home.world.channel("general")
    completing = [(spec.name, one.name) for spec in SPECS for one in spec.options if one.autocomplete]
    assert completing
    for name, option in completing:
        act = await home.world.autocomplete(eve, general, name, option, "")
        assert (await act.reply()).choices == []
    await home.settle()
    asked = [given for _, given in home.puppets.heard]
    assert len(asked) == len(home.puppets.prompts()) + sum("state" in str(given).lower() for given in asked)


@pytest.mark.parametrize("name", OF_A_ROUND)
async def test_a_round_of_another_channel_cannot_be_reached(home: House, name: str) -> None:
    """What a `custom_id` names must belong to the channel it was pressed in, its author's own included."""
    doors = await Doors.built(home)
    other = home.world.channel("other")
    here = str(await home.world.say(home.world.person("ann"), other, "elsewhere"))
    await home.comes(here, "RUNNING")
    await home.fails(here)
    await home.until(lambda: home.world.posts(other))
    await doors.nothing(
        doors.pressing(home.world.person("ann"), name, home.world.posts(other)[0].id), notices.outdated()
    )


@pytest.mark.parametrize("name", sorted(AUTHORS))
async def test_somebody_elses_round_is_not_his(home: House, name: str) -> None:
    doors = await Doors.built(home)
    await doors.nothing(doors.pressing(home.world.person("bob"), name), notices.refused())


@pytest.mark.parametrize("name", ["dialog:{confirm}:yes", "dialog:{select}:0", "dialog:{input}:open"])
async def test_a_question_is_answered_under_its_own_message_alone(home: House, name: str) -> None:
    doors = await Doors.built(home)
    await doors.nothing(doors.pressing(home.world.person("ann"), name, doors.post), notices.outdated())


async def test_stop_is_everybodys_who_may_write(home: House) -> None:
    doors = await Doors.built(home)
    act = await doors.pressing(home.world.person("bob"), "stop:{round}")()
    assert await home.told(act) == notices.stopping(1)
    assert [fact.round for fact in home.of(facts.StopMarked) if isinstance(fact, facts.StopMarked)] == [
        doors.names["round"]
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("stop:", "stop:nobody", "stop:{ended}", "stop:{round}/card/1", "retry:", "retry:{round}", "retry:{waits}"),
        *("retry:nobody", "queue:", "queue:first:{round}", "queue:cancel:{ended}", "queue:page:", "queue:page:9999999"),
        *(
            "queue:cancel:",
            "dialog:",
            "dialog:{confirm}:0",
            "dialog:{confirm}:",
            "dialog:nobody:yes",
            "spend:",
            "stop:{round}.1",
            "retry:{ended}.1",
            "queue:cancel:\N{SNOWMAN}",
        ),
    ],
)
async def test_a_forged_name_is_outdated_even_for_its_author(home: House, name: str) -> None:
    doors = await Doors.built(home)
    await doors.nothing(doors.pressing(home.world.person("ann"), name), notices.outdated())


@pytest.mark.parametrize(
    "spec",
    [spec for spec in SPECS if spec.name not in {"stop", "status", "queue", "trace", "usage"} and spec.kind == "slash"],
)
async def test_what_is_an_operators_in_a_lane_of_two_is_refused_to_one_of_them(home: House, spec: CommandSpec) -> None:
    """CONTRACT: operator, or anyone in a private or one-person lane."""
    doors = await Doors.built(home)
    await doors.nothing(doors.using(home.world.person("bob"), home.world.channel("general"), spec), notices.refused())
