# Written by `python -m signalbox.protocol.stubs` from create_topics.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class CreateTopicsRequest(Message):
    class CreatableReplicaAssignment(Struct):
        partition_index: int
        broker_ids: list[int]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            partition_index: int = ...,
            broker_ids: list[int] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class CreatableTopicConfig(Struct):
        name: str
        value: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class CreatableTopic(Struct):
        name: str
        num_partitions: int
        replication_factor: int
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment]
        configs: list[CreateTopicsRequest.CreatableTopicConfig]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            num_partitions: int = ...,
            replication_factor: int = ...,
            assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = ...,
            configs: list[CreateTopicsRequest.CreatableTopicConfig] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    topics: list[CreateTopicsRequest.CreatableTopic]
    timeout_ms: int
    validate_only: bool
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        topics: list[CreateTopicsRequest.CreatableTopic] = ...,
        timeout_ms: int = ...,
        validate_only: bool = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class CreateTopicsResponse(Message):
    class CreatableTopicConfigs(Struct):
        name: str
        value: str | None
        read_only: bool
        config_source: int
        is_sensitive: bool
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            value: str | None = ...,
            read_only: bool = ...,
            config_source: int = ...,
            is_sensitive: bool = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class CreatableTopicResult(Struct):
        name: str
        topic_id: bytes
        error_code: int
        error_message: str | None
        topic_config_error_code: int
        num_partitions: int
        replication_factor: int
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            topic_id: bytes = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            topic_config_error_code: int = ...,
            num_partitions: int = ...,
            replication_factor: int = ...,
            configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    topics: list[CreateTopicsResponse.CreatableTopicResult]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        topics: list[CreateTopicsResponse.CreatableTopicResult] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
