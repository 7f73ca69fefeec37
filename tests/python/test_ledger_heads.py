"""Heads of the ledger, signed and kept elsewhere: what was cut is found, and what is no head of this store is refused (S117);
what is pruned and erased leaves chains that hold (S116, S119)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sanare
from test_services import AUTO, CONFIGURATION
from test_verbs import program


class Shop:
    """A store with records of a service, and a head of it that is kept elsewhere."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        (folder / "sanare.toml").write_text(CONFIGURATION)
        (folder / "policy.toml").write_text(AUTO)
        self.healer = sanare.Healer(folder / "sanare.toml")
        self.store = folder / ".sanare" / "store.db"

    def write(self, records: int) -> None:
        for number in range(records):
            self.healer.mark_good("fraud", str(number), "it has served for months")

    def head(self, name: str = "head.json") -> Path:
        code, out, err = program(self.folder, "ledger", "head")
        assert code == 0, err
        path = self.folder / name
        path.write_text(out)
        return path

    def verify(self, head: Path, *more: str) -> tuple[int, str]:
        code, out, err = program(self.folder, "ledger", "verify", "--head", str(head), *more)
        return code, out + err

    def cut(self, statement: str) -> None:
        """Behind the triggers' back, and without a trace beside the store."""
        aside(self.store, "DROP TRIGGER ledger_keeps_rows", statement)
        self.store.with_name("store.db.head").unlink(missing_ok=True)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path / "shop")
    made.write(120)
    return made


def aside(store: Path, *statements: str) -> list[Any]:
    """Statements in a process of their own: a second SQLite in this one would take the locks of the first away. The rows of the
    last."""
    script = (
        "import json, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        "for statement in sys.argv[2:]: rows = connection.execute(statement).fetchall()\n"
        "connection.commit()\n"
        "print(json.dumps(rows))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(store), *statements], capture_output=True, text=True, check=True
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def rows(store: Path) -> list[Any]:
    return aside(store, "SELECT chain, place, step, by, payload FROM ledger ORDER BY seq")


def test_a_head_names_every_chain_and_is_signed_with_a_key_of_the_store(shop: Shop) -> None:
    head = json.loads(shop.head().read_text())
    assert [(one["chain"], one["place"]) for one in head["heads"]] == [("@system", 1), ("fraud", 120)]
    key = shop.store.with_name("store.db.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    made = [
        (step, json.loads(payload)["signer"]) for chain, _, step, _, payload in rows(shop.store) if chain == "@system"
    ]
    assert made == [("key_made", head["key"])]
    code, said = shop.verify(shop.folder / "head.json", "--key", head["key"])
    assert (code, "0 records are newer" in said) == (0, True), said
    # A key that others may read signs nothing.
    key.chmod(0o644)
    assert program(shop.folder, "ledger", "head")[0] == 5


@pytest.mark.parametrize(("cut", "left"), [(1, 119), (100, 20), (120, 0)])
def test_newest_rows_that_were_cut_are_found_and_from_where(shop: Shop, cut: int, left: int) -> None:
    head = shop.head()
    shop.cut(f"DELETE FROM ledger WHERE seq > {left}")
    # The chains alone hold: nothing in them shows that they were longer.
    assert program(shop.folder, "ledger", "verify")[0] == 0
    code, said = shop.verify(head)
    assert code == 1
    # The system's one record, the newest of all, went with them.
    assert "records of the chain `@system` are gone from record 1 on: the head is record 1" in said, said
    assert cut == 120 - left


def test_rows_of_one_chain_that_were_cut_are_found_and_from_where(shop: Shop) -> None:
    shop.head()
    shop.write(100)
    head = shop.head()
    shop.cut("DELETE FROM ledger WHERE seq > 121")
    code, said = shop.verify(head)
    assert (code, "records of the chain `fraud` are gone from record 121 on: the head is record 220" in said) == (
        1,
        True,
    ), said
    # An old head is still true, and says what it does not vouch for.
    shop.write(3)
    code, said = shop.verify(shop.folder / "head.json")
    assert code == 1, said


def test_an_old_head_says_what_it_does_not_vouch_for(shop: Shop) -> None:
    old = shop.head()
    shop.write(7)
    code, said = shop.verify(old)
    assert (code, "7 records are newer, which it says nothing about" in said) == (0, True), said
    code, out, _ = program(shop.folder, "--json", "ledger", "verify", "--head", str(old))
    assert (code, json.loads(out)["head"]["newer"]) == (0, 7)


def test_what_is_no_head_of_this_store_is_refused(shop: Shop, tmp_path: Path) -> None:
    head = shop.head()
    told = json.loads(head.read_text())

    def said(change: dict[str, Any], *more: str) -> str:
        path = shop.folder / "other.json"
        path.write_text(json.dumps({**told, **change}))
        code, out = shop.verify(path, *more)
        assert code == 1, out
        return out

    assert "the signature does not fit" in said({"at": told["at"] + 1})
    assert "the signature does not fit" in said({"heads": told["heads"][:1]})
    assert "the signature does not fit" in said({"sign": "0" * 128})
    assert "the signature does not fit" in said({"key": "0" * 64})
    assert "another key than the one given" in said({}, "--key", "0" * 64)
    other = Shop(tmp_path / "other")
    other.write(120)
    code, out = shop.verify(other.head())
    assert (code, "a head of another store" in out) == (1, True), out
    # A copy of the store whose key was made anew: the same name, and a key that this store never had.
    os.remove(shop.store.with_name("store.db.key"))
    code, out, err = program(shop.folder, "store", "backup", str(tmp_path / "copy.db"))
    assert code == 0, err
    forged = shop.head("forged.json")
    shop.cut("DELETE FROM ledger WHERE seq > 121")
    code, out = shop.verify(forged)
    assert (code, "are gone from record 2 on" in out) == (1, True), out
    for wrong in ("", "{}", "7:" + "0" * 64):
        (shop.folder / "wrong").write_text(wrong)
        assert program(shop.folder, "ledger", "verify", "--head", str(shop.folder / "wrong"))[0] == 2
    assert program(shop.folder, "ledger", "verify", "--head", str(shop.folder / "none"))[0] == 2
    assert program(shop.folder, "ledger", "verify", "--key", "0" * 64)[0] == 2


def test_a_chain_that_was_made_anew_is_found(shop: Shop) -> None:
    head = shop.head()
    again = json.loads(head.read_text())
    shop.cut("DELETE FROM ledger WHERE seq > 100")
    shop.write(30)
    program(shop.folder, "ledger", "head")
    code, said = shop.verify(head)
    assert (code, "is another than the one in the head" in said) == (1, True), (said, again)


def test_another_key_is_a_record_and_old_heads_stay_true(shop: Shop) -> None:
    old = shop.head()
    assert program(shop.folder, "ledger", "rotate")[0] == 2
    code, out, err = program(shop.folder, "ledger", "rotate", "--reason", "it was in a backup")
    assert code == 0, err
    told = json.loads(next(payload for _, _, step, _, payload in rows(shop.store) if step == "key_rotated"))
    assert (told["from"], told["reason"]) == (json.loads(old.read_text())["key"], "it was in a backup")
    new = shop.head("new.json")
    assert json.loads(new.read_text())["key"] == told["signer"] and told["signer"] in out
    assert (shop.verify(old)[0], shop.verify(new)[0]) == (0, 0)


def test_a_service_is_erased_and_its_chain_holds(shop: Shop) -> None:
    head = shop.head()
    assert program(shop.folder, "store", "erase", "fraud")[0] == 2
    assert program(shop.folder, "store", "erase", "nobody", "--reason", "asked for")[0] == 4
    code, out, err = program(shop.folder, "store", "erase", "fraud", "--reason", "asked for")
    assert (code, "the content of 120 records" in out) == (0, True), out + err
    assert {payload for chain, _, _, _, payload in rows(shop.store) if chain == "fraud"} == {""}
    assert shop.verify(head)[0] == 0
    erased = [json.loads(payload) for _, _, step, _, payload in rows(shop.store) if step == "erased"]
    assert [(one["of"], one["reason"]) for one in erased] == [("fraud", "asked for")]


def test_old_records_are_pruned_and_their_last_hash_stays(shop: Shop) -> None:
    head = shop.head()
    assert program(shop.folder, "ledger", "prune", "fraud", "--before", "0s", "--reason", "")[0] == 2
    code, out, _ = program(shop.folder, "ledger", "prune", "fraud", "--before", "1d", "--reason", "old")
    assert (code, "nothing is that old" in out) == (0, True), out
    code, out, err = program(
        shop.folder, "ledger", "prune", "fraud", "--before", "2999-01-01T00:00:00Z", "--reason", "old"
    )
    assert (code, "up to record 119" in out) == (0, True), out + err
    assert [place for chain, place, *_ in rows(shop.store) if chain == "fraud"] == [120]
    code, said = shop.verify(head)
    assert (code, "holds" in said) == (0, True), said
    # What is cut beyond the seal is found all the same.
    shop.write(5)
    later = shop.head("later.json")
    shop.cut("DELETE FROM ledger WHERE chain = 'fraud' AND place > 122")
    code, said = shop.verify(later)
    assert (code, "`fraud` are gone from record 123 on" in said or "chain breaks" in said) == (1, True), said
