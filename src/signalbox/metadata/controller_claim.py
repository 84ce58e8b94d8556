"""`/controller` (of the active controller's session) and `/controller_epoch`, its counter."""

from __future__ import annotations

from signalbox.metadata.json_text import BadEntry, decode_json, encode_json


def encode_claim(broker_id: int, timestamp_ms: int) -> bytes:
    """The payload of `/controller`, version 2."""
    return encode_json(
        {"version": 2, "brokerid": broker_id, "timestamp": str(timestamp_ms), "kraftControllerEpoch": -1}
    )


def decode_claim(data: bytes | None) -> int:
    """The active controller's broker id."""
    try:
        return int(decode_json(data, "/controller")["brokerid"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"/controller names no broker: {error!r}") from error


def encode_controller_epoch(controller_epoch: int) -> bytes:
    """Plain decimal text."""
    return str(controller_epoch).encode()


def decode_controller_epoch(data: bytes | None) -> int:
    """The number in `/controller_epoch`."""
    try:
        return int(data or b"")
    except ValueError as error:
        raise BadEntry(f"/controller_epoch is not a number: {data!r}") from error
