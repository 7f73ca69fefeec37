"""`sanare migrate`: another healer's settings read without running them, its decorators replaced (C23, C24)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sanare

CONFIG = '''
"""Settings."""
import os
open("touched", "w").write("this ran")
HEALING_AGENT_CONFIG_VERSION = "0.5.0"
AI_PROVIDER = "openai"
AZURE = {"api_key": os.getenv("AZURE_KEY"), "endpoint": "https://x.example.com"}
OPENAI = {"api_key": "sk-proj-0123456789abcdefghij0123456789abcdefghij", "model": "some-model", "timeout": 60}
ANTHROPIC = {"api_key": os.environ["ANTHROPIC_KEY"]}
OLLAMA = {"host": "http://localhost:11434", "model": "m", "timeout": 120}
LITELLM = {}
MAX_ATTEMPTS = 5
DEBUG = True
AUTO_FIX = False
AUTO_SYSCHANGE = False
SYSTEM_PROMPTS = {}
BACKUP_ENABLED = RESTORE_ON_FAILURE = True
SAVE_EXCEPTIONS = True
SAVE_AI_FIXES = True
SAVE_GIT_PATCHES = True
GIT_MODE = "patch"
GIT_PATCH_DIR = "patches"
GIT_STAGE = False
VERIFY_COMMAND = ["pytest", "-q"]
VERIFY_TIMEOUT_SECONDS = 120
GITHUB = {"repo": "acme/jobs", "token_env": "GITHUB_TOKEN", "issue_on_failure": True, "issue_detail": "ai-anonymized"}
LOG_BUFFER_SIZE = 200
LOG_BUFFER_LEVEL = "WARNING"
LOG_MODE = "print"
CAPTURE_DIR = "captures"
CAPTURE_VALUE_CHARS = 2000
EVIDENCE = {"disk": {"variables": 500, "logs": 20}, "provider": {"arguments": 100}}
ENVIRONMENT_VARS = ["APP_ENV", "TZ"]
REDACT_SECRETS = True
REDACT_PLACEHOLDER = "***"
REDACT_EXTRA_PATTERNS = []
SOMETHING_ELSE = compute()
'''
JOB = """from healing_agent import healing_agent, request_healing as ask
import csv


@healing_agent
def load(path):
    if not path:
        ask("no path")


class Loader:
    @healing_agent(AUTO_FIX=False, MAX_ATTEMPTS=2, BACKUP_ENABLED=False)
    def load(self): ...
"""
PATCHED = """import sanare
import csv


@sanare.heal
def load(path):
    if not path:
        sanare.request("no path")


class Loader:
    @sanare.heal(mode="ask", attempts=2)
    def load(self): ...
"""


def migrate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    here = Path(sanare.__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(here)}
    return subprocess.run(
        [sys.executable, "-m", "sanare", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "healing_agent_config.py").write_text(CONFIG)
    (tmp_path / "job.py").write_bytes(JOB.replace("\n", "\r\n").encode())
    (tmp_path / "other.py").write_text("import csv\n")
    hidden = tmp_path / ".venv"
    hidden.mkdir()
    (hidden / "job.py").write_text(JOB)
    return tmp_path


def tree(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_shows_and_neither_runs_nor_writes(folder):
    before = tree(folder)
    done = migrate(folder, "--json", "migrate", ".")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert tree(folder) == before
    toml = shown["toml"]
    for line in ("attempts = 5", 'mode = "ask"', "keep = 200", 'level = "WARNING"', 'log_mode = "console"', "locals = 500",
                 'environment_vars = ["APP_ENV", "TZ"]', "arguments = 2000", 'folder = "captures"'):  # fmt: skip
        assert line in toml, toml
    assert "0123456789abcdefghij" not in done.stdout
    told = "\n".join(shown["differences"])
    # Every name of the file is either a setting, a difference or not understood.
    names = [line.split(" =")[0] for line in CONFIG.splitlines() if " = " in line and line[0].isupper()]
    silent = {"SAVE_GIT_PATCHES", "GIT_PATCH_DIR", "LOG_BUFFER_SIZE", "LOG_BUFFER_LEVEL", "CAPTURE_VALUE_CHARS", "EVIDENCE",
              "ENVIRONMENT_VARS", "SOMETHING_ELSE", "BACKUP_ENABLED", "GITHUB"}  # fmt: skip
    for name in names:
        assert name in silent or name in told, name
    assert "OPENAI.api_key: not copied" in told
    text = "\n".join(shown["not_understood"])
    assert "compute()" in text and "touched" in text and "BACKUP_ENABLED" in text
    (file,) = shown["files"]
    assert file["path"].endswith("job.py") and "+import sanare" in file["diff"]
    plain = migrate(folder, "migrate", "healing_agent_config.py", "--project", ".").stdout
    assert "Nothing was written" in plain and "+@sanare.heal" in plain


def test_what_it_writes_is_accepted(folder):
    done = migrate(folder, "migrate", ".", "--write")
    assert done.returncode == 0, done.stderr
    assert (folder / "job.py").read_bytes() == PATCHED.replace("\n", "\r\n").encode()
    assert (folder / ".venv" / "job.py").read_text() == JOB and (folder / "other.py").read_text() == "import csv\n"
    assert not (folder / "touched").exists()
    shown = json.loads(migrate(folder, "--json", "config", "show").stdout)["values"]
    assert shown["heal.attempts"][0] == 5 and shown["evidence.disk.logs"][0] == 20
    again = migrate(folder, "migrate", ".", "--write")
    assert again.returncode == 1 and "is there already" in again.stderr


@pytest.mark.parametrize(("text", "code", "word"), [(None, 4, "there is no"), ("def (:\n", 2, "not Python: line 1")])
def test_what_cannot_be_read(text, code, word, tmp_path):
    if text is not None:
        (tmp_path / "healing_agent_config.py").write_text(text)
    done = migrate(tmp_path, "migrate", ".")
    assert done.returncode == code and word in done.stderr
