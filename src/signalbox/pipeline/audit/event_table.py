"""How audit events become rows: the columns of `AUDIT_FIELDS`, one row per record, no field left out.

Identity (schema, broker, broker epoch, `seq`, kind) is required. An event of a schema version that is newer than this
program goes to the dead table; it is not interpreted.
"""

from __future__ import annotations

from signalbox.common.audit_event import AUDIT_FIELDS, AUDIT_SCHEMA_VERSION

REQUIRED = ("schema", "broker_id", "broker_epoch", "seq", "kind")
KEPT_COLUMNS = ("partition", "offset", "timestamp")
NEWER_SCHEMA = f"CASE WHEN _parsed.schema > {AUDIT_SCHEMA_VERSION} THEN concat('newer_schema:', _parsed.schema) END"

_DDL_TYPES = {"int": "INT", "long": "BIGINT", "string": "STRING"}


def event_ddl() -> str:
    """The events' fields as DDL."""
    columns = []
    for field in AUDIT_FIELDS:
        required = " NOT NULL" if field.name in REQUIRED else ""
        columns.append(f"`{field.name}` {_DDL_TYPES[field.type]}{required}")
    return ", ".join(columns)
