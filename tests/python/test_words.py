"""The closed lists of service healing are the same in Rust, in Python's types, and in the commands (S6)."""

from __future__ import annotations

import typing

import pytest
from sanare import _sanare, _words

LISTS = dict(_sanare.words())


def test_no_list_is_missing() -> None:
    ours = {name for name, value in vars(_words).items() if typing.get_origin(value) is typing.Literal}
    assert ours == set(LISTS)


@pytest.mark.parametrize("name", sorted(LISTS))
def test_members_and_their_order_are_the_same(name: str) -> None:
    assert list(typing.get_args(getattr(_words, name))) == LISTS[name]


# The table of the specification, by hand: what a later version adds is added here too.
TABLE = """
ObservationKind metric health log_signal prediction_quality drift deployment resource
Severity low medium high critical
Action restart_component reload_model rollback_model request_retraining request_redeployment run_diagnostic escalate no_action
Origin rules model fallback person
Verdict permit ask refuse
Condition pending firing clearing cleared
StepName opened evident diagnosed proposed judged checked waiting approved prepared applied undoing escalating closed
Effect done refused not_started unknown
ReceiptState intended started done failed unknown undone
VerificationOutcome recovered not_recovered worse inconclusive not_verified
Outcome healed rolled_back escalated refused
ClosedBy action itself person
ApprovalState waiting granted used denied expired voided
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines(), ids=lambda line: line.split()[0])
def test_members_are_those_that_are_specified(line: str) -> None:
    name, *members = line.split()
    assert sorted(LISTS[name]) == sorted(members)
