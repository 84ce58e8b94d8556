# Written by `python -m signalbox.protocol.stubs` from update_metadata.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class UpdateMetadataRequest(Message):
    class UpdateMetadataTopicState(Struct):
        topic_name: str
        topic_id: bytes
        partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            topic_id: bytes = ...,
            partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class UpdateMetadataEndpoint(Struct):
        port: int
        host: str
        listener: str
        security_protocol: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            port: int = ...,
            host: str = ...,
            listener: str = ...,
            security_protocol: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class UpdateMetadataBroker(Struct):
        id: int
        v0_host: str
        v0_port: int
        endpoints: list[UpdateMetadataRequest.UpdateMetadataEndpoint]
        rack: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            id: int = ...,
            v0_host: str = ...,
            v0_port: int = ...,
            endpoints: list[UpdateMetadataRequest.UpdateMetadataEndpoint] = ...,
            rack: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class UpdateMetadataPartitionState(Struct):
        topic_name: str
        partition_index: int
        controller_epoch: int
        leader: int
        leader_epoch: int
        isr: list[int]
        zk_version: int
        replicas: list[int]
        offline_replicas: list[int]
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
            zk_version: int = ...,
            replicas: list[int] = ...,
            offline_replicas: list[int] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    controller_id: int
    is_kraft_controller: bool
    type: int
    controller_epoch: int
    broker_epoch: int
    ungrouped_partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState]
    topic_states: list[UpdateMetadataRequest.UpdateMetadataTopicState]
    live_brokers: list[UpdateMetadataRequest.UpdateMetadataBroker]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        controller_id: int = ...,
        is_kraft_controller: bool = ...,
        type: int = ...,
        controller_epoch: int = ...,
        broker_epoch: int = ...,
        ungrouped_partition_states: list[UpdateMetadataRequest.UpdateMetadataPartitionState] = ...,
        topic_states: list[UpdateMetadataRequest.UpdateMetadataTopicState] = ...,
        live_brokers: list[UpdateMetadataRequest.UpdateMetadataBroker] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class UpdateMetadataResponse(Message):
    error_code: int
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
