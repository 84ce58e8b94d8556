# Written by `python -m signalbox.protocol.stubs` from controlled_shutdown.py.
from typing import Self

from signalbox.protocol.message import Buffer, Message, Struct

class ControlledShutdownRequest(Message):
    broker_id: int
    broker_epoch: int
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        broker_id: int = ...,
        broker_epoch: int = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...

class ControlledShutdownResponse(Message):
    class RemainingPartition(Struct):
        topic_name: str
        partition_index: int
        unknown_tags: dict[int, bytes] | None
        def __init__(
            self,
            *,
            topic_name: str = ...,
            partition_index: int = ...,
            unknown_tags: dict[int, bytes] | None = ...,
        ) -> None: ...

    error_code: int
    remaining_partitions: list[ControlledShutdownResponse.RemainingPartition]
    unknown_tags: dict[int, bytes] | None
    def __init__(
        self,
        *,
        error_code: int = ...,
        remaining_partitions: list[ControlledShutdownResponse.RemainingPartition] = ...,
        unknown_tags: dict[int, bytes] | None = ...,
    ) -> None: ...
    @classmethod
    def decode(cls, buffer: Buffer, version: int, offset: int = 0) -> Self: ...
    @classmethod
    def decode_prefix(cls, buffer: Buffer, version: int, offset: int = 0) -> tuple[Self, int]: ...
