"""`dataclass` as the standard library has it, made in a fifth of the time; it knows none of our values.

A start of the program makes two hundred classes of this kind before it is ready. The standard library compiles six
methods for each of them, which is a fifth of all that Python does until then; of these only `__init__` gains by it.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - said to be one that is passed on
else:

    def dataclass(*, slots, frozen=False, eq=True):
        """Make a dataclass with slots: fields, `replace`, equality, hash, repr, copies and patterns as always.

        Other options than these, `InitVar`, and fields with `kw_only` or `init=False` are not for it.
        """

        def make(cls):
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
            fields = dataclasses.fields(made)
            methods = {"__init__": _init(made, fields, frozen=frozen), "__repr__": _repr(fields)}
            if eq:
                methods |= _compared(fields, frozen=frozen)
            if frozen:
                methods |= _frozen(fields)
            for name, method in methods.items():
                if name not in cls.__dict__:
                    setattr(made, name, method)
            return made

        return make


Field = dataclasses.Field[Any]
Method = Callable[..., Any]

_MISSING = dataclasses.MISSING


def _init(cls: type, fields: tuple[Field, ...], *, frozen: bool) -> Method:
    """The one method that is called often enough to be compiled."""
    names: dict[str, Any] = {"__name__": cls.__module__, "_set": object.__setattr__, "_missing": _MISSING}
    words, lines = ["self"], []
    for field in fields:
        word = value = field.name
        if field.default is not _MISSING:
            names[f"_default_{value}"], word = field.default, f"{word}=_default_{value}"
        elif field.default_factory is not _MISSING:
            names[f"_make_{value}"], word = field.default_factory, f"{word}=_missing"
            lines.append(f"if {value} is _missing: {value} = _make_{value}()")
        words.append(word)
        lines.append(f"_set(self, '{value}', {value})" if frozen else f"self.{value} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(words)}):\n " + "\n ".join(lines or ["pass"]), names)  # noqa: S102 - names of fields alone
    made: Method = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return made


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What takes these attributes of an object as a tuple."""
    match names:
        case []:
            return lambda _: ()
        case [only]:
            one = attrgetter(only)
            return lambda self: (one(self),)
        case _:
            return attrgetter(*names)


def _repr(fields: tuple[Field, ...]) -> Method:
    shown = [field.name for field in fields if field.repr]
    values = _values(shown)

    def __repr__(self: Any) -> str:  # noqa: N807 - it becomes one
        told = (f"{name}={value!r}" for name, value in zip(shown, values(self), strict=True))
        return f"{type(self).__qualname__}({', '.join(told)})"

    return recursive_repr()(__repr__)


def _compared(fields: tuple[Field, ...], *, frozen: bool) -> dict[str, Method | None]:
    values = _values([field.name for field in fields if field.compare])
    hashed = _values([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807 - it becomes one
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807 - it becomes one
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _frozen(fields: tuple[Field, ...]) -> dict[str, Method]:
    names = [field.name for field in fields]
    values = _values(names)

    def __getstate__(self: Any) -> tuple[Any, ...]:  # noqa: N807 - it becomes one
        return values(self)

    def __setstate__(self: Any, state: tuple[Any, ...]) -> None:  # noqa: N807 - it becomes one
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": __getstate__,
        "__setstate__": __setstate__,
    }


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
