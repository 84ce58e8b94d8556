# Written by `python -m signalbox.protocol.stubs` from delete_acls.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class DeleteAclsRequest(Message):
    class DeleteAclsFilter(Struct):
        resource_type_filter: int
        resource_name_filter: str | None
        pattern_type_filter: int
        principal_filter: str | None
        host_filter: str | None
        operation: int
        permission_type: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            resource_type_filter: int = ...,
            resource_name_filter: str | None = ...,
            pattern_type_filter: int = ...,
            principal_filter: str | None = ...,
            host_filter: str | None = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    filters: list[DeleteAclsRequest.DeleteAclsFilter]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        filters: list[DeleteAclsRequest.DeleteAclsFilter] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class DeleteAclsResponse(Message):
    class DeleteAclsMatchingAcl(Struct):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        pattern_type: int
        principal: str
        host: str
        operation: int
        permission_type: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            resource_type: int = ...,
            resource_name: str = ...,
            pattern_type: int = ...,
            principal: str = ...,
            host: str = ...,
            operation: int = ...,
            permission_type: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class DeleteAclsFilterResult(Struct):
        error_code: int
        error_message: str | None
        matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            error_code: int = ...,
            error_message: str | None = ...,
            matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
