"""Faults as text."""

from __future__ import annotations

import pytest

from signalbox.testing import faults
from signalbox.testing.faults import (
    FAULTS,
    AnswerWithError,
    BalanceAddress,
    Delay,
    DropRequest,
    Fault,
    RewriteMetadata,
    SendElsewhere,
    SwapAddresses,
    WrongCluster,
    parse_fault,
)
from signalbox.testing.faults.fault_text import text_of

pytestmark = pytest.mark.spec("R7")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SwapAddresses one=1 other=2 cut=false", SwapAddresses(1, 2, cut=False)),
        ("SendElsewhere node=1 to=127.0.0.1:9092", SendElsewhere(1, ("127.0.0.1", 9092))),
        ("SendElsewhere node=1 to=2", SendElsewhere(1, 2)),
        ("WrongCluster node=1 cluster_id=7", WrongCluster(1, "7")),
        ("Delay node=1 delay_ms=5", Delay(1, 5)),
        ("DropRequest api=Fetch times=all", DropRequest(api="Fetch", times=None)),
        ("BalanceAddress node=1 over=[1,2]", BalanceAddress(1, (1, 2))),
        ("BalanceAddress node=1 over=1,2", BalanceAddress(1, (1, 2))),
        (
            "AnswerWithError api=Produce error=NOT_LEADER_OR_FOLLOWER times=null client_id='my client'",
            AnswerWithError(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=None, client_id="my client"),
        ),
        (
            """RewriteMetadata nodes=[1] 'addresses={"2": ["h", 9]}'""",
            RewriteMetadata((1,), addresses={2: ("h", 9)}),
        ),
    ],
)
def test_a_line_is_a_fault(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault
    assert parse_fault(text_of(fault)) == fault


def test_the_text_of_a_fault_has_no_defaults() -> None:
    assert text_of(SwapAddresses(1, 2)) == "SwapAddresses one=1 other=2"
    assert text_of(SendElsewhere(1, ("host", 9), cut=False)) == "SendElsewhere node=1 to=host:9 cut=false"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no fault ''; there are SwapAddresses"),
        ("Swap one=1", "no fault 'Swap'"),
        ("SwapAddresses one=1 two=2", "SwapAddresses has the fields bootstrap, cut, listener, one, other, not 'two'"),
        ("SwapAddresses one", "not 'one'"),
        ("SwapAddresses one=x other=2", "one is a whole number, not 'x'"),
        ("SwapAddresses one=1 other=2 cut=1", "cut is true or false, not '1'"),
        ("Delay node=1 delay_ms=soon", "delay_ms is a number, not 'soon'"),
        ("SendElsewhere node=1 to=there", "to is a whole number or host:port, not 'there'"),
        ("BalanceAddress node=1 over=x", "over is a list of numbers, as 1,2, not 'x'"),
        ("BalanceAddress node=1 over=[true]", r"over is a list of numbers, as 1,2, not '\[true\]'"),
        ("SendElsewhere node=1 to=[1,2]", "to is a whole number or host:port, not"),
        ("RewriteMetadata nodes=1 addresses=nonsense", "addresses is addresses by node id, as .*, not 'nonsense'"),
        ("RewriteMetadata nodes=1 'addresses={\"1\": [9, 9]}'", "addresses is addresses by node id"),
        ("Delay node=1 delay_ms=-1", "delay_ms is 0 to 86400000, not -1"),
        ("SwapAddresses one=1", "missing 1 required positional argument: 'other'"),
        ("DropRequest api=Nothing", "no API 'Nothing'"),
        ("Stall node='1", "No closing quotation"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_fault(text)


def test_every_public_fault_has_a_name_and_a_docstring() -> None:
    others = {"FAULTS", "Fault", "FaultConflict", "fault_of", "parse_fault"}
    assert set(FAULTS) == set(faults.__all__) - others
    assert [name for name, kind in FAULTS.items() if len(kind.__doc__ or "") < 60] == []
