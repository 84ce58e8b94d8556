# Written by `python -m signalbox.protocol.stubs` from alter_client_quotas.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class AlterClientQuotasRequest(Message):
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

    class OpData(Struct):
        key: str
        value: float
        remove: bool
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            key: str = ...,
            value: float = ...,
            remove: bool = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class EntryData(Struct):
        entity: list[AlterClientQuotasRequest.EntityData]
        ops: list[AlterClientQuotasRequest.OpData]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            entity: list[AlterClientQuotasRequest.EntityData] = ...,
            ops: list[AlterClientQuotasRequest.OpData] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    entries: list[AlterClientQuotasRequest.EntryData]
    validate_only: bool
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        entries: list[AlterClientQuotasRequest.EntryData] = ...,
        validate_only: bool = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class AlterClientQuotasResponse(Message):
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

    class EntryData(Struct):
        error_code: int
        error_message: str | None
        entity: list[AlterClientQuotasResponse.EntityData]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            entity: list[AlterClientQuotasResponse.EntityData] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    entries: list[AlterClientQuotasResponse.EntryData]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        entries: list[AlterClientQuotasResponse.EntryData] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
