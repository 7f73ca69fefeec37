"""A digest over a value: equal for equal values of equal types, whatever their identity. Runs in the trial's child."""

from __future__ import annotations

from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NODES = 2_000_000
ITEMS = 10_000

# Library types whose `repr` is their whole value.
_BY_REPR = frozenset(
    {
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("uuid", "UUID"),
        ("pathlib", "PosixPath"),
        ("pathlib", "PurePosixPath"),
        ("pathlib._local", "PosixPath"),
        ("zoneinfo", "ZoneInfo"),
        ("re", "Pattern"),
        ("ipaddress", "IPv4Address"),
        ("ipaddress", "IPv6Address"),
        ("pandas._libs.tslibs.timestamps", "Timestamp"),
        ("pandas", "Timestamp"),
        ("pandas._libs.tslibs.nattype", "NaTType"),
        ("pandas._libs.missing", "NAType"),
    }
)


def type_name(value: object) -> str:
    """Dotted type of a value."""
    from sanare._frames import dotted

    return dotted(type(value))


def digest(value: Any, aside: tuple[object, frozenset[str]] | None = None) -> str:
    """Hexadecimal digest of a value: content, types, order. Of the object `aside` these attributes do not count."""
    state = _State()
    if aside is not None:
        state.aside, state.names = aside
    state.add(value, 0)
    return str(state.hash.hexdigest())


class _State:
    def __init__(self) -> None:
        self.hash: Any = blake2b(digest_size=16)
        self.seen: dict[int, int] = {}
        self.keep: list[Any] = []
        self.nodes = 0
        self.aside: object = self
        self.names: frozenset[str] = frozenset()

    def put(self, kind: str, data: bytes = b"") -> None:
        self.hash.update(f"{kind}:{len(data)}:".encode())
        self.hash.update(data)

    def add(self, value: Any, depth: int) -> None:
        self.nodes += 1
        kind = type(value)
        if self.nodes > NODES or depth > 200:
            self.put("cut")
        elif value is None or kind is bool or kind is int or kind is float or kind is complex or kind is range:
            self.put(kind.__name__, repr(value).encode())
        elif kind is str:
            self.put("str", value.encode("utf-8", "surrogatepass"))
        elif kind is bytes or kind is bytearray or kind is memoryview:
            self.put(kind.__name__, bytes(value))
        elif id(value) in self.seen:
            self.put("same", str(self.seen[id(value)]).encode() if kind in (list, dict, tuple, set) else b"")
        else:
            self.seen[id(value)] = len(self.seen)
            self.keep.append(value)
            self._compound(value, kind, depth + 1)

    def _compound(self, value: Any, kind: type, depth: int) -> None:
        if kind is dict:
            self.put("dict", str(len(value)).encode())
            for key, item in value.items():
                self.add(key, depth)
                self.add(item, depth)
        elif kind is list or kind is tuple:
            self.put(kind.__name__, str(len(value)).encode())
            for item in value:
                self.add(item, depth)
        elif kind is set or kind is frozenset:
            self.put(kind.__name__, "".join(sorted(map(digest, value))).encode())
        elif (kind.__module__, kind.__name__) in _BY_REPR:
            self.put(type_name(value), repr(value).encode("utf-8", "surrogatepass"))
        elif not self._library(value, kind, depth):
            self._object(value, kind, depth)

    def _library(self, value: Any, kind: type, depth: int) -> bool:
        """Tables and arrays by their values; iterators by what they give."""
        root = kind.__module__.partition(".")[0]
        try:
            if root == "pandas":
                if hasattr(value, "columns") and hasattr(value, "dtypes"):
                    self.put(kind.__name__, str(value.shape).encode())
                    self.add([str(name) for name in value.columns], depth)
                    self.add([str(dtype) for dtype in value.dtypes], depth)
                    for place in range(value.shape[1]):
                        self.add(value.iloc[:, place].tolist(), depth)
                    self.add(value.index.tolist(), depth)
                    return True
                if hasattr(value, "tolist") and hasattr(value, "dtype"):
                    self.put(kind.__name__, str(value.dtype).encode())
                    self.add(value.tolist(), depth)
                    index: Any = getattr(value, "index", None)
                    self.add(index.tolist() if hasattr(index, "tolist") else None, depth)
                    return True
            if root in ("numpy", "torch", "jax") and hasattr(value, "tolist"):
                self.put(type_name(value), f"{getattr(value, 'dtype', '')}{getattr(value, 'shape', '')}".encode())
                self.add(value.tolist(), depth)
                return True
            if root in ("polars", "pyarrow") and hasattr(value, "to_pylist" if root == "pyarrow" else "to_dict"):
                self.put(type_name(value))
                self.add(value.to_pylist() if root == "pyarrow" else value.to_dict(as_series=False), depth)
                return True
        except Exception as trouble:
            self.put("unreadable", type(trouble).__name__.encode())
            return True
        return False

    def _object(self, value: Any, kind: type, depth: int) -> None:
        from sanare._frames import instance_dict

        self.put(type_name(value))
        # Subclasses of built-in types: what the built-in part holds, read past the class's own methods.
        if isinstance(value, dict):
            self.add(dict.copy(value), depth)
        elif isinstance(value, list):
            self.add(list.copy(value), depth)
        elif isinstance(value, tuple):
            self.add(tuple(tuple.__iter__(value)), depth)
        elif isinstance(value, (set, frozenset)):
            self.add(frozenset(value), depth)
        elif isinstance(value, str):
            self.put("str", str.encode(value, "utf-8", "surrogatepass"))
        elif isinstance(value, int):
            self.put("int", int.__repr__(value).encode())
        elif isinstance(value, float):
            self.put("float", float.__repr__(value).encode())
        own = instance_dict(value)
        left = self.names if value is self.aside else ()
        counted = {name: item for name, item in own.items() if name not in left}
        if counted:
            self.add(counted, depth)
        member: Any
        for owner in type.mro(kind):
            slots = owner.__dict__.get("__slots__", ())
            for name in (slots,) if type(slots) is str else slots:
                if name in left:
                    continue
                member = owner.__dict__.get(name)
                if type(member).__name__ == "member_descriptor":
                    try:
                        self.add(member.__get__(value), depth)
                    except AttributeError:
                        self.put("unset")
        if kind.__module__ == "builtins" and kind.__name__ in (
            "function",
            "builtin_function_or_method",
            "type",
            "module",
        ):
            self.put("name", str(getattr(value, "__qualname__", getattr(value, "__name__", ""))).encode())


def is_empty(value: Any) -> bool:
    """Whether a result is `None` or an empty container or table."""
    if value is None:
        return True
    if isinstance(value, (str, bytes, list, tuple, dict, set, frozenset)):
        return len(value) == 0
    empty = getattr(value, "empty", None) if type(value).__module__.partition(".")[0] == "pandas" else None
    return empty is True
