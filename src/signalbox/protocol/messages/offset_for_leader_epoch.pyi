# Written by `python -m signalbox.protocol.stubs` from offset_for_leader_epoch.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class OffsetForLeaderEpochRequest(Message):
    class OffsetForLeaderPartition(Struct):
        partition: int
        current_leader_epoch: int
        leader_epoch: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition: int = ...,
            current_leader_epoch: int = ...,
            leader_epoch: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetForLeaderTopic(Struct):
        topic: str
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    replica_id: int
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        replica_id: int = ...,
        topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class OffsetForLeaderEpochResponse(Message):
    class EpochEndOffset(Struct):
        error_code: int
        partition: int
        leader_epoch: int
        end_offset: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            error_code: int = ...,
            partition: int = ...,
            leader_epoch: int = ...,
            end_offset: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetForLeaderTopicResult(Struct):
        topic: str
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic: str = ...,
            partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
