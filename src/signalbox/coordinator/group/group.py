"""What every type of group has (`Group`), and what the shard does with groups of one type (`GroupKind`).

Offsets, expiry, DeleteGroups and ListGroups work on any `Group`. What belongs to one type only is in its package
(`classic/`). To add a type: a member of `GroupType`, a class with the members of `Group`, and a row in the table of
`GroupShard` with its `GroupKind` and the keys of its records.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.group.offset_store import CommittedOffset
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

SinceWhen = Callable[[CommittedOffset], int]


class GroupType(Enum):
    """The value is the name in ListGroups (KIP-848)."""

    CLASSIC = "classic"


class Group(Protocol):
    group_id: str
    group_type: GroupType
    protocol_type: str | None

    @property
    def state_name(self) -> str:
        """The state in DescribeGroups, ListGroups and metrics."""
        ...

    @property
    def is_dead(self) -> bool:
        """Removed, or its partition moved to another coordinator."""
        ...

    @property
    def is_unused(self) -> bool:
        """No members, also none that are about to join."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member may consume the topic: then its offsets are kept."""
        ...

    def check_offset_commit(self, request: OffsetCommitRequest) -> Error:
        """The error that rejects the commit, or NONE."""
        ...

    def check_txn_offset_commit(self, request: TxnOffsetCommitRequest) -> Error:
        """The error that rejects the commit in a transaction, or NONE."""
        ...

    def check_deletion(self) -> Error:
        """The error that rejects DeleteGroups, or NONE."""
        ...

    def check_offset_deletion(self) -> Error:
        """The error that rejects OffsetDelete, or NONE."""
        ...

    def offsets_expire_since(self) -> SinceWhen | None:
        """The time from which the retention of this group's offsets counts; None = they do not expire."""
        ...

    def tombstone(self) -> CoordinatorRecord:
        """The record that removes the group."""
        ...

    def end(self) -> None:
        """The group is removed, its tombstone is committed."""
        ...


class GroupKind(Protocol):
    """The groups of one type in a shard. `group` is of that type."""

    def replay(self, group_id: str, value: Any) -> None:
        """Apply a committed record of the type (no tombstone)."""
        ...

    def finish_loading(self, group: Any) -> None:
        """Start the timers of a group that was loaded."""
        ...

    def unload(self, group: Any) -> None:
        """Reject the requests that wait in the group with NOT_COORDINATOR."""
        ...

    def offsets_committed(self, group: Any, member_id: str) -> None:
        """A member has committed offsets: it is alive."""
        ...
