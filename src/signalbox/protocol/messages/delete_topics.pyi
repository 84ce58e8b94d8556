# Written by `python -m signalbox.protocol.stubs` from delete_topics.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class DeleteTopicsRequest(Message):
    class DeleteTopicState(Struct):
        name: str | None
        topic_id: bytes
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str | None = ...,
            topic_id: bytes = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    topics: list[DeleteTopicsRequest.DeleteTopicState]
    topic_names: list[str]
    timeout_ms: int
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        topics: list[DeleteTopicsRequest.DeleteTopicState] = ...,
        topic_names: list[str] = ...,
        timeout_ms: int = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class DeleteTopicsResponse(Message):
    class DeletableTopicResult(Struct):
        name: str | None
        topic_id: bytes
        error_code: int
        error_message: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str | None = ...,
            topic_id: bytes = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    responses: list[DeleteTopicsResponse.DeletableTopicResult]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        responses: list[DeleteTopicsResponse.DeletableTopicResult] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
