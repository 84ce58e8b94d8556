"""A group of a type that does not exist, for tests of what is the same for all types."""

from __future__ import annotations

from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.group.group import GroupType, SinceWhen
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.group_records import GroupMetadataKey
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


class OtherGroup:
    """Implements `Group`; `error` rejects commits and deletions."""

    group_type = GroupType.CLASSIC  # there is no other type yet

    def __init__(self, group_id: str, error: Error = Error.NONE) -> None:
        self.group_id = group_id
        self.error = error
        self.protocol_type: str | None = "other"
        self.state_name = "Assigning"
        self.is_dead = False
        self.is_unused = False

    def is_subscribed_to(self, topic: str) -> bool:
        return topic == "subscribed"

    def check_offset_commit(self, request: OffsetCommitRequest) -> Error:
        return self.error

    def check_txn_offset_commit(self, request: TxnOffsetCommitRequest) -> Error:
        return self.error

    def check_deletion(self) -> Error:
        return self.error

    def check_offset_deletion(self) -> Error:
        return self.error

    def offsets_expire_since(self) -> SinceWhen | None:
        return lambda offset: offset.commit_timestamp_ms

    def tombstone(self) -> CoordinatorRecord:
        return CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)

    def end(self) -> None:
        self.is_dead = True
