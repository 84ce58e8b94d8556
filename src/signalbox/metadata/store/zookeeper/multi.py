"""A commit as a multi request of ZooKeeper: all operations or none, the fence checked first.

The response to a multi has the stat of each written entry, but of created entries only the path. All entries that one
multi creates have the same creation id (czxid), so the stat of one of them, requested at the same time, has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kazoo.exceptions import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    QuotaExceededError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.serialization import (
    CheckVersion,
    SetData,
    Transaction,
)
from kazoo.protocol.serialization import Create as CreateRequest
from kazoo.protocol.serialization import Delete as DeleteRequest

from signalbox.metadata.store.port import (
    Check,
    CommitRejected,
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

Acl = Callable[[str], Sequence[Any]]  # by a path of the store

_ANY_VERSION = -1
_EPHEMERAL, _SEQUENTIAL = 1, 2

_REJECTIONS: dict[type[Exception], tuple[type[CommitRejected], str]] = {
    NodeExistsError: (KeyExists, "is there already"),
    NoNodeError: (KeyMissing, "is not there"),
    NotEmptyError: (KeyHasChildren, "has children"),
    NoChildrenForEphemeralsError: (ParentOfSession, "its parent belongs to a session"),
    BadVersionError: (VersionConflict, "has another version"),
}


def multi(operations: Sequence[Operation], fence: Fence | None, at: ConnectString, acl: Acl) -> Any:
    """The request for a commit; a created entry gets the ACL of its path."""
    requests = [_request(operation, at, acl) for operation in operations]
    if fence is not None:
        requests.insert(0, CheckVersion(at.within(fence.path), fence.version))
    return Transaction(requests)


def made(operations: Sequence[Operation]) -> str | None:
    """The path of an entry that the commit creates under a name known in advance; None without one."""
    return next((each.path for each in operations if isinstance(each, Create) and not each.numbered), None)


def operation_results(
    results: Sequence[Any],
    operations: Sequence[Operation],
    fence: Fence | None,
    at: ConnectString,
    creation_id: int = -1,
) -> list[OperationResult]:
    """The results of the operations; created entries have `creation_id`. CommitRejected when one of them was rejected,
    StoreFull when a quota is enforced (ZOOKEEPER-3301) and used up, StoreError for other errors."""
    first = 1 if fence is not None else 0
    for position, result in enumerate(results):
        # These two stand for the operations before and after the failed one; its own error has the reason.
        if not isinstance(result, Exception) or isinstance(result, (RolledBackError, RuntimeInconsistency)):
            continue
        if fence is not None and position == 0:
            raise FencedOut(fence.path, f"the fence has left version {fence.version}")
        path = operations[position - first].path
        if isinstance(result, QuotaExceededError):
            raise StoreFull(
                f"nothing was changed: ZooKeeper's quota for {at.within(path)} or what is above it is used up. Raise "
                "it (setquota) or remove what is not needed, then ask again"
            )
        rejected = _REJECTIONS.get(type(result))
        if rejected is None:
            raise StoreError(f"{path}: ZooKeeper answers {type(result).__name__}")
        kind, problem = rejected
        raise kind(path, problem)
    pairs = zip(operations, results[first:], strict=True)
    return [_operation_result(operation, result, at, creation_id) for operation, result in pairs]


def _request(operation: Operation, at: ConnectString, acl: Acl) -> Any:
    path = at.within(operation.path)
    match operation:
        case Create():
            flags = (_EPHEMERAL if operation.of_session else 0) | (_SEQUENTIAL if operation.numbered else 0)
            return CreateRequest(path, operation.data, acl(operation.path), flags)
        case Write():
            return SetData(path, operation.data, _version(operation.expected_version))
        case Delete():
            return DeleteRequest(path, _version(operation.expected_version))
        case Check():
            return CheckVersion(path, operation.expected_version)


def _version(expected: int | None) -> int:
    return _ANY_VERSION if expected is None else expected


def _operation_result(operation: Operation, result: Any, at: ConnectString, creation_id: int) -> OperationResult:
    match operation:
        case Create():
            return OperationResult(result.removeprefix(at.chroot), 0, creation_id)
        case Write():
            return OperationResult(operation.path, result.version, result.czxid)
        case Delete() | Check():
            return OperationResult(operation.path, _version(operation.expected_version), -1)
