"""OffsetCommit 2–10: stores the offsets of a member, or of a client that assigns partitions itself.

The group is checked once (an error is then returned for every partition that exists), each partition by itself
(`offset_rows.py`). The handler checks that topics may be read, and fills in the names of topic ids (version 10).
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.coordinator.decision import NO_PRODUCER_ID, Decision
from signalbox.coordinator.group.group import GroupKind, GroupType
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.offset_rows import COMMIT, OffsetRows
from signalbox.coordinator.group.offset_store import NO_EXPIRY
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

GROUP_ID_NOT_FOUND_FROM = 9
NO_RETENTION = -1
_LATEST_MS = 2**63 - 1  # the retention may be it, too


class OffsetCommit:
    def __init__(self, groups: GroupMap, rows: OffsetRows, kinds: Mapping[GroupType, GroupKind]) -> None:
        self._groups = groups
        self._rows = rows
        self._kinds = kinds

    def commit(
        self, request: OffsetCommitRequest, api_version: int, now_ms: int, image: MetadataImage
    ) -> Decision[OffsetCommitResponse]:
        """Raises KafkaError if the group rejects the whole commit. A partition that `image` does not have is rejected:
        nothing would delete its offset."""
        self._check(request, api_version)
        retention_ms = request.retention_time_ms
        expires_ms = NO_EXPIRY if retention_ms == NO_RETENTION else min(now_ms + retention_ms, _LATEST_MS)
        return self._rows.commit(COMMIT, request, image, (now_ms, expires_ms), NO_PRODUCER_ID)

    def _check(self, request: OffsetCommitRequest, api_version: int) -> None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch < 0:
                return  # a client that is not a member: its first offset creates the group
            unknown = api_version >= GROUP_ID_NOT_FOUND_FROM
            raise KafkaError(Error.GROUP_ID_NOT_FOUND if unknown else Error.ILLEGAL_GENERATION)
        error = group.check_offset_commit(request)
        if error is not Error.NONE:
            raise KafkaError(error)
        self._kinds[group.group_type].offsets_committed(group, request.member_id)
