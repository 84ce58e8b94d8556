# Written by `python -m signalbox.protocol.stubs` from fetch.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Records, Struct

class FetchRequest(Message):
    class ReplicaState(Struct):
        replica_id: int
        replica_epoch: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            replica_id: int = ...,
            replica_epoch: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class FetchPartition(Struct):
        partition: int
        current_leader_epoch: int
        fetch_offset: int
        last_fetched_epoch: int
        log_start_offset: int
        partition_max_bytes: int
        replica_directory_id: bytes
        high_watermark: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition: int = ...,
            current_leader_epoch: int = ...,
            fetch_offset: int = ...,
            last_fetched_epoch: int = ...,
            log_start_offset: int = ...,
            partition_max_bytes: int = ...,
            replica_directory_id: bytes = ...,
            high_watermark: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class FetchTopic(Struct):
        topic: str
        topic_id: bytes
        partitions: list[FetchRequest.FetchPartition]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic: str = ...,
            topic_id: bytes = ...,
            partitions: list[FetchRequest.FetchPartition] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class ForgottenTopic(Struct):
        topic: str
        topic_id: bytes
        partitions: list[int]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic: str = ...,
            topic_id: bytes = ...,
            partitions: list[int] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    cluster_id: str | None
    replica_id: int
    replica_state: FetchRequest.ReplicaState
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchRequest.FetchTopic]
    forgotten_topics_data: list[FetchRequest.ForgottenTopic]
    rack_id: str
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        cluster_id: str | None = ...,
        replica_id: int = ...,
        replica_state: FetchRequest.ReplicaState = ...,
        max_wait_ms: int = ...,
        min_bytes: int = ...,
        max_bytes: int = ...,
        isolation_level: int = ...,
        session_id: int = ...,
        session_epoch: int = ...,
        topics: list[FetchRequest.FetchTopic] = ...,
        forgotten_topics_data: list[FetchRequest.ForgottenTopic] = ...,
        rack_id: str = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class FetchResponse(Message):
    class EpochEndOffset(Struct):
        epoch: int
        end_offset: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            epoch: int = ...,
            end_offset: int = ...,
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

    class SnapshotId(Struct):
        end_offset: int
        epoch: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            end_offset: int = ...,
            epoch: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class AbortedTransaction(Struct):
        producer_id: int
        first_offset: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            producer_id: int = ...,
            first_offset: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class PartitionData(Struct):
        partition_index: int
        error_code: int
        high_watermark: int
        last_stable_offset: int
        log_start_offset: int
        diverging_epoch: FetchResponse.EpochEndOffset
        current_leader: FetchResponse.LeaderIdAndEpoch
        snapshot_id: FetchResponse.SnapshotId
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None
        preferred_read_replica: int
        records: Buffer | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            error_code: int = ...,
            high_watermark: int = ...,
            last_stable_offset: int = ...,
            log_start_offset: int = ...,
            diverging_epoch: FetchResponse.EpochEndOffset = ...,
            current_leader: FetchResponse.LeaderIdAndEpoch = ...,
            snapshot_id: FetchResponse.SnapshotId = ...,
            aborted_transactions: list[FetchResponse.AbortedTransaction] | None = ...,
            preferred_read_replica: int = ...,
            records: Records | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class FetchableTopicResponse(Struct):
        topic: str
        topic_id: bytes
        partitions: list[FetchResponse.PartitionData]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic: str = ...,
            topic_id: bytes = ...,
            partitions: list[FetchResponse.PartitionData] = ...,
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

    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchResponse.FetchableTopicResponse]
    node_endpoints: list[FetchResponse.NodeEndpoint]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        session_id: int = ...,
        responses: list[FetchResponse.FetchableTopicResponse] = ...,
        node_endpoints: list[FetchResponse.NodeEndpoint] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
