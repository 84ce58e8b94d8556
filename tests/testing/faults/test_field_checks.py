"""Values that no cluster can have."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from signalbox.testing.faults import (
    AnswerWithError,
    BalanceAddress,
    CapApiVersions,
    CapVersions,
    CutAfterBytes,
    Delay,
    DelayResponse,
    Fault,
    RewriteMetadata,
    SendElsewhere,
    SwapAddresses,
    Throttle,
    WrongNode,
)
from signalbox.testing.faults.field_checks import check_milliseconds, check_target

pytestmark = pytest.mark.spec("R7")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SwapAddresses(1, 1), "both 1"),
        (lambda: SwapAddresses(1, -2), "one and other is 0 to 2147483647, not -2"),
        (lambda: SendElsewhere(1, ("", 9)), "to is host:port, not :9"),
        (lambda: SendElsewhere(1, ("h", 0)), "the port of to is 1 to 65535, not 0"),
        (lambda: BalanceAddress(1, ()), "over has at least one node id"),
        (lambda: Delay(1, math.nan), "delay_ms is 0 to 86400000, not nan"),
        (lambda: CutAfterBytes(1, 0), "size_bytes is 1 to"),
        (lambda: AnswerWithError(api="Fetch", error="NONE", delay_ms=-1), "delay_ms is 0 to"),
        (lambda: DelayResponse(api="Fetch", delay_ms=math.inf), "delay_ms is 0 to"),
        (lambda: Throttle(api="Fetch", throttle_ms=2**31), "throttle_ms is 0 to 2147483647"),
        (lambda: WrongNode(1, -1), "is_node is 0 to"),
        (lambda: CapApiVersions(1, 5), "version is 3 to 4, not 5"),
        (lambda: CapVersions(1, "Fetch", -2), "highest is -1 to"),
        (lambda: CapVersions(1, "Fetch", 5, lowest=6), "lowest is 0 to 5, not 6"),
        (lambda: RewriteMetadata([1], {2: ("h", 2**40)}), "the port of node 2 in addresses"),
        (lambda: RewriteMetadata([1], hidden=[-1]), "hidden is 0 to"),
        (lambda: RewriteMetadata([], hidden=[1]), "nodes has at least one node id"),
    ],
)
def test_a_fault_with_a_wrong_value_cannot_be_made(make: Callable[[], Fault], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_limits_themselves_are_allowed() -> None:
    check_milliseconds("delay_ms", 0)
    check_milliseconds("delay_ms", 86_400_000)
    check_target("to", ("h", 65_535))
    assert CapVersions(1, "Fetch", -1, lowest=4).highest == -1
    assert RewriteMetadata([1], {1: ("h", 0)}).addresses == {1: ("h", 0)}
