"""A trial in a fresh interpreter, where the failing process is not to be forked (C89).

The parent pickles the arguments and says where the function stands. The child shuts itself in, imports the module, finds the
function, takes the arguments and runs the very trial that a fork would have run. `python -m sanare._fresh` is its side.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FunctionType
    from typing import Any

    from sanare._subject import Subject


def request(subject: Subject, source: str, runs: Sequence[Any]) -> tuple[str, str, list[tuple[str, str]], bytes] | str:
    """Program, folder, environment and input of the child; or why there can be none."""
    import pickle

    from sanare._code import digest_of

    call, guard = subject.call, subject.call.guard
    if not call.complete:
        return "the arguments of the call are not all known"
    if guard.path[:1] == "<" or "<" in guard.qualname:
        return f"a fresh process cannot find `{guard.qualname}`"
    if not sys.executable:
        return "the interpreter has no program of its own"
    try:
        given = pickle.dumps((call.arguments, call.positional, call.keywords, list(runs)))
    except Exception as trouble:
        return f"the arguments cannot be pickled ({type(trouble).__name__})"
    path = [os.path.abspath(entry or os.getcwd()) for entry in sys.path]
    content = {
        "path": path,
        "argv": list(getattr(sys, "argv", ())),
        "module": guard.module,
        "file": os.path.abspath(guard.path),
        "qualname": guard.qualname,
        "digest": digest_of(guard),
        "given": given,
        "source": source,
        "first_line": subject.first_line,
        "root": subject.root,
        "readable": subject.readable(),
    }
    environment = {
        **os.environ,
        # The decorators of the module give the functions themselves: a failure in there is the trial's.
        "SANARE_HEAL_MODE": "off",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return sys.executable, os.getcwd(), list(environment.items()), pickle.dumps(content)


class Cannot(Exception):
    """Why the trial could not be made. That says nothing of the candidate."""


def main() -> None:
    """The child: one request on standard input, one framed answer on what was standard output."""
    import pickle

    secret, folder, milliseconds, memory, unisolated = sys.stdin.buffer.readline().rstrip(b"\n").split(b"\t")
    content = pickle.loads(sys.stdin.buffer.read())
    answer = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    sys.path[:], sys.argv[:] = content["path"], content["argv"]
    sys.dont_write_bytecode = True

    def send(kind: bytes, data: bytes) -> None:
        frame = b"\nsanare " + secret + b" " + kind + b" " + str(len(data)).encode() + b"\n" + data
        while frame:
            frame = frame[os.write(answer, frame) :]

    from sanare._native import native

    where = os.fsdecode(folder)
    trouble = native().shut_in(content["readable"], where, int(milliseconds), int(memory), unisolated == b"1")
    if trouble:
        send(b"isolation", trouble.encode())
        return
    try:
        trial = _trial(content)
    except BaseException as why:
        words = str(why) if type(why) is Cannot else f"the module cannot be imported afresh ({type(why).__name__})"
        send(b"cannot", words.encode("utf-8", "replace"))
        return
    send(b"report", trial(where))


def _trial(content: dict[str, Any]) -> Any:
    import pickle

    from sanare import _swap
    from sanare._call import Call
    from sanare._code import digest_of
    from sanare._guard import Guard
    from sanare._trial import Trial

    function = _find(_module(content["module"], content["file"]), content["qualname"])
    if function is None:
        raise Cannot(f"a fresh process does not find `{content['qualname']}`")
    guard = Guard(function, {})
    guard.adopt(function)
    if digest_of(guard) != content["digest"]:
        raise Cannot("the file holds another function than the one that runs")
    arguments, positional, keywords, runs = pickle.loads(content["given"])
    call = Call(guard, RuntimeError(), None, None, function, arguments)
    call.positional, call.keywords = positional, keywords
    code = _swap.code_in(content["source"], guard, content["first_line"])
    if isinstance(code, str):
        raise Cannot(code)
    return Trial(call, code, content["root"], runs)


def _module(name: str, file: str) -> Any:
    import importlib

    if name != "__main__":
        module = importlib.import_module(name)
        if os.path.realpath(getattr(module, "__file__", None) or "") != os.path.realpath(file):
            raise Cannot(f"the module `{name}` is another one in a fresh process")
        return module
    import runpy

    # As multiprocessing does it: what stands under `if __name__ == "__main__"` is not run.
    module = type(sys)("__mp_main__")
    module.__dict__.update(runpy.run_path(file, run_name="__mp_main__"))
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    return module


def _find(value: Any, qualname: str) -> FunctionType | None:
    for part in qualname.split("."):
        value = getattr(value, "__dict__", {}).get(part)
        if type(value) in (staticmethod, classmethod):
            value = value.__func__
    for _ in range(32):
        inner = getattr(value, "__dict__", {}).get("__wrapped__")
        if inner is None:
            break
        value = inner
    function: Any = value if type(value) is type(_module) else None
    found: FunctionType | None = function
    return found


if __name__ == "__main__":
    main()
