"""The forwarding id: identifies a forwarded request in all its retries. An Envelope carries it beside the client's
bytes.

The id is in a tagged field, which brokers without support for it ignore (KIP-482). Each broker numbers its forwarded
requests within one broker epoch. `settled_below` tells the controller which stored responses it can delete.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, error

FORWARDING_ID_TAG = 10_590  # far above the tags that Kafka assigns one by one; after KIP-590

_LAYOUT = Struct(">iqqq")


@dataclass(frozen=True, slots=True)
class ForwardingId:
    """`number` counts the forwarded requests of broker `broker_id` within `broker_epoch`. All requests below
    `settled_below` are answered, or the broker has given them up."""

    broker_id: int
    broker_epoch: int
    number: int
    settled_below: int = 0

    def encode(self) -> bytes:
        """28 bytes: int32, three int64."""
        return _LAYOUT.pack(self.broker_id, self.broker_epoch, self.number, self.settled_below)

    @property
    def key(self) -> tuple[int, int, int]:
        """The part that makes it unique."""
        return self.broker_id, self.broker_epoch, self.number


def decode_forwarding_id(data: bytes | None) -> ForwardingId | None:
    """None if there is no id, or if `data` is not one of Signalbox."""
    if data is None:
        return None
    try:
        return ForwardingId(*_LAYOUT.unpack(data))
    except error:
        return None
