"""Providers and deadlines: every wire format, every way to misbehave; no heal outlasts its deadline, and the error that
leaves is the program's own (C4, C77, C78)."""

from __future__ import annotations

import resource
import shutil
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import model_server
import pytest
import sanare
from model_server import ModelServer, reply, status
from test_eleven_scenarios import load, project

SOURCE = """\
import sanare

OLD = {"a": 1}


@sanare.heal(proposers=["model"], examples=[sanare.Example((OLD,), returns=2)], deadline=%s)
def double(row):
    return row["a"] * 2
"""
GOOD = """\
@sanare.heal(proposers=["model"], examples=[sanare.Example((OLD,), returns=2)], deadline=%s)
def double(row):
    return (row["b"] if "b" in row else row["a"]) * 2
"""
PROVIDERS: dict[str, dict[str, str]] = {
    "openai": {"OPENAI_API_KEY": "k-1"},
    "compatible": {"SANARE_MODEL_API_KEY_ENV": "MY_KEY", "MY_KEY": "k-2"},
    "azure": {"SANARE_MODEL_API_VERSION": "2024-10-21", "AZURE_OPENAI_API_KEY": "k-3"},
    "anthropic": {"ANTHROPIC_API_KEY": "k-4"},
    "ollama": {},
}


def job(tmp_path: Path, deadline: str = "30") -> tuple[Path, Any]:
    path = project(tmp_path, SOURCE % deadline)
    return path, load(path, f"transport_{tmp_path.name}")


def use(monkeypatch: pytest.MonkeyPatch, server: ModelServer, provider: str = "ollama", **more: str) -> None:
    variables = {
        "SANARE_MODEL_PROVIDER": provider,
        "SANARE_MODEL_MODEL": "scripted",
        "SANARE_MODEL_BASE_URL": server.url,
    }
    for name, value in {**variables, **PROVIDERS.get(provider, {}), **more}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_every_wire_format_heals(tmp_path: Path, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)
    with ModelServer(reply(GOOD % "30")) as server:
        use(monkeypatch, server, provider, SANARE_MODEL_PARAMS="{ temperature = 0.2 }")
        assert module.double({"b": 4}) == 8, str(sanare.last_report())
        (request,) = server.requests
    body, headers = request["body"], request["headers"]
    sent = body["options"] if provider == "ollama" else body
    assert sent["temperature"] == 0.2
    key = {"azure": "api-key", "anthropic": "x-api-key"}.get(provider, "authorization")
    wanted = [value for name, value in PROVIDERS[provider].items() if name.endswith("_KEY")]
    assert [headers[key].removeprefix("Bearer ")] == wanted if wanted else key not in headers
    report = sanare.last_report()
    assert report is not None and report.usage["line"].startswith("usage: 1 call, ")
    assert report.usage["tokens_in"] == 2000 and not report.usage["estimated"]


def test_without_counts_they_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)
    with ModelServer(reply(GOOD % "30"), usage=False) as server:
        use(monkeypatch, server, "compatible")
        assert module.double({"b": 4}) == 8
    assert sanare.last_report().usage["estimated"]


SLOW = {
    "silent": model_server.silent,
    "dripping": model_server.dripping,
    "dripping_head": model_server.dripping_head,
    "429_retry_after_7": status(429, retry_after="7"),
    "500": status(500),
}


@pytest.mark.parametrize("name", list(SLOW))
def test_no_heal_outlasts_its_deadline(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, module = job(tmp_path, "2")
    before = path.read_bytes()
    with ModelServer(SLOW[name]) as server:
        use(monkeypatch, server)
        began = time.monotonic()
        with pytest.raises(KeyError) as caught:
            module.double({"b": 4})
        took = time.monotonic() - began
        assert len(server.requests) == (2 if name == "500" else 1)
    assert took < 2.5, took
    assert caught.value.args == ("a",)
    assert path.read_bytes() == before


BROKEN = {
    "garbage": (model_server.garbage, "not HTTP"),
    "truncated": (model_server.truncated, "broke off"),
    "reset": (model_server.reset, "broke off"),
    "huge": (model_server.huge, "longer than allowed"),
    "bomb": (model_server.bomb, "compressed"),
    "html": (model_server.html, "not JSON"),
    "redirect": (model_server.redirect, "redirects are not followed"),
    "401": (status(401, '{"error": "bad key sk-1234567890"}'), "is the key right"),
    "404": (status(404), "`model.model`"),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_whatever_comes_back_the_error_stays_the_programs_own(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, module = job(tmp_path)
    before = path.read_bytes()
    answer, words = BROKEN[name]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ModelServer(answer) as server:
        use(monkeypatch, server)
        with pytest.raises(KeyError) as caught:
            module.double({"b": 4})
    assert caught.value.args == ("a",)
    report = sanare.last_report()
    assert report is not None and words in report.summary, report.summary
    assert "sk-1234567890" not in report.to_json()
    assert path.read_bytes() == before
    if sys.platform == "linux":
        # The server of the test is in this process: its blocks and its packed gigabyte count too.
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 64 * 1024


def test_one_retry_and_the_connection_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)
    with ModelServer(
        status(503), reply(None).replace('"candidate": null', '"candidate": 5'), reply(GOOD % "30")
    ) as server:
        use(monkeypatch, server)
        assert module.double({"b": 4}) == 8, str(sanare.last_report())
        assert len(server.requests) == 3
        # The 503 closed the first connection; the repair turn came on the second one.
        assert server.connections == 2
        assert "not accepted: `candidate` is neither null" in server.prompts[2]
    assert sanare.last_report().usage["calls"] == 2


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_encrypted_connections_believe_the_owners_roots_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        modules.append(job(tmp_path / name)[1])
    certificate, key = tmp_path / "root.pem", tmp_path / "key.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    made = subprocess.run(
        [*command.split(), "-keyout", key, "-out", certificate, "-addext", "basicConstraints=critical,CA:FALSE"],
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ModelServer(reply(GOOD % "30"), tls=context) as server:
        use(monkeypatch, server)
        with pytest.raises(KeyError):
            modules[0].double({"b": 4})
        assert "no encrypted connection" in sanare.last_report().summary, sanare.last_report().summary
        assert server.requests == []
        monkeypatch.setenv("SANARE_MODEL_CA_FILE", str(certificate))
        assert modules[1].double({"b": 4}) == 8, str(sanare.last_report())
        assert len(server.requests) == 1


def test_a_refused_reply_form_is_dropped_once_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)
    refusal = status(400, '{"error": {"message": "response_format is not supported"}}')
    with ModelServer(refusal, reply(None), reply(GOOD % "30")) as server:
        use(monkeypatch, server, "compatible", SANARE_MODEL_MODEL=f"m-{tmp_path.name}")
        with pytest.raises(KeyError):
            module.double({"b": 4})
        with pytest.raises(KeyError):
            module.double({"c": 4})
        bodies = [request["body"] for request in server.requests]
    assert "response_format" in bodies[0]
    assert all("response_format" not in body for body in bodies[1:])


def test_a_refused_parameter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)
    with ModelServer(status(400, '{"message": "`temperature` is deprecated for this model"}')) as server:
        use(monkeypatch, server, "anthropic", SANARE_MODEL_PARAMS="{ temperature = 0.2 }")
        with pytest.raises(KeyError):
            module.double({"b": 4})
    assert "your parameter `temperature`" in sanare.last_report().summary


def test_f36_a_cut_reply_is_asked_for_again_with_more_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)

    def cut(peer: Any) -> None:
        body = model_server.wire("/v1/messages", reply(GOOD % "30")[:100], cut=True)
        peer.sendall(model_server.http(200, body))

    with ModelServer(cut, reply(GOOD % "30")) as server:
        use(monkeypatch, server, "anthropic")
        assert module.double({"b": 4}) == 8, str(sanare.last_report())
        assert [request["body"]["max_tokens"] for request in server.requests] == [4096, 8192]


def test_ollama_that_cut_the_prompt_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)

    def partial(peer: Any) -> None:
        body = model_server.wire("/api/chat", reply(GOOD % "30")).replace("2000", "300")
        peer.sendall(model_server.http(200, body))

    with ModelServer(partial) as server:
        use(monkeypatch, server)
        with pytest.raises(KeyError):
            module.double({"b": 4})
    assert "num_ctx" in sanare.last_report().summary


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"SANARE_MODEL_PROVIDER": "ollama"}, "`model.model` is needed"),
        ({"SANARE_MODEL_PROVIDER": "openia", "SANARE_MODEL_MODEL": "m"}, "model.provider"),
        ({"SANARE_MODEL_PROVIDER": "openai", "SANARE_MODEL_MODEL": "m"}, "`OPENAI_API_KEY` is not set"),
        (
            {"SANARE_MODEL_PROVIDER": "ollama", "SANARE_MODEL_MODEL": "m", "SANARE_MODEL_BASE_URL": "http://10.1.2.3"},
            "this machine only",
        ),
        (
            {
                "SANARE_MODEL_PROVIDER": "compatible",
                "SANARE_MODEL_MODEL": "m",
                "SANARE_MODEL_BASE_URL": "http://169.254.169.254",
                "SANARE_MODEL_ALLOW_INSECURE": "true",
            },
            "address is not allowed",
        ),
    ],
)
def test_wrong_settings_are_said_and_the_error_stays(
    tmp_path: Path, variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    _, module = job(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(KeyError):
        module.double({"b": 4})
    assert words in sanare.last_report().summary, sanare.last_report().summary


COMMAND = """\
import json, os, sys
request = json.load(sys.stdin)
assert sorted(os.environ) == sorted({"PATH", "HOME", "AGENT_KEY"} | ({"LANG", "TZ", "VIRTUAL_ENV", "LC_CTYPE"} & set(os.environ))), os.environ
assert os.environ["HOME"] == os.getcwd() != %r
assert "<<<DATA" in request["user"] and request["prompt"]["id"] == "repair_function"
print(open(%r).read())
"""


def test_any_program_can_propose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path)
    answer = tmp_path / "answer.json"
    answer.write_text(reply(GOOD % "30"))
    agent = tmp_path / "agent.py"
    agent.write_text(COMMAND % (str(tmp_path), str(answer)))
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "command")
    monkeypatch.setenv("SANARE_MODEL_ARGV", f'["{sys.executable}", "{agent}"]')
    monkeypatch.setenv("SANARE_MODEL_API_KEY_ENV", "AGENT_KEY")
    monkeypatch.setenv("AGENT_KEY", "k-5")
    assert module.double({"b": 4}) == 8, str(sanare.last_report())


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import time; time.sleep(60)", "in time"),
        ("import os, time; os.fork(); time.sleep(60)", "in time"),
        ("raise SystemExit(3)", "left with code 3"),
        ("print('x' * 10_000_000)", "longer than allowed"),
    ],
)
def test_a_program_that_misbehaves(tmp_path: Path, code: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = job(tmp_path, "2")
    agent = tmp_path / "agent.py"
    agent.write_text(code)
    monkeypatch.setenv("SANARE_MODEL_PROVIDER", "command")
    monkeypatch.setenv("SANARE_MODEL_ARGV", f'["{sys.executable}", "{agent}"]')
    began = time.monotonic()
    with pytest.raises(KeyError):
        module.double({"b": 4})
    assert time.monotonic() - began < 2.5
    assert words in sanare.last_report().summary or sanare.last_report().reason == "deadline"
