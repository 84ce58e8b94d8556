"""A response as flat rows, path and value, with the values that vary from run to run replaced.

Ids, addresses, times and the wording of messages cannot be the same on both sides; only whether they are present is
compared. Elements of arrays are named by their own key, not by their place: Kafka's order is that of its hash maps.
"""

from __future__ import annotations

from typing import Any

from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.codec.layout import FieldLayout, StructLayout, layout_of
from signalbox.protocol.records.record_batch import decode_records

Rows = dict[str, Any]

_KEYS = (
    "api_key", "name", "topic", "topic_name", "topic_id", "group_id", "key", "user", "config_name", "resource_name",
    "partition_index", "partition", "partition_id", "index", "node_id", "broker_id", "log_dir", "entity_type",
    "principal", "credential_user", "operation",
)  # fmt: skip
"""Attributes by which an element of an array is named: the first of these that it has."""

_TEXTS = {"error_message", "documentation"}
_IDS = {
    "cluster_id", "session_id", "producer_id", "member_id", "leader", "topic_id", "host", "port", "client_host",
    "log_dir", "total_bytes", "usable_bytes", "finalized_features_epoch", "partition_size", "cordoned_log_dirs",
    "token_id", "hmac",
}  # fmt: skip
_NOTHING = (None, "", 0, -1, ZERO_UUID)
_A_TIME_MS = 1_500_000_000_000
"""A number above this and below twice this is taken for a timestamp in ms."""


def plain_rows(answer: Any, version: int) -> Rows:
    """The rows of a decoded response."""
    rows: Rows = {}
    _struct(rows, "", answer, layout_of(answer.schema, version))
    return rows


def _struct(rows: Rows, path: str, struct: Any, layout: StructLayout) -> None:
    for field in (*layout.fields, *layout.tagged):
        value = getattr(struct, field.attribute)
        where = f"{path}.{field.attribute}" if path else field.attribute
        if field.is_array and value is not None:
            _array(rows, where, value, field)
        elif field.struct is not None and value is not None:
            _struct(rows, where, value, field.struct)
        else:
            rows[where] = _one_form(field.attribute, value)


def _array(rows: Rows, path: str, values: list[Any], field: FieldLayout) -> None:
    """Elements with the same name are numbered by their contents."""
    if field.struct is None:
        plain = [_one_form(field.attribute, value) for value in values]
        rows[path] = plain if field.attribute == "replica_nodes" else sorted(plain, key=str)
        return
    rows[f"{path}.count"] = len(values)
    elements = []
    for value in values:
        own: Rows = {}
        _struct(own, "", value, field.struct)
        elements.append((_element_name(value, field.struct), sorted(own.items(), key=str)))
    seen: dict[str, int] = {}
    for name, items in sorted(elements, key=str):
        seen[name] = seen.get(name, 0) + 1
        element = f"{path}[{name}#{seen[name]}]" if seen[name] > 1 else f"{path}[{name}]"
        rows.update((f"{element}.{inner}", value) for inner, value in items)


def _element_name(value: Any, layout: StructLayout) -> str:
    attributes = {field.attribute for field in layout.fields}
    for key in _KEYS:
        if key in attributes and getattr(value, key) is not None:
            return str(_one_form(key, getattr(value, key)))
    return ""


def _one_form(attribute: str, value: Any) -> Any:
    if isinstance(value, memoryview):
        return [(record.offset, record.key, record.value) for record in decode_records(value)] if len(value) else []
    if attribute in _TEXTS and value:
        return "<text>"
    if attribute in _IDS:
        return value if value in _NOTHING else f"<{attribute}>"
    if isinstance(value, int) and not isinstance(value, bool) and _A_TIME_MS < value < 2 * _A_TIME_MS:
        return "<time>"
    return value
