"""JSON Schema as far as contracts need it, for programs without a validator of their own. What it does not know, it says."""

from __future__ import annotations

import re

from sanare._contract import Broken, CannotJudge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SAID = frozenset(
    "title description default examples $schema $id $defs definitions $comment format readOnly writeOnly deprecated".split()
)
_KNOWN = frozenset(
    "$ref type enum const properties required additionalProperties items minItems maxItems minLength maxLength pattern"
    " minimum maximum exclusiveMinimum exclusiveMaximum anyOf allOf oneOf not minProperties maxProperties".split()
)


def check(schema: Any, value: Any, at: str = "$", root: Any = None, depth: int = 0) -> None:
    """Raises `Broken` when the value does not fit, `CannotJudge` when the schema asks for more than is known here."""
    root = schema if root is None else root
    if depth > 100:
        raise CannotJudge("the schema goes on for ever")
    if schema is True:
        return
    if schema is False:
        raise Broken(f"{at}: nothing is allowed here")
    if not isinstance(schema, dict):
        raise CannotJudge("the schema is no mapping")
    unknown = set(schema) - _KNOWN - _SAID
    if unknown:
        raise CannotJudge(f"the schema's `{min(unknown)}` needs the package jsonschema")
    if "$ref" in schema:
        check(_referred(schema["$ref"], root), value, at, root, depth + 1)
    wanted = schema.get("type")
    if wanted is not None and not any(_is(value, one) for one in ([wanted] if isinstance(wanted, str) else wanted)):
        raise Broken(f"{at}: is no {wanted if isinstance(wanted, str) else ' or '.join(wanted)}")
    if "enum" in schema and not any(_equal(value, one) for one in schema["enum"]):
        raise Broken(f"{at}: is none of the allowed values")
    if "const" in schema and not _equal(value, schema["const"]):
        raise Broken(f"{at}: is not the one allowed value")
    _numbers(schema, value, at)
    _sizes(schema, value, at)
    _inside(schema, value, at, root, depth)
    _combined(schema, value, at, root, depth)


def _referred(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        raise CannotJudge("the schema refers to another document")
    found = root
    for part in reference[1:].strip("/").split("/") if reference != "#" else ():
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            raise CannotJudge(f"the schema has no `{reference}`")
        found = found[name]
    return found


def _is(value: Any, name: str) -> bool:
    if name == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    kinds: dict[str, Any] = {"string": str, "boolean": bool, "object": dict, "array": (list, tuple), "null": type(None)}
    if name not in kinds:
        raise CannotJudge(f"the schema has an unknown type `{name}`")
    return isinstance(value, kinds[name])


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _numbers(schema: dict[str, Any], value: Any, at: str) -> None:
    if not _is(value, "number"):
        return
    low, high = schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if isinstance(over, bool) or isinstance(under, bool):
        raise CannotJudge("the schema is of an old draft")
    if (low is not None and not value >= low) or (over is not None and not value > over):
        raise Broken(f"{at}: is too small")
    if (high is not None and not value <= high) or (under is not None and not value < under):
        raise Broken(f"{at}: is too large")


def _sizes(schema: dict[str, Any], value: Any, at: str) -> None:
    for kind, least, most in (
        (str, "minLength", "maxLength"),
        ((list, tuple), "minItems", "maxItems"),
        (dict, "minProperties", "maxProperties"),
    ):
        if isinstance(value, kind) and not schema.get(least, 0) <= len(value) <= schema.get(most, len(value)):
            raise Broken(f"{at}: has a length of {len(value)}")
    if "pattern" in schema and isinstance(value, str) and re.search(schema["pattern"], value) is None:
        raise Broken(f"{at}: does not fit the pattern")


def _inside(schema: dict[str, Any], value: Any, at: str, root: Any, depth: int) -> None:
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                raise Broken(f"{at}: has no `{name}`")
        for name, item in value.items():
            if name in properties:
                check(properties[name], item, f"{at}.{name}", root, depth + 1)
            elif "additionalProperties" in schema:
                check(schema["additionalProperties"], item, f"{at}.{name}", root, depth + 1)
    if isinstance(value, (list, tuple)) and "items" in schema:
        if isinstance(schema["items"], list):
            raise CannotJudge("the schema is of an old draft")
        for place, item in enumerate(value):
            check(schema["items"], item, f"{at}[{place}]", root, depth + 1)


def _combined(schema: dict[str, Any], value: Any, at: str, root: Any, depth: int) -> None:
    def fits(one: Any) -> bool:
        try:
            check(one, value, at, root, depth + 1)
        except Broken:
            return False
        return True

    for one in schema.get("allOf", ()):
        check(one, value, at, root, depth + 1)
    if "anyOf" in schema and not any(fits(one) for one in schema["anyOf"]):
        raise Broken(f"{at}: fits none of the alternatives")
    if "oneOf" in schema and sum(fits(one) for one in schema["oneOf"]) != 1:
        raise Broken(f"{at}: does not fit exactly one of the alternatives")
    if "not" in schema and fits(schema["not"]):
        raise Broken(f"{at}: fits what it must not be")
