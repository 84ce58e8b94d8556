# Written by `python -m signalbox.protocol.stubs` from default_principal_data.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message

class DefaultPrincipalData(Message):
    type: str
    name: str
    token_authenticated: bool
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        type: str = ...,
        name: str = ...,
        token_authenticated: bool = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
