"""Requests and replies held against Discord's own HTTP specification, where it is at hand; changes nothing."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from fakes.discord_records import Json, Violation

BESIDE = Path(__file__).resolve().parents[1].parent / "shared" / "discord" / "openapi.json"
"""Where the specification lies beside the repository, on machines that have it."""

_URI = "urn:discord"


EXTRA: dict[tuple[str, str], set[str]] = {
    ("PATCH", "/channels/{channel_id}/messages/{message_id}"): {"tts"},
    ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/@original"): {"tts"},
    ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"): {"tts"},
}
"""Fields the specification does not know and Discord lets pass: discord.py sends `tts` with every edit."""


def _loose(schema: Json) -> Json:
    """Clients may send snowflakes as integers (discord.py does in `message_reference` and `attachments`)."""
    schemas = schema["components"]["schemas"]
    snowflake = {"oneOf": [schemas["SnowflakeType"], {"type": "integer", "minimum": 0}]}
    return schema | {"components": schema["components"] | {"schemas": schemas | {"SnowflakeType": snowflake}}}


@functools.lru_cache(maxsize=2)
def load(path: Path) -> Spec:
    """The specification in `path`, read once for each process."""
    return Spec(json.loads(path.read_text(encoding="utf-8")))


def beside() -> Spec | None:
    """The specification that lies beside the repository, or None where it does not."""
    return load(BESIDE) if BESIDE.exists() else None


class Spec:
    """Discord's specification. Validators are built when first needed and kept; nothing else is."""

    def __init__(self, document: Json) -> None:
        self._paths = [(template.strip("/").split("/"), template) for template in document["paths"]]
        self._documents = {"request": _loose(document), "reply": document}
        self._registries = {
            side: Registry().with_resource(_URI, DRAFT202012.create_resource(doc))
            for side, doc in self._documents.items()
        }
        self._validators: dict[tuple[str, str], Draft202012Validator] = {}

    def template(self, path: str) -> str | None:
        """The specification's own name for a path, the most literal first; None when it knows none."""
        segments = path.strip("/").split("/")
        best: tuple[int, str] | None = None
        for parts, template in self._paths:
            if len(parts) != len(segments):
                continue
            pairs = list(zip(parts, segments, strict=True))
            if all(part.startswith("{") or part == segment for part, segment in pairs):
                literal = sum(part == segment for part, segment in pairs)
                if best is None or literal > best[0]:
                    best = literal, template
        return best[1] if best else None

    def check_request(self, method: str, path: str, body: Any) -> list[Violation]:
        """What is wrong with a request: an undocumented route, a body or a field it does not allow."""
        template = self.template(path)
        operation = self._operation(template, method)
        if template is None or operation is None:
            return [Violation("request", method, template or path, "", "no such operation")]
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" not in content:
            # A body where none is expected is ignored by Discord too.
            return []
        pointer = ("paths", template, method.lower(), "requestBody", "content", "application/json", "schema")
        found = self._check("request", method, template, pointer, body)
        if not found and isinstance(body, dict):
            schema = content["application/json"]["schema"]
            unknown = sorted(body.keys() - self._fields(schema) - EXTRA.get((method, template), set()))
            found = [Violation("request", method, template, name, "unknown field") for name in unknown]
        return found

    def check_reply(self, method: str, path: str, status: int, body: Any) -> list[Violation]:
        """What is wrong with a reply: a status or a body its operation does not have."""
        template = self.template(path)
        operation = self._operation(template, method)
        if template is None or operation is None:
            return []  # said of the request already
        responses = operation["responses"]
        key = next((k for k in (str(status), f"{status // 100}XX") if k in responses), None)
        if key is None:
            if status >= 500:
                return []
            return [Violation("reply", method, template, "", f"status {status}, not {sorted(responses)}")]
        pointer: tuple[str, ...] = ("paths", template, method.lower(), "responses", key)
        if "$ref" in responses[key]:
            pointer = tuple(responses[key]["$ref"].removeprefix("#/").split("/"))
        content = self._at("reply", pointer).get("content", {})
        if "application/json" not in content:
            problem = "a body where there is none" if body is not None else None
            return [Violation("reply", method, template, "", problem)] if problem else []
        return self._check("reply", method, template, (*pointer, "content", "application/json", "schema"), body)

    def _operation(self, template: str | None, method: str) -> Json | None:
        if template is None:
            return None
        found: Json | None = self._documents["reply"]["paths"][template].get(method.lower())
        return found

    def _at(self, side: str, pointer: tuple[str, ...]) -> Json:
        node: Json = self._documents[side]
        for part in pointer:
            node = node[part]
        return node

    def _check(self, side: str, method: str, template: str, pointer: tuple[str, ...], body: Any) -> list[Violation]:
        fragment = "/".join(quote(part.replace("~", "~0").replace("/", "~1")) for part in pointer)
        validator = self._validators.get((side, fragment))
        if validator is None:
            validator = Draft202012Validator({"$ref": f"{_URI}#/{fragment}"}, registry=self._registries[side])
            self._validators[side, fragment] = validator
        problem = best_match(validator.iter_errors(body))
        if problem is None:
            return []
        deepest = _deepest(problem)
        where = "/".join(str(part) for part in deepest.absolute_path)
        return [Violation(side, method, template, where, deepest.message[:300])]

    def _fields(self, schema: Json) -> set[str]:
        """The names an object of this schema may have at its top."""
        if "$ref" in schema:
            return self._fields(self._at("request", tuple(schema["$ref"].removeprefix("#/").split("/"))))
        names = set(schema.get("properties", {}))
        for union in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(union, []):
                names |= self._fields(part)
        return names


def _deepest(problem: ValidationError) -> ValidationError:
    """The most telling error below a union: that of the branch which came furthest."""
    while problem.context:
        problem = max(
            problem.context, key=lambda inner: (inner.validator not in ("enum", "const"), len(inner.absolute_path))
        )
    return problem
