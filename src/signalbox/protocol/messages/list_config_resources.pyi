# Written by `python -m signalbox.protocol.stubs` from list_config_resources.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class ListConfigResourcesRequest(Message):
    resource_types: list[int]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        resource_types: list[int] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class ListConfigResourcesResponse(Message):
    class ConfigResource(Struct):
        resource_name: str
        resource_type: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            resource_name: str = ...,
            resource_type: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    config_resources: list[ListConfigResourcesResponse.ConfigResource]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        config_resources: list[ListConfigResourcesResponse.ConfigResource] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
