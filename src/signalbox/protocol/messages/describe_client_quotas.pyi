# Written by `python -m signalbox.protocol.stubs` from describe_client_quotas.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class DescribeClientQuotasRequest(Message):
    class ComponentData(Struct):
        entity_type: str
        match_type: int
        match: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            entity_type: str = ...,
            match_type: int = ...,
            match: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    components: list[DescribeClientQuotasRequest.ComponentData]
    strict: bool
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        components: list[DescribeClientQuotasRequest.ComponentData] = ...,
        strict: bool = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class DescribeClientQuotasResponse(Message):
    class EntityData(Struct):
        entity_type: str
        entity_name: str | None
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            entity_type: str = ...,
            entity_name: str | None = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class ValueData(Struct):
        key: str
        value: float
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            key: str = ...,
            value: float = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class EntryData(Struct):
        entity: list[DescribeClientQuotasResponse.EntityData]
        values: list[DescribeClientQuotasResponse.ValueData]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            entity: list[DescribeClientQuotasResponse.EntityData] = ...,
            values: list[DescribeClientQuotasResponse.ValueData] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[DescribeClientQuotasResponse.EntryData] | None
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        entries: list[DescribeClientQuotasResponse.EntryData] | None = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
