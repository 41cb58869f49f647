"""What must hold of a scene when all is quiet: BEHAVIOUR §6 and the invariants, read off Discord, child and ledger."""

from collections import Counter
from itertools import pairwise

from connector import facts, ledger_read, notices
from connector.ledger import FILE
from connector.ports import Part
from engine.marks import mark_of
from fakes.discord import Post
from fakes.program import Home
from tests.system.crash_scenes import Asked, Scene


def hold(scene: Scene, kills: int) -> None:
    """All of them after so many kills; AssertionError names the one that does not."""
    stories = {one.id: story(scene.home, one) for one in scene.asked}
    kinds = {one.id: one_end(scene, one) for one in scene.asked}
    nothing_else(scene, kinds)
    for one in scene.asked:
        told(one, stories[one.id], kinds[one.id])
    for place in scene.places():
        cut = [one.text for one in scene.asked if one.place == place and kinds[one.id] == "notice"]
        assert len(cut) <= kills, f"{kills} kills cost {cut} in {place.name}"
    prompts = read(scene.home)
    tools_once(scene, prompts, tool_runs(scene.home), stories)
    first_writes_in_order(scene, prompts)
    repeats_flagged(prompts)


def story(home: Home, one: Asked) -> list[facts.AnyFact]:
    """What the ledger holds of a message."""
    with ledger_read.opened(home.state / FILE) as db:
        return [step.fact for step in ledger_read.steps_of(db, one.id)]


def one_end(scene: Scene, one: Asked) -> str:
    """Exactly one answer or exactly one notice, whole, in order, nothing of it twice (CONTRACT; §7.20)."""
    wanted = {
        "answer": one.posts("answer", one.answer),
        "notice": one.posts("notice", notices.not_repeated(retry=True), retry=True),
    }
    found: dict[str, list[Post]] = {kind: [] for kind in wanted}
    for post in scene.posts(one.place):
        for kind, parts in wanted.items():
            if str(post.nonce) in {part.nonce for part in parts}:
                found[kind].append(post)
    kinds = [kind for kind, posts in found.items() if posts]
    assert len(kinds) == 1, f"{one.text!r} has {found}"
    shown = [(post.content, post.nonce, post.reference) for post in found[kinds[0]]]
    assert shown == [like(part) for part in wanted[kinds[0]]], f"{one.text!r}: {shown}"
    return kinds[0]


def like(part: Part) -> tuple[str, str, int | None]:
    """A post as Discord shows it: content, nonce, what it refers to."""
    return part.content.strip(), part.nonce, part.reply_to or None


def nothing_else(scene: Scene, kinds: dict[int, str]) -> None:
    """Nothing was posted but those ends, so nothing in the wrong place either (§7.31)."""
    for place in scene.places():
        ends = [one.posts(kinds[one.id], one.answer) for one in scene.asked if one.place == place]
        known = {part.nonce for parts in ends for part in parts}
        strange = [post for post in scene.posts(place) if str(post.nonce) not in known]
        assert strange == [], f"in {place.name}: {strange}"


def told(one: Asked, steps: list[facts.AnyFact], kind: str) -> None:
    """One claim, one end, a notice only where a tool's start was recorded, no write behind that, bounded attempts."""
    names = Counter(type(fact) for fact in steps)
    assert (names[facts.Claimed], names[facts.Ended]) == (1, 1), f"{one.text!r}: {steps}"
    parts = [(fact.key, fact.part) for fact in steps if isinstance(fact, facts.Posted)]
    assert len(parts) == len(set(parts)), f"{one.text!r}: {steps}"
    [end] = [fact.code for fact in steps if isinstance(fact, facts.Ended)]
    opened = next((n for n, fact in enumerate(steps) if isinstance(fact, facts.ToolOpened)), None)
    if opened is None:
        assert (kind, end) == ("answer", "answered"), f"{one.text!r}: {steps}"
    else:
        assert end == ("answered" if kind == "answer" else "engine-exit"), f"{one.text!r}: {steps}"
        again = [fact for fact in steps[opened:] if isinstance(fact, facts.Written) and not fact.reask]
        assert again == [], f"{one.text!r} is run again after its tool: {steps}"
    attempts = [fact for fact in steps if isinstance(fact, facts.Written) and not fact.reask]
    assert len(attempts) <= 3, f"{one.text!r}: {steps}"


def hold_steered(scene: Scene) -> None:
    """The same where lines join runs: each ends once, by its own post or in the run it joined, and nothing is twice."""
    stories = {one.id: story(scene.home, one) for one in scene.asked}
    posts = [post for place in scene.places() for post in scene.posts(place)]
    assert len(posts) == len({post.nonce for post in posts}), posts
    shown = Counter((post.reference, post.content) for post in posts)
    for one in scene.asked:
        steps = stories[one.id]
        [end] = [fact for fact in steps if isinstance(fact, facts.Ended)]
        wanted = {"answered": one.answer, "engine-exit": notices.not_repeated(retry=True)}
        if end.code == "joined":
            assert int(end.into) in stories, f"{one.text!r}: {steps}"
        else:
            assert shown.pop((one.id, wanted[end.code]), 0) == 1, f"{one.text!r}: {steps}, {posts}"
        opened = next((n for n, fact in enumerate(steps) if isinstance(fact, facts.ToolOpened)), len(steps))
        assert not any(isinstance(fact, facts.Written) for fact in steps[opened:]), f"{one.text!r}: {steps}"
    assert not shown, shown
    repeated = [one.text for one in scene.asked if tool_runs(scene.home)[one.id] > 1]
    assert repeated == [], repeated


def read(home: Home) -> list[tuple[int, str]]:
    """Every prompt that a child read, over all lives: message and text."""
    commands = [line["command"] for line in home.child_saw() if line["kind"] == "command"]
    texts = [command["message"] for command in commands if command.get("type") == "prompt"]
    return [(int(mark_of(text) or 0), text) for text in texts]


def tool_runs(home: Home) -> Counter[int]:
    """How many prompts of each message opened a tool, by the child's own word."""
    at: dict[int, tuple[int, int]] = {}
    runs: set[tuple[int, int]] = set()
    for number, line in enumerate(home.child_saw()):
        match line:
            case {"kind": "command", "pid": pid, "command": {"type": "prompt", "message": text}}:
                at[pid] = (int(mark_of(text) or 0), number)
            case {"kind": "event", "type": "tool_execution_start", "pid": pid}:
                runs.add(at[pid])
            case _:
                pass
    return Counter(message for message, _ in runs)


def tools_once(
    scene: Scene, prompts: list[tuple[int, str]], runs: Counter[int], stories: dict[int, list[facts.AnyFact]]
) -> None:
    """No tool runs twice where the ledger, or the lane's session file, knew of the first time (§7.22, §6)."""
    begun: set[int] = set()
    for one in scene.asked:
        known = one.place.id in begun
        assert runs[one.id] <= 1 or not known, f"{one.text!r} ran its tool {runs[one.id]} times: {stories[one.id]}"
        if any(isinstance(fact, facts.Started) for fact in stories[one.id]):
            begun.add(one.place.id)
    assert {message for message, _ in prompts} <= set(stories), "a prompt of nobody's message"


def first_writes_in_order(scene: Scene, prompts: list[tuple[int, str]]) -> None:
    """Within a lane, first writes follow arrival (§7.26)."""
    firsts = list(dict.fromkeys(message for message, _ in prompts))
    for place in scene.places():
        mine = [firsts.index(one.id) for one in scene.asked if one.place == place and one.id in firsts]
        assert all(a < b for a, b in pairwise(mine)), f"in {place.name}: {firsts}"


def repeats_flagged(prompts: list[tuple[int, str]]) -> None:
    """What a child may have seen before says so in its header (§6)."""
    seen: set[int] = set()
    for message, text in prompts:
        if message in seen:
            assert f"[{notices.repeat_note()}]" in text, text
        seen.add(message)
