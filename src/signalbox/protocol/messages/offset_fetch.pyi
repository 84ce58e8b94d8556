# Written by `python -m signalbox.protocol.stubs` from offset_fetch.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class OffsetFetchRequest(Message):
    class OffsetFetchRequestTopic(Struct):
        name: str
        partition_indexes: list[int]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            partition_indexes: list[int] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetFetchRequestTopics(Struct):
        name: str
        topic_id: bytes
        partition_indexes: list[int]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: bytes = ...,
            partition_indexes: list[int] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetFetchRequestGroup(Struct):
        group_id: str
        member_id: str | None
        member_epoch: int
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            group_id: str = ...,
            member_id: str | None = ...,
            member_epoch: int = ...,
            topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    group_id: str
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup]
    require_stable: bool
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = ...,
        groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = ...,
        require_stable: bool = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class OffsetFetchResponse(Message):
    class OffsetFetchResponsePartition(Struct):
        partition_index: int
        committed_offset: int
        committed_leader_epoch: int
        metadata: str | None
        error_code: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            metadata: str | None = ...,
            error_code: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetFetchResponseTopic(Struct):
        name: str
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetFetchResponsePartitions(Struct):
        partition_index: int
        committed_offset: int
        committed_leader_epoch: int
        metadata: str | None
        error_code: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            committed_offset: int = ...,
            committed_leader_epoch: int = ...,
            metadata: str | None = ...,
            error_code: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetFetchResponseTopics(Struct):
        name: str
        topic_id: bytes
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: bytes = ...,
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetFetchResponseGroup(Struct):
        group_id: str
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics]
        error_code: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            group_id: str = ...,
            topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = ...,
            error_code: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = ...,
        error_code: int = ...,
        groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
