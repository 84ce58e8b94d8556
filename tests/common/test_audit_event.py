import json
from dataclasses import fields

from signalbox.common.audit_event import (
    AUDIT_FIELDS,
    AUDIT_SCHEMA_VERSION,
    AuditEvent,
    AuditKind,
    NullAudit,
    encode_audit_event,
)


def test_the_columns_are_the_events_fields_behind_the_writers_four() -> None:
    names = [field.name for field in AUDIT_FIELDS]
    assert names[:4] == ["schema", "broker_id", "broker_epoch", "seq"]
    assert names[4:] == [field.name for field in fields(AuditEvent)]


def test_an_event_is_one_json_object_in_the_order_of_the_columns() -> None:
    event = AuditEvent(kind=AuditKind.FORWARDED, api="CREATE_TOPICS", resource="flüge")
    text = encode_audit_event(event, broker_id=2, broker_epoch=77, seq=5).decode()
    found = json.loads(text)
    assert list(found) == [field.name for field in AUDIT_FIELDS]
    assert (found["schema"], found["broker_id"], found["broker_epoch"], found["seq"]) == (
        AUDIT_SCHEMA_VERSION,
        2,
        77,
        5,
    )
    assert (found["kind"], found["resource"]) == ("forwarded", "flüge")


def test_null_audit_takes_everything() -> None:
    NullAudit().record(AuditEvent(kind=AuditKind.ROLLUP))
