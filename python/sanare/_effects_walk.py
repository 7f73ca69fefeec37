"""The walk over a function's syntax tree that finds what running it again could repeat."""

from __future__ import annotations

import builtins
import os
import sys

from sanare import _project
from sanare._compile import Unguardable, _parse, _Quiet, guard_from_text
from sanare._guard import guard_of, parameters_of
from sanare._rerun import effects
from sanare._source import lines_of, qualname_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any

_SCOPES = ("FunctionDef", "AsyncFunctionDef", "Lambda")
_LOOPS = ("For", "AsyncFor", "While")
_LITERALS = (
    "List", "Dict", "Set", "Tuple", "Constant", "ListComp", "DictComp", "SetComp", "GeneratorExp", "JoinedStr", "BinOp",
    "Compare", "BoolOp", "UnaryOp", "TemplateStr",
)  # fmt: skip


class Unsafe(Exception):
    """Found something; the text says what."""


class Walk:
    """One function's body, judged."""

    def __init__(
        self, function: FunctionType, depth: int, texts: dict[str, list[str]], arguments: dict[str, Any] | None = None
    ) -> None:
        self.function = function
        # Lines of files as they were at the failure; of all others the disk is asked.
        self.texts = texts
        # Of the failing call itself the arguments are at hand: their classes say which methods are meant.
        self.arguments = arguments or {}
        self.globals = function.__globals__
        self.depth = depth
        self.fresh: set[str] = set()
        self.rebound: set[str] = set()
        self.grown: set[str] = set()
        self.outer: set[str] = set()
        self.inner: dict[str, Any] = {}
        self.locals: set[str] = set()

    def until(self, line: int, *, code: CodeType) -> str | None:
        """Judges every statement that may have run when the failure came at `line`; 0 means the whole body."""
        lines = self.texts.get(code.co_filename) or lines_of(code.co_filename, self.globals)
        if lines is None:
            return "its source is not known"
        if not self.arguments and not self._is_running(lines, code):
            return "its source is not the running code"
        try:
            with _Quiet(code.co_filename):
                tree = _parse(lines, code)
        except (Unguardable, SyntaxError, ValueError):
            return "its source was not found"
        self.locals = set(code.co_varnames) | set(code.co_cellvars)
        parameters = set(parameters_of(code))
        self._names(tree, parameters)
        try:
            for statement in _reached(tree.body, line):
                self._visit(statement)
        except Unsafe as found:
            return str(found)
        return None

    def _is_running(self, lines: list[str], code: CodeType) -> bool:
        """Whether these lines are the code's source: files change, and what is asked of one line answers for another."""
        try:
            guard_from_text("\n".join(lines), code, qualname_of(self.function), {})
        except Exception:
            return False
        return True

    def _names(self, tree: Any, parameters: set[str]) -> None:
        """Which local names hold only what this body itself made."""
        made: dict[str, bool] = {}
        for node in _all(tree):
            name = _kind(node)
            if name in ("Global", "Nonlocal"):
                self.outer.update(node.names)
            elif name in ("Assign", "AnnAssign", "NamedExpr"):
                targets = node.targets if name == "Assign" else [node.target]
                for target in targets:
                    if _kind(target) == "Name":
                        good = node.value is not None and self._is_new(node.value)
                        made[target.id] = made.get(target.id, True) and good
                        if good and self._dotted(node.value)[-1:] == ["defaultdict"]:
                            self.grown.add(target.id)
                    else:
                        for inner in _all(target):
                            if _kind(inner) == "Name" and _kind(inner.ctx) == "Store":
                                made[inner.id] = False
            elif name in (*_LOOPS, "comprehension") or name == "withitem":
                target = getattr(node, "target", None) or getattr(node, "optional_vars", None)
                for inner in _all(target) if target is not None else ():
                    if _kind(inner) == "Name":
                        made[inner.id] = False
            elif name in ("FunctionDef", "AsyncFunctionDef") and node is not tree:
                self.inner[node.name] = node
        self.rebound = set(made)
        self.fresh = {name for name, good in made.items() if good} - parameters - self.outer

    def _is_new(self, node: Any) -> bool:
        """Whether an expression makes a new object that nobody else holds."""
        name = _kind(node)
        if name in _LITERALS:
            return True
        if name == "Call":
            dotted = self._resolve(node.func)
            target = self._object(node.func)
            if isinstance(target, type) and target.__module__ == self.globals.get("__name__") and _plain_class(target):
                return True
            return dotted in effects()["fresh"] or (
                _kind(node.func) == "Attribute" and node.func.attr in ("split", "copy", "splitlines", "strip", "lower")
            )
        if name == "IfExp":
            return self._is_new(node.body) and self._is_new(node.orelse)
        return False

    def _visit(self, node: Any) -> None:
        name = _kind(node)
        if name in ("Assign", "AnnAssign", "For", "AsyncFor", "withitem", "Delete", "NamedExpr", "comprehension"):
            targets = getattr(node, "targets", None) or [
                getattr(node, "target", None) or getattr(node, "optional_vars", None)
            ]
            for target in targets:
                if target is not None:
                    self._store(target)
        elif name == "AugAssign":
            self._augment(node)
        elif name == "Call":
            self._call(node)
        elif name in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            # Defining runs nothing; what it does is judged where it is called.
            return
        elif name in ("Import", "ImportFrom"):
            return
        for child in _children(node):
            self._visit(child)

    def _store(self, target: Any) -> None:
        name = _kind(target)
        if name == "Name":
            if target.id in self.outer:
                raise Unsafe(f"it assigns `{target.id}`, which is not its own")
        elif name in ("Tuple", "List"):
            for part in target.elts:
                self._store(part)
        elif name == "Starred":
            self._store(target.value)
        elif name in ("Attribute", "Subscript"):
            base = target.value
            if not (_kind(base) == "Name" and base.id in self.fresh):
                raise Unsafe(f"it writes into `{_text(base)}`, which it did not create")

    def _augment(self, node: Any) -> None:
        target = node.target
        if _kind(target) == "Name":
            if target.id in self.outer:
                raise Unsafe(f"it assigns `{target.id}`, which is not its own")
            if target.id not in self.fresh:
                raise Unsafe(f"it may change `{target.id}`, which it did not create")
        else:
            self._store(target)

    def _call(self, node: Any) -> None:
        lists = effects()
        func = node.func
        for keyword in node.keywords:
            if keyword.arg == "inplace" and not (_kind(keyword.value) == "Constant" and keyword.value.value is False):
                raise Unsafe("it changes a table in place")
        if _kind(func) == "Name" and func.id in self.inner and func.id in self.locals:
            for statement in self.inner[func.id].body:
                self._visit(statement)
            return
        dotted = self._resolve(func)
        if dotted:
            self._known(node, dotted, lists)
            return
        if _kind(func) == "Attribute":
            self._method(node, func, lists)
            return
        if _kind(func) == "Call" or _kind(func) == "Lambda":
            return
        raise Unsafe(f"it calls `{_text(func)}`, which is not known to be harmless")

    def _known(self, node: Any, dotted: str, lists: dict[str, frozenset[str]]) -> None:
        for place, argument in enumerate(node.args):
            # A function that is passed on will be called: `map(f, …)`, `sorted(…, key=f)`.
            if _kind(argument) == "Name" and place == 0 and dotted in ("map", "filter", "functools.reduce"):
                self._callback(argument)
        for keyword in node.keywords:
            if (
                keyword.arg in ("key", "default_factory", "object_hook", "converters")
                and _kind(keyword.value) == "Name"
            ):
                self._callback(keyword.value)
        if dotted in lists["read"]:
            if _reads_only(node, 1):
                return
            raise Unsafe(f"it opens a file with `{dotted}` in a mode that may write")
        if dotted in lists["fetch"]:
            if any(keyword.arg in ("data", "json", "files") for keyword in node.keywords) or len(node.args) > 1:
                raise Unsafe(f"it sends data with `{dotted}`")
            return
        root = dotted
        while root:
            if root in lists["all"] or (root == dotted and root in lists["call"]):
                return
            root = root.rpartition(".")[0]
        self._project_call(self._object(node.func), dotted)

    def _callback(self, name: Any) -> None:
        dotted = self._resolve(name)
        if dotted in effects()["call"]:
            return
        if name.id in self.inner:
            for statement in self.inner[name.id].body:
                self._visit(statement)
            return
        self._project_call(self._object(name), name.id)

    def _method(self, node: Any, func: Any, lists: dict[str, frozenset[str]]) -> None:
        receiver = func.value
        if func.attr in lists["mutator"]:
            if self._is_own(receiver):
                return
            if func.attr not in lists["method"]:
                raise Unsafe(f"`{_text(receiver)}.{func.attr}` changes what it did not create")
        if func.attr in lists["method"]:
            return
        if func.attr == "open" and _reads_only(node, 0):
            return
        if func.attr == "close":
            return
        owner = self._object(receiver)
        if owner is not None and _kind(receiver) == "Name":
            self._project_call(getattr(type(owner), func.attr, None), func.attr)
            return
        if _kind(receiver) == "Name":
            method = self._method_of(receiver.id, func.attr)
            if method is not None:
                self._project_call(method, f"{receiver.id}.{func.attr}")
                return
        raise Unsafe(f"it calls `{_text(receiver)}.{func.attr}`, which is not known to be harmless")

    def _is_own(self, receiver: Any) -> bool:
        """Whether the object behind a changing method was made here: a fresh name, or an item that one grew itself."""
        name = _kind(receiver)
        if name == "Name":
            return receiver.id in self.fresh
        if name == "Subscript" and _kind(receiver.value) == "Name":
            return receiver.value.id in self.grown & self.fresh
        if name == "Call" and _kind(receiver.func) == "Attribute" and receiver.func.attr == "setdefault":
            return self._is_own(receiver.func.value) and len(receiver.args) == 2 and self._is_new(receiver.args[1])
        return False

    def _method_of(self, receiver: str, name: str) -> Any:
        """A method of an argument, by its class; of `self` and `cls` by the class that the qualified name tells."""
        if receiver in self.rebound:
            return None
        if receiver in self.arguments:
            owner = self.arguments[receiver]
            owner = owner if isinstance(owner, type) else type(owner)
        elif receiver in ("self", "cls"):
            parts = self.function.__qualname__.split(".")[:-1]
            owner = self.globals.get(parts[0]) if parts else None
            for part in parts[1:]:
                owner = getattr(owner, part, None)
        else:
            return None
        for base in type.mro(owner) if isinstance(owner, type) else ():
            if name in base.__dict__:
                return base.__dict__[name]
        return None

    def _project_call(self, target: Any, shown: str) -> None:
        if isinstance(target, type):
            if issubclass(target, BaseException) or _plain_class(target):
                return
            raise Unsafe(f"it makes a `{shown}`, which is not known to be harmless")
        target = getattr(target, "__wrapped__", None) or getattr(target, "__func__", None) or target
        if type(target) is not type(_plain_class):
            raise Unsafe(f"it calls `{shown}`, which is not known to be harmless")
        function: FunctionType = target  # type: ignore[assignment,unused-ignore]
        code = function.__code__
        if _project.is_library(os.path.abspath(code.co_filename)) or code.co_filename[:1] == "<":
            raise Unsafe(f"it calls `{shown}`, which is not known to be harmless")
        if function is self.function:
            return
        if self.depth <= 0:
            raise Unsafe(f"it calls `{shown}`, which lies too deep to be judged")
        guard = guard_of(function)
        deeper = Walk(function, self.depth - 1, self.texts)
        why = deeper.until(0, code=guard.current if guard is not None else code)
        if why:
            raise Unsafe(f"it calls `{shown}`: {why}")

    def _dotted(self, node: Any) -> list[str]:
        return self._resolve(node.func).split(".") if _kind(node) == "Call" else []

    def _object(self, node: Any) -> Any:
        """The global object that a name or a chain of module members stands for; None if it is not one."""
        if _kind(node) == "Name":
            if node.id in self.locals:
                return None
            return self.globals.get(node.id, getattr(builtins, node.id, None))
        if _kind(node) == "Attribute":
            owner = self._object(node.value)
            if type(owner) is type(sys) or isinstance(owner, type):
                return getattr(owner, node.attr, None)
        return None

    def _resolve(self, func: Any) -> str:
        """The dotted name of a global function or of a module's member, as its library calls it; empty for others."""
        target = self._object(func)
        if target is None:
            return ""
        if _kind(func) == "Name" and getattr(builtins, func.id, None) is target:
            return str(func.id)
        module = getattr(target, "__module__", None)
        name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
        if _kind(func) == "Attribute":
            owner = self._object(func.value)
            if type(owner) is type(sys):
                return f"{owner.__name__}.{func.attr}"
        if type(module) is str and type(name) is str:
            module = {"_csv": "csv", "_io": "io", "_collections": "collections", "_json": "json"}.get(module, module)
            return name if module == "builtins" else f"{module}.{name}"
        return ""


def _plain_class(target: type) -> bool:
    """Whether making an instance runs nothing of the owner's: a dataclass or named tuple, or no `__init__` at all."""
    if "__dataclass_fields__" in target.__dict__ and "__post_init__" not in target.__dict__:
        return True
    if issubclass(target, tuple) and hasattr(target, "_fields"):
        return True
    plain: Any = object
    made: Any = target
    return made.__init__ is plain.__init__ and made.__new__ is plain.__new__


def _reads_only(node: Any, place: int) -> bool:
    mode: Any = node.args[place] if len(node.args) > place else None
    for keyword in node.keywords:
        if keyword.arg == "mode":
            mode = keyword.value
    if mode is None:
        return True
    return _kind(mode) == "Constant" and type(mode.value) is str and not set(mode.value) & set("wax+")


def _kind(node: Any) -> str:
    return str(node.__class__.__name__)


def _children(node: Any) -> list[Any]:
    found = []
    for field in node._fields:
        value = getattr(node, field, None)
        for child in value if value.__class__ is list else (value,):
            if hasattr(child, "_fields"):
                found.append(child)
    return found


def _all(node: Any) -> list[Any]:
    found = [node]
    for child in _children(node):
        found.extend(_all(child))
    return found


def _text(node: Any) -> str:
    """A short name for an expression, for people."""
    name = _kind(node)
    if name == "Name":
        return str(node.id)
    if name == "Attribute":
        return f"{_text(node.value)}.{node.attr}"
    if name == "Subscript":
        return f"{_text(node.value)}[…]"
    return f"{_text(node.func)}(…)" if name == "Call" else "…"


def _reached(statements: list[Any], line: int) -> list[Any]:
    """The statements that may have run when the failure came at `line`: those up to it, and whole loops around it."""
    if not line:
        return statements
    found: list[Any] = []
    for statement in statements:
        if statement.lineno > line:
            break
        end = statement.end_lineno or statement.lineno
        name = _kind(statement)
        if end < line or name in _LOOPS or not hasattr(statement, "body"):
            found.append(statement)
            continue
        if name in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            found.append(statement)
            continue
        # The failure lies inside: the head ran, and of the blocks what stands up to it; what catches or cleans up too.
        found.extend(
            child for child in _children(statement) if not hasattr(child, "lineno") or _kind(child) == "withitem"
        )
        for field in ("test", "subject"):
            if getattr(statement, field, None) is not None:
                found.append(getattr(statement, field))
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            found.extend(_reached(part.body, line) if name == "Match" else part.body)
        for field in ("body", "orelse"):
            found.extend(_reached(getattr(statement, field, None) or [], line))
        found.extend(getattr(statement, "finalbody", None) or [])
    return found
