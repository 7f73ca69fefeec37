"""Sixty secrets in every place that a failing program has: messages, causes, notes, arguments, locals, nested data, bytes,
frames, source, log lines, environment, files. None of them is in the store, in a log, in any byte that is written to any
file, sent to the model or printed (C41 to C43)."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import string
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest
import sanare
from model_server import ModelServer, reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")

chance = random.Random(20261130)
LETTERS = string.ascii_letters + string.digits


def some(count: int, letters: str = LETTERS) -> str:
    return "".join(chance.choice(letters) for _ in range(count))


# What the secret is, and what stands around it where its form alone does not tell.
KINDS = {
    "github": lambda: "ghp_" + some(36),
    "github fine": lambda: "github_pat_" + some(22) + "_" + some(59),
    "gitlab": lambda: "glpat-" + some(20),
    "slack": lambda: f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
    "stripe": lambda: "sk_live_" + some(24),
    "openai": lambda: "sk-proj-" + some(48),
    "anthropic": lambda: "sk-ant-api03-" + some(93) + "AA",
    "google": lambda: "AIza" + some(35),
    "aws id": lambda: "AKIA" + some(16, string.ascii_uppercase + "234567"),
    "npm": lambda: "npm_" + some(36),
    "pypi": lambda: "pypi-AgEIcHlwaS5vcmc" + some(60),
    "sendgrid": lambda: f"SG.{some(22)}.{some(43)}",
    "jwt": lambda: ".".join(
        [base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("="),
         base64.urlsafe_b64encode(json.dumps({"sub": some(8)}).encode()).decode().rstrip("="), some(43)]
    ),
    "url": lambda: some(20),
    "bearer": lambda: some(40),
    "named": lambda: some(24),
}  # fmt: skip
AROUND = {
    "url": "postgres://app:{}@db.internal:5432/shop",
    "bearer": "Authorization: Bearer {}",
    "named": "password={}",
}
SECRETS = [(kind, KINDS[kind]()) for kind in (list(KINDS) * 4)[:60]]


def text_of(place: int) -> str:
    """The secret as it stands in a text."""
    kind, secret = SECRETS[place]
    return AROUND.get(kind, "{}").format(secret)


JOB = '''
import asyncio
import csv
import json
import logging
import os
import sys

import sanare

LOG = logging.getLogger("shop")
LOG.setLevel("INFO")
logging.getLogger().setLevel("INFO")
logging.getLogger().addHandler(logging.NullHandler())
SECRETS = json.load(open(os.environ["SECRETS_FILE"]))
CONFIG = {"endpoint": SECRETS[0], "deep": [{"deeper": (SECRETS[1], {"password": SECRETS[2]})}]}
sanare.keep_logs(50)


class Client:
    """Talks to the shop; its key is @20@."""

    retries = 3

    def __init__(self):
        self.session = {"Authorization": SECRETS[3]}
        self.key = SECRETS[4]


def number(row, key):
    inner = SECRETS[5]
    LOG.info("reading with %s and %s", SECRETS[6], inner)
    return int(row[key])


@sanare.heal(verify=[["python3", "keep.py"]], examples=[sanare.Example([sys.argv[1], "t"], returns=3)])
def healed(path, token, options=None, *rest, client=None, fallback="@21@", **headers):
    """Sums the amounts. The token of the job is @22@."""
    # the old key was @23@
    secret = "@24@"
    held = {"blob": SECRETS[7].encode(), "list": [SECRETS[8], [SECRETS[9]]], "bytes": bytearray(SECRETS[10].encode())}
    with open(path, newline="") as handle:
        return sum(number(row, "amount") for row in csv.DictReader(handle)) + 0 * len(secret) * len(held)


@sanare.heal(proposers=["drift", "model"])
def asked(rows, token, blob, client):
    limit = "@26@"  # or @25@
    config = CONFIG
    try:
        return rows[limit]
    except (KeyError, TypeError):
        wanted = [SECRETS[11], {"api_key": SECRETS[12]}, config, client]
        return {"a": wanted}["no amount for " + SECRETS[13]]


@sanare.heal
def deliberate(value):
    try:
        raise KeyError(SECRETS[14])
    except KeyError as error:
        problem = ValueError("refused for " + SECRETS[15], {"token": SECRETS[16]}, SECRETS[17].encode())
        problem.__dict__["response"] = {"headers": {"set-cookie": SECRETS[18]}}
        raise problem from error


@sanare.heal
def asking(rows):
    sanare.request("the column is gone for " + SECRETS[19], details={"key": SECRETS[27], "deep": [{"x": SECRETS[28]}]})


@sanare.heal
async def waits(token):
    await asyncio.sleep(0)
    local = SECRETS[29]
    return {"a": local}[token]


@sanare.heal
def items(token):
    first = SECRETS[30]
    yield {first: 1}[token]


@sanare.heal
def grouped(token):
    if sys.version_info >= (3, 11):
        raise ExceptionGroup(SECRETS[31], [KeyError(SECRETS[32]), KeyError(SECRETS[33])])
    raise KeyError(SECRETS[31], SECRETS[32], SECRETS[33])


@sanare.heal(remember="calls")
def remembered(token, rows):
    return {"token": token, "rows": [SECRETS[34], rows["key"]]}


def attempt(call):
    outer = SECRETS[35]
    try:
        return call()
    except Exception as error:
        LOG.info("failed with %s under %s", SECRETS[36], outer)
        report = sanare.report(error)
        return [report.id if report else None, getattr(error, "__notes__", [])]


def main():
    LOG.info("start with %s", SECRETS[37])
    LOG.warning("a header: %s", {"cookie": SECRETS[38]})
    remembered(SECRETS[39], {"key": SECRETS[40]})
    old, new = sys.argv[1:3]
    given = (SECRETS[41], {"headers": {"x": SECRETS[42]}})
    attempt(lambda: healed(old, *given))
    kept = {"x_api_key": SECRETS[43]}
    seen = [attempt(lambda: healed(new, *given, SECRETS[44].encode(), client=Client(), **kept))]
    seen.append(attempt(lambda: asked([SECRETS[45]], SECRETS[46], SECRETS[47].encode() + b"\\xff\\x00", Client())))
    seen.append(attempt(lambda: deliberate(SECRETS[48])))
    seen.append(attempt(lambda: asking([SECRETS[49]])))
    seen.append(attempt(lambda: asyncio.run(waits(SECRETS[50]))))
    seen.append(attempt(lambda: list(items(SECRETS[51]))))
    seen.append(attempt(lambda: grouped(SECRETS[52])))
    seen.append(attempt(lambda: remembered(SECRETS[53], {SECRETS[40]: 1})))
    captured = SECRETS[54]
    seen.append(sanare.capture(SECRETS[55]))
    seen.append([report.to_json() + str(report) for report in sanare.reports()])
    print(json.dumps(seen))
    sys.stdout.flush()
    # Nothing is closed or checkpointed: what lies in the write-ahead log stays there.
    os._exit(0)


if __name__ == "__main__":
    main()
'''
KEEP = """
import json, os, sys
told = json.load(open(os.environ["SANARE_EVIDENCE_FILE"]))
sys.exit(0 if told["incident"] and not os.environ.get("SHOP_KEY") else 7)
"""
# Every byte that is written to a file or to the network, by whatever part of the process, with the file's name.
TAP = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static void tap(int fd, const void *data, size_t size) {
    struct stat about;
    char link[64], name[4096], head[4200];
    if (size == 0 || fstat(fd, &about) != 0) return;
    if (S_ISSOCK(about.st_mode)) {
        int domain = 0; socklen_t length = sizeof domain;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || (domain != AF_INET && domain != AF_INET6)) return;
        strcpy(name, "socket");
    } else if (S_ISREG(about.st_mode)) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, name, sizeof name - 1);
        if (n < 0) return;
        name[n] = 0;
    } else return;
    const char *path = getenv("TAP_FILE");
    int out = path ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (out < 0) return;
    int n = snprintf(head, sizeof head, "\\n@@ %s %zu\\n", name, size);
    struct iovec parts[2] = {{head, n}, {(void *)data, size}};
    syscall(SYS_writev, out, parts, 2);
    syscall(SYS_close, out);
}
ssize_t write(int fd, const void *data, size_t size) { tap(fd, data, size); return syscall(SYS_write, fd, data, size); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { tap(fd, data, size); return syscall(SYS_pwrite64, fd, data, size, at); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { tap(fd, data, size); return syscall(SYS_pwrite64, fd, data, size, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    for (int i = 0; i < count; i++) tap(fd, parts[i].iov_base, parts[i].iov_len);
    return syscall(SYS_writev, fd, parts, count);
}
ssize_t send(int fd, const void *data, size_t size, int flags) { tap(fd, data, size); return syscall(SYS_sendto, fd, data, size, flags, 0, 0); }
"""
SETTINGS = """
[evidence]
environment_vars = ["APP_ENV", "DATABASE_URL", "SHOP_LINE"]
[capture]
folder = "captures"
[git]
patches = true
[heal.memory]
calls = 5
"""


# What only names the kind, and is equal in all secrets of it.
NAMES = (
    "github_pat_",
    "sk-ant-api03-",
    "pypi-AgEIcHlwaS5vcmc",
    "sk-proj-",
    "sk_live_",
    "glpat-",
    "xoxb-",
    "AIza",
    "npm_",
)


def parts_of(secret: str) -> list[str]:
    """What may not be seen of a secret: any twelve characters of it that are its own."""
    named = next((name for name in NAMES if secret.startswith(name)), "")
    own = secret[len(named) :] if not secret.startswith("eyJ") else secret.partition(".")[2]
    return [own[at : at + 12] for at in range(max(1, len(own) - 11))]


def forms_of(secret: str) -> list[bytes]:
    data = secret.encode()
    forms = [part.encode() for part in parts_of(secret)]
    forms += [data.hex().encode(), urllib.parse.quote(secret, safe="").encode(), data[::-1]]
    forms += [base64.b64encode(b"\0" * shift + data)[4:-4] for shift in range(3)]
    return forms


def planted(folder: Path) -> dict[str, str]:
    """The project, and the environment that the program runs in."""
    folder.mkdir()
    text = JOB
    for place in range(20, 27):
        text = text.replace(f"@{place}@", text_of(place))
    (folder / "job.py").write_text(text)
    (folder / "keep.py").write_text(KEEP)
    (folder / "sanare.toml").write_text(SETTINGS)
    data = folder.parent / "data"
    data.mkdir()
    (data / "old.csv").write_text(f"id,amount,note\n1,3,{text_of(56)}\n")
    (data / "new.csv").write_text(f"id,Betrag,note\n1,3,{text_of(57)}\n2,4,fine\n")
    secrets = folder.parent / "secrets.json"
    secrets.write_text(json.dumps([text_of(place) for place in range(60)]))
    return {
        "SECRETS_FILE": str(secrets),
        "DATABASE_URL": f"postgres://app:{SECRETS[58][1]}@db.internal/shop",
        "SHOP_LINE": "token=" + SECRETS[59][1],
        "SHOP_KEY": text_of(59),
    }


@pytest.fixture(scope="module")
def tap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("tap")
    (folder / "tap.c").write_text(TAP)
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "tap.so"), str(folder / "tap.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "tap.so"


def written(tapped: bytes, own: Path) -> dict[str, bytes]:
    """What was written, by file; but not into the program's own source: that is the owner's text, secret included."""
    kept: dict[str, bytes] = {}
    for chunk in tapped.split(b"\n@@ ")[1:]:
        head, _, rest = chunk.partition(b"\n")
        name = head.rpartition(b" ")[0].decode("utf-8", "surrogateescape")
        beside = Path(name).parent == own.parent and "sanare" in Path(name).name and ".tmp" in name
        # The same text in the copy of the work tree, on which the owner's command runs.
        source = name == str(own) or beside or name.endswith("/tree/job.py")
        if not source:
            kept["written: " + name] = kept.get("written: " + name, b"") + rest + b"\n"
    return kept


def files(top: Path, when: str) -> dict[str, bytes]:
    """Every file that is not the owner's own."""
    own = {"job.py", "keep.py"}
    found = [path for name in ("project", "state", "temporary") for path in (top / name).rglob("*")]
    return {
        f"{when}: {path.relative_to(top)}": path.read_bytes()
        for path in found
        if path.is_file() and path.name not in own
    }


def test_f11_none_of_sixty_secrets_is_kept_written_sent_or_shown(tap: Path, tmp_path: Path) -> None:
    assert len({secret for _, secret in SECRETS}) == 60
    folder = tmp_path / "project"
    more = planted(folder)
    (tmp_path / "temporary").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SANARE_")}
    environment = {
        **kept, **more,
        "PYTHONPATH": str(Path(sanare.__file__).resolve().parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "TMPDIR": str(tmp_path / "temporary"),
        "SANARE_MODEL_PROVIDER": "ollama",
        "SANARE_MODEL_MODEL": "scripted",
    }  # fmt: skip
    with ModelServer(reply(None)) as server:
        environment["SANARE_MODEL_BASE_URL"] = server.url
        done = subprocess.run(
            [sys.executable, "job.py", str(tmp_path / "data" / "old.csv"), str(tmp_path / "data" / "new.csv")],
            cwd=folder, capture_output=True, text=True, timeout=120,
            env={**environment, "LD_PRELOAD": str(tap), "TAP_FILE": str(tmp_path / "tapped")},
        )  # fmt: skip
        sent = json.dumps(server.requests)
    assert done.returncode == 0, done
    seen = json.loads(done.stdout)
    # Every way was taken: healed, asked of a model, refused, captured, and the rest recorded.
    assert seen[0] == 7, (seen[0], done.stderr)
    assert [bool(one[0]) for one in seen[1:8]] == [True] * 7 and seen[8], seen
    assert len(server.requests) >= 1 and "no amount for" in sent
    places = files(tmp_path, "after the run")
    assert "after the run: project/.sanare/store.db-wal" in places
    shown = {"standard output": done.stdout, "standard error": done.stderr, "requests": sent}
    ids = [one[0] for one in seen[1:8]] + [seen[8]]
    for words in [["incidents"], ["--json", "incidents"], ["ledger", "verify"]] + [
        [*option, "show", found, *after]
        for found in ids
        for option, after in [([], []), (["--json"], []), ([], ["--prompt"]), ([], ["--evidence"])]
    ]:
        answer = subprocess.run(
            [sys.executable, "-m", "sanare", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        shown[" ".join(words)] = answer.stdout + answer.stderr
    listed = json.loads(shown["--json incidents"])
    [healed] = [report["id"] for report in listed if report["outcome"] == "healed"]
    answer = subprocess.run(
        [sys.executable, "-m", "sanare", "diff", healed],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    shown["diff"] = answer.stdout
    assert "Betrag" in answer.stdout
    places.update((name, text.encode()) for name, text in shown.items())
    tapped = (tmp_path / "tapped").read_bytes()
    places.update(written(tapped, folder / "job.py"))
    assert b"store.db-wal" in tapped and b"@@ socket" in tapped and b".patch" in tapped, "the tap is not tight"
    places.update(files(tmp_path, "at the end"))
    assert any("project/captures/" in name for name in places)
    found = [
        f"{kind} {place} ({secret[:16]}…) in {where}: {form!r}"
        for place, (kind, secret) in enumerate(SECRETS)
        for where, data in places.items()
        for form in forms_of(secret)
        if form in data
    ]
    assert not found, "\n".join(found[:20])
    # They were there to be found: the source still holds its own.
    source = (folder / "job.py").read_bytes()
    assert all(SECRETS[place][1].encode() in source for place in range(20, 27)) and b"Betrag" in source
