"""Which forwarded request this is, however often it is sent: what an Envelope carries beside the client's bytes.

The id travels in a tagged field, which brokers that do not know it ignore (KIP-482). It is the broker's own numbering
within one of its lives; `settled_below` tells the controller which of its outcomes nobody will ask for any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, error

FORWARDING_ID_TAG = 10_590  # far above what Kafka gives out one by one; of KIP-590

_LAYOUT = Struct(">iqqq")


@dataclass(frozen=True, slots=True)
class ForwardingId:
    """`number` counts the forwarded requests of broker `broker_id` in its life `broker_epoch`; all below
    `settled_below` have been answered, or given up, there."""

    broker_id: int
    broker_epoch: int
    number: int
    settled_below: int = 0

    def encode(self) -> bytes:
        """28 bytes: int32, three int64."""
        return _LAYOUT.pack(self.broker_id, self.broker_epoch, self.number, self.settled_below)

    @property
    def key(self) -> tuple[int, int, int]:
        """What makes it unique."""
        return self.broker_id, self.broker_epoch, self.number


def decode_forwarding_id(data: bytes | None) -> ForwardingId | None:
    """None where there is none, or not one of ours."""
    if data is None:
        return None
    try:
        return ForwardingId(*_LAYOUT.unpack(data))
    except error:
        return None
