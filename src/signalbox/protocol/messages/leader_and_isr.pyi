# Written by `python -m signalbox.protocol.stubs` from leader_and_isr.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class LeaderAndIsrRequest(Message):
    class LeaderAndIsrTopicState(Struct):
        topic_name: str
        topic_id: bytes
        partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: bytes = ...,
            partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class LeaderAndIsrLiveLeader(Struct):
        broker_id: int
        host_name: str
        port: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            broker_id: int = ...,
            host_name: str = ...,
            port: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class LeaderAndIsrPartitionState(Struct):
        topic_name: str
        partition_index: int
        controller_epoch: int
        leader: int
        leader_epoch: int
        isr: list[int]
        partition_epoch: int
        replicas: list[int]
        adding_replicas: list[int]
        removing_replicas: list[int]
        is_new: bool
        leader_recovery_state: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            controller_epoch: int = ...,
            leader: int = ...,
            leader_epoch: int = ...,
            isr: list[int] = ...,
            partition_epoch: int = ...,
            replicas: list[int] = ...,
            adding_replicas: list[int] = ...,
            removing_replicas: list[int] = ...,
            is_new: bool = ...,
            leader_recovery_state: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    controller_id: int
    is_kraft_controller: bool
    controller_epoch: int
    broker_epoch: int
    type: int
    ungrouped_partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState]
    topic_states: list[LeaderAndIsrRequest.LeaderAndIsrTopicState]
    live_leaders: list[LeaderAndIsrRequest.LeaderAndIsrLiveLeader]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_kraft_controller: bool = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        type: int = ...,
        ungrouped_partition_states: list[LeaderAndIsrRequest.LeaderAndIsrPartitionState] = ...,
        topic_states: list[LeaderAndIsrRequest.LeaderAndIsrTopicState] = ...,
        live_leaders: list[LeaderAndIsrRequest.LeaderAndIsrLiveLeader] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class LeaderAndIsrResponse(Message):
    class LeaderAndIsrTopicError(Struct):
        topic_id: bytes
        partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_id: bytes = ...,
            partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class LeaderAndIsrPartitionError(Struct):
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
    partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError]
    topics: list[LeaderAndIsrResponse.LeaderAndIsrTopicError]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        partition_errors: list[LeaderAndIsrResponse.LeaderAndIsrPartitionError] = ...,
        topics: list[LeaderAndIsrResponse.LeaderAndIsrTopicError] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
