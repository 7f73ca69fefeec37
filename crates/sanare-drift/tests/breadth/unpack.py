"""Writes the cases of the text files beside it into folders: `unpack.py OUT [FILE ...]`.

A case begins with `=== NAME EXPECTED [input=object|factory]`, its files with `--- FILE [encoding=...] [newline=crlf]`.
`EXPECTED` is `healed`, `refused` or `either`. A workbook is text too: `[Sheet]` begins a sheet, `|` parts cells.
`old` and `new` hold the same data in two shapes, so what the loader gives for `old` is expected of `new`, and what it
gives for `old2` is expected of `new2`; `--- expect.json` says what is expected where that is not so.
"""
import datetime
import importlib.util
import json
import pathlib
import re
import sys
import warnings


def cases(text):
    """(name, expected, settings, {file: (text, settings)}) for each case of a file."""
    for block in re.split(r"^=== ", text, flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        name, expected, *settings = head.split()
        files = {}
        for part in re.split(r"^--- ", body, flags=re.M)[1:]:
            line, _, content = part.partition("\n")
            file, *attributes = line.split()
            files[file] = (content.rstrip("\n") + "\n", dict(item.split("=", 1) for item in attributes))
        yield name, expected, dict(item.split("=", 1) for item in settings), files


def cell(text):
    text = text.strip()
    if text == "":
        return None
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return datetime.datetime.fromisoformat(text)
    return text


def write_workbook(path, text):
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    sheet = None
    for line in text.splitlines():
        if line.startswith("["):
            sheet = book.create_sheet(line[1:-1])
        elif line.strip() == "-":
            sheet.append([])
        elif line.strip():
            sheet.append([cell(part) for part in line.split("|")])
    book.save(path)


def write(path, text, attributes):
    if path.suffix == ".xlsx":
        return write_workbook(path, text)
    if attributes.get("end") == "none":
        text = text.rstrip("\n")
    if attributes.get("newline") == "crlf":
        text = text.replace("\n", "\r\n")
    path.write_bytes(text.encode(attributes.get("encoding", "utf-8")))


def module(path):
    spec = importlib.util.spec_from_file_location("loader", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def argument(path, kind):
    if kind == "object":
        return json.loads(path.read_text(encoding="utf-8"))
    return module(path).make() if kind == "factory" else str(path)


def result(folder, stem, kind):
    path = next(folder.glob(stem + ".*"))
    return json.loads(json.dumps(module(folder / "loader.py").load(argument(path, kind)), allow_nan=False))


def expected_of(folder, name, outcome, kind):
    """What each input should give; a case that does not fail as it says is a fault of the case."""
    file = folder / "expect.json"
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    answers = {stem: {"value": told[stem]} if stem in told else None for stem in ("old", "new", "new2")}
    for stem in ("new", "new2"):
        try:
            value = result(folder, stem, kind)
        except Exception:  # noqa: BLE001 - that it raises is the point
            continue
        raise SystemExit(f"{name}: {stem} does not raise: {value}")
    answers["old"] = answers["old"] or {"value": result(folder, "old", kind)}
    if outcome == "refused":
        return {**answers, "new": {"refuse": "", **({"accept": told["new"]} if "new" in told else {})},
                "new2": {"refuse": "", **({"accept": told["new2"]} if "new2" in told else {})}}
    answers["new"] = answers["new"] or answers["old"]
    answers["new2"] = answers["new2"] or {"value": result(folder, "old2", kind)}
    return answers


def main():
    out, *files = map(pathlib.Path, sys.argv[1:])
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    for file in files or sorted(pathlib.Path(__file__).parent.glob("*.txt")):
        for name, expected, settings, parts in cases(file.read_text(encoding="utf-8")):
            folder, kind = out / name, settings.get("input", "path")
            folder.mkdir(parents=True)
            for part, (text, attributes) in parts.items():
                write(folder / part, text, attributes)
            try:
                answers = expected_of(folder, name, expected, kind)
            except SystemExit:
                raise
            except Exception as error:  # noqa: BLE001
                raise SystemExit(f"{name}: {type(error).__name__}: {error}") from error
            (folder / "expected.json").write_text(json.dumps(answers), encoding="utf-8")
            lines = {"id": name, "kind": file.stem, "title": name, "source": "-", "verified": "no", "evidence": "-",
                     "offline_solvable": "yes" if expected != "either" else "maybe",
                     "expected": "refused" if expected == "refused" else "healed", "input": kind, "note": "",
                     "function": "load"}
            text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()) + "packages = []\n"
            (folder / "case.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
