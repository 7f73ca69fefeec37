"""`sanare demo`: three small jobs whose input changed overnight, healed or refused before your eyes, offline."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).with_name("_examples")

# Job, ending of its files, what changed, and the results that are right (None: no honest result exists).
JOBS: list[tuple[str, str, str, Any, Any]] = [
    (
        "daily_sales",
        "csv",
        "the shop's export now has German headers, in another order",
        {"Alder & Sons": 1325.4, "Birch Trading": 318.0, "Cedar Labs": 2210.0},
        {"Alder & Sons": 980.25, "Dogwood GmbH": 1625.4, "Birch Trading": 64.75},
    ),
    (
        "order_totals",
        "json",
        "the service wraps its reply and writes dates the other way round",
        {"2026-01": 15, "2026-02": 40},
        {"2026-02": 23, "2026-03": 7},
    ),
    (
        "paid_out",
        "csv",
        "the amount is gone; only a refund and a tax amount are left, and neither is it",
        1700.5,
        None,
    ),
]

GATES = ["syntax", "fence", "overfit", "safety", "trial", "replay", "verify"]


def main() -> int:
    """Runs the jobs in a fresh folder that stays, so that its records can be looked at. 0 if all went as it must."""
    paint = Paint(sys.stdout)
    for name in [name for name in os.environ if name.startswith("SANARE_")]:
        del os.environ[name]
    # With a handler of our own the library does not narrate on standard error: the demo tells it all itself.
    logging.getLogger("sanare").addHandler(logging.NullHandler())
    folder = Path(tempfile.mkdtemp(prefix="sanare-demo-"))
    (folder / "sanare.toml").write_text('project = "sanare-demo"\n\n[heal]\nmode = "auto"\n', encoding="utf-8")
    print(f"Three jobs in {folder}. No network, no key, no server.")
    wrong = [job[0] for job in JOBS if not _run(folder, job, paint)]
    print()
    print(paint.bold("The records"))
    print(f"  sanare --project {folder} incidents")
    print(f"  sanare --project {folder} ledger verify")
    print(f"  Remove {folder} when you have seen enough.")
    if wrong:
        print(f"\nNot as it must be: {', '.join(wrong)}", file=sys.stderr)
        return 1
    return 0


class Paint:
    """Colour where a terminal shows it, plain text everywhere else. No meaning hangs on it."""

    def __init__(self, stream: Any) -> None:
        told = os.environ.get("NO_COLOR", "") == "" and os.environ.get("TERM", "") != "dumb"
        self.on = told and bool(getattr(stream, "isatty", lambda: False)())

    def _mark(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text

    def bold(self, text: str) -> str:
        return self._mark("1", text)

    def good(self, text: str) -> str:
        return self._mark("32", text)

    def bad(self, text: str) -> str:
        return self._mark("31", text)

    def faint(self, text: str) -> str:
        return self._mark("2", text)

    def diff(self, line: str) -> str:
        if line.startswith(("+++", "---", "@@")):
            return self.faint(line)
        if line.startswith("+"):
            return self.good(line)
        return self.bad(line) if line.startswith("-") else line


def _run(folder: Path, job: tuple[str, str, str, Any, Any], paint: Paint) -> bool:
    import sanare

    name, ending, change, old_right, new_right = job
    source = folder / f"{name}.py"
    for part in (f"{name}.py", f"{name}_old.{ending}", f"{name}_new.{ending}"):
        shutil.copyfile(EXAMPLES / part, folder / part)
    old, new = str(folder / f"{name}_old.{ending}"), str(folder / f"{name}_new.{ending}")
    before = source.read_bytes()

    print(f"\n{paint.bold(name)}: {change}")
    function = _load(source, name)
    print(f"  yesterday's file  {function(old)}")
    begin = time.perf_counter()
    try:
        result, raised = function(new), ""
    except Exception as error:
        result, raised = None, _told(error)
    millis = (time.perf_counter() - begin) * 1000
    report = sanare.last_report()
    fields = report.to_dict() if report is not None else {}
    _tell(fields, paint)
    print(f"  today's file      {result if not raised else paint.bad(raised)}   {paint.faint(f'({millis:.0f} ms)')}")

    if new_right is None:
        untouched = source.read_bytes() == before
        print(f"  the source        {'not touched' if untouched else paint.bad('changed')}")
        return bool(raised) and untouched and function(old) == old_right
    # The file itself, imported afresh as tomorrow's run will, has to know both formats.
    again = _load(source, f"{name}_again")
    fresh = (again(old), again(new)) if not raised else (None, None)
    print(f"  imported afresh   yesterday's {fresh[0]}, today's {fresh[1]}")
    return not raised and _close(result, new_right) and _close(fresh[0], old_right) and _close(fresh[1], new_right)


def _tell(fields: dict[str, Any], paint: Paint) -> None:
    """What failed, what was tried, what the gates said, what was changed, where it is written down."""
    print(f"  what failed       {fields.get('error', 'nothing was recorded')}")
    print(f"                    in {fields.get('path', '?')}, line {fields.get('line', '?')}")
    for attempt in fields.get("attempts") or []:
        told = attempt.get("rejected_because") or "went through"
        print(f"  tried             {attempt.get('proposer')}, candidate {attempt.get('number')}: {told}")
    for line in fields.get("changes") or []:
        print(f"  found             {line}")
    for line in fields.get("evidence") or []:
        print(f"                    {paint.faint(line)}")
    for refusal in fields.get("refusals") or []:
        _tell_refusal(refusal, paint)
    _tell_gates(fields.get("gates") or [], paint)
    for number, line in enumerate(str(fields.get("diff") or "").splitlines()):
        print(f"  {'the repair' if number == 0 else '':<16}  {paint.diff(line)}".rstrip())
    outcome = str(fields.get("outcome") or fields.get("status") or "?")
    shown = paint.good(outcome) if outcome == "healed" else paint.bold(outcome)
    print(f"  outcome           {shown}: {fields.get('summary', '')}")
    print(f"  the record        {fields.get('id', '?')}")


def _tell_refusal(refusal: dict[str, Any], paint: Paint) -> None:
    print(f"  refused           {refusal.get('summary', '')}")
    weighed = refusal.get("report") or {}
    for field in (weighed.get("fields") if isinstance(weighed, dict) else None) or []:
        for candidate in field.get("candidates") or []:
            against = "; ".join(candidate.get("vetoes") or []) or field.get("unmet", "")
            print(f"                    {field.get('expected')} = {candidate.get('seen')}? {paint.faint(against)}")


def _tell_gates(checks: list[dict[str, Any]], paint: Paint) -> None:
    for number, gate in enumerate(GATES, 1):
        of_gate = [check for check in checks if check.get("gate") == gate]
        if not of_gate:
            continue
        answers = [str(check.get("answer")) for check in of_gate]
        word = "failed" if "failed" in answers else "passed" if "passed" in answers else "skipped"
        shown = {"passed": paint.good, "failed": paint.bad}.get(word, paint.bold)(word)
        if word == "passed":
            skipped = answers.count("skipped")
            passed = answers.count("passed")
            told = f"{passed} check{'' if passed == 1 else 's'}" + (f", {skipped} skipped" if skipped else "")
        else:
            told = "; ".join(f"{c.get('name')}: {c.get('reason')}" for c in of_gate if c.get("answer") == word)
        print(f"  gate {number}  {gate:<10} {shown:<8} {paint.faint(told)}".rstrip())


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, path.stem)


def _told(error: Exception) -> str:
    notes = " ".join(getattr(error, "__notes__", []))
    return f"{type(error).__name__}: {error}" + (f"   [{notes}]" if notes else "")


def _close(value: Any, right: Any) -> bool:
    if isinstance(right, dict):
        return (
            isinstance(value, dict)
            and value.keys() == right.keys()
            and all(_close(value[key], right[key]) for key in right)
        )
    if isinstance(right, float):
        return isinstance(value, (int, float)) and abs(value - right) < 1e-9 * max(1.0, abs(right))
    return bool(value == right)


def piped(run: Callable[[], int]) -> int:
    """Runs a demo whose reader may go away (`| head`): that is no error."""
    try:
        code = run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # What is still buffered would be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(piped(main))
