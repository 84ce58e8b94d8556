from __future__ import annotations

import pytest
from tests.coordinator.group.classic.test_classic_group import group_of, member

from signalbox.coordinator.group.classic.member import ClientContext
from signalbox.coordinator.group.classic.membership_responses import (
    joined,
    protocols_of,
    rejected_join,
    rejected_sync,
    timeouts_of,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupRequest


def test_version_0_has_no_rebalance_timeout_of_its_own() -> None:
    request = JoinGroupRequest.decode(JoinGroupRequest(group_id="g", session_timeout_ms=7).encode(0), 0)
    assert timeouts_of(request) == (7, 7)
    request = JoinGroupRequest.decode(
        JoinGroupRequest(group_id="g", session_timeout_ms=7, rebalance_timeout_ms=9).encode(1), 1
    )
    assert timeouts_of(request) == (7, 9)


@pytest.mark.parametrize("version", range(10))
def test_every_response_can_be_encoded_at_every_version(version: int) -> None:
    group = group_of(member("a"), member("b"))
    group.next_generation()
    answers = [
        joined(group, group.members["a"], with_members=True, skip_assignment=version >= 9),
        joined(group, group.members["b"], with_members=False),
        rejected_join("", Error.GROUP_MAX_SIZE_REACHED),
    ]
    assert all(answer.encode(version) for answer in answers)
    if version <= 5:
        assert rejected_sync(Error.REBALANCE_IN_PROGRESS).encode(version)


def test_who_asks_is_compared_by_value() -> None:
    assert ClientContext("c", "/h", 3) == ClientContext("c", "/h", 3)


def test_a_protocol_named_twice_is_one_vote() -> None:
    """Two votes of one member would be more votes than members, and no protocol would be elected."""
    named = [JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=data) for name, data in
             (("range", b"1"), ("sticky", b"2"), ("range", b"3"))]  # fmt: skip
    assert protocols_of(JoinGroupRequest(protocols=named)) == (("range", b"1"), ("sticky", b"2"))
