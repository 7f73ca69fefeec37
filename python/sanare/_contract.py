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
