"""Commits as multi requests; their responses become outcomes, or the one error that rejected the commit."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.exceptions import (
    BadVersionError,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    QuotaExceededError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from signalbox.metadata.store.port import (
    Check,
    Create,
    Delete,
    Fence,
    FencedOut,
    KeyExists,
    KeyHasChildren,
    KeyMissing,
    Operation,
    OperationResult,
    ParentOfSession,
    StoreError,
    StoreFull,
    VersionConflict,
    Write,
)
from signalbox.metadata.store.zookeeper.connect_string import ConnectString
from signalbox.metadata.store.zookeeper.multi import made, multi, operation_results

AT = ConnectString("zk:2181", "/kafka")
FENCE = Fence("/controller_epoch", 7)
EVERY: list[Operation] = [
    Create("/a", b"1", of_session=True),
    Create("/b_", numbered=True),
    Write("/c", b"2", 5),
    Write("/d", None),
    Delete("/e", 3),
    Check("/f", 4),
]


def stat(version: int) -> ZnodeStat:
    return ZnodeStat(40, 41, 0, 0, version, 0, 0, 0, 0, 0, 40)


def test_every_operation_is_asked_for_below_the_chroot_and_the_fence_first() -> None:
    asked = multi(EVERY, FENCE, AT, lambda path: OPEN_ACL_UNSAFE).operations
    assert [tuple(each)[:2] for each in asked] == [
        ("/kafka/controller_epoch", 7),
        ("/kafka/a", b"1"),
        ("/kafka/b_", None),
        ("/kafka/c", b"2"),
        ("/kafka/d", None),
        ("/kafka/e", 3),
        ("/kafka/f", 4),
    ]
    assert [each.flags for each in asked[1:3]] == [1, 2], "ephemeral, sequential"
    assert [each.version for each in asked[3:5]] == [5, -1]
    assert made(EVERY) == "/a"
    assert made(EVERY[1:]) is None, "a numbered entry's name is not known beforehand"


def test_results_of_every_operation() -> None:
    results = [True, "/kafka/a", "/kafka/b_0000000003", stat(6), stat(1), True, True]
    assert operation_results(results, EVERY, FENCE, AT, creation_id=99) == [
        OperationResult("/a", 0, 99),
        OperationResult("/b_0000000003", 0, 99),
        OperationResult("/c", 6, 40),
        OperationResult("/d", 1, 40),
        OperationResult("/e", 3, -1),
        OperationResult("/f", 4, -1),
    ]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (NodeExistsError(), KeyExists),
        (NoNodeError(), KeyMissing),
        (NotEmptyError(), KeyHasChildren),
        (NoChildrenForEphemeralsError(), ParentOfSession),
        (BadVersionError(), VersionConflict),
        (NoAuthError(), StoreError),
        (QuotaExceededError(), StoreFull),
    ],
)
def test_the_operation_at_fault_is_named(answer: Exception, error: type[StoreError]) -> None:
    results: list[Any] = [RolledBackError(), RolledBackError(), answer, *[RuntimeInconsistency()] * 4]
    with pytest.raises(error, match="/b_"):
        operation_results(results, EVERY, FENCE, AT)


@pytest.mark.parametrize("answer", [BadVersionError(), NoNodeError()])
def test_a_moved_fence_is_distinguished_from_other_versions(answer: Exception) -> None:
    with pytest.raises(FencedOut, match="version 7"):
        operation_results([answer, *[RuntimeInconsistency()] * 6], EVERY, FENCE, AT)
