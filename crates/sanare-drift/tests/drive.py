"""Runs one function of one module on one input and tells what happened, as JSON on standard output.

    drive.py SOURCE FUNCTION KIND INPUT [--ask a.b,c.d]
    drive.py --serve          one JSON list of such arguments a line in, one answer a line out, each in a fork of its own

KIND is `path`, `object`, `factory` or `twin` (a JSON file of arguments). The engine knows no Python, so its
tests learn from here how a call failed: class, bases, message, arguments, project frames with plain locals.
Values are tagged lists: ["s", "text"], ["i", "5"], ["l", [...]], ["m", [["key", value], ...]] and so on.
"""
import base64
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import math
import os
import signal
import sys
import warnings

BUDGET = [60_000]
PROVIDERS = {}


def encode(value, depth=0, seen=()):
    BUDGET[0] -= 1
    if BUDGET[0] < 0 or depth > 24 or id(value) in seen:
        return ["c", "0"]
    kind = type(value)
    if value is None:
        return ["n"]
    if kind is bool:
        return ["t", value]
    if kind is int:
        return ["i", str(value)] if -(2**63) <= value < 2**63 else ["o", "int"]
    if kind is float:
        return ["f", repr(value)]
    if kind is str:
        return ["s", value.encode("utf-8", "backslashreplace").decode("utf-8")]
    if kind in (bytes, bytearray):
        return ["b", base64.b64encode(bytes(value)).decode("ascii")]
    inner = seen + (id(value),)
    if kind in (list, tuple):
        return ["l", [encode(item, depth + 1, inner) for item in value]]
    if kind in (set, frozenset):
        return ["l", [encode(item, depth + 1, inner) for item in sorted(value, key=repr)]]
    if isinstance(value, dict) and kind.__module__ in ("builtins", "collections"):
        return ["m", [[key if type(key) is str else repr(key), encode(item, depth + 1, inner)]
                      for key, item in value.items()]]
    name = kind.__name__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__
    if kind.__module__.split(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        frame = value.to_frame() if kind.__name__ == "Series" else value
        columns = []
        for at, column in enumerate(list(frame.columns)[:2000]):
            series = frame.iloc[:, at]
            cells = [encode(plain_cell(cell), depth + 1, inner) for cell in series.head(200).tolist()]
            columns.append([str(column), str(series.dtype), cells])
        return ["d", columns, len(frame)]
    return ["o", name]


def plain_cell(cell):
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return cell.item() if hasattr(cell, "item") and type(cell).__module__ == "numpy" else cell


def dotted(cls):
    return cls.__qualname__ if cls.__module__ == "builtins" else cls.__module__ + "." + cls.__qualname__


def failure(error, source, deep=0):
    frames, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if os.path.realpath(code.co_filename) == os.path.realpath(source):
            values = [[name, encode(item)] for name, item in trace.tb_frame.f_locals.items()
                      if not name.startswith("__")] if deep == 0 else []
            if code.co_name == "<module>":
                values = []
            frames.append({"function": getattr(code, "co_qualname", code.co_name), "line": trace.tb_lineno,
                           "locals": values})
        trace = trace.tb_next
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an error that cannot be printed has no message
        message = ""
    return {
        "class": dotted(type(error)),
        "bases": [dotted(cls) for cls in type(error).__mro__[1:] if cls is not object],
        "message": message,
        "args": [encode(item) for item in error.args],
        "cause": failure(cause, source, deep + 1) if cause is not None and deep < 5 else None,
        "frames": frames,
    }


def load_module(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_input(path, kind):
    if kind == "path":
        return [path], {}
    if kind == "object":
        with open(path, encoding="utf-8") as handle:
            return [json.load(handle)], {}
    if kind == "factory":
        return [load_module(path, "case_input").make()], {}
    with open(path, encoding="utf-8") as handle:
        return [], {name: decode(value) for name, value in json.load(handle)}


def decode(tagged):
    tag = tagged[0]
    if tag == "n":
        return None
    if tag in ("t", "s"):
        return tagged[1]
    if tag == "i":
        return int(tagged[1])
    if tag == "f":
        return float(tagged[1])
    if tag == "b":
        return base64.b64decode(tagged[1])
    if tag == "l":
        return [decode(item) for item in tagged[1]]
    if tag == "m":
        return {key: decode(item) for key, item in tagged[1]}
    raise ValueError(tag)


def runtime(module, ask):
    providers, versions, members = PROVIDERS or importlib.metadata.packages_distributions(), {}, []
    for value in list(vars(module).values()):
        name = getattr(value, "__name__", None) if type(value).__name__ == "module" else getattr(value, "__module__", None)
        for distribution in providers.get((name or "").split(".")[0], []):
            versions[distribution] = importlib.metadata.version(distribution)
    for question in ask:
        parts = question.split(".")
        found = False
        for cut in range(len(parts), 0, -1):
            with contextlib.suppress(ImportError):
                there = importlib.import_module(".".join(parts[:cut]))
                found = True
                for part in parts[cut:]:
                    found = found and hasattr(there, part)
                    there = getattr(there, part, None)
                break
        members.append([question, found])
    return {"python": list(sys.version_info[:2]), "versions": sorted(versions.items()), "members": members}


def serve():
    """Heavy libraries are loaded once; a call cannot reach the next one."""
    PROVIDERS.update(importlib.metadata.packages_distributions())
    for name in ("numpy", "pandas", "openpyxl", "csv", "xml.etree.ElementTree"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            sys.argv[1:] = json.loads(line)
            main(end="\n")
        os.waitpid(child, 0)


def main(end=""):
    source, function, kind, given = sys.argv[1:5]
    ask = [part for part in (sys.argv[6] if len(sys.argv) > 6 else "").split(",") if part]
    out, answer = sys.stdout, {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        sys.dont_write_bytecode = True
        try:
            module = load_module(source, "loader_under_test")
        except BaseException as error:  # noqa: BLE001 - everything is an answer here
            answer = {"ok": False, "failure": failure(error, source), "runtime": {}, "arguments": []}
        else:
            target = module
            for part in function.split("."):
                target = getattr(target, part)
            args, kwargs = load_input(given, kind)
            names = target.__code__.co_varnames
            answer["arguments"] = [[name, encode(value)] for name, value in [*zip(names, args), *kwargs.items()]]
            answer["runtime"] = runtime(module, ask)
            BUDGET[0] = 60_000
            try:
                answer.update(ok=True, result=encode(target(*args, **kwargs)))
            except BaseException as error:  # noqa: BLE001
                answer.update(ok=False, failure=failure(error, source))
    out.write(json.dumps(answer) + end)
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
