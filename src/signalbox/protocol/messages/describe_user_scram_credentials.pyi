# Written by `python -m signalbox.protocol.stubs` from describe_user_scram_credentials.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class DescribeUserScramCredentialsRequest(Message):
    class UserName(Struct):
        name: str
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            name: str = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    users: list[DescribeUserScramCredentialsRequest.UserName] | None
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        users: list[DescribeUserScramCredentialsRequest.UserName] | None = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class DescribeUserScramCredentialsResponse(Message):
    class CredentialInfo(Struct):
        mechanism: int
        iterations: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            mechanism: int = ...,
            iterations: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    class DescribeUserScramCredentialsResult(Struct):
        user: str
        error_code: int
        error_message: str | None
        credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo]
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            user: str = ...,
            error_code: int = ...,
            error_message: str | None = ...,
            credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
