"""What a result has to be, in the owner's own words: a class, a validator, a JSON Schema, a callable that raises (C51)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sanare._call import Call


class CannotJudge(Exception):
    """The contract cannot be applied here; the text says why."""


class Broken(Exception):
    """The value breaks the contract; the text says where."""


def of_call(call: Call) -> Any:
    """The contract that holds for this call: the one that the program gave when it asked, else the decorator's."""
    from sanare._errors import HealRequested

    if type(call.error) is HealRequested:
        asked = call.error.details.get("contract")
        if type(asked) is dict:
            return {"return": asked}
    return call.guard.options.get("contract")


def described(call: Call) -> Any:
    """The contract as plain data, for whoever proposes a repair; None without one, or where it cannot be said."""
    try:
        contract = of_call(call)
        return None if contract is None else {name: _said(one) for name, one in parts(contract).items()}
    except Exception:
        return None


def _said(contract: Any) -> Any:
    """Read where it is kept: no code of the owner's runs."""
    kind = type(contract)
    if kind is dict:
        return contract
    if issubclass(kind, type):
        fields, aliases = _fields(contract)
        return {"class": _name(contract), "fields": fields, **({"aliases": aliases} if aliases else {})}
    if _name(kind) == "TypeAdapter" and kind.__module__.startswith("pydantic"):
        return contract.json_schema()
    return {"callable": contract.__qualname__ if kind.__module__ == "builtins" else _name(kind)}


def _name(kind: type) -> str:
    return str(type.__getattribute__(kind, "__name__"))


def _fields(contract: type) -> tuple[dict[str, str], dict[str, str]]:
    """Field names with their types, and with the other names under which a value may come."""
    found: dict[str, str] = {}
    aliases: dict[str, str] = {}
    kept = type.__getattribute__(contract, "__dict__")
    for place in ("__pydantic_fields__", "__fields__", "__dataclass_fields__", "__annotations__"):
        fields = kept.get(place)
        if type(fields) is not dict:
            continue
        for name, field in fields.items():
            known = type(field).__module__.split(".")[0] in ("pydantic", "dataclasses")
            annotation = getattr(field, "annotation", None) or getattr(field, "type", None) if known else field
            alias = getattr(field, "alias", None) if known else None
            said = _type_said(annotation)
            found[name] = said
            if type(alias) is str and alias != name:
                aliases[name] = alias
                found[name] = f"{said}, given as {alias!r}"
        return found, aliases
    return found, aliases


def _type_said(annotation: Any) -> str:
    kind = type(annotation)
    if kind is str:
        return annotation  # type: ignore[no-any-return]
    if annotation is None or annotation is type(None):
        return "None"
    if issubclass(kind, type):
        return _name(annotation)
    if kind.__module__ not in ("typing", "types"):
        return _name(kind)
    inner = [_type_said(one) for one in getattr(annotation, "__args__", ())]
    name = getattr(annotation, "__name__", None) or getattr(annotation, "_name", None) or _name(kind)
    if name in ("Union", "UnionType", "Optional"):
        return " | ".join(inner)
    return f"{name}[{', '.join(inner)}]" if inner else str(name)


def parts(contract: Any) -> dict[str, Any]:
    """The contract by parameter name and `return`; alone it is about the result."""
    if isinstance(contract, dict) and not is_schema(contract):
        return contract
    return {"return": contract}


def is_schema(contract: dict[str, Any]) -> bool:
    """Whether a mapping is a JSON Schema and not one from parameters to contracts."""
    words = ("$schema", "type", "properties", "$ref", "items", "anyOf", "allOf", "oneOf", "enum", "const", "required")
    return any(word in contract and not callable(contract[word]) for word in words)


def judge(contract: Any, value: Any) -> None:
    """Raises when the value breaks the contract. A class judges each element of a list."""
    if isinstance(contract, dict):
        _schema(contract, value)
    elif isinstance(contract, type):
        for item in value if isinstance(value, list) else [value]:
            _class(contract, item)
    elif hasattr(contract, "validate_python"):
        contract.validate_python(value)
    else:
        contract(value)


def _class(contract: Any, item: Any) -> None:
    if isinstance(item, contract):
        return
    validate = getattr(contract, "model_validate", None) or getattr(contract, "parse_obj", None)
    if validate is not None:
        validate(item)
    elif isinstance(item, dict):
        contract(**item)
    else:
        raise TypeError(f"expected {contract.__name__}, got {type(item).__name__}")


def _schema(schema: dict[str, Any], value: Any) -> None:
    try:
        import jsonschema  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        from sanare._schema import check

        check(schema, value)
        return
    jsonschema.validate(value, schema)
