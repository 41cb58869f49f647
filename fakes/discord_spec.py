"""Requests, replies and events held against Discord's own HTTP specification, where it is at hand; changes nothing.

The specification has no events, but the objects in them are those of its replies.
"""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from fakes.discord_operations import RELIED_ON
from fakes.discord_records import Json, Violation

BESIDE = Path(__file__).resolve().parents[1].parent / "shared" / "discord" / "openapi.json"
"""Where the specification lies beside the repository, on machines that have it."""

_URI = "urn:discord"


EXTRA: dict[tuple[str, str], set[str]] = {
    ("PATCH", "/channels/{channel_id}/messages/{message_id}"): {"tts", "enforce_nonce"},
    ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/@original"): {"tts", "enforce_nonce"},
    ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"): {"tts", "enforce_nonce"},
    ("POST", "/webhooks/{webhook_id}/{webhook_token}"): {"enforce_nonce"},
    ("POST", "/channels/{channel_id}/messages/{message_id}/threads"): {"type"},
}
"""Fields the specification does not know and Discord lets pass: discord.py sends `tts` with every edit, discord.js
`enforce_nonce` wherever it sends a message, and the type of a thread that can have but one."""


OBJECTS: dict[str, tuple[tuple[str, str], ...]] = {
    "READY": (("user", "UserPIIResponse"),),
    "GUILD_CREATE": (
        *(("channels[]", "GuildChannelResponse"), ("threads[]", "ThreadResponse"), ("roles[]", "GuildRoleResponse")),
        *(("members[].user", "UserResponse"), ("emojis[]", "EmojiResponse")),
    ),
    "GUILD_MEMBERS_CHUNK": (("members[].user", "UserResponse"),),
    "GUILD_MEMBER_ADD": (("user", "UserResponse"),),
    "GUILD_MEMBER_UPDATE": (("user", "UserResponse"),),
    "GUILD_ROLE_CREATE": (("role", "GuildRoleResponse"),),
    "GUILD_ROLE_UPDATE": (("role", "GuildRoleResponse"),),
    "CHANNEL_CREATE": (("", "GuildChannelResponse|PrivateChannelResponse"),),
    "CHANNEL_UPDATE": (("", "GuildChannelResponse|PrivateChannelResponse"),),
    "THREAD_CREATE": (("", "ThreadResponse"),),
    "THREAD_UPDATE": (("", "ThreadResponse"),),
    "MESSAGE_CREATE": (("", "MessageResponse"),),
    "MESSAGE_UPDATE": (("", "MessageResponse"),),
    "INTERACTION_CREATE": (
        *(("message", "MessageResponse"), ("user", "UserResponse"), ("member.user", "UserResponse")),
        ("data.resolved.users{}", "UserResponse"),
        ("data.resolved.messages{}", "MessageResponse"),
    ),
}
"""Where an event has objects that the specification knows, and what they are there; `[]` is each of a list, `{}` each
value, and what is absent is none. Every event that the fake tells is here or in WITHOUT."""

WITHOUT = frozenset(
    {
        *("CHANNEL_DELETE", "GUILD_DELETE", "GUILD_MEMBER_REMOVE", "GUILD_ROLE_DELETE", "MESSAGE_DELETE"),
        *("MESSAGE_DELETE_BULK", "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "RESUMED", "THREAD_DELETE"),
        *("THREAD_LIST_SYNC", "THREAD_MEMBER_UPDATE", "THREAD_MEMBERS_UPDATE", "TYPING_START", "PRESENCE_UPDATE"),
    }
)
"""Events that hold ids only, or objects which the specification does not have."""


def _loose(schema: Json) -> Json:
    """Clients may send snowflakes as integers (discord.py does in `message_reference` and `attachments`)."""
    snowflake = {"oneOf": [schema["components"]["schemas"]["SnowflakeType"], {"type": "integer", "minimum": 0}]}
    return _with(schema, SnowflakeType=snowflake)


def _whole(schema: Json) -> Json:
    """What the specification leaves out: a forwarded message has a reference of type 1, a field's error a word."""
    word = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code", "message"]}
    inner = schema["components"]["schemas"]["InnerErrors"]
    return _with(
        schema,
        MessageReferenceType={"type": "integer", "enum": [0, 1]},
        InnerErrors=inner | {"properties": {"_errors": {"type": "array", "items": word}}},
    )


def _with(schema: Json, **schemas: Json) -> Json:
    known = schema["components"]["schemas"]
    return schema | {"components": schema["components"] | {"schemas": known | schemas}}


@functools.lru_cache(maxsize=2)
def load(path: Path) -> Spec:
    """The specification in `path`, read once for each process."""
    return Spec(json.loads(path.read_text(encoding="utf-8")))


def absent() -> bool:
    """Whether no specification lies beside the repository; FileNotFoundError where REQUIRE_SPEC=1 says that it must."""
    if BESIDE.exists():
        return False
    if os.environ.get("REQUIRE_SPEC") == "1":
        raise FileNotFoundError(f"REQUIRE_SPEC=1, and Discord's openapi.json is not at {BESIDE}")
    return True


def beside() -> Spec | None:
    """The specification that lies beside the repository, or None where it does not; see `absent`."""
    return None if absent() else load(BESIDE)


def held() -> Counter[tuple[str, str, str]]:
    """What was held against the specification in this process; nothing where that was never read."""
    return load(BESIDE).validated if load.cache_info().currsize else Counter()


class Spec:
    """Discord's specification. Validators are built when first needed and kept; nothing else is."""

    def __init__(self, document: Json) -> None:
        self._paths = [(template.strip("/").split("/"), template) for template in document["paths"]]
        document = _whole(document)
        self._documents = {"request": _loose(document), "reply": document}
        self._registries = {
            side: Registry().with_resource(_URI, DRAFT202012.create_resource(doc))
            for side, doc in self._documents.items()
        }
        self._validators: dict[tuple[str, str], Draft202012Validator] = {}
        self.validated: Counter[tuple[str, str, str]] = Counter()
        """How often something was held against it in this process: side, method, template (or event, "", its name)."""

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

    def check_request(
        self, method: str, path: str, body: Any, *, query: dict[str, str] | None = None, parts: tuple[str, ...] = ()
    ) -> list[Violation]:
        """What is wrong with a request: an undocumented route, a parameter, a body or a field that it does not allow.

        `parts` are the names of a form's files.
        """
        template = self.template(path)
        operation = self._operation(template, method)
        if template is None or operation is None:
            return [Violation("request", method, template or path, "", "no such operation")]
        if (method, template) not in RELIED_ON:
            return [Violation("request", method, template, "", "in no table of tried operations")]
        self.validated["request", method, template] += 1
        content = operation.get("requestBody", {}).get("content", {})
        asked = self._check_query(method, template, operation, query or {})
        if parts:
            asked += self._check_parts(method, template, content.get("multipart/form-data"), parts)
        if "application/json" not in content:
            # A body where none is expected is ignored by Discord too.
            return asked
        pointer = ("paths", template, method.lower(), "requestBody", "content", "application/json", "schema")
        found = self._check("request", method, template, pointer, body)
        if not found and isinstance(body, dict):
            schema = content["application/json"]["schema"]
            unknown = sorted(body.keys() - self._fields(schema) - EXTRA.get((method, template), set()))
            found = [Violation("request", method, template, name, "unknown field") for name in unknown]
        return asked + found

    def _check_query(self, method: str, template: str, operation: Json, query: dict[str, str]) -> list[Violation]:
        """Parameters that are not known, or not of their kind."""
        both = [*self._documents["request"]["paths"][template].get("parameters", []), *operation.get("parameters", [])]
        known = {each["name"]: each["schema"] for each in both if each["in"] == "query"}
        found = [
            Violation("request", method, template, name, "unknown parameter") for name in query if name not in known
        ]
        for name in query.keys() & known.keys():
            kind, text = known[name].get("type"), query[name]
            good = {"integer": text.isdecimal(), "boolean": text in {"true", "false", "True", "False", "0", "1"}}
            if not good.get(kind, True):
                found.append(Violation("request", method, template, name, f"{text!r} is no {kind}"))
        return found

    def _check_parts(self, method: str, template: str, form: Json | None, parts: tuple[str, ...]) -> list[Violation]:
        """Files where none are taken, or under another name than that of their place."""
        if form is None:
            return [Violation("request", method, template, "", "files where none are taken")]
        known = self._fields(form["schema"])
        return [Violation("request", method, template, name, "no such part") for name in parts if name not in known]

    def check_event(self, event: str, payload: Json) -> list[Violation]:
        """What is wrong with the objects of an event; one that is in no table is a violation itself."""
        if event not in OBJECTS:
            return [] if event in WITHOUT else [Violation("event", "", event, "", "held against nothing")]
        self.validated["event", "", event] += 1
        found: list[Violation] = []
        for path, names in OBJECTS[event]:
            for one in _within(payload, path.split(".") if path else []):
                wrong = [
                    self._check("reply", event, path or "itself", ("components", "schemas", name), one)
                    for name in names.split("|")
                ]
                if all(wrong):
                    found += [
                        Violation("event", "", event, f"{path}/{v.where}", v.problem) for v in min(wrong, key=len)
                    ]
        return found

    def check_reply(self, method: str, path: str, status: int, body: Any) -> list[Violation]:
        """What is wrong with a reply: a status or a body its operation does not have."""
        template = self.template(path)
        operation = self._operation(template, method)
        if template is None or operation is None:
            return []  # said of the request already
        self.validated["reply", method, template] += 1
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


def _within(value: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path of OBJECTS; absent ones and nulls are none."""
    if value is None:
        return
    if not path:
        yield value
        return
    name, *rest = path
    found = value.get(name.rstrip("[]{}"))
    for one in found or () if name.endswith("[]") else (found or {}).values() if name.endswith("{}") else (found,):
        yield from _within(one, rest)


def _deepest(problem: ValidationError) -> ValidationError:
    """The most telling error below a union: that of the branch which came furthest."""
    while problem.context:
        problem = max(
            problem.context, key=lambda inner: (inner.validator not in ("enum", "const"), len(inner.absolute_path))
        )
    return problem
