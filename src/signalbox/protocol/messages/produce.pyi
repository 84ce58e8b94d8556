# Written by `python -m signalbox.protocol.stubs` from produce.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Records, Struct

class ProduceRequest(Message):
    class PartitionProduceData(Struct):
        index: int
        records: Buffer | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            index: int = ...,
            records: Records | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class TopicProduceData(Struct):
        name: str
        topic_id: bytes
        partition_data: list[ProduceRequest.PartitionProduceData]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: bytes = ...,
            partition_data: list[ProduceRequest.PartitionProduceData] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[ProduceRequest.TopicProduceData]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        transactional_id: str | None = ...,
        acks: int = ...,
        timeout_ms: int = ...,
        topic_data: list[ProduceRequest.TopicProduceData] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class ProduceResponse(Message):
    class BatchIndexAndErrorMessage(Struct):
        batch_index: int
        batch_index_error_message: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            batch_index: int = ...,
            batch_index_error_message: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class LeaderIdAndEpoch(Struct):
        leader_id: int
        leader_epoch: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            leader_id: int = ...,
            leader_epoch: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class PartitionProduceResponse(Struct):
        index: int
        error_code: int
        base_offset: int
        log_append_time_ms: int
        log_start_offset: int
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage]
        error_message: str | None
        current_leader: ProduceResponse.LeaderIdAndEpoch
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            index: int = ...,
            error_code: int = ...,
            base_offset: int = ...,
            log_append_time_ms: int = ...,
            log_start_offset: int = ...,
            record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = ...,
            error_message: str | None = ...,
            current_leader: ProduceResponse.LeaderIdAndEpoch = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class TopicProduceResponse(Struct):
        name: str
        topic_id: bytes
        partition_responses: list[ProduceResponse.PartitionProduceResponse]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: bytes = ...,
            partition_responses: list[ProduceResponse.PartitionProduceResponse] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class NodeEndpoint(Struct):
        node_id: int
        host: str
        port: int
        rack: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            node_id: int = ...,
            host: str = ...,
            port: int = ...,
            rack: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    responses: list[ProduceResponse.TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[ProduceResponse.NodeEndpoint]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        responses: list[ProduceResponse.TopicProduceResponse] = ...,
        throttle_time_ms: int = ...,
        node_endpoints: list[ProduceResponse.NodeEndpoint] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
