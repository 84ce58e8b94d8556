# Written by `python -m signalbox.protocol.stubs` from alter_replica_log_dirs.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class AlterReplicaLogDirsRequest(Message):
    class AlterReplicaLogDirTopic(Struct):
        name: str
        partitions: list[int]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            partitions: list[int] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class AlterReplicaLogDir(Struct):
        path: str
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            path: str = ...,
            topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class AlterReplicaLogDirsResponse(Message):
    class AlterReplicaLogDirPartitionResult(Struct):
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

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name: str
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
