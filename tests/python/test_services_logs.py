"""Patterns counted in log lines, of the program itself and of files; nothing of a line but a masked template is kept (S30)."""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import string
from typing import TYPE_CHECKING, Any

import pytest
import sanare

if TYPE_CHECKING:
    from pathlib import Path

START = 1_767_225_600.0
RULE = """
[[service.fraud.rule]]
id = "timeouts"
signal = "timeouts"
kind = "error_rate_high"
above = 5
for = "20s"
keep = "30s"
"""
OWN = '[service.fraud]\n[[service.fraud.log]]\nsignal = "timeouts"\npattern = "(?i)timed? ?out"\n' + RULE
FILE = OWN.replace("[[service.fraud.rule]]", 'file = "app.log"\n[[service.fraud.rule]]')


class Plant:
    def __init__(self, folder: Path, configuration: str) -> None:
        (folder / "sanare.toml").write_text(configuration)
        self.folder, self.now = folder, START
        self.healer = sanare.Healer(folder / "sanare.toml", clock=lambda: self.now)
        self.service = sanare.Service("fraud", healer=self.healer)

    def seconds(self, count: int, each: Any = None) -> None:
        for _ in range(count // 5):
            self.now += 5
            if each is not None:
                each()
            self.healer.run_once()

    def kinds(self) -> list[str]:
        return [one["kind"] for one in self.healer.incidents()]

    def stored(self) -> bytes:
        """Every byte that was written."""
        for database in self.folder.rglob("*.db"):
            with sqlite3.connect(database) as connection:
                connection.execute("pragma wal_checkpoint(truncate)")
        files = [
            path for path in self.folder.rglob("*") if path.is_file() and path.suffix not in (".log", ".toml", ".1")
        ]
        return b"\n".join(path.read_bytes() for path in files)


def test_lines_of_the_program_are_counted(tmp_path: Path) -> None:
    plant = Plant(tmp_path, OWN)
    plant.seconds(60, lambda: plant.service.log("request served"))
    assert plant.kinds() == []
    plant.seconds(60, lambda: [plant.service.log(f"request {number} Timed out after 30 s") for number in range(3)])
    assert plant.kinds() == ["error_rate_high"], "six in ten seconds"
    stored = plant.stored()
    assert b"request <*> Timed out after <*>" in stored or b"request <*> Timed out after <*> s" in stored
    assert plant.service.stats()["refused"] == 0


def test_as_many_as_are_allowed_open_nothing(tmp_path: Path) -> None:
    plant = Plant(tmp_path, OWN)
    count = 0

    def five_in_ten_seconds() -> None:
        nonlocal count
        count += 1
        for _ in range(2 + count % 2):
            plant.service.log("timeout")

    plant.seconds(300, five_in_ten_seconds)
    assert plant.kinds() == []


def test_a_logger_is_followed_and_comes_to_no_harm(tmp_path: Path) -> None:
    plant = Plant(tmp_path, OWN)
    logger = logging.getLogger("shop.test")
    logger.propagate = False
    handler = plant.service.follow(logger, logging.WARNING)

    class Rude:
        def __str__(self) -> str:
            logging.getLogger("shop.test").warning("timeout within a text")
            raise RuntimeError

    def log() -> None:
        logger.info("timeout that is not handled")
        logger.warning("%s", Rude())
        for number in range(3):
            try:
                raise TimeoutError("timed out")
            except TimeoutError:
                logger.exception("call %d", number)

    try:
        plant.seconds(60, log)
    finally:
        logger.removeHandler(handler)
    assert plant.kinds() == ["error_rate_high"], "the type of an exception is part of its line"
    assert plant.service.stats()["refused"] == 0


def test_a_file_is_followed_through_rotation_and_truncation(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("timeout\n" * 1_000)
    plant = Plant(tmp_path, FILE)
    plant.seconds(60)
    assert plant.kinds() == [], "what was there before is not counted"
    written = 0

    def write() -> None:
        nonlocal written
        written += 1
        if written % 6 == 2:
            os.rename(log, tmp_path / "app.log.1")
        if written % 6 == 4:
            log.write_text("")
        with log.open("ab") as file:
            file.write(b"\xff timeout \x00\n" * 3)

    plant.seconds(60, write)
    assert plant.kinds() == ["error_rate_high"]
    plant.seconds(90, lambda: log.open("a").write("served\n"))
    assert plant.healer.incidents()[0]["condition"] == "cleared"


def test_a_file_that_is_away_says_nothing(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text("")
    plant = Plant(tmp_path, FILE)
    plant.seconds(60, lambda: log.open("a").write("timeout\n" * 4))
    assert plant.kinds() == ["error_rate_high"]
    log.unlink()
    plant.seconds(600)
    open_ones = {one["kind"]: one["condition"] for one in plant.healer.incidents()}
    assert open_ones["error_rate_high"] == "firing", "no count is no good count"


def test_no_secret_of_a_line_is_kept(tmp_path: Path) -> None:
    plant = Plant(tmp_path, OWN)
    chance = random.Random(30)

    def some(count: int, letters: str = string.ascii_letters + string.digits) -> str:
        return "".join(chance.choice(letters) for _ in range(count))

    secrets = ["ghp_" + some(36), "sk-proj-" + some(48), "AKIA" + some(16, string.ascii_uppercase), some(40), some(12)]
    words = ["hunter2", "ann.smith@example.com", "10.20.30.40", "/home/ann/key.pem", "4111111111111111"]
    shapes = ["{} timeout", "timeout password={}", "timeout user '{}' gone", "timeout Authorization: Bearer {}",
              "timeout https://u:{}@host/x", 'timeout {{"key": "{}"}}', "timeout at {}"]  # fmt: skip
    for value in secrets + words:
        for shape in shapes:
            plant.service.log(shape.format(value))
            plant.seconds(10)
    stored = plant.stored()
    assert b"timeout" in stored
    for value in secrets + words:
        assert value.encode() not in stored, value


def test_floods_and_odd_lines_are_bounded(tmp_path: Path) -> None:
    plant = Plant(tmp_path, OWN)
    plant.seconds(10)
    for number in range(10_000):
        letters = "".join(chr(97 + int(digit)) for digit in str(number))
        plant.service.log(f"timeout of {letters}")
    plant.service.log("x" * 10_000_000 + "timeout")
    plant.service.log("timeout \ud800 \x00")
    for bad in [None, 5, b"timeout", object()]:
        plant.service.log(bad)  # type: ignore[arg-type]
    plant.seconds(10)
    assert plant.service.stats()["refused"] == 4
    stored = plant.stored()
    assert b'"count":10001' in stored
    assert stored.count(b"timeout of ") <= 60, "twenty templates, in a reading and what cites it"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("(", "no pattern: unclosed group"), ("a*", "it fits every line"), ("(?=x)", "look-around"), ("(a)\\\\1", "backreferences"), ("\\\\w{1000}{1000}", "size limit")],
)  # fmt: skip
def test_a_pattern_is_linear_and_says_something(tmp_path: Path, pattern: str, why: str) -> None:
    text = f'[service.fraud]\n[[service.fraud.log]]\nsignal = "s"\npattern = "{pattern}"\n'
    (tmp_path / "sanare.toml").write_text(text)
    with pytest.raises(sanare.Error, match=why):
        sanare.Healer(tmp_path / "sanare.toml")


def test_lines_that_nothing_counts_are_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plant = Plant(tmp_path, FILE)
    for _ in range(3):
        plant.service.log("timeout")
    assert plant.service.stats()["refused"] == 3
    assert len([record for record in caplog.records if "no pattern" in record.getMessage()]) == 1
