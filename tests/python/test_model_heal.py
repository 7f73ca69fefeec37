"""A model as proposer: attempts with memory, budgets, records, secrets, cassettes, and no socket without one."""

from __future__ import annotations

import json
import logging
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sanare
from model_lab import candidate, module
from model_server import ModelServer, reply
from test_eleven_scenarios import HEALS, HUNGARIAN, STANDARD_EXPECTED, STANDARD_OLD, load, project

NAME = "1_translated"
HERE = Path(__file__).resolve().parent


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "ollama")
    monkeypatch.setenv("SANARE_MODEL_MODEL", "scripted")


def prepare(tmp_path: Path, **more: Any) -> tuple[Path, Any, str]:
    source = module(NAME, STANDARD_OLD, **more)
    job = project(tmp_path, source)
    return job, load(job, f"model_{tmp_path.name}"), source


def test_f37_a_model_that_repeats_itself_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, loaded, source = prepare(tmp_path)
    before = job.read_bytes()
    wrong = candidate(NAME, "right", source).replace('"osszeg" in row', '"osszag" in row')
    with ModelServer(reply(wrong)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError):
            loaded.load_sales(HUNGARIAN)
        assert len(server.requests) == 3
    because = [attempt["rejected_because"] for attempt in sanare.last_report().attempts]
    assert because[0].startswith("trial/returns"), because
    assert all("not_rejected_before" in why for why in because[1:]), because
    assert job.read_bytes() == before


def test_f37_a_second_good_answer_heals_with_two_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, loaded, source = prepare(tmp_path)
    answers = reply(candidate(NAME, "swallowing", source)), reply(candidate(NAME, "right", source))
    with ModelServer(*answers) as server, caplog.at_level(logging.INFO, logger="sanare"):
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED
        assert len(server.requests) == 2
        assert "-    rows = list" in server.prompts[1] and "no_swallow" in server.prompts[1]
    lines = [record.getMessage() for record in caplog.records if record.name == "sanare.model"]
    assert len(lines) == 1 and lines[0].startswith("usage: 2 calls, ") and "4000 in, 600 out" in lines[0], lines
    assert not any("osszeg" in record.getMessage() for record in caplog.records if record.name == "sanare.model")


def test_f02_a_model_without_an_oracle_asks_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, loaded, source = prepare(tmp_path, decorator='@sanare.heal(proposers=["model"])')
    before = job.read_bytes()
    with ModelServer(reply(candidate(NAME, "right", source))) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError):
            loaded.load_sales(HUNGARIAN)
    assert sanare.last_report().status == "waiting"
    assert job.read_bytes() == before


@pytest.mark.parametrize(
    "known",
    [
        'row["osszeg" if row["ugyfel"] != "Alfa Kft" else "osszeg"]',
        '{"2026-01-05": row["osszeg"], "2026-01-06": row["osszeg"]}[row["datum"]]',
    ],
)
def test_what_was_seen_is_not_known_by_heart(tmp_path: Path, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, source = prepare(tmp_path)
    right = candidate(NAME, "right", source)
    overfit = right.replace('row["osszeg"] if "osszeg" in row', f'{known} if "osszeg" in row', 1)
    assert overfit != right
    with ModelServer(reply(overfit), reply(right)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED, str(sanare.last_report())
    assert sanare.last_report().attempts[0]["rejected_because"].startswith("overfit/no_seen_literal")


DECOY = "datum,ugyfel,rendeles_szam\n2026-01-05,Alfa Kft,5001\n2026-01-06,Beta Zrt,5002\n"


def test_a_refusal_of_the_engine_is_not_overruled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decorator = "@sanare.heal(examples=[sanare.Example((OLD,), returns=EXPECTED)])"
    job, loaded, source = prepare(tmp_path, decorator=decorator)
    before = job.read_bytes()
    decoy = candidate(NAME, "right", source).replace("osszeg", "rendeles_szam")
    with ModelServer(reply(decoy)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError) as caught:
            loaded.load_sales(DECOY)
        assert len(server.requests) >= 1
        assert '"part":"offline_engine"' in server.prompts[0]
    assert caught.value.args == ("amount",)
    assert sanare.last_report().outcome != "healed"
    assert job.read_bytes() == before


def test_an_honest_none_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, _ = prepare(tmp_path)
    with ModelServer(reply(None, summary="the amounts are not in the data")) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError):
            loaded.load_sales(HUNGARIAN)
        assert len(server.requests) == 1
    assert "not in the data" in sanare.last_report().summary


def test_a_drift_that_is_proved_asks_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, _ = prepare(tmp_path, decorator="@sanare.heal")
    with ModelServer(reply(None)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED
        assert server.connections == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("CALLS_PER_INCIDENT", "0"),
        ("CALLS_PER_HOUR", "0"),
        ("TOKENS_PER_INCIDENT", "500"),
        ("TOKENS_PER_DAY", "500"),
    ],
)
def test_a_spent_budget_asks_nobody(tmp_path: Path, key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, _ = prepare(tmp_path)
    monkeypatch.setenv(f"SANARE_HEAL_MODEL_{key}", value)
    with ModelServer(reply(None)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError):
            loaded.load_sales(HUNGARIAN)
        assert server.connections == 0
    report = sanare.last_report()
    assert (report.outcome, report.reason) == ("refused", "budget_spent")
    assert f"heal.model.{key.lower()}" in report.summary


def test_calls_of_an_hour_hold_over_incidents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, _ = prepare(tmp_path)
    monkeypatch.setenv("SANARE_HEAL_MODEL_CALLS_PER_HOUR", "2")
    with ModelServer(reply(None)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        for number in range(4):
            with pytest.raises(KeyError):
                loaded.load_sales(HUNGARIAN.replace("osszeg", f"osszeg_{number}").replace("ugyfel", f"u{number}"))
        assert len(server.requests) <= 2


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_f11_secrets_of_the_source_go_out_as_numbers_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = SECRET
    source = (
        "import sanare\n\n\ndef signed(value, key):\n    return value + len(key)\n\n\n"
        '@sanare.heal(proposers=["model"], examples=[sanare.Example(({"a": 1},), returns=41)])\n'
        f'def load(row):\n    api_key = "{token}"\n    return signed(row["a"], api_key)\n'
    )
    job = project(tmp_path, source)
    loaded = load(job, f"secret_{tmp_path.name}")
    masked = source[source.index("@sanare") :].replace(token, "<redacted:secret-1>")
    good = masked.replace('row["a"]', 'row["b"] if "b" in row else row["a"]')
    leaking = good.replace("    return", '    print("<redacted:secret-1>")\n    return')
    with ModelServer(reply(leaking), reply(good)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert loaded.load({"b": 5}) == 45, str(sanare.last_report())
        sent = json.dumps([request["body"] for request in server.requests])
    assert token not in sent and "redacted:secret-1" in sent
    assert f'api_key = "{token}"' in job.read_text() and "print" not in job.read_text()
    report = sanare.last_report()
    assert "safety/" in report.attempts[0]["rejected_because"], report.attempts
    assert token not in report.to_json()


def test_f11_a_secret_of_the_source_is_not_kept_with_the_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = '@sanare.heal(proposers=["model"], examples=[sanare.Example(({"a": "1"},), returns=41)])\n'
    text = f'def load(row):\n    api_key = "{SECRET}"\n    return int(row["a"]) + len(api_key)\n'
    loaded = load(project(tmp_path, "import sanare\n\n\n" + head + text), f"kept_{tmp_path.name}")
    good = head + text.replace(SECRET, "<redacted:secret-1>").replace(
        'row["a"]', 'row["b"] if "b" in row else row["a"]'
    )
    with ModelServer(reply(good)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        result = loaded.load({"b": "5"})
    assert result == 45, str(sanare.last_report())
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in (tmp_path / ".sanare").iterdir())


def run_sanare(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sanare", "--project", str(tmp_path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)


def test_show_prompt_prints_what_was_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, _ = prepare(tmp_path)
    with ModelServer(reply(None)) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        with pytest.raises(KeyError):
            loaded.load_sales(HUNGARIAN)
        sent = server.prompts[0]
    shown = run_sanare(tmp_path, "show", sanare.last_report().id, "--prompt")
    assert shown.returncode == 0, shown.stderr
    assert sent.strip() in shown.stdout
    assert "prompt repair_function v1: no_repair" in shown.stdout


def test_the_doctor_makes_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, "x = 1\n")
    ping = reply(None, summary="connection works", confidence=0, evidence_used=[])
    with ModelServer(ping) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert "model call" not in run_sanare(tmp_path, "doctor").stdout
        assert server.connections == 0
        said = run_sanare(tmp_path, "doctor", "--model").stdout
        assert "model call: answered and was read; usage: 1 call" in said, said
        assert len(server.requests) == 1
    said = run_sanare(tmp_path, "doctor", "--model").stdout
    assert "missing  model call: the model could not be asked: no connection" in said, said
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "`OPENAI_API_KEY` is not set" in run_sanare(tmp_path, "doctor").stdout


def test_a_check_of_services_asks_its_model_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, "x = 1\n")
    (tmp_path / "sanare.toml").write_text("[service.fraud]\ninstances = 1\n", encoding="utf-8")
    ping = reply(None, summary="connection works", confidence=0, evidence_used=[])
    monkeypatch.setenv("MODEL_KEY", SECRET)
    monkeypatch.setenv("SANARE_MODEL_API_KEY_ENV", "MODEL_KEY")
    with ModelServer(ping) as server:
        monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
        assert run_sanare(tmp_path, "check").returncode == 0
        assert server.connections == 0
        asked = run_sanare(tmp_path, "check", "--ask-model")
        assert asked.returncode == 0, asked.stderr
        assert "ok       model call: answered and was read; usage: 1 call" in asked.stdout
        assert len(server.requests) == 1
    refused = run_sanare(tmp_path, "--json", "check", "--ask-model")
    assert refused.returncode == 1
    told = json.loads(refused.stdout)["model"]
    assert not told["good"]
    assert told["found"] == "the model could not be asked: no connection"
    assert SECRET not in asked.stdout + asked.stderr + refused.stdout + refused.stderr


def test_a_cassette_replays_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    tape = tmp_path / "tape.jsonl"
    monkeypatch.setenv("SANARE_MODEL_CASSETTE", str(tape))
    for folder, mode in ((first, "record"), (second, "replay")):
        folder.mkdir()
        _, loaded, source = prepare(folder)
        monkeypatch.setenv("SANARE_MODEL_CASSETTE_MODE", mode)
        with ModelServer(reply(candidate(NAME, "right", source))) as server:
            monkeypatch.setenv("SANARE_MODEL_BASE_URL", server.url)
            assert loaded.load_sales(HUNGARIAN) == STANDARD_EXPECTED, str(sanare.last_report())
            assert server.connections == (1 if mode == "record" else 0)
    assert len(tape.read_text().splitlines()) == 1


WITHOUT_SOCKETS = """\
import ctypes, struct, sys
# A filter that kills the process at `socket`: load the number, compare, kill or allow.
number = {"x86_64": 41, "aarch64": 198}[sys.argv[1]]
code = b"".join(struct.pack("HBBI", *line) for line in
    ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)))
buffer = ctypes.create_string_buffer(code, len(code))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
sys.path.insert(0, sys.argv[2])
import job
try:
    print(job.load_sales(sys.argv[3]))
except KeyError:
    print("not healed")
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in ("x86_64", "aarch64"), reason="needs seccomp"
)
def test_f14_without_a_model_no_socket_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(data: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT_SOCKETS, platform.machine(), str(tmp_path), data]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    gone = "datum,ugyfel\n2026-01-05,Alfa Kft\n"
    project(tmp_path, module(NAME, STANDARD_OLD, decorator="@sanare.heal"))
    # With a model the filter must bite, or it shows nothing.
    monkeypatch.setenv("SANARE_MODEL_BASE_URL", "http://127.0.0.1:9")
    assert run(gone).returncode == -31
    for name in ("PROVIDER", "MODEL", "BASE_URL"):
        monkeypatch.delenv(f"SANARE_MODEL_{name}")
    for data, expected in ((gone, "not healed"), (HUNGARIAN, str(HEALS[NAME][5]))):
        # A failure that rests would not be looked at a second time.
        for path in (tmp_path / ".sanare").iterdir():
            path.unlink()
        ended = run(data)
        assert ended.returncode == 0 and ended.stdout.strip() == expected, ended.stderr
