"""The guard, compiled into a function: its body inside one `try`, every position as the file has it.

The function's own lines are parsed, the chain of classes and functions that its qualified name tells is rebuilt around
it (so that `super()`, private names and closure cells come out as in the original), and the inner code object is taken.
It is used only if it is proved to be the running code with a guard around: from Python 3.11 on the good path is then
byte for byte the original's. Anything that cannot be proved gets the wrapper instead.
"""

from __future__ import annotations

import _ast
import sys

from sanare._source import FUTURE_FLAGS, HAS_QUALNAME, imports_of, lines_of, qualname_of, same_code, same_constants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any

GENERATOR = 0x20
COROUTINE = 0x80
ASYNC_GENERATOR = 0x200
ONLY_AST = 0x400

# Stand-ins in the compiled text: constants that are replaced by the objects themselves, so that no name has to be put
# into the module's namespace and nothing that the module calls `Exception` is in the way.
ERROR, FAIL, MISS, NOTE = "\0sanare.error", "\0sanare.fail", "\0sanare.miss", "\0sanare.note"
ANY = "\0sanare.any"
FIXED: dict[str, object] = {ERROR: Exception, ANY: BaseException}

# Names inside guarded bodies end in two underscores, or a class would mangle them.
VALUE = "__sanare_value__"
STARTED = "__sanare_started__"
THROWN = "__sanare_thrown__"
FIRST = "__sanare_first_{}__"

_SYNC = f"""
def f():
    try:
        return
    except {ERROR!r}:
        {VALUE} = {FAIL!r}()
        if {VALUE} is not {MISS!r}:
            return {VALUE}
        raise
"""
_COROUTINE = f"""
async def f():
    try:
        return
    except {ERROR!r}:
        {VALUE} = await {FAIL!r}()
        if {VALUE} is not {MISS!r}:
            return {VALUE}
        raise
"""
_GENERATOR = f"""
def f():
    try:
        return
    except {ERROR!r}:
        {VALUE} = {FAIL!r}()
        if {VALUE} is {MISS!r}:
            raise
    return (yield from {VALUE})
"""
# `yield from` for an asynchronous generator: what is sent or thrown in reaches the re-run (see `Resumed`).
_ASYNC_GENERATOR = f"""
async def f():
    try:
        return
    except {ERROR!r}:
        {VALUE} = await {FAIL!r}()
        if {VALUE} is {MISS!r}:
            raise
    {STARTED} = await {VALUE}.sent(None)
    while {STARTED} is not {MISS!r}:
        try:
            {STARTED} = {VALUE}.sent((yield {STARTED}))
        except {ANY!r} as {THROWN}:
            {STARTED} = {VALUE}.thrown({THROWN})
        {STARTED} = await {STARTED}
"""

# Names through which a body can see its own local variables: the saved arguments would show.
_SEES_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "f_locals"})


class Unguardable(Exception):
    """The guard cannot be compiled into this function; the text says why, for the wrapper's record."""


def kind_of(code: CodeType) -> str:
    """`function`, `generator`, `coroutine` or `async_generator`."""
    flags = code.co_flags
    if flags & COROUTINE:
        return "coroutine"
    if flags & ASYNC_GENERATOR:
        return "async_generator"
    return "generator" if flags & GENERATOR else "function"


class Place:
    """The lines that were proved to be a code's source, so that the same lines need no second proof."""

    __slots__ = ("_first", "_imports", "_last", "_text")

    def __init__(self, lines: list[str], code: CodeType, last: int, imports: set[str]) -> None:
        self._first, self._last = code.co_firstlineno, last
        self._text = _hash_of(lines[self._first - 1 : last])
        self._imports = frozenset(imports)

    def holds(self, lines: list[str], code: CodeType) -> bool:
        """Whether these lines have the same function at the same place, with the same imports of names that it uses."""
        if len(lines) < self._last or _hash_of(lines[self._first - 1 : self._last]) != self._text:
            return False
        head = lines[self._first - 1]
        indent = len(head) - len(head.lstrip(" \t\f"))
        for line in lines[self._last :]:
            text = line.lstrip(" \t\f")
            if text and text[0] != "#":
                if len(line) - len(text) > indent:
                    return False  # The body goes on.
                break
        used = _names(code)
        outer, inner = (used.intersection(names) for names in imports_of(code.co_filename, lines))
        return self._imports == outer | inner or self._imports == outer


def _hash_of(lines: list[str]) -> tuple[int, int]:
    # The interpreter's own keyed hash of texts: it never leaves this process, and costs a good start nothing.
    text = "\n".join(lines)
    return hash(text), len(text)


def guard_code(
    function: FunctionType, constants: dict[str, object], *, recording: bool
) -> tuple[CodeType, CodeType | None, Place]:
    """The function's code with the guard inside, the same with the recording of good calls (if wanted), its place."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        # Without the interpreter's lock constants are shared between functions by value; ours have none to compare.
        raise Unguardable("a free-threaded interpreter")
    code = function.__code__
    for fresh in (False, True):
        lines = lines_of(code.co_filename, function.__globals__, fresh=fresh)
        if lines is None:
            raise Unguardable("no source")
        try:
            return _from_lines(lines, code, qualname_of(function), constants, recording=recording)
        except (Unguardable, SyntaxError, ValueError, RecursionError, AttributeError, IndexError) as trouble:
            # The text may be that of an earlier file of this name: look once more at the disk.
            last = trouble
    raise Unguardable(str(last))


def guard_from_text(text: str, code: CodeType, qualname: str, constants: dict[str, object]) -> CodeType:
    """The guard around `code`, whose source is in `text`: for the code that a repair brings."""
    return _from_lines(text.split("\n"), code, qualname, constants, recording=False)[0]


def _from_lines(
    lines: list[str], code: CodeType, qualname: str, constants: dict[str, object], *, recording: bool
) -> tuple[CodeType, CodeType | None, Place]:
    with _Quiet(code.co_filename):
        # A method of a module compiles to other instructions than one of an object: the compiler looks whether the
        # file imports the name. Imports that stand further in may belong to the module or to some other function.
        used = _names(code)
        outer, inner = (used.intersection(names) for names in imports_of(code.co_filename, lines))
        try:
            return _around(lines, code, qualname, constants, outer | inner, recording=recording)
        except Unguardable:
            if not inner:
                raise
        return _around(lines, code, qualname, constants, outer, recording=recording)


def _around(
    lines: list[str], code: CodeType, qualname: str, constants: dict[str, object], imports: set[str], *, recording: bool
) -> tuple[CodeType, CodeType | None, Place]:
    node = _parse(lines, code)
    last: int = node.end_lineno
    _strip_header(node, code.co_firstlineno)
    body = _Body(node, code)
    if body.saved and _SEES_LOCALS.intersection(code.co_names):
        raise Unguardable("the body looks at its own local variables and rebinds a parameter")
    statements = node.body
    # The quick proof: from Python 3.11 on the guard leaves the instructions before it as they are.
    quick = sys.version_info >= (3, 11) and not body.saved and body.kind in ("function", "coroutine")
    if not quick:
        _prove(_compile(node, code, qualname, imports), code)
    node.body = body.guarded(statements)
    guarded = _compile(node, code, qualname, imports)
    if quick and not _is_prefix(code, guarded):
        node.body = statements
        _prove(_compile(node, code, qualname, imports), code)
    recorder = None
    if recording:
        body.record(statements)
        node.body = body.guarded(statements)
        recorder = _compile(node, code, qualname, imports)
    filled = _fill(recorder, constants) if recorder is not None else None
    return _fill(guarded, constants), filled, Place(lines, code, last, imports)


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            names |= _names(constant)
    return names


def _prove(plain: CodeType, code: CodeType) -> None:
    """The source gives the running code, line by line, or there is no guard."""
    if not (same_code(plain, code) and _same_lines(plain, code)):
        raise Unguardable("the source is not the running code")


class _Quiet:
    """No second copy of the warnings that the file's own compilation gave.

    One filter for this file's name goes in front and is taken out again by identity, which stays right when another
    thread changes the filters meanwhile.
    """

    def __init__(self, filename: str) -> None:
        name = filename[:-3] if filename.endswith(".py") else filename
        self.item = ("ignore", None, Warning, name or "<unknown>", 0)

    def __enter__(self) -> None:
        import warnings

        self.filters: list[Any] = warnings.filters  # type: ignore[assignment]
        changed = getattr(warnings, "_filters_mutated", None)
        self.changed: Any = changed or getattr(warnings, "_filters_mutated_lock_held", lambda: None)
        self.filters.insert(0, self.item)
        self._tell()

    def __exit__(self, *_: object) -> None:
        for place, item in enumerate(self.filters):
            if item is self.item:
                del self.filters[place]
                break
        self._tell()

    def _tell(self) -> None:
        try:
            self.changed()
        except RuntimeError:
            pass  # Python 3.14 wants a lock for this; the filters' version is only a cache of "once" warnings.


def _last_line(code: CodeType) -> int:
    """The last line that the bytecode names, nested functions included."""
    last = code.co_firstlineno
    positions = getattr(code, "co_positions", None)
    if positions is not None:
        for line, end, _, _ in positions():
            last = max(last, end or line or 0)
    else:
        for _, _, line in code.co_lines():
            last = max(last, line or 0)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            last = max(last, _last_line(constant))
    return last


def _parse(lines: list[str], code: CodeType) -> Any:
    """The syntax tree of the function, at the positions that it has in the file."""
    first = code.co_firstlineno
    if not 1 <= first <= len(lines):
        raise Unguardable("the source is shorter than the running code says")
    head = lines[first - 1]
    indent = len(head) - len(head.lstrip(" \t\f"))
    above = "\n" * (first - 1) if not indent else "\n" * (first - 2) + "if 1:\n"
    flags = (code.co_flags & FUTURE_FLAGS) | ONLY_AST
    tries = 0
    for end in range(_last_line(code), len(lines) + 1):
        following = lines[end] if end < len(lines) else ""
        text = following.lstrip(" \t\f")
        if end < len(lines) and (not text or text[0] == "#" or len(following) - len(text) > indent):
            continue
        # Text that ends inside a bracket or a string does not parse: then the function goes on below.
        try:
            tree: Any = compile(
                above + "\n".join(lines[first - 1 : end]) + "\n", code.co_filename, "exec", flags, dont_inherit=True
            )
        except SyntaxError:
            tries += 1
            if tries > 20:
                break
            continue
        body = tree.body[0].body if indent else tree.body
        if len(body) == 1 and getattr(body[0], "name", None) == code.co_name and hasattr(body[0], "args"):
            return body[0]
        break
    raise Unguardable("the function was not found in its source")


def _strip_header(node: Any, first: int) -> None:
    """Decorators, defaults and annotations belong to the function object, which stays; one decorator keeps the line."""
    decorators = node.decorator_list
    if decorators:
        line = min(decorator.lineno for decorator in decorators)
        node.decorator_list = [_at(_ast.Constant(None), line, 0, line, 0)]
    args = node.args
    args.defaults = []
    args.kw_defaults = [None] * len(args.kwonlyargs)
    for argument in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if argument is not None:
            argument.annotation = None
    node.returns = None


def _template(text: str) -> list[Any]:
    tree: Any = compile(text, "<sanare>", "exec", ONLY_AST, dont_inherit=True)
    body: list[Any] = tree.body[0].body
    for statement in body:
        _unplace(statement)
    return body


def _unplace(node: Any) -> None:
    """Takes a node's position away: its code then belongs to no line, for tracebacks, coverage and debuggers alike."""
    if "lineno" in node._attributes:
        node.lineno = node.end_lineno = node.col_offset = node.end_col_offset = -1
    for name in node._fields:
        value = getattr(node, name, None)
        for child in value if value.__class__ is list else (value,):
            if hasattr(child, "_fields"):
                _unplace(child)


class _Body:
    """What has to be known of a body, and the statements around it."""

    def __init__(self, node: Any, code: CodeType) -> None:
        self.kind = kind_of(code)
        self.docstring = bool(
            node.body
            and node.body[0].__class__.__name__ == "Expr"
            and node.body[0].value.__class__.__name__ == "Constant"
            and type(node.body[0].value.value) is str
        )
        args = node.args
        ordered = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        # As written, not as mangled; their places are those in `co_varnames`.
        self.parameters = [argument.arg for argument in ordered if argument is not None]
        self.saved: set[str] = set()
        self.marked = False
        self.recorded = False
        for statement in node.body:
            self._look(statement, own=True)

    def _look(self, node: Any, *, own: bool) -> None:
        """Finds the parameters that the body rebinds; `own` is false inside nested functions and classes."""
        name = node.__class__.__name__
        if name == "Name":
            if node.ctx.__class__.__name__ != "Load":
                self._bound(node.id)
            return
        if name in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            self._bound(node.name)
            own = False
        elif name == "ExceptHandler" or name in ("MatchAs", "MatchStar"):
            self._bound(node.name)
        elif name == "MatchMapping":
            self._bound(node.rest)
        elif name == "alias":
            self._bound(node.asname or node.name.partition(".")[0])
        elif name == "Lambda":
            own = False
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for child in value:
                    if hasattr(child, "_fields"):
                        self._look(child, own=own)
            elif hasattr(value, "_fields"):
                self._look(value, own=own)

    def _bound(self, name: str | None) -> None:
        # A nested function's own variable of the same name is taken for a rebinding too: it only costs a saved name.
        if name is not None and name in self.parameters:
            self.saved.add(name)

    def guarded(self, statements: list[Any]) -> list[Any]:
        """The statements inside the guard: docstring first, then saved arguments, then one `try`."""
        template = {
            "function": _SYNC,
            "generator": _GENERATOR,
            "coroutine": _COROUTINE,
            "async_generator": _ASYNC_GENERATOR,
        }[self.kind]
        around = _template(template)
        attempt = around[0]
        head = statements[: 1 if self.docstring else 0]
        body = statements[len(head) :]
        if self.kind in ("generator", "async_generator"):
            self._mark(body)
        last = attempt.body[0]
        if self.recorded:
            last = self._noted(last)
        attempt.body = [*body, *(last if isinstance(last, list) else [last])]
        saves = "".join(
            f"    {FIRST.format(place)} = {name}\n" for place, name in enumerate(self.parameters) if name in self.saved
        )
        if saves:
            head = [*head, *_template(f"def f():\n{saves}")]
        return [*head, *around]

    def _mark(self, statements: list[Any]) -> None:
        """Makes a generator leave a trace once it has yielded: what is sent in is kept under a name of its own."""
        if not self.marked:
            self.marked = True
            for place, statement in enumerate(statements):
                statements[place] = self._mark_node(statement)

    def _mark_node(self, node: Any) -> Any:
        name = node.__class__.__name__
        if name in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "Lambda"):
            return node
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                value[:] = [self._mark_node(child) if hasattr(child, "_fields") else child for child in value]
            elif hasattr(value, "_fields"):
                setattr(node, field, self._mark_node(value))
        if name == "Yield":
            return _named(node)
        if name == "Expr" and node.value.__class__.__name__ == "NamedExpr" and node.value.target.id == STARTED:
            # Kept by plain assignment: one instruction, in the place of the one that throws the value away.
            named = node.value
            position = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            return _at(_ast.Assign(targets=[named.target], value=named.value), *position)
        if name == "YieldFrom":
            node.value = _named(node.value)
        return node

    def record(self, statements: list[Any]) -> None:
        """Makes every `return` of the body pass its value to the note-taker."""
        self.recorded = True
        self._record(statements)

    def _record(self, statements: list[Any]) -> None:
        for place in range(len(statements) - 1, -1, -1):
            node = statements[place]
            name = node.__class__.__name__
            if name in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
                continue
            if name == "Return":
                noted = self._noted(node)
                statements[place : place + 1] = noted if isinstance(noted, list) else [noted]
                continue
            for field in node._fields:
                value = getattr(node, field, None)
                if value.__class__ is list and value:
                    inner = value[0].__class__.__name__
                    if inner in ("ExceptHandler", "match_case"):
                        for part in value:
                            self._record(part.body)
                    elif hasattr(value[0], "_fields") and field in ("body", "orelse", "finalbody"):
                        self._record(value)

    def _noted(self, node: Any) -> Any:
        """A `return` whose value goes through the note-taker."""
        place = node.value if node.value is not None else node
        position = (place.lineno, place.col_offset, place.end_lineno, place.end_col_offset)
        value = node.value if node.value is not None else _at(_ast.Constant(None), *position)
        call = _at(_ast.Call(func=_at(_ast.Constant(NOTE), *position), args=[value], keywords=[]), *position)
        if self.kind != "async_generator":
            node.value = call
            return node
        # An asynchronous generator cannot return a value: the note stands before the `return`.
        return [_at(_ast.Expr(value=call), *position), node]


def _named(node: Any) -> Any:
    """`(started := node)`, at the node's own place."""
    position = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    target = _at(_ast.Name(id=STARTED, ctx=_ast.Store()), *position)
    return _at(_ast.NamedExpr(target=target, value=node), *position)


def _at(node: Any, line: int, column: int, end_line: int, end_column: int) -> Any:
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = line, column, end_line, end_column
    return node


def _compile(node: Any, code: CodeType, qualname: str, imports: set[str]) -> CodeType:
    """Compiles the function inside the chain of its qualified name and takes its code object out again."""
    chain = qualname.split(".")
    if chain.pop() != code.co_name:
        raise Unguardable("the function has another name than its code")
    free = [name for name in code.co_freevars if name != "__class__"]
    text = f"import {', '.join(sorted(imports))}\n" if imports else ""
    depth = 0
    path: list[str] = []
    while chain:
        name = chain.pop(0)
        if not name.isidentifier():
            raise Unguardable("the function stands inside something without a name")
        is_function = bool(chain) and chain[0] == "<locals>"
        pad = "    " * depth
        if is_function:
            chain.pop(0)
            text += f"{pad}def {name}():\n"
            text += "".join(f"{pad}    {variable} = None\n" for variable in free)
            free = []
        else:
            text += f"{pad}class {name}:\n"
        path.append(name)
        depth += 1
    if free:
        raise Unguardable("its free variables come from no function that its name tells")
    text += "    " * depth + "pass\n"
    tree: Any = compile(text, "<sanare>", "exec", ONLY_AST, dont_inherit=True)
    place = tree
    for _ in path:
        place = place.body[-1]
    place.body.pop()
    for outer in tree.body:
        _unplace_all(outer, code.co_firstlineno)
    place.body.append(node)
    compiled: CodeType = compile(tree, code.co_filename, "exec", code.co_flags & FUTURE_FLAGS, dont_inherit=True)
    for name in [*path, code.co_name]:
        for constant in compiled.co_consts:
            if isinstance(constant, type(code)) and constant.co_name == name:
                compiled = constant
                break
        else:
            raise Unguardable("the compiled function was not found")
    same = (
        compiled.co_freevars == code.co_freevars
        and compiled.co_argcount == code.co_argcount
        and compiled.co_posonlyargcount == code.co_posonlyargcount
        and compiled.co_kwonlyargcount == code.co_kwonlyargcount
        and compiled.co_flags == code.co_flags
        and compiled.co_firstlineno == code.co_firstlineno
        and (not HAS_QUALNAME or compiled.co_qualname == code.co_qualname)  # type: ignore[attr-defined,unused-ignore]
    )
    if not same:
        raise Unguardable("parameters, kind or free variables came out differently")
    return compiled


def _unplace_all(node: Any, line: int) -> None:
    """Puts the chain on the function's first line, so that every position in it is one that the compiler takes."""
    if "lineno" in node._attributes:
        node.lineno = node.end_lineno = line
        node.col_offset = node.end_col_offset = 0
    for name in node._fields:
        value = getattr(node, name, None)
        for child in value if value.__class__ is list else (value,):
            if hasattr(child, "_fields"):
                _unplace_all(child, line)


def _same_lines(one: CodeType, other: CodeType) -> bool:
    if sys.version_info >= (3, 11):
        return list(one.co_positions()) == list(other.co_positions())
    return list(one.co_lines()) == list(other.co_lines())


def _is_prefix(code: CodeType, guarded: CodeType) -> bool:
    """Whether the guarded code begins with the running code, instruction by instruction and line by line."""
    if sys.version_info < (3, 11):
        return False
    size = len(code.co_code)
    if guarded.co_code[:size] != code.co_code:
        return False
    if guarded.co_names[: len(code.co_names)] != code.co_names:
        return False
    if guarded.co_varnames[: len(code.co_varnames)] != code.co_varnames or guarded.co_cellvars != code.co_cellvars:
        return False
    if not same_constants(guarded.co_consts[: len(code.co_consts)], code.co_consts):
        return False
    return all(left == right for left, right in zip(code.co_positions(), guarded.co_positions()))


def _fill(code: CodeType, constants: dict[str, object]) -> CodeType:
    """Puts the objects in the place of their stand-ins."""
    filled = tuple(
        FIXED.get(value, constants.get(value, value)) if type(value) is str and value[:1] == "\0" else value
        for value in code.co_consts
    )
    return code.replace(co_consts=filled)
