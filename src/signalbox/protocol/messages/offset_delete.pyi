# Written by `python -m signalbox.protocol.stubs` from offset_delete.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class OffsetDeleteRequest(Message):
    class OffsetDeleteRequestPartition(Struct):
        partition_index: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetDeleteRequestTopic(Struct):
        name: str
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    group_id: str
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        group_id: str = ...,
        topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class OffsetDeleteResponse(Message):
    class OffsetDeleteResponsePartition(Struct):
        partition_index: int
        error_code: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class OffsetDeleteResponseTopic(Struct):
        name: str
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        throttle_time_ms: int = ...,
        topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
