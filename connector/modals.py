"""Forms that a person fills in, as values and as Discord's payloads; pure, it shows none."""

from dataclasses import dataclass
from typing import Any

from connector.gateway_values import text

TITLE, LABEL, PLACEHOLDER, VALUE = 45, 45, 100, 4000
"""Characters that Discord takes."""

FIELDS = 5
"""Fields that a form has at most."""


@dataclass(frozen=True, slots=True)
class TextField:
    """One text to be written; `long` ones have several lines."""

    label: str
    prefill: str = ""
    placeholder: str = ""
    long: bool = False
    required: bool = True


@dataclass(frozen=True, slots=True)
class Modal:
    """A form: `custom_id` comes back with what was written in each of its 1 to 5 fields, as `Pressed.values`."""

    custom_id: str
    title: str
    fields: tuple[TextField, ...]


def payload(modal: Modal) -> dict[str, Any]:
    """The form as it is shown; what is too long is cut."""
    rows = [{"type": 1, "components": [_field(number, one)]} for number, one in enumerate(modal.fields[:FIELDS], 1)]
    return {"custom_id": modal.custom_id, "title": modal.title[:TITLE], "components": rows}


def _field(number: int, one: TextField) -> dict[str, Any]:
    field: dict[str, Any] = {"type": 4, "custom_id": "text" if number == 1 else f"text{number}"}
    field |= {"style": 2 if one.long else 1, "label": one.label[:LABEL], "required": one.required, "max_length": VALUE}
    field |= {"value": one.prefill[:VALUE]} if one.prefill else {}
    field |= {"placeholder": one.placeholder[:PLACEHOLDER]} if one.placeholder else {}
    return field


def written(inner: dict[str, Any]) -> list[str]:
    """What was written or chosen in a form that came back, field after field."""
    found: list[str] = []
    for component in inner.get("components") or ():
        field = component.get("component", component)
        if "value" in field:
            found.append(text(field["value"]))
        found += map(text, field.get("values") or ())
        found += written(field)
    return found
