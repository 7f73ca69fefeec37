"""What a model is sent of a service (S60, S63): never an address, a target, a credential, the configuration's own words for them, a
person's name, or a secret of a log line. The model is a program that keeps every request and obeys nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from sanare._words import IncidentKind
from test_services import ME, Plant

SECRET = "ghp_" + "q8W2e7R4t1Y9u3I6o5P0a8S2d7F4g1H9j3K6"
KEEPS = """
import json, sys
request = sys.stdin.read()
with open(PLACE, "a", encoding="utf-8") as file:
    file.write(json.dumps(request) + "\\n")
print(json.dumps({
    "summary": "it is not known what is wrong", "confidence": 0.1, "probable_cause": None, "evidence_used": [],
    "alternatives": [], "missing_information": ["what the logs say"], "action": "escalate",
    "rationale": "a person has to look", "expected_outcome": "a person knows",
}))
"""
# What must not be in any request, each of which the configuration below holds.
HIDDEN = {
    "probe's host": "probe-host.invalid",
    "probe's path": "/score-path",
    "adapter's host": "reload-host.invalid",
    "adapter's path": "/reload-path",
    "program": "/opt/fraud/restart-fraud",
    "argument": "--hidden-flag",
    "registry's host": "registry-host.invalid",
    "registry's model": "hidden-model",
    "alias": "hidden-alias",
    "variable": "HIDDEN_TOKEN",
    "token": "hidden-token-value",
    "approver": "ann.approver",
    "route": "hidden-route",
    "messages' host": "notify-host.invalid",
}
CONFIGURATION = """
[policy]
file = "policy.toml"
[model]
provider = "command"
argv = ["PYTHON", "KEEPS"]
[model.service]
max_calls_per_hour = "unlimited"
[registry.main]
url = "https://registry-host.invalid"
[[notify]]
name = "hidden-route"
url = "https://notify-host.invalid/hook"
[service.fraud]
instances = 3
[[service.fraud.probe]]
name = "score"
url = "https://probe-host.invalid/score-path"
[[service.fraud.log]]
signal = "lines"
pattern = "."
[service.fraud.target.application]
restart_component = { adapter = "command", argv = ["/opt/fraud/restart-fraud", "--hidden-flag"] }
reload_model = { adapter = "http", url = "https://reload-host.invalid/reload-path", headers = { authorization = { env = "HIDDEN_TOKEN" } } }
rollback_model = { adapter = "mlflow", registry = "main", model = "hidden-model", alias = "hidden-alias" }
"""
# Kinds that no rule of an owner's is for, or that are told by something else than a reading.
OTHERS = {"code_exception", "storm", "unclassified", "unreachable", "signal_missing"}
KINDS = sorted(set(get_args(IncidentKind)) - OTHERS)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    monkeypatch.setenv("HIDDEN_TOKEN", "hidden-token-value")
    keeps = tmp_path / "keeps.py"
    keeps.write_text(f"PLACE = {str(tmp_path / 'requests')!r}\n{KEEPS}", encoding="utf-8")
    rules = "".join(
        f'[[service.fraud.rule]]\nid = "{kind}"\nsignal = "s_{kind}"\nkind = "{kind}"\nabove = 0.1\nfor = "30s"\n'
        for kind in KINDS
    )
    written = CONFIGURATION.replace("PYTHON", sys.executable).replace("KEEPS", str(keeps)) + rules
    policy = 'version = 1\nblast = { share = 1.0 }\napprovals = { approvers = ["ann.approver"] }\n'
    return Plant(tmp_path, policy, written)


def test_no_address_target_credential_person_or_secret_is_in_a_request(house: Plant) -> None:
    house.service.deployed("1")
    house.minutes(1)
    house.healer.mark_good("fraud", "1", f"ann.approver has seen it, {SECRET}")
    house.service.deployed("2")

    def also() -> None:
        for kind in KINDS:
            house.service.observe(
                f"s_{kind}", 0.5, labels={"said": f"ask ann.approver at https://probe-host.invalid {SECRET}"}
            )
        house.service.log(f"cannot reach https://probe-host.invalid/score-path as ann.approver with {SECRET}")
        house.service.health("lines", "fail", f"Authorization: Bearer {SECRET}")

    house.also = also
    house.minutes(1)
    requests = [json.loads(line) for line in (house.folder / "requests").read_text(encoding="utf-8").splitlines()]
    opened = {one["kind"] for one in house.healer.incidents()}
    assert set(KINDS) <= opened, set(KINDS) - opened
    asked = {
        kind
        for kind in opened
        if any(f'\\"kind\\":\\"{kind}\\"' in one or f'"kind":"{kind}"' in one for one in requests)
    }
    assert len(asked) >= 8, (asked, len(requests))
    hidden: dict[str, Any] = {**HIDDEN, "a log line's secret": SECRET, "who works here": f'\\"{ME}\\"'}
    for request in requests:
        assert [what for what, text in hidden.items() if text in request] == [], request
    # Each of them is really in what it was looked for from, but for what people and programs said.
    written = (house.folder / "sanare.toml").read_text() + (house.folder / "policy.toml").read_text()
    assert [what for what, text in HIDDEN.items() if text not in written and what != "token"] == []
