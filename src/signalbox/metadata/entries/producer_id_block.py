"""`/latest_producer_id_block`: the last allocated block of producer ids (KIP-98). Its numbers are strings."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json

BLOCK_SIZE = 1000
IDS_SKIPPED = 10**12
"""More producer ids than are allocated between two copies of a store; 9 million times as many remain."""


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
"""Replaces a block that cannot be read: each id may be in use already, so no id is allocated."""


def decode_producer_id_block(data: bytes | None) -> ProducerIdBlock | None:
    """The last allocated block; None before the first. BadEntry."""
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


def above_later_blocks(data: bytes | None) -> bytes | None:
    """The entry of an older copy of a store, raised above the blocks that were allocated after the copy: brokers could
    not distinguish two producers with the same id. A corrupt entry stays as it is: no id is allocated from it."""
    block = readable(decode_producer_id_block, data) if data else ProducerIdBlock(-1, 0, BLOCK_SIZE - 1)
    if block is None:
        return data
    return ProducerIdBlock(block.broker_id, block.first + IDS_SKIPPED, block.last + IDS_SKIPPED).encode()
