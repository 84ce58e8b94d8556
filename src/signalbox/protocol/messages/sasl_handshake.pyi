# Written by `python -m signalbox.protocol.stubs` from sasl_handshake.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message

class SaslHandshakeRequest(Message):
    mechanism: str
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        mechanism: str = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class SaslHandshakeResponse(Message):
    error_code: int
    mechanisms: list[str]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        mechanisms: list[str] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
