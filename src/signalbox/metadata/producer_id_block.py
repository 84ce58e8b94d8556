"""`/latest_producer_id_block`: the block of producer ids given out last (KIP-98). Its numbers are strings."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json

BLOCK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """The ids `first` to `last`, both included, belong to `broker_id`."""

    broker_id: int
    first: int
    last: int

    def encode(self) -> bytes:
        """The JSON payload, version 1."""
        return encode_json(
            {"version": 1, "broker": self.broker_id, "block_start": str(self.first), "block_end": str(self.last)}
        )


UNREADABLE = ProducerIdBlock(-1, 0, 2**63 - 1)
"""Stands for a block that cannot be read: every id may be somebody's, and none is given out."""


def decode_producer_id_block(data: bytes | None) -> ProducerIdBlock | None:
    """The last block; None when none was given out yet."""
    if not data:
        return None
    payload = decode_json(data, "/latest_producer_id_block")
    try:
        block = ProducerIdBlock(int(payload["broker"]), int(payload["block_start"]), int(payload["block_end"]))
        if not 0 <= block.first <= block.last:
            raise ValueError(f"it is from {block.first} to {block.last}")
        return block
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"/latest_producer_id_block is not a block: {error!r}") from error
