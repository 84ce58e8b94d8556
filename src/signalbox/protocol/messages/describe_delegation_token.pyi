# Written by `python -m signalbox.protocol.stubs` from describe_delegation_token.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class DescribeDelegationTokenRequest(Message):
    class DescribeDelegationTokenOwner(Struct):
        principal_type: str
        principal_name: str
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class DescribeDelegationTokenResponse(Message):
    class DescribedDelegationTokenRenewer(Struct):
        principal_type: str
        principal_name: str
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class DescribedDelegationToken(Struct):
        principal_type: str
        principal_name: str
        token_requester_principal_type: str
        token_requester_principal_name: str
        issue_timestamp: int
        expiry_timestamp: int
        max_timestamp: int
        token_id: str
        hmac: bytes
        renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            principal_type: str = ...,
            principal_name: str = ...,
            token_requester_principal_type: str = ...,
            token_requester_principal_name: str = ...,
            issue_timestamp: int = ...,
            expiry_timestamp: int = ...,
            max_timestamp: int = ...,
            token_id: str = ...,
            hmac: bytes = ...,
            renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    error_code: int
    tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken]
    throttle_time_ms: int
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = ...,
        throttle_time_ms: int = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
