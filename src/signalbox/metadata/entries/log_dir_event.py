"""`/log_dir_event_notification/log_dir_event_<n>`: a broker reports a failed log directory to the controller."""

from __future__ import annotations

from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.layout import LOG_DIR_EVENT_PREFIX
from signalbox.metadata.store.port import Create, MetadataStore

_LOG_DIR_FAILURE = 1


async def report_log_dir_failure(store: MetadataStore, broker_id: int) -> None:
    """Notify the controller, which then requests the state of each replica of this broker. StoreError."""
    payload = encode_json({"version": 1, "broker": broker_id, "event": _LOG_DIR_FAILURE})
    await store.commit([Create(LOG_DIR_EVENT_PREFIX, payload, numbered=True)])


def decode_log_dir_event(path: str, data: bytes | None) -> int:
    """The id of the broker whose log directory failed; BadEntry."""
    try:
        return int(decode_json(data, path)["broker"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{path} names no broker: {error!r}") from error
