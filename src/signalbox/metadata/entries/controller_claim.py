"""`/controller`, which belongs to the active controller's session, and `/controller_epoch`, the controller epoch."""

from __future__ import annotations

from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json, whole_number
from signalbox.metadata.layout import CONTROLLER_EPOCH
from signalbox.metadata.store.port import MetadataStore

NO_KRAFT = -1


def encode_claim(broker_id: int, timestamp_ms: int) -> bytes:
    """The payload of `/controller`, version 2."""
    return encode_json(
        {"version": 2, "brokerid": broker_id, "timestamp": str(timestamp_ms), "kraftControllerEpoch": NO_KRAFT}
    )


def decode_claim(data: bytes | None) -> int:
    """The active controller's broker id; BadEntry."""
    try:
        return int(decode_json(data, "/controller")["brokerid"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"/controller names no broker: {error!r}") from error


def is_kraft_claim(data: bytes | None) -> bool:
    """Whether a readable claim is that of a KRaft controller (KIP-866), which belongs to no session and stays."""
    epoch = decode_json(data, "/controller").get("kraftControllerEpoch", NO_KRAFT)
    return bool(epoch != NO_KRAFT)


def encode_controller_epoch(controller_epoch: int) -> bytes:
    """Plain decimal text."""
    return str(controller_epoch).encode()


def decode_controller_epoch(data: bytes | None) -> int:
    """The number in `/controller_epoch`; BadEntry."""
    try:
        return whole_number(int(data or b""))
    except ValueError as error:
        raise BadEntry(f"/controller_epoch is not a number: {data!r}") from error


async def read_controller_epoch(store: MetadataStore) -> int | None:
    """The epoch of the last controller: 0 before the first, None if the entry is corrupt. StoreError."""
    entry = await store.read(CONTROLLER_EPOCH)
    return 0 if entry is None else readable(decode_controller_epoch, entry.data)
