"""`engine.values.dataclass` beside the standard library's: the same classes, whatever is done with their values."""

import copy
import dataclasses
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from engine import values

Make = Callable[..., Any]


class Kinds(typing.NamedTuple):
    """The same classes as one decorator makes them."""

    plain: Any
    none: Any
    one: Any
    below: Any
    changing: Any
    same: Any
    own: Any


def kinds(dataclass: Make) -> Kinds:
    """Every form of a value that this program writes."""

    @dataclass(frozen=True, slots=True)
    class Plain:
        """Several fields, defaults, one that is hidden, one that does not count, one made anew each time."""

        first: int
        second: str | None
        third: tuple[int, ...] = ()
        secret: str = dataclasses.field(default="", repr=False)
        pause: float = dataclasses.field(default=0.0, compare=False)
        made: frozenset[int] = dataclasses.field(default_factory=frozenset)
        kind: typing.ClassVar[int] = 7

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError("less than nothing")

    @dataclass(frozen=True, slots=True)
    class Nothing:
        """No field."""

    @dataclass(frozen=True, slots=True)
    class One:
        """One field."""

        only: Any

    @dataclass(frozen=True, slots=True)
    class Below(One):
        """A field beside the inherited one, its default given anew."""

        only: Any = 3
        more: int = 4

    @dataclass(slots=True)
    class Changing:
        """It may be changed."""

        first: int
        listed: list[int] = dataclasses.field(default_factory=list)

    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        """Equal to itself alone."""

        only: int

    @dataclass(frozen=True, slots=True)
    class Own:
        """It shows itself its own way."""

        only: int

        def __repr__(self) -> str:
            return "mine"

    return Kinds(Plain, Nothing, One, Below, Changing, Same, Own)


OURS, THEIRS = kinds(values.dataclass), kinds(dataclasses.dataclass)


@values.dataclass(frozen=True, slots=True)
class Copied:
    """Found again by its name, as pickle wants it."""

    first: int
    second: tuple[int, ...] = (1,)


def some(kind: Kinds) -> list[Any]:
    """Values of all classes, equal ones among them."""
    plain = kind.plain
    return [
        plain(1, "a"),
        plain(1, "a", pause=9.0),
        plain(first=1, second=None, third=(1, 2), secret="s", made=frozenset({1})),
        plain(1, "a", secret="s"),
        kind.none(),
        kind.none(),
        kind.one(1),
        kind.one((1,)),
        kind.one("x"),
        kind.below(),
        kind.below(1),
        kind.below(1, 5),
        kind.changing(1),
        kind.changing(1, [2]),
        kind.own(1),
        kind.own(1),
    ]


def test_values_are_shown_and_compared_as_the_standard_library_does() -> None:
    ours, theirs = some(OURS), some(THEIRS)
    assert [repr(one) for one in ours] == [repr(one) for one in theirs]
    assert [[a == b for b in ours] for a in ours] == [[a == b for b in theirs] for a in theirs]
    assert [[a != b for b in ours] for a in ours] == [[a != b for b in theirs] for a in theirs]
    same = OURS.same(1)
    assert [same == same, same == OURS.same(1), len({same, OURS.same(1)})] == [True, False, 2]  # noqa: PLR0124


def test_equal_values_have_one_hash_and_what_may_change_has_none() -> None:
    for kind in (OURS, THEIRS):
        fixed = [one for one in some(kind) if not isinstance(one, kind.changing)]
        assert len(set(fixed)) == 11
        assert all(hash(a) == hash(b) for a in fixed for b in fixed if a == b)
        with pytest.raises(TypeError, match="unhashable type"):
            hash(kind.changing(1))


def test_what_is_frozen_stays_and_the_rest_may_be_changed() -> None:
    told = []
    for kind in (OURS, THEIRS):
        value = kind.plain(1, "a")
        changes: list[tuple[Make, tuple[Any, ...]]] = [
            (setattr, (value, "first", 2)),
            (setattr, (value, "stranger", 2)),
            (delattr, (value, "first")),
        ]
        for change, words in changes:
            with pytest.raises((dataclasses.FrozenInstanceError, TypeError)) as refused:
                change(*words)
            told.append((value, str(refused.value)))
        changing = kind.changing(1)
        changing.first, changing.listed = 5, [6]
        assert (changing.first, changing.listed) == (5, [6])
        with pytest.raises(AttributeError):
            changing.stranger = 1
    assert [repr(value) for value, _ in told[:3]] == [repr(value) for value, _ in told[3:]]
    assert told[0][1] == told[3][1] == "cannot assign to field 'first'"
    assert told[2][1] == told[5][1] == "cannot delete field 'first'"


def test_they_are_made_with_the_same_words_and_refuse_the_same() -> None:
    for ours, theirs in zip(OURS, THEIRS, strict=True):
        mine, other = inspect.signature(ours), inspect.signature(theirs)
        assert list(mine.parameters) == list(other.parameters)
        assert [one.annotation for one in mine.parameters.values()] == [
            one.annotation for one in other.parameters.values()
        ]
        assert typing.get_type_hints(ours.__init__) == typing.get_type_hints(theirs.__init__)
        assert (ours.__match_args__, ours.__slots__) == (theirs.__match_args__, theirs.__slots__)
        assert (ours.__init__.__qualname__, ours.__init__.__module__) == (
            theirs.__init__.__qualname__,
            theirs.__init__.__module__,
        )
        assert [one.name for one in dataclasses.fields(ours)] == [one.name for one in dataclasses.fields(theirs)]
    for kind in (OURS, THEIRS):
        with pytest.raises(TypeError):
            kind.plain(1)
        with pytest.raises(TypeError):
            kind.plain(1, "a", stranger=1)
        with pytest.raises(ValueError, match="less than nothing"):
            kind.plain(-1, "a")
        assert kind.changing(1).listed is not kind.changing(1).listed
        assert kind.plain.kind == 7


def test_the_helpers_of_the_standard_library_take_them() -> None:
    for kind in (OURS, THEIRS):
        value: Any = kind.plain(1, "a", made=frozenset({2}))
        assert dataclasses.replace(value, first=2) == kind.plain(2, "a", made=frozenset({2}))
        assert dataclasses.asdict(value) == {
            "first": 1,
            "second": "a",
            "third": (),
            "secret": "",
            "pause": 0.0,
            "made": frozenset({2}),
        }
        match value:
            case kind.plain(1, second, third=()):
                assert second == "a"
            case _:
                pytest.fail("it is not matched by its fields")
        for one in some(kind):
            assert copy.deepcopy(one) == copy.copy(one) == one
    assert pickle.loads(pickle.dumps(Copied(2))) == Copied(2)


def test_what_names_itself_is_shown_once() -> None:
    for kind in (OURS, THEIRS):
        circle = kind.changing(1)
        circle.listed.append(circle)
        assert repr(circle) == f"{kind.changing.__qualname__}(first=1, listed=[...])"


def test_a_field_without_a_default_after_one_with_it_is_refused() -> None:
    for dataclass, error in ((values.dataclass, SyntaxError), (dataclasses.dataclass, TypeError)):
        with pytest.raises(error):

            @dataclass(slots=True)
            class _Wrong:
                first: int = 1
                second: int  # type: ignore[misc]  # the fault that is tried
