# Written by `python -m signalbox.protocol.stubs` from stop_replica.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class StopReplicaRequest(Message):
    class StopReplicaPartitionV0(Struct):
        topic_name: str
        partition_index: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class StopReplicaTopicV1(Struct):
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

    class StopReplicaPartitionState(Struct):
        partition_index: int
        leader_epoch: int
        delete_partition: bool
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            leader_epoch: int = ...,
            delete_partition: bool = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class StopReplicaTopicState(Struct):
        topic_name: str
        partition_states: list[StopReplicaRequest.StopReplicaPartitionState]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_states: list[StopReplicaRequest.StopReplicaPartitionState] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    controller_id: int
    is_kraft_controller: bool
    controller_epoch: int
    broker_epoch: int
    delete_partitions: bool
    ungrouped_partitions: list[StopReplicaRequest.StopReplicaPartitionV0]
    topics: list[StopReplicaRequest.StopReplicaTopicV1]
    topic_states: list[StopReplicaRequest.StopReplicaTopicState]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_kraft_controller: bool = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        delete_partitions: bool = ...,
        ungrouped_partitions: list[StopReplicaRequest.StopReplicaPartitionV0] = ...,
        topics: list[StopReplicaRequest.StopReplicaTopicV1] = ...,
        topic_states: list[StopReplicaRequest.StopReplicaTopicState] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class StopReplicaResponse(Message):
    class StopReplicaPartitionError(Struct):
        topic_name: str
        partition_index: int
        error_code: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            error_code: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    error_code: int
    partition_errors: list[StopReplicaResponse.StopReplicaPartitionError]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[StopReplicaResponse.StopReplicaPartitionError] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
